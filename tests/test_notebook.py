"""The notebook plays, explains, teaches and plots: its cells run from top to bottom, without a Jupyter server."""

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib import pyplot

NOTEBOOK = Path(__file__).parents[1] / "examples" / "tour.ipynb"


def test_cells_run(monkeypatch: pytest.MonkeyPatch) -> None:
    mpl.use("Agg")
    monkeypatch.setattr(pyplot, "show", lambda: None)
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    space: dict[str, Any] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "the notebook is committed without outputs"
            exec(compile("".join(cell["source"]), f"{NOTEBOOK.name}, {cell['id']}", "exec"), space)
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    pyplot.close("all")
    assert [len(figure.axes) for figure in figures] == [len(space["frames"]), 2 * len(space["steps"]), 1]
    assert space["success"]
    assert (space["before"] != "eggplant", space["after"]) == (True, "eggplant")
    # The last map is on the cell north of the giraffe: three rows up and two columns right of the agent, in the center.
    assert space["steps"][-1].argmax() == (6 - 3) * 13 + 6 + 2
    assert min(space["means"]) > 90

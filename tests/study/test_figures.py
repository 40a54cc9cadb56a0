"""Figures and tables come from the committed results alone, and are what is committed."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from groundling.study import tables
from groundling.study.figures import draw_all
from groundling.study.grid import GRID
from groundling.study.result_store import Store

RESULTS = Path(__file__).parents[2] / "results"
PAGE = RESULTS.parent / "docs" / "results.md"
FRONT = RESULTS.parent / "README.md"


@pytest.fixture(scope="module")
def results() -> list[tables.Result]:
    return list(Store(str(RESULTS / "study")).results().values())


@pytest.mark.slow
def test_figures_are_drawn_again_byte_for_byte(results: list[tables.Result], tmp_path: Path) -> None:
    told: list[str] = []
    draw_all(results, RESULTS / "inside", tmp_path, told.append)
    drawn = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    committed = {path.name: path.read_bytes() for path in (RESULTS / "figures").iterdir()}
    assert sorted(drawn) == sorted(committed)
    assert [name for name, data in drawn.items() if data != committed[name]] == []
    assert {f"{name}.svg" for name in told} | {f"{name}.png" for name in told} == set(drawn)


def test_figures_and_tables_need_no_torch() -> None:
    code = "import sys; sys.modules['torch'] = None; import groundling.study.figures, groundling.study.tables"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pages_show_what_was_measured(results: list[tables.Result]) -> None:
    """Every row of the table is on the page of results, and the front page has no row that was not measured."""
    measured = {"| " + " | ".join(row) + " |" for row in tables.rows(results)}
    assert measured <= set(PAGE.read_text("utf-8").splitlines())
    named = tuple(f"| {method}-" for method in tables.METHODS)
    quote = {line for line in FRONT.read_text("utf-8").splitlines() if line.startswith(named)}
    assert quote
    assert quote <= measured


def test_no_run_heard_what_it_is_tested_on(results: list[tables.Result]) -> None:
    assert results
    for result in results:
        assert result["leaks"]["leaked"] == result["leaks"]["unknown"] == 0, result["name"]
        assert result["greedy"]["as_triggered"]["success"]["n"] == 5000


def test_results_are_those_of_the_grid(results: list[tables.Result]) -> None:
    """A change of the recipe makes other runs, and what was measured before is no result of theirs."""
    keys = {run.name: run.key for run in GRID}
    assert [result["name"] for result in results if result["key"] != keys[result["name"]]] == []


def test_masks_have_three_topics() -> None:
    """Questions of one topic look at the same features: masks within a topic lie half as far apart, or nearer."""
    masks = np.load(RESULTS / "inside" / "masks.npz")
    same = masks["topic"][:, None] == masks["topic"][None]
    assert len(masks["word"]) == 134
    assert masks["distance"][same].mean() <= 0.5 * masks["distance"][~same].mean()

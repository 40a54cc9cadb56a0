"""The behavior-cloning example trains on an export, and is evaluated."""

import importlib.util
import math
from pathlib import Path

import pytest

from groundling.export.minari import export_minari
from groundling.export.recording import ExportConfig

EXAMPLE = Path(__file__).parents[2] / "examples" / "behavior_cloning.py"


def test_example_trains_and_evaluates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    export_minari(ExportConfig(), "groundling/navqa/oracle-v0", 50)
    specification = importlib.util.spec_from_file_location("behavior_cloning", EXAMPLE)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    success, accuracy = module.main("groundling/navqa/oracle-v0", updates=3, batch_size=8, episodes=5)
    assert 0 <= success <= 1
    assert 0 <= accuracy <= 1
    loss = float(capsys.readouterr().out.split("loss ")[1].split()[0])
    assert loss < 2 * math.log(4 * 180)

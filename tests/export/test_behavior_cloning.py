"""The behavior-cloning example trains on an export, and is evaluated."""

import math
from pathlib import Path

import pytest

from groundling.export.minari import export_minari
from groundling.export.recording import ExportConfig
from tests.load_example import load_example


def test_example_trains_and_evaluates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    export_minari(ExportConfig(), "groundling/navqa/oracle-v0", 50)
    module = load_example("behavior_cloning")
    success, accuracy = module.main("groundling/navqa/oracle-v0", updates=3, batch_size=8, episodes=5)
    assert 0 <= success <= 1
    assert 0 <= accuracy <= 1
    loss = float(capsys.readouterr().out.split("loss ")[1].split()[0])
    assert loss < 2 * math.log(4 * 180)

"""The fuzzing scripts run and find nothing in a few inputs; `fuzz/README.md` has the results of whole runs."""

import argparse
import dataclasses
import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from groundling.errors import InputError

FOLDER = Path(__file__).parents[1] / "fuzz"
ARGUMENTS = {
    "checkpoints": "--count 15",
    "snapshots": "--count 15 --bounds-checked 0",
    "files": "--count 5",
    "results": "--count 15",
    "icon_folders": "--count 15",
    "env_options": "--count 5 --steps 300",
    "language_files": "--count 100",
    "replies": "--count 1000",
    "text_leaks": "--count 20",
}


@pytest.mark.slow
@pytest.mark.parametrize("script", ARGUMENTS)
def test_script_finds_nothing(script: str) -> None:
    command = [sys.executable, str(FOLDER / f"{script}.py"), *ARGUMENTS[script].split()]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 tracebacks, 0 crashes, 0 over time" in result.stdout


def test_mutated_files_and_their_tests_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    mutants = importlib.import_module("mutants")
    paths = [mutants.PACKAGE / file for file in mutants.TESTS]
    paths += [mutants.ROOT / test for tests in (*mutants.TESTS.values(), mutants.ALL_TESTS) for test in tests]
    assert not [path for path in paths if not path.exists()]
    found = {mutant.mutation.partition(":")[0] for mutant in mutants.sample(500, 0)}
    assert {"< to <=", "+ to -", "return None", "0 to 1", "statement removed"} <= found
    for file, line, _ in mutants.EQUIVALENT:
        assert line in (mutants.PACKAGE / file).read_text("utf-8")


def use_badly(number: int) -> None:
    """Fail in each of the ways that a script must detect."""
    if number == 0:
        raise InputError("fine")
    if number == 1:
        raise ValueError("not an InputError")
    if number == 2:
        raise InputError("long " * 1000)
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 4:
        time.sleep(60)


def test_failures_are_detected_and_the_next_input_is_still_tried(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    common = importlib.import_module("common")
    monkeypatch.setattr(common, "MAX_MEMORY_MB", 1 << 20)  # a worker counts what this process has used before
    options = argparse.Namespace(count=6, seed=0, seconds=2.0, only=None)
    monkeypatch.setattr(np.random, "default_rng", lambda key: key[1])  # the number of the input
    report = common.run("bad", options, lambda number, folder: (f"input {number}", number), use_badly)
    assert [result.outcome for result in report.results] == [
        *("refused", "traceback", "traceback", "crash", "over time", "accepted")
    ]
    assert [result.index for result in report.failures] == [1, 2, 3, 4]
    assert report.show() == 1
    assert "2 tracebacks, 1 crashes, 1 over time" in capsys.readouterr().out
    large = dataclasses.replace(report.results[-1], memory_mb=common.MAX_MEMORY_MB + 1)
    assert common.Report("large", [large]).failures == [large]

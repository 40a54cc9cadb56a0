"""Runs of the study: made once, gone on with wherever they stopped, here or on a cluster."""

import dataclasses
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from groundling.errors import InputError
from groundling.learn.trainer import Trainer
from groundling.study.execute_run import execute_run
from groundling.study.grid import GRID, HOLDOUTS, Run, chosen
from groundling.study.launchers import run_locally, run_on_ray
from groundling.study.result_store import Store
from tests.learn.tiny import FAST

TINY = Run(FAST, episodes=20, episodes_per_type=10)


def seeded(seed: int, **changes: Any) -> Run:
    return Run(dataclasses.replace(FAST, seed=seed, **changes), episodes=20, episodes_per_type=10)


def test_the_grid_is_the_papers_and_more_seeds_where_most_is_held_out() -> None:
    assert len(GRID) == 6 * 4 + 3 * 2 * len(HOLDOUTS) + 2 * 3
    assert len({run.name for run in GRID}) == len({run.key for run in GRID}) == len(GRID)
    assert [run.name for run in chosen(["ours-zs2-*-0", "san-normal-0"])] == [
        "san-normal-0",
        *(f"ours-zs2-{x:g}-0" for x in HOLDOUTS),
    ]
    with pytest.raises(InputError, match=r"--only 'our-\*': no run has such a name; there are ours-normal-0"):
        chosen(["our-*"])


def test_the_key_is_of_the_content() -> None:
    assert seeded(0).key == TINY.key
    assert seeded(1).key != TINY.key
    assert dataclasses.replace(TINY, episodes=21).key != TINY.key


def test_a_finished_run_is_never_redone(tmp_path: Path) -> None:
    out, work = str(tmp_path / "out"), str(tmp_path / "work")
    execute_run(TINY, out, work, threads=1)
    path = tmp_path / "out" / TINY.file
    result, written = json.loads(path.read_text("utf-8")), path.stat().st_mtime_ns
    assert result["name"] == "ours-normal-0"
    assert result["greedy"]["as_triggered"]["success"]["n"] == 20
    assert result["leaks"]["leaked"] == result["leaks"]["unknown"] == 0
    assert len(result["curve"]) == 8
    shutil.rmtree(work)
    execute_run(TINY, out, work, threads=1)
    assert path.stat().st_mtime_ns == written
    assert not Path(work).exists()
    assert list(Store(out).results()) == ["ours-normal-0"]


def test_a_run_goes_on_from_a_store_that_is_elsewhere(tmp_path: Path) -> None:
    """What one machine left behind is gone on with by another, to the very result of an uninterrupted run."""
    whole = tmp_path / "whole"
    execute_run(TINY, str(whole), str(tmp_path / "work"), threads=1)
    store = Store("memory://lost/work")
    first = Trainer(TINY.config, tmp_path / "first", save_seconds=0)
    steps = iter(range(3))

    def stop_soon(*_: Any) -> None:
        if next(steps, None) is None:
            first.signal = signal.SIGTERM

    assert first.train(report=stop_soon) == "signal"
    store.keep(TINY.folder, tmp_path / "first")
    shutil.rmtree(tmp_path / "first")
    execute_run(TINY, "memory://lost/out", "memory://lost/work", threads=1)
    found = Store("memory://lost/out").results()["ours-normal-0"]
    expected = json.loads((whole / TINY.file).read_text("utf-8"))
    for result in (found, expected):
        del result["minutes"]
        for line in result["curve"]:
            del line["seconds"]
    assert found == expected


def test_two_results_of_one_run_are_refused(tmp_path: Path) -> None:
    for key in ("a", "b"):
        (tmp_path / f"ours-normal-0-{key}.json").write_text('{"name": "ours-normal-0"}')
    with pytest.raises(InputError, match="there is another result of ours-normal-0"):
        Store(str(tmp_path)).results()
    (tmp_path / "ours-normal-0-b.json").unlink()
    (tmp_path / "x.json").write_text("[")
    with pytest.raises(InputError, match=r"x\.json: not a result of the study"):
        Store(str(tmp_path)).results()


def test_a_path_that_nothing_knows_is_refused() -> None:
    with pytest.raises(InputError, match="path 'nowhere://x': Protocol not known: nowhere"):
        Store("nowhere://x")


@pytest.mark.slow
def test_processes_of_this_machine(tmp_path: Path) -> None:
    """Two at once; the one that cannot be made fails alone."""
    out, work = tmp_path / "out", tmp_path / "work"
    runs = [seeded(0), seeded(1), seeded(2)]
    (work / runs[1].folder).mkdir(parents=True)
    (work / runs[1].folder / "config.json").write_text("{}")
    told: list[str] = []
    assert run_locally(runs, str(out), str(work), workers=2, threads=1, told=told.append) == [runs[1]]
    assert sorted(path.name for path in out.iterdir()) == sorted((runs[0].file, runs[2].file))
    assert "ours-normal-1: failed" in told


@pytest.mark.slow
def test_a_study_that_is_stopped_saves_and_says_so(tmp_path: Path) -> None:
    where = ["--out", str(tmp_path / "out"), "--work", str(tmp_path / "work")]
    arguments = [sys.executable, "-m", "groundling", "study", "run", "--only", "ours-normal-0", *where]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as study:
        for _ in range(1200):
            if list(tmp_path.glob("work/*/metrics.jsonl")):
                break
            time.sleep(0.1)
        study.send_signal(signal.SIGTERM)
        said, _ = study.communicate(timeout=120)
    assert study.returncode == 130
    assert "Saved; the same command goes on." in said
    assert "Traceback" not in said
    assert list(tmp_path.glob("work/*/state.safetensors"))


@pytest.mark.slow
def test_a_cluster_that_loses_a_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two nodes make four runs; one is killed in the middle. No run is lost, and none begins from nothing again."""
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0123456789abcdef" * 2)
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # loopback, as on_ray wants it, but for the nodes, too
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))  # the workers unpickle what this test made
    from ray.cluster_utils import Cluster

    long = dataclasses.replace(FAST.questions, updates=1500)
    runs = [seeded(seed, questions=long) for seed in range(4)]
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    assert cluster.address.startswith("127.0.0.1:")
    lost = cluster.add_node(num_cpus=1)
    out, work = tmp_path / "out", tmp_path / "work"
    told: list[str] = []

    def kill_the_node(line: str) -> None:
        told.append(line)
        if len(told) == 1:
            time.sleep(2)
            cluster.remove_node(lost, allow_graceful=False)

    try:
        failed = run_on_ray(runs, str(out), str(work), 1, cluster.address, kill_the_node, keep_seconds=0)
    finally:
        cluster.shutdown()
    assert failed == []
    assert sorted(told) == sorted(f"{run.name}: done" for run in runs)
    for run in runs:
        result = json.loads((out / run.file).read_text("utf-8"))
        assert result["name"] == run.name
        metrics = [json.loads(line) for line in (work / run.folder / "metrics.jsonl").read_text("utf-8").splitlines()]
        assert [line["line"] for line in metrics] == list(range(1, len(metrics) + 1))

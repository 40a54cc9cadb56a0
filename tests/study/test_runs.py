"""Runs of the study: executed once, and resumed after an interruption, on one machine or on a cluster."""

import dataclasses
import json
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from groundling.errors import InputError
from groundling.learn.trainer import Trainer
from groundling.study.execute_run import agent_file, execute_run
from groundling.study.grid import COMPARISON_SPLITS, GRID, HOLDOUTS, Run, select_runs
from groundling.study.launchers import run_locally, run_on_ray
from groundling.study.result_store import Store
from tests.learn.tiny import FAST

TINY = Run(FAST, episodes=20, episodes_per_type=10)
DATA = Path(__file__).parents[1] / "data"


def seeded(seed: int, **changes: Any) -> Run:
    return Run(dataclasses.replace(FAST, seed=seed, **changes), episodes=20, episodes_per_type=10)


def test_the_grid_is_that_of_the_paper_with_more_seeds() -> None:
    seeds = Counter((run.method, run.config.split, run.config.holdout) for run in GRID)
    assert seeds["ours", "normal", 50.0] == 20
    for split in ("zs1", "zs2"):
        assert [seeds["ours", split, x] for x in HOLDOUTS] == [4, 4, 4, 4, 5]
    for method in ("ca", "san", "vl", "ce", "nava"):
        assert [seeds[method, *split] for split in COMPARISON_SPLITS] == [2, 2, 2, 2]
    assert all(seeds[method, "zs2", x] for method in ("ca", "san") for x in HOLDOUTS)
    assert (seeds["paper", "normal", 50.0], seeds["paper_literal", "normal", 50.0]) == (2, 1)
    assert len({run.name for run in GRID}) == len({run.key for run in GRID}) == len(GRID)
    assert [run.name for run in select_runs(["ours-zs2-*-0", "san-normal-0"])] == [
        *(f"ours-zs2-{x:g}-0" for x in HOLDOUTS),
        "san-normal-0",
    ]
    complaint = r"--only must match a run name, or be METHOD.*, got 'our-\*'; the runs are ca-normal-0, ca-normal-1"
    with pytest.raises(InputError, match=complaint):
        select_runs(["our-*"])


def test_the_key_depends_on_the_content() -> None:
    assert seeded(0).key == TINY.key
    assert seeded(1).key != TINY.key
    assert dataclasses.replace(TINY, episodes=21).key != TINY.key
    assert dataclasses.replace(TINY, episodes_per_type=11).key != TINY.key


def test_a_finished_run_is_never_repeated(tmp_path: Path) -> None:
    results, work = str(tmp_path / "results"), str(tmp_path / "work")
    execute_run(TINY, results, work, threads=1)
    path = tmp_path / "results" / TINY.file
    result, written = json.loads(path.read_text("utf-8")), path.stat().st_mtime_ns
    assert result["name"] == "ours-normal-0"
    assert result["greedy"]["natural"]["success_rate"]["n"] == 20
    assert result["leaks"]["leaked"] == result["leaks"]["unknown"] == 0
    assert (result["episodes"], result["episodes_per_type"]) == (20, 10)
    assert len(result["curve"]) == 8
    assert result["curve"][-1].keys() >= {"seconds", "env_steps", "success_rate", "eval/success_rate"}
    assert result["curve"][-1]["env_steps"] == result["env_steps"]
    shutil.rmtree(work)
    execute_run(TINY, results, work, threads=1)
    assert path.stat().st_mtime_ns == written
    assert not Path(work).exists()
    assert list(Store(results).results()) == ["ours-normal-0"]


def test_a_trained_run_is_evaluated_again_with_more_episodes(tmp_path: Path) -> None:
    results, work = str(tmp_path / "results"), str(tmp_path / "work")
    more = dataclasses.replace(TINY, episodes=30)
    assert more.folder == TINY.folder
    for run in (TINY, more):
        execute_run(run, results, work, threads=1)
    assert len([*(tmp_path / "results").iterdir()]) == 2
    result = Store(results).results()["ours-normal-0"]
    assert result["episodes"] == result["greedy"]["natural"]["success_rate"]["n"] == 30
    assert result["key"] == more.key
    one, two = (json.loads((tmp_path / "results" / run.file).read_text("utf-8")) for run in (TINY, more))
    assert one["curve"] == two["curve"]  # it was not trained again


def test_a_run_that_ends_by_its_validation_score_is_tested_with_its_best_agent() -> None:
    assert agent_file(TINY) == "last.safetensors"
    assert agent_file(seeded(0, patience=3)) == "best.safetensors"


def test_a_run_resumes_from_a_remote_store(tmp_path: Path) -> None:
    """A run interrupted on one machine and resumed on another has the result of an uninterrupted run."""
    whole = tmp_path / "whole"
    execute_run(TINY, str(whole), str(tmp_path / "work"), threads=1)
    store = Store("memory://lost/work")
    first = Trainer(TINY.config, tmp_path / "first", save_seconds=0)
    steps = iter(range(3))

    def stop_soon(*_: Any) -> None:
        if next(steps, None) is None:
            first.signal = signal.SIGTERM

    assert first.train(report=stop_soon) == "signal"
    store.back_up(TINY.folder, tmp_path / "first")
    shutil.rmtree(tmp_path / "first")
    execute_run(TINY, "memory://lost/results", "memory://lost/work", threads=1)
    found = Store("memory://lost/results").results()["ours-normal-0"]
    expected = json.loads((whole / TINY.file).read_text("utf-8"))
    for result in (found, expected):
        del result["minutes"], result["cpu_minutes"]
        for line in result["curve"]:
            del line["seconds"], line["cpu_seconds"]
    assert found == expected


def test_two_results_of_one_run_are_refused(tmp_path: Path) -> None:
    record = json.loads((DATA / "study-1" / "vl-normal-0.json").read_text("utf-8"))
    for key in ("a", "b"):
        (tmp_path / f"vl-normal-0-{key}.json").write_text(json.dumps(record | {"command": key}))
    with pytest.raises(InputError, match="there is another result of run vl-normal-0 with another config"):
        Store(str(tmp_path)).results()
    (tmp_path / "vl-normal-0-b.json").unlink()
    (tmp_path / "x.json").write_text("[")
    with pytest.raises(InputError, match=r"x\.json.*: not valid JSON"):
        Store(str(tmp_path)).results()


def test_an_unknown_protocol_is_refused() -> None:
    complaint = r"path 'nowhere://x' must be a folder or an fsspec path \(Protocol not known: nowhere\)"
    with pytest.raises(InputError, match=complaint):
        Store("nowhere://x")


@pytest.mark.slow
def test_local_processes(tmp_path: Path) -> None:
    """Two processes at a time; a run that cannot be executed fails alone."""
    results, work = tmp_path / "results", tmp_path / "work"
    runs = [seeded(0), seeded(1), seeded(2)]
    (work / runs[1].folder).mkdir(parents=True)
    (work / runs[1].folder / "config.json").write_text("{}")
    logged: list[str] = []
    assert run_locally(runs, str(results), str(work), workers=2, threads=1, log=logged.append) == [runs[1]]
    assert sorted(path.name for path in results.iterdir()) == sorted((runs[0].file, runs[2].file))
    assert "ours-normal-1: failed" in logged


@pytest.mark.slow
def test_an_interrupted_study_saves_and_says_how_to_continue(tmp_path: Path) -> None:
    where = ["--results", str(tmp_path / "results"), "--work", str(tmp_path / "work")]
    arguments = [sys.executable, "-m", "groundling", "study", "run", "--only", "ours-normal-0", *where]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as study:
        for _ in range(1200):
            if list(tmp_path.glob("work/*/metrics.jsonl")):
                break
            time.sleep(0.1)
        study.send_signal(signal.SIGTERM)
        printed, _ = study.communicate(timeout=120)
    assert study.returncode == 130
    assert "Saved. The same command continues the runs." in printed
    assert "Traceback" not in printed
    assert list(tmp_path.glob("work/*/state.safetensors"))


@pytest.mark.slow
def test_a_cluster_that_loses_a_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two nodes execute four runs; one node is killed meanwhile. No run is lost, and none restarts from scratch."""
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0123456789abcdef" * 2)
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # loopback only, as run_on_ray; also for the nodes
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))  # the workers unpickle classes of this test
    from ray.cluster_utils import Cluster

    long = dataclasses.replace(FAST.qa_pretraining, updates=1500)
    runs = [seeded(seed, qa_pretraining=long) for seed in range(4)]
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    assert cluster.address.startswith("127.0.0.1:")
    lost = cluster.add_node(num_cpus=1)
    results, work = tmp_path / "results", tmp_path / "work"
    logged: list[str] = []

    def log_and_kill_the_node(line: str) -> None:
        logged.append(line)
        if len(logged) == 1:
            time.sleep(2)
            cluster.remove_node(lost, allow_graceful=False)

    try:
        failed = run_on_ray(runs, str(results), str(work), 1, cluster.address, log_and_kill_the_node, backup_seconds=0)
    finally:
        cluster.shutdown()
    assert failed == []
    assert sorted(logged) == sorted(f"{run.name}: done" for run in runs)
    for run in runs:
        result = json.loads((results / run.file).read_text("utf-8"))
        assert result["name"] == run.name
        metrics = [json.loads(line) for line in (work / run.folder / "metrics.jsonl").read_text("utf-8").splitlines()]
        assert [line["line"] for line in metrics] == list(range(1, len(metrics) + 1))

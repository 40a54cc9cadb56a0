"""The command line: what commands print, and how they refuse bad input."""

import importlib.util
import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from groundling.agent import MODELS
from groundling.cli.world import describe, shortest_path_actions
from groundling.learn.presets import PRESETS
from groundling.teacher.teacher import Teacher
from tests.cli.harness import Capture, assert_fits, one_line, refusal, run, run_in_terminal
from tests.learn.tiny import FAST

RESULTS = Path(__file__).parents[2] / "results" / "study"
FEW_EPISODES = ("--episodes", "20", "--episodes-per-type", "5")


def test_language_count(capsys: Capture) -> None:
    counted = json.loads(run(capsys, "language", "count", "--json"))
    assert counted["totals"] == {"nav": 567_579, "qa": 1_071_436, "all": 1_639_015}
    assert counted["types"][2] == {"type": "nav_nr_obj", "templates": 31, "fillings": 3808, "sentences": 118_048}
    assert "1,639,015" in run(capsys, "language", "count")


def test_language_sample_and_parse(capsys: Capture) -> None:
    arguments = ("language", "sample", "--type", "rec_bw_obj2loc", "-n", "5", "--seed", "3", "--json")
    sampled = json.loads(run(capsys, *arguments))
    assert sampled == json.loads(run(capsys, *arguments))
    assert len(sampled) == 5
    for record in sampled:
        assert json.loads(run(capsys, "language", "parse", record["sentence"], "--json")) == record


def test_language_list(capsys: Capture) -> None:
    assert len(run(capsys, "language", "list", "--type", "nav_obj").splitlines()) == 31 * 119
    assert len(run(capsys, "language", "list", "-n", "7").splitlines()) == 7


def test_world_show(capsys: Capture, tmp_path: Path) -> None:
    picture = tmp_path / "map.png"
    shown = json.loads(run(capsys, "world", "show", "--seed", "3", "--png", str(picture), "--json"))
    assert Image.open(picture).size == (448, 448)
    assert shown["command"] in run(capsys, "world", "show", "--seed", "3")
    # What is shown can be replayed, and the shortest path reaches the target.
    keys = ("objects", "walls", "agent", "target", "max_steps")
    line = {**{key: shown[key] for key in keys}, "actions": shown["shortest_path"]}
    (tmp_path / "s.jsonl").write_text(json.dumps(line))
    played = json.loads(run(capsys, "world", "replay", str(tmp_path / "s.jsonl"), "--json"))
    assert played["ended"] == "terminated"
    assert played["positions"][-1] == shown["target"]
    assert played["rewards"] == [-0.1] * (len(shown["shortest_path"]) - 1) + [0.9]


EPISODE: dict[str, Any] = {
    "objects": [{"name": "apple", "color": "red", "at": [0, 1]}, {"name": "zebra", "color": "blue", "at": [3, 3]}],
    "walls": [[1, 0]],
    "agent": [0, 0],
    "target": [0, 2],
    "max_steps": 98,
    "actions": ["down", "left", "right", "up", "right", "left"],
}


def replay(capsys: Capture, tmp_path: Path, *lines: str) -> list[Any]:
    path = tmp_path / "episodes.jsonl"
    path.write_text("\n".join(lines))
    return [json.loads(line) for line in run(capsys, "world", "replay", str(path), "--json").splitlines()]


def test_replay(capsys: Capture, tmp_path: Path) -> None:
    """A scripted episode: blocked by a wall and by the edge, on the apple (blocked there, too), then the target."""
    short = {**EPISODE, "max_steps": 2}
    unfinished = {**EPISODE, "actions": ["down"]}
    played = replay(capsys, tmp_path, json.dumps(EPISODE), "", json.dumps(short), json.dumps(unfinished))
    assert played[0] == {
        "positions": [[0, 0], [0, 0], [0, 1], [0, 1], [0, 2]],
        "rewards": [-0.3, -0.3, -1.1, -1.3, 0.9],
        "ended": "terminated",
    }
    assert played[1] == {"positions": [[0, 0], [0, 0]], "rewards": [-0.3, -0.3], "ended": "truncated"}
    assert played[2]["ended"] is None


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"target": [1, 0]}, "target must be a cell without a wall, got [1, 0]"),
        (
            {"agent": [1, 0]},
            "the position of the agent must be a cell without a wall, got [1, 0]",
        ),
        ({"agent": [7, 0]}, "the position of the agent must be [row, column], each from 0 to 6, got [7, 0]"),
        ({"agent": "here"}, 'the position of the agent must be [row, column], each from 0 to 6, got "here"'),
        (
            {"walls": [[1, 0], [1, 0]]},
            "the position of a wall must be an empty cell, got [1, 0], which holds a wall",
        ),
        ({"walls": 5}, "walls must be a list, got 5"),
        (
            {"objects": [{"name": "aple", "color": None, "at": [2, 2]}]},
            "the name of an object must be one of the 119 classes, got \"aple\", did you mean 'apple'?",
        ),
        ({"objects": [{"name": ["x"], "at": [2, 2]}]}, "the name of an object must be one of the 119 classes"),
        ({"objects": [{"name": "apple", "color": "pink", "at": [2, 2]}]}, 'or null, got "pink"'),
        ({"objects": [{"name": "apple"}]}, 'an object must be {"name": ..., "color": ..., "at": [row, column]}, got'),
        ({"actions": ["jump"]}, 'actions must be among left, right, up, down, got "jump"'),
        ({"max_steps": 0}, "max_steps must be an integer from 1 to 32767, got 0"),
        ({"max_steps": True}, "max_steps must be an integer from 1 to 32767, got true"),
        ({"wals": []}, "got \"wals\", did you mean 'walls'?"),
    ],
)
def test_replay_refuses(capsys: Capture, tmp_path: Path, change: dict[str, Any], complaint: str) -> None:
    path = tmp_path / "episodes.jsonl"
    path.write_text(json.dumps(EPISODE) + "\n" + json.dumps(EPISODE | change) + "\n")
    message = one_line(refusal(capsys, "world", "replay", str(path)))
    assert f"{path}, line 2: " in message
    assert complaint in message


def test_replay_refuses_a_file_without_episodes(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    for line, complaint in (
        ("{", "not valid JSON"),
        ("[1]", "an episode must be a JSON object, got [1]"),
        ("{}", "'objects' is missing"),
    ):
        path.write_text(line)
        assert f"line 1: {complaint}" in refusal(capsys, "world", "replay", str(path))
    path.write_text("[" * 100_000)
    assert "line 1: not valid JSON" in refusal(capsys, "world", "replay", str(path))
    path.write_bytes(b"\xff\xfe")
    assert "cannot be read" in refusal(capsys, "world", "replay", str(path))
    assert 'none.jsonl": no such file' in refusal(capsys, "world", "replay", str(tmp_path / "none.jsonl"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["language", "parse", "go to the aple"], "unknown word 'aple', did you mean 'apple'"),
        (["language", "parse", "apple apple apple"], "not a sentence of the language: after 'Apple' expected '.', got"),
        (["language", "sample", "--type", "nav_onj"], "got 'nav_onj', did you mean 'nav_obj'?"),
        (["language", "sample", "--seed", "-1"], "seed must be an integer of at least 0, got -1"),
        (["language", "sample", "-n", "-1"], "n must be an integer of at least 0, got -1"),
        (["world", "show", "--seed", "-1"], "seed must be an integer of at least 0, got -1"),
        (["world", "show", "--episode", "-1"], "episode must be an integer of at least 0, got -1"),
        (
            ["world", "show", "--split", "zs1", "--holdout", "101"],
            "holdout must be a percentage, at least 1 and below 100, got 101",
        ),
        (["world", "show", "--icons", "/nowhere"], "icon folder /nowhere must contain properties.txt"),
        (["world", "show", "--png", "/nowhere/map.png"], "/nowhere/map.png: cannot be written"),
        (["train", "slow"], "preset must be one of fast, paper, paper-literal, smoke, got 'slow'"),
        (["train", "smoke", "--size", "2"], "size must be an integer from 3 to 64, got 2"),
        (["train", "smoke", "--ppo.num-envs", "100"], "must be a multiple of ppo.envs_per_minibatch (16), got 100"),
        (["demo", "--preset", "slow"], "preset must be one of fast, paper, paper-literal, smoke, got 'slow'"),
        (["evaluate", "nowhere"], "checkpoint must be a file, a run folder or one of"),
        (["evaluate", "normal", "--episodes", "0"], "episodes must be an integer of at least 1, got 0"),
        (["evaluate", "normal", "--episodes-per-type", "0"], "episodes_per_type must be an integer of at least 1"),
        (["check-leaks", "/nowhere"], 'config of the run "/nowhere/config.json": no such file'),
        (["package", "/nowhere", "/nowhere/mine"], "out must be in an existing folder, got /nowhere/mine"),
        (["study", "run", "--engine", "slurm"], "engine must be one of local, ray, got 'slurm'"),
        (["study", "run", "--workers", "0"], "workers must be an integer of at least 1, got 0"),
        (
            ["study", "status", "--only", "our-*"],
            "--only must match a run name, or be METHOD-SPLIT-HOLDOUT-SEED, got 'our-*'",
        ),
        (["study", "table", "--results", "/nowhere"], "results must be a path with result files"),
        (["study", "few-shot", "normal"], "agent must be trained with --split novel, got 'normal', trained on normal"),
        (["study", "representations", "san"], "agent must be of method 'ours', which has an interpreter, got 'san'"),
    ],
)
def test_bad_input(capsys: Capture, arguments: list[str], complaint: str) -> None:
    assert complaint in one_line(refusal(capsys, *arguments))


def test_unknown_commands_and_options(capsys: Capture) -> None:
    assert "shwo" in refusal(capsys, "world", "shwo")
    assert "--size" in refusal(capsys, "train", "smoke", "--sizee", "9")
    message = " ".join(refusal(capsys, "train", "smoke", "--agent.planner", "a-star").split())
    assert "agent.planner must be one of mlp, value_iteration, got 'a-star'" in message


def test_demo(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The small world of the demo, for a few updates only."""
    smoke = PRESETS["smoke"]
    short = replace(
        smoke, qa_pretraining=replace(smoke.qa_pretraining, updates=20), ppo=replace(smoke.ppo, iterations=2)
    )
    monkeypatch.setitem(PRESETS, "short", short)
    out = tmp_path / "out"
    printed = run(capsys, "demo", "--out", str(out), "--preset", "short", "--episodes", "50")
    for kind in ("normal", "ZS1", "ZS2"):
        assert kind in printed
        assert kind in (out / "table.md").read_text("utf-8")
    with Image.open(out / "episode.gif") as gif:
        assert getattr(gif, "n_frames", 1) > 1
    assert Image.open(out / "attention.png").width > 600
    assert Image.open(out / "learning.png").width > 600


def test_train_evaluate_check_leaks_and_package(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tiny run from the command line: trained, resumed, evaluated, checked for leaks, and packaged."""
    monkeypatch.setitem(PRESETS, "tiny", FAST)
    folder = str(tmp_path / "run")
    arguments = ("train", "tiny", "--seed", "3", "--out", folder, "--ppo.lr", "1e-4", "--threads", "1")
    assert "Ended (minutes)" in run(capsys, *arguments, "--minutes", "0.0001")
    assert "resume it with --resume, or choose another --out" in refusal(capsys, *arguments)
    assert "Ended (finished)" in run(capsys, *arguments, "--resume")
    assert "ppo.lr is 0.0001 there and 0.0007 here" in refusal(
        capsys, "train", "tiny", "--seed", "3", "--out", folder, "--resume"
    )

    report = json.loads(run(capsys, "evaluate", folder, "--episodes", "30", "--episodes-per-type", "10", "--json"))
    assert report["greedy"]["natural"]["success_rate"]["n"] == 30
    assert report["episodes"] == 30
    assert report["episodes_per_type"] == 10
    to_file = ("--out", str(tmp_path / "r.json"))
    assert "SPL" in run(capsys, "evaluate", folder, "--episodes", "30", "--episodes-per-type", "10", *to_file)
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["greedy"] == report["greedy"]

    assert json.loads(run(capsys, "check-leaks", folder, "--json"))["clean"]
    assert 'config.json": no such file' in refusal(capsys, "check-leaks", str(tmp_path))

    run(capsys, "package", folder, str(tmp_path / "mine"), *FEW_EPISODES)
    card = json.loads((tmp_path / "mine.json").read_text("utf-8"))
    assert card["leaks"]["leaked"] == 0
    assert card["minutes"] > 0
    whole, half = ((tmp_path / name).stat().st_size for name in ("run/last.safetensors", "mine.safetensors"))
    assert half < whole
    packaged = json.loads(run(capsys, "evaluate", str(tmp_path / "mine.safetensors"), *FEW_EPISODES, "--json"))
    assert packaged["greedy"] == card["greedy"]


def test_tables_fit_80_columns(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert_fits(run(capsys, "language", "count"))
    assert_fits(run(capsys, "models"))
    assert_fits(run(capsys, "study", "status", "--results", str(RESULTS)))
    table = run(capsys, "study", "table", "--results", str(RESULTS))
    assert_fits(table)
    assert "rec_bw_obj2col" in table  # the last of the columns that do not fit side by side
    evaluation = run(capsys, "evaluate", "zs2-50", *FEW_EPISODES, "--threads", "1")
    assert_fits(evaluation)
    assert "100.0 (83.9..100.0)" in evaluation  # no interval is cut or wrapped


def test_evaluate_shows_progress_on_stderr_only() -> None:
    """In a terminal, evaluation has a progress bar on stderr; stdout has the JSON and nothing else."""
    code, stdout, terminal = run_in_terminal(
        "evaluate", "normal", *FEW_EPISODES, "--threads", "1", "--json", stdout_to_terminal=False
    )
    assert code == 0
    assert json.loads(stdout)["greedy"]["natural"]["success_rate"]["n"] == 20
    assert stdout.count("\n") == 1
    assert "Evaluating" in terminal
    assert_fits(terminal)


def test_out_is_always_output(capsys: Capture, tmp_path: Path) -> None:
    """`--results` is what the commands of the study read; `--out`, where there is one, is what a command writes."""
    results = tmp_path / "results"
    results.mkdir()
    for path in RESULTS.glob("ours-normal-[06]-*.json"):
        shutil.copy(path, results)
    before = {path.name: path.read_bytes() for path in results.iterdir()}
    assert len(before) == 2
    where = ("--results", str(results))

    found = json.loads(run(capsys, "study", "table", *where, "--json"))
    assert [row["run"] for row in found] == ["ours-normal-0", "ours-normal-6"]
    states = json.loads(run(capsys, "study", "status", *where, "--json"))
    assert [state["run"] for state in states if state["state"] == "done"] == ["ours-normal-0", "ours-normal-6"]
    figures, no_arrays = tmp_path / "figures", ("--representations", str(tmp_path / "none"))
    run(capsys, "figures", *where, *no_arrays, "--out", str(figures))
    assert {path.suffix for path in figures.iterdir()} == {".svg", ".png"}
    assert (figures / "learning.svg").stat().st_size > 1000
    assert {path.name: path.read_bytes() for path in results.iterdir()} == before
    for command in ("table", "status", "run"):  # they write no files to a folder that can be chosen by --out
        assert "--out" in refusal(capsys, "study", command, "--out", str(tmp_path / "other"))
    assert not (tmp_path / "other").exists()


def test_results_of_some_runs(capsys: Capture) -> None:
    where = ("study", "table", "--results", str(RESULTS), "--only", "ours-normal-[0-3]", "ca-zs2-50-0")
    assert [row["run"] for row in json.loads(run(capsys, *where, "--json"))] == [
        *(f"ours-normal-{seed}" for seed in range(4)),
        "ca-zs2-50-0",
    ]
    assert run(capsys, *where, "--markdown").count("| ca-zs2-50-0 |") == 6


def finite_and_positive(measured: dict[str, float]) -> bool:
    return all(math.isfinite(value) and value > 0 for value in measured.values())


def test_bench_learn(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PRESETS, "fast", FAST)
    measured = json.loads(run(capsys, "bench", "learn", "--iterations", "1", "--json"))
    fractions = {"fraction_act", "fraction_env", "fraction_update"}
    rates = {"qa_updates_per_second", "ppo_updates_per_second", "env_steps_per_second"}
    assert measured.keys() == fractions | rates | {"update_ms", "reference_update_ms", "update_speedup", "threads"}
    assert finite_and_positive(measured)
    assert 0.5 < sum(measured[name] for name in fractions) <= 1  # the parts do not overlap, and miss little
    # An iteration of the tiny config: 8 environments x 4 steps, and 2 epochs x 2 minibatches.
    assert measured["env_steps_per_second"] / measured["ppo_updates_per_second"] == pytest.approx(32 / 4)


def test_bench_world(capsys: Capture) -> None:
    measured = json.loads(run(capsys, "bench", "world", "--seconds", "0.1", "--json"))
    required = {"steps", "steps_rendered", "frame_copies", "rendered_to_copies"}
    babyai = {"babyai_steps_rendered", "rendered_to_babyai"}
    installed = importlib.util.find_spec("minigrid") is not None
    assert measured.keys() == (required | babyai if installed else required)
    assert finite_and_positive(measured)


@pytest.mark.slow
def test_bench_agent(capsys: Capture) -> None:
    measured = json.loads(run(capsys, "bench", "agent", "--seconds", "0.01", "--json"))
    times = {"perception", "perception_reference", "update", "update_from_images", "update_reference"}
    assert measured.keys() == {f"{name}_ms" for name in times} | {
        "perception_speedup",
        "update_speedup",
        "update_gflops",
        "matmul_gflops",
        "update_to_matmul",
        "threads",
    }
    assert finite_and_positive(measured)


def test_description_matches_the_episode() -> None:
    teacher = Teacher()
    episode = teacher.begin(1, [4])
    described = describe(teacher, episode)
    assert len(described["objects"]) == (episode.state.objects >= 0).sum()
    assert len(shortest_path_actions(teacher, episode)) >= 1


def test_models(capsys: Capture) -> None:
    listed = {row["method"]: row for row in json.loads(run(capsys, "models", "--json"))}
    assert list(listed) == list(MODELS) == ["ours", "ca", "san", "vl", "ce", "nava"]
    assert [name for name, row in listed.items() if row["answers"] == "no"] == ["nava"]
    assert all(row["parameters"] > 10**6 for row in listed.values())
    assert "StackedAttentionNet" in run(capsys, "models")


def test_a_missing_extra_is_named(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "torch" else find_spec(name))
    assert "pip install 'groundling[agent]'" in one_line(refusal(capsys, "models"))

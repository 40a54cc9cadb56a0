"""The command line as its users meet it: what it prints, and how it refuses bad input."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from groundling.cli import main
from groundling.cli.world import describe, oracle_actions
from groundling.learn.config import PRESETS
from groundling.teacher.teacher import Teacher
from tests.learn.tiny import FAST

Capture = pytest.CaptureFixture[str]


def run(capsys: Capture, *arguments: str) -> str:
    main(arguments)
    return capsys.readouterr().out


def refusal(capsys: Capture, *arguments: str) -> str:
    """The message of a command that ends with exit code 2 and prints no traceback."""
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    message = capsys.readouterr().err
    assert "Traceback" not in message
    return message


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
    quote = json.loads(run(capsys, "world", "show", "--seed", "3", "--png", str(picture), "--json"))
    assert Image.open(picture).size == (448, 448)
    assert quote["command"] in run(capsys, "world", "show", "--seed", "3")
    # What is shown can be replayed, and the oracle's path does it.
    keys = ("objects", "walls", "agent", "target", "max_steps")
    line = {**{key: quote[key] for key in keys}, "actions": quote["oracle"]}
    (tmp_path / "s.jsonl").write_text(json.dumps(line))
    played = json.loads(run(capsys, "world", "replay", str(tmp_path / "s.jsonl"), "--json"))
    assert played["ended"] == "terminated"
    assert played["positions"][-1] == quote["target"]
    assert played["rewards"] == [-0.1] * (len(quote["oracle"]) - 1) + [0.9]


SESSION: dict[str, Any] = {
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
    """A episode by hand: blocked by a wall and by the edge, over the apple (also blocked there), then the target."""
    short = {**SESSION, "max_steps": 2}
    going = {**SESSION, "actions": ["down"]}
    played = replay(capsys, tmp_path, json.dumps(SESSION), "", json.dumps(short), json.dumps(going))
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
        ({"target": [1, 0]}, "the target [1, 0] is in a wall"),
        ({"agent": [0, 1]}, "the agent at [0, 1]: the red apple is there already"),
        ({"agent": [7, 0]}, "the agent at [7, 0]: a place is [row, column], each from 0 to 6"),
        ({"agent": "here"}, 'the agent at "here"'),
        ({"walls": [[1, 0], [1, 0]]}, "a wall at [1, 0]: a wall is there already"),
        ({"walls": 5}, "'walls' is a list, not 5"),
        ({"objects": [{"name": "aple", "color": None, "at": [2, 2]}]}, "unknown object \"aple\", did you mean 'apple'"),
        ({"objects": [{"name": ["x"], "at": [2, 2]}]}, "unknown object"),
        ({"objects": [{"name": "apple", "color": "pink", "at": [2, 2]}]}, 'unknown color "pink"'),
        ({"objects": [{"name": "apple"}]}, "an object is"),
        ({"actions": ["jump"]}, 'unknown action "jump": it is one of left, right, up, down'),
        ({"max_steps": 0}, "max_steps 0"),
        ({"max_steps": True}, "max_steps true"),
        ({"wals": []}, "unknown key 'wals', did you mean 'walls'"),
    ],
)
def test_replay_refuses(capsys: Capture, tmp_path: Path, change: dict[str, Any], complaint: str) -> None:
    path = tmp_path / "episodes.jsonl"
    path.write_text(json.dumps(SESSION) + "\n" + json.dumps(SESSION | change) + "\n")
    message = refusal(capsys, "world", "replay", str(path))
    assert f"{path}, line 2: " in message
    assert complaint in message


def test_replay_refuses_what_is_no_session(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    for line, complaint in (("{", "not JSON"), ("[1]", "a episode is an object"), ("{}", "'objects' is missing")):
        path.write_text(line)
        assert f"line 1: {complaint}" in refusal(capsys, "world", "replay", str(path))
    path.write_text("[" * 100_000)
    assert "line 1: not JSON" in refusal(capsys, "world", "replay", str(path))
    path.write_bytes(b"\xff\xfe")
    assert "cannot be read" in refusal(capsys, "world", "replay", str(path))
    assert "cannot be read" in refusal(capsys, "world", "replay", str(tmp_path / "none.jsonl"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["language", "parse", "go to the aple"], "unknown word 'aple', did you mean 'apple'"),
        (["language", "parse", "apple apple apple"], "no sentence of the teacher"),
        (["language", "sample", "--type", "nav_onj"], "unknown sentence type 'nav_onj'"),
        (["language", "sample", "--seed", "-1"], "seed -1"),
        (["language", "sample", "-n", "-1"], "n -1"),
        (["world", "show", "--seed", "-1"], "seed -1"),
        (["world", "show", "--split", "zs1", "--holdout", "101"], "portion 101"),
        (["world", "show", "--icons", "/nowhere"], "icon folder /nowhere"),
        (["world", "show", "--png", "/nowhere/map.png"], "/nowhere/map.png"),
        (["world", "shwo"], "shwo"),
    ],
)
def test_bad_input(capsys: Capture, arguments: list[str], complaint: str) -> None:
    assert complaint in refusal(capsys, *arguments)


def test_demo(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The small world of the demo, for a few updates only."""
    smoke = PRESETS["smoke"]
    short = replace(smoke, questions=replace(smoke.questions, updates=20), ppo=replace(smoke.ppo, updates=2))
    monkeypatch.setitem(PRESETS, "short", short)
    out = tmp_path / "out"
    told = run(capsys, "demo", "--out", str(out), "--preset", "short", "--episodes", "50")
    for kind in ("normal", "ZS1", "ZS2"):
        assert kind in told
        assert kind in (out / "table.md").read_text("utf-8")
    with Image.open(out / "episode.gif") as gif:
        assert getattr(gif, "n_frames", 1) > 1
    assert Image.open(out / "attention.png").width > 600
    assert Image.open(out / "learning.png").width > 600
    assert "it is one of fast, paper, smoke" in refusal(capsys, "demo", "--preset", "slow")


def test_train_evaluate_and_prove(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tiny run from the command line: trained, resumed, evaluated, checked for leaks, made into weights."""
    monkeypatch.setitem(PRESETS, "tiny", FAST)
    folder = str(tmp_path / "run")
    arguments = ("train", "tiny", "--seed", "3", "--out", folder, "--ppo.rate", "1e-4", "--threads", "1")
    assert "Ended (minutes)" in run(capsys, *arguments, "--minutes", "0.0001")
    assert "--resume goes on with it" in refusal(capsys, *arguments)
    assert "Ended (finished)" in run(capsys, *arguments, "--resume")
    assert "ppo.rate is 0.0001 there, and 0.0007 here" in refusal(
        capsys, "train", "tiny", "--seed", "3", "--out", folder, "--resume"
    )
    assert "preset 'slow': it is one of fast, paper, smoke" in refusal(capsys, "train", "slow")

    report = json.loads(run(capsys, "evaluate", folder, "--episodes", "30", "--of-each-type", "10", "--json"))
    assert report["greedy"]["as_triggered"]["success"]["n"] == 30
    told = run(
        capsys, "evaluate", folder, "--episodes", "30", "--of-each-type", "10", "--out", str(tmp_path / "r.json")
    )
    assert "SPL" in told
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["greedy"] == report["greedy"]
    assert "episodes 0: it is 1 or more" in refusal(capsys, "evaluate", folder, "--episodes", "0")
    assert "no such file, and no such shipped weights" in refusal(capsys, "evaluate", "nowhere")

    assert json.loads(run(capsys, "leaks", folder, "--json"))["clean"]
    assert "there is no training run in it" in refusal(capsys, "leaks", str(tmp_path))

    run(capsys, "ship", folder, str(tmp_path / "mine"), "--episodes", "20", "--of-each-type", "5")
    card = json.loads((tmp_path / "mine.json").read_text("utf-8"))
    assert card["leaks"]["leaked"] == 0
    assert card["minutes"] > 0
    whole, half = ((tmp_path / name).stat().st_size for name in ("run/last.safetensors", "mine.safetensors"))
    assert half < whole
    assert (
        json.loads(
            run(
                capsys,
                "evaluate",
                str(tmp_path / "mine.safetensors"),
                "--episodes",
                "20",
                "--of-each-type",
                "5",
                "--json",
            )
        )["greedy"]
        == card["greedy"]
    )


def test_bench_learn(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PRESETS, "fast", FAST)
    measured = json.loads(run(capsys, "bench", "learn", "--rounds", "1", "--json"))
    assert 0.5 < sum(value for name, value in measured.items() if name.startswith("share_")) <= 1
    assert measured["update_speedup"] == pytest.approx(measured["plain_update_ms"] / measured["update_ms"])


def test_bench_world(capsys: Capture) -> None:
    measured = json.loads(run(capsys, "bench", "world", "--seconds", "0.1", "--json"))
    assert measured["drawn_to_copies"] == pytest.approx(measured["steps_drawn"] / measured["frame_copies"])
    assert all(value > 0 for value in measured.values())


def test_description_is_the_session() -> None:
    teacher = Teacher()
    episode = teacher.begin(1, [4])
    described = describe(teacher, episode)
    assert len(described["objects"]) == (episode.state.objects >= 0).sum()
    assert len(oracle_actions(teacher, episode)) >= 1


def test_models(capsys: Capture) -> None:
    listed = {row["method"]: row for row in json.loads(run(capsys, "models", "--json"))}
    assert list(listed) == ["ours", "ca", "san", "vl", "ce", "nava"]
    assert listed["nava"]["answers"] == "no"
    assert all(row["parameters"] > 10**6 for row in listed.values())
    assert "StackedAttentionNet" in run(capsys, "models")


@pytest.mark.slow
def test_bench_agent(capsys: Capture) -> None:
    measured = json.loads(run(capsys, "bench", "agent", "--seconds", "0.01", "--json"))
    assert measured["update_speedup"] == pytest.approx(measured["update_plain_ms"] / measured["update_ms"])
    assert 0 < measured["update_share_of_matmul"] < 1


def test_a_missing_extra_is_named(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    load_agent = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "torch" else load_agent(name))
    assert "pip install 'groundling[agent]'" in refusal(capsys, "models")

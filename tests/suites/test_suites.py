"""The frozen suites are those that were frozen, balanced, and score reference players as they must."""

import itertools
import json
from collections import Counter
from dataclasses import asdict, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import groundling.cli.suites
import groundling.suites.score
import groundling.text
from groundling import seeds
from groundling.cli import main
from groundling.cli.suites import PRETRAINED, REFERENCE
from groundling.episodes import play_to_end
from groundling.errors import InputError
from groundling.evaluation.estimates import Estimate
from groundling.suites import players
from groundling.suites.players import MostFrequentAnswer, RandomPlayer, oracle
from groundling.suites.score import Result, play, reference_file, reference_results, score
from groundling.suites.suite import SIZES, Suite, suite_names
from groundling.text import TextEpisode

NAMES = ("normal", "zs1", "zs2", "paraphrase", "invented")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", SIZES)
def test_suite_generates_the_frozen_episodes(name: str, size: str) -> None:
    Suite.load(name, size).check()


def test_names_sizes_and_unknown_ones() -> None:
    assert suite_names() == NAMES
    assert [len(Suite.load("zs1", size)) for size in SIZES] == [200, 2000]
    with pytest.raises(InputError, match="got 'norml', did you mean 'normal'"):
        Suite.load("norml")


@pytest.mark.parametrize("name", NAMES)
def test_types_are_balanced_and_episodes_have_them(name: str) -> None:
    suite = Suite.load(name, "full")
    counts = Counter(episode.type for episode in suite)
    assert max(counts.values()) - min(counts.values()) <= 1
    assert set(counts) == set(suite.teacher.types)
    for i in range(0, 2000, 97):
        game = suite.begin(i)
        sentences = game.episode.question if suite[i].task == "qa" else game.episode.command
        assert game.teacher.language.type_names[sentences.type[0]] == suite[i].type


def test_no_two_episodes_have_the_same_seed_and_index() -> None:
    every = [(episode.seed, episode.index) for name in NAMES for episode in Suite.load(name, "full")]
    assert len(set(every)) == len(every)
    assert min(every)[0] >= seeds.SUITES


def test_small_is_the_beginning_of_full() -> None:
    small, full = (Suite.load("zs2", size) for size in ("small", "full"))
    assert list(small) == list(full)[:200]


def test_a_change_of_world_or_text_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    suite = Suite.load("normal")
    with pytest.raises(InputError, match=r"suite normal \(small\) must generate the episodes that were frozen"):
        replace(suite, options={"walls": [0, 14]}).check()
    with pytest.raises(InputError, match="world, teacher or text layer changed"):
        replace(suite, options={"rewards": {"step": -0.2}}).check()
    monkeypatch.setattr(groundling.text, "rules", lambda *_: "Reply with one move.")
    with pytest.raises(InputError, match="world, teacher or text layer changed"):
        suite.check()


def test_held_out_suites_contain_only_held_out_sentences() -> None:
    for name in ("zs1", "zs2"):
        suite = Suite.load(name)
        for i in range(len(suite)):
            game = suite.begin(i)
            sentences = game.episode.question if game.task == "qa" else game.episode.command
            meaning = game.teacher.meaning(sentences, 0)
            assert meaning is not None
            assert suite.teacher.split.holds_out(meaning)


@pytest.mark.parametrize("name", NAMES)
def test_oracle_scores_everything(name: str) -> None:
    result = score(oracle, Suite.load(name), "oracle")
    assert result.nav["mean"] == result.qa["mean"] == 1
    assert result.invalid == 0
    assert result.outcomes == "1" * 200


@pytest.mark.parametrize("name", NAMES)
def test_random_player_is_the_random_walk(name: str) -> None:
    """Both on the same commands; a random answer is right with a probability of one in the number of answers."""
    suite, result = Suite.load(name, "full"), Result.load(reference_file(Suite.load(name, "full"), "random"))
    played = [play(RandomPlayer(), suite.begin(i)).success for i in range(40)]
    assert result.outcomes[:40] == "".join("01"[success] for success in played)
    rng = np.random.default_rng(1)
    reached = []
    for type_ in (name for name in suite.teacher.types if name in suite.teacher.language.commands):
        seed, index = zip(*((episode.seed, episode.index) for episode in suite if episode.type == type_), strict=True)
        begun = suite._of_type[type_].begin(seed, index, ask=False)
        success = np.zeros(len(seed))
        for running, step in play_to_end(suite.teacher, begun, lambda _, running: rng.integers(0, 4, len(running))):
            success[running] = step.terminated
        reached.append(success)
    walk = Estimate.of_proportion(np.concatenate(reached))
    assert walk is not None
    assert walk.n == result.nav["n"] >= 500
    assert result.nav["low"] < walk.high
    assert walk.low < result.nav["high"]
    assert result.qa["low"] < 1 / len(suite.teacher.lexicon.answers) < result.qa["high"]


def test_most_frequent_answer_beats_random_answers() -> None:
    suite = Suite.load("normal")
    questions = [i for i in range(200) if suite[i].task == "qa"]
    player = MostFrequentAnswer(suite)
    right = sum(play(player, suite.begin(i)).success for i in questions)
    truth = Counter(oracle(suite.begin(i)) for i in questions)
    assert right == max(truth.values()) == truth[player.answer]


def test_result_files(tmp_path: Path) -> None:
    result = score(lambda game: "?", Suite.load("normal"), "mute")
    assert result.invalid == result.replies
    result.save(tmp_path / "r.json")
    assert asdict(Result.load(tmp_path / "r.json")) == asdict(result)


class PlaysSome:
    """A random player that is interrupted after some episodes."""

    def __init__(self, episodes: int) -> None:
        self.player, self.left, self.begun = RandomPlayer(), episodes, 0

    def __call__(self, game: TextEpisode) -> str:
        self.begun += game.replies == 0
        if self.begun > self.left:
            raise KeyboardInterrupt
        return self.player(game)


def test_interrupted_run_goes_on(tmp_path: Path) -> None:
    suite, out, record = Suite.load("normal"), tmp_path / "r.json", tmp_path / "r.json.part"
    whole = score(RandomPlayer(), suite, "random")
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            score(PlaysSome(70), suite, "random", out=out)
    with record.open("a") as file:
        file.write("[true, 1")  # what a kill in the middle of a write leaves
    interrupted = record.read_text("utf-8")
    rest = PlaysSome(1000)
    assert asdict(score(rest, suite, "random", out=out)) == asdict(whole) == asdict(Result.load(out))
    assert rest.begun == 60
    assert not record.exists()
    record.write_text(interrupted, "utf-8")
    for other in (("oracle", "sentences"), ("random", "grid")):
        with pytest.raises(InputError, match="must be of the same player, suite, size and view; delete it"):
            score(RandomPlayer(), suite, *other, out=out)
    record.write_text(interrupted.replace("true", "[]"), "utf-8")
    with pytest.raises(InputError, match="must be of the same player"):
        score(RandomPlayer(), suite, "random", out=out)


def test_interrupted_command_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, calls = tmp_path / "r.json", PlaysSome(30)
    monkeypatch.setattr(players, "oracle", calls)
    command = ["suites", "run", "groundling.suites.players:oracle", "--out", str(out)]
    with pytest.raises(SystemExit, match="130"):
        main(command)
    assert not out.exists()
    calls.left = 1000
    main(command)
    assert calls.begun == 31 + 170
    assert len(Result.load(out).outcomes) == 200
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"format": "x"}, "format must be 'groundling-result-1', got \"x\""),
        ({"nav": {}}, "nav and qa must have mean, low, high and n"),
        ({"replies": "many"}, "replies must be of type int"),
        ({"plyer": "me"}, "has no field \"plyer\", did you mean 'player'"),
    ],
)
def test_damaged_result_files_are_refused(tmp_path: Path, change: dict[str, Any], complaint: str) -> None:
    record = json.loads(reference_results()[0].read_text("utf-8"))
    (tmp_path / "r.json").write_text(json.dumps(record | change))
    with pytest.raises(InputError, match=complaint):
        Result.load(tmp_path / "r.json")


def test_leaderboard_has_reference_rows_for_every_suite(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "me.json"
    main(["suites", "run", "random", "--out", str(out)])
    capsys.readouterr()
    main(["leaderboard", str(out), "--size", "small"])
    shown = capsys.readouterr().out
    for name in NAMES:
        assert f"Suite {name} (small)" in shown
    for player in ("oracle", "random", "most-frequent-answer", "zs1-50", "zs2-50"):
        assert player in shown
    stale = json.loads(out.read_text("utf-8")) | {"hash": "0"}
    out.write_text(json.dumps(stale))
    with pytest.raises(SystemExit):
        main(["leaderboard", str(out), "--size", "small"])
    assert "score it again" in capsys.readouterr().err


def test_own_function_is_a_player(capsys: pytest.CaptureFixture[str]) -> None:
    main(["suites", "run", "groundling.suites.players:oracle", "--suite", "zs1", "--json"])
    assert json.loads(capsys.readouterr().out)["nav"]["mean"] == 1


def test_reference_results_are_of_these_suites() -> None:
    """The small results are the beginning of the full ones."""
    for name, size in itertools.product(NAMES, SIZES):
        suite = Suite.load(name, size)
        agents = [agent for agent, suites in PRETRAINED.items() if name in suites]
        for player in (*REFERENCE, *agents):
            result = Result.load(reference_file(suite, player))
            assert (result.suite, result.size, result.player, result.hash) == (name, size, player, suite.hash)
            assert player != "oracle" or set(result.outcomes) == {"1"}
            full = Result.load(reference_file(Suite.load(name, "full"), player))
            assert player == "most-frequent-answer" or full.outcomes.startswith(result.outcomes)


@pytest.mark.parametrize("agent", PRETRAINED)
def test_agents_score_as_in_their_evaluation(agent: str) -> None:
    """The intervals overlap with those of `groundling evaluate` in the model card, means over the sentence types."""
    card = json.loads((resources.files("groundling") / "weights" / f"{agent}.json").read_text("utf-8"))
    result = Result.load(reference_file(Suite.load(PRETRAINED[agent][0], "full"), agent))
    commands = [scores["success_rate"] for scores in card["greedy"]["commands"].values()]
    questions = [scores["qa_accuracy"] for scores in card["questions"].values()]
    assert len(commands) + len(questions) == len(result.types)
    for scored, evaluated in ((result.nav, commands), (result.qa, questions)):
        assert scored["low"] <= np.mean([rate["high"] for rate in evaluated])
        assert scored["high"] >= np.mean([rate["low"] for rate in evaluated])


def test_reference_command_scores_players_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(groundling.suites.score, "_REFERENCE", tmp_path)
    monkeypatch.setattr(groundling.cli.suites, "SIZES", ("small",))
    main(["suites", "reference", "random"])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{name}-small-random.json" for name in NAMES)
    with pytest.raises(SystemExit):
        main(["suites", "reference", "rndom"])
    assert "did you mean 'random'" in capsys.readouterr().err

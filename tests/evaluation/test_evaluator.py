"""Evaluation: whole episodes, honest intervals, and attention measured where sentences point."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from groundling.agent import Model, View, build
from groundling.evaluation.attention_targets import attention_targets
from groundling.evaluation.evaluator import Estimate, Evaluator, evaluate
from groundling.teacher.grammar import TYPES
from groundling.teacher.teacher import Lessons, Teacher
from groundling.world.shortest_path import best_actions
from groundling.world.types import State
from tests.learn.tiny import AGENT, FAST, LESSONS


class Walker(Model):
    """Goes left whatever it is told, and always answers the same word."""

    def perceive(self, view: View) -> View:
        return view

    def navigate(self, seen: View, commands: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits = torch.zeros(len(commands), 4)
        logits[:, 0] = 50.0
        return logits, torch.zeros(len(commands))

    def answer(self, seen: View, questions: torch.Tensor) -> torch.Tensor:
        scores = torch.zeros(len(questions), self.config.words)
        scores[:, 3] = 1.0
        return scores


def walker() -> Walker:
    model = Walker(AGENT)
    model.register_parameter("unused", torch.nn.Parameter(torch.zeros(1)))
    return model


def test_every_session_is_counted_to_its_end() -> None:
    """Against a loop that plays each episode alone, slow failures and all."""
    teacher = FAST.teacher("ppo")
    record = Evaluator(walker(), teacher, greedy=True).run(200, seed=5)
    success, reward, wrong, right, asked, asked_in = [], [], 0, 0, 0, [0] * 200
    for k in range(200):
        episode = teacher.begin(5, [k])
        total, over = 0.0, False
        while not over:
            asked += int(episode.question.answer[0] >= 0)
            asked_in[k] += int(episode.question.answer[0] >= 0)
            right += int(episode.question.answer[0] == 3)
            episode, outcome = teacher.step(episode, np.array([0]))
            total += float(outcome.reward[0])
            wrong += int(outcome.reward[0] < -1)
            over = bool(outcome.terminated[0] or outcome.truncated[0])
        success.append(float(outcome.terminated[0]))
        reward.append(total)
    assert record.success.tolist() == success
    np.testing.assert_allclose(record.reward, reward)
    assert record.wrong_object_steps.sum() == wrong > 0
    assert (len(record.right), record.right.sum()) == (asked, right)
    assert np.bincount(record.question_episode, minlength=200).tolist() == asked_in
    assert 0 < np.mean(success) < 1
    shortest = best_actions(teacher.begin(5, np.arange(200)).state)[1]
    assert (record.spl <= record.success).all()
    # Who goes straight left to the target has walked the shortest way.
    assert record.spl[(record.success == 1) & (shortest == 1)].tolist() == pytest.approx(
        [1.0] * int(((record.success == 1) & (shortest == 1)).sum())
    )


def test_intervals() -> None:
    """Wilson's, with values from its formula by hand; of numbers that are not proportions, the normal one."""
    all_right = Estimate.of(np.ones(100))
    assert all_right is not None
    assert (all_right.mean, round(all_right.low, 4), round(all_right.high, 4)) == (1.0, 0.9630, 1.0)
    half = Estimate.of(np.array([0.0, 1.0] * 50))
    assert half is not None
    assert (round(half.low, 4), round(half.high, 4)) == (0.4038, 0.5962)
    numbers = Estimate.of(np.array([1.0, 2.0, 3.0]))
    assert numbers is not None
    assert numbers.high - numbers.mean == pytest.approx(1.959964 / 3**0.5, rel=1e-5)
    assert Estimate.of(np.zeros(0)) is None


def test_values_of_one_session_count_as_what_they_tell() -> None:
    """Each value three times over, by the same episode, tells no more than once."""
    for values in (np.array([0.0, 1.0, 1.0, 1.0] * 20), np.ones(80), np.arange(80.0)):
        once, thrice = Estimate.of(values), Estimate.of(np.repeat(values, 3), np.repeat(np.arange(80), 3))
        assert once is not None
        assert thrice is not None
        assert thrice.n == 240
        np.testing.assert_allclose([thrice.mean, thrice.low, thrice.high], [once.mean, once.low, once.high])


def test_intervals_hold_their_promise() -> None:
    """Of many estimates of a known share, about 95 % hold it."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(2000):
        estimate = Estimate.of((rng.random(300) < 0.97).astype(float))
        assert estimate is not None
        held += estimate.low <= 0.97 <= estimate.high
    assert 0.93 < held / 2000 < 0.98


def test_report_has_every_type_from_sessions_of_its_own() -> None:
    torch.manual_seed(0)
    teacher = Teacher(LESSONS, FAST.split_for("normal"), "test", FAST.catalog())
    report = evaluate(build(AGENT), teacher, 60, 40)
    types = [type_ for type_ in TYPES if type_ in teacher.types]
    assert [*report["greedy"]["commands"], *report["questions"]] == types
    for type_ in report["greedy"]["commands"]:
        scores = report["sampled"]["commands"][type_]
        assert {name: part["n"] for name, part in scores.items()} == dict.fromkeys(scores, 40)
        assert 0 <= scores["command_attention"]["mean"] <= 1
    for scores in report["questions"].values():
        assert scores["accuracy"]["n"] == scores["question_attention"]["n"] == 40


def test_no_question_is_counted_for_who_answers_none() -> None:
    torch.manual_seed(0)
    report = evaluate(build(replace(AGENT, method="nava")), FAST.teacher("ppo"), 20, 5)
    assert "accuracy" not in report["greedy"]["as_triggered"]
    assert report["questions"] == {}


@pytest.mark.parametrize("type_", TYPES)
def test_referents(type_: str) -> None:
    """A command's referent is its target; a question's is a cell of which the teacher's own answer is true."""
    teacher = Teacher(Lessons(balanced=1.0, types=(type_,)))
    episode = teacher.begin(3, np.arange(200))
    is_command = type_.startswith("nav")
    cells = attention_targets(episode.state, episode.command if is_command else episode.question, teacher.catalog)
    assert (cells.sum(1) >= 1).all()
    if is_command:
        assert (cells.sum(1) == 1).all()
        assert np.array_equal(cells.argmax(1), in_view(episode.state, episode.state.target))
        return
    for b in range(200):
        words = {describe(teacher, episode.state, b, position, type_) for position in np.flatnonzero(cells[b]).tolist()}
        assert words == {teacher.lexicon.words[episode.question.answer[b]]}


def in_view(state: State, positions: np.ndarray) -> np.ndarray:
    rows, columns = (divmod(positions, 7)[k] - divmod(state.agent, 7)[k] + 6 for k in (0, 1))
    return np.asarray(rows * 13 + columns)


def describe(teacher: Teacher, state: State, b: int, seen: int, type_: str) -> str:
    """The object, color or location of a cell in view, in the word that would answer."""
    row, column = (int(state.agent[b]) // 7 + seen // 13 - 6, int(state.agent[b]) % 7 + seen % 13 - 6)
    if type_.endswith("2loc"):
        down = {-1: "north", 0: "", 1: "south"}[seen // 13 - 6]
        return down + {-1: "west", 0: "", 1: "east"}[seen % 13 - 6]
    description = teacher.catalog.describe(int(state.grid[b, 7 * row + column])).split()
    if description[-1] not in teacher.catalog.classes:
        return "nothing"
    return description[-1] if type_.endswith("2obj") else description[0]

"""The lowest and the highest level of an evaluation: chance, and an oracle.

Chance is a random walk, and always giving the most frequent answer; the oracle takes shortest paths and knows all
answers. Both play the same episodes as the agent.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundling import seeds
from groundling.episodes import Act, play_to_end
from groundling.evaluation.estimates import Estimate
from groundling.teacher.teacher import Teacher
from groundling.world.shortest_path import best_actions
from groundling.world.simulation import ACTIONS

Judge = Callable[[NDArray[np.int64]], NDArray[np.float64]]
"""Which of the true answers [Q] are given."""


def chance_level(teacher: Teacher, episodes: int, seed: int = seeds.EVALUATION) -> dict[str, Any]:
    """Success rate and reward of random actions, and the accuracy of the most frequent answer, as plain data."""
    rng = np.random.default_rng(seed)
    most_frequent = 0

    def judge(answers: NDArray[np.int64]) -> NDArray[np.float64]:
        nonlocal most_frequent
        most_frequent = int(np.bincount(answers, minlength=len(teacher.lexicon)).argmax())
        return np.asarray(answers == most_frequent, np.float64)

    found = _level(teacher, episodes, seed, lambda _, running: rng.integers(0, len(ACTIONS), len(running)), judge)
    return {**found, "answer": teacher.lexicon.words[most_frequent]}


def oracle_level(teacher: Teacher, episodes: int, seed: int = seeds.EVALUATION) -> dict[str, Any]:
    """Success rate and reward of shortest paths, and the accuracy of true answers, as plain data."""
    return _level(
        teacher,
        episodes,
        seed,
        lambda episode, _: best_actions(episode.state)[0],
        lambda answers: np.ones(len(answers)),
    )


def _level(teacher: Teacher, episodes: int, seed: int, act: Act, judge: Judge) -> dict[str, Any]:
    """The scores of a policy and of answers; success and reward also by command type."""
    first = teacher.begin(seed, np.arange(episodes))
    success, reward = np.zeros((2, episodes))
    answers, answered_in = [], []
    for running, step in play_to_end(teacher, first, act):
        answers.append(step.before.question.answer[step.asked])
        answered_in.append(running[step.asked])
        success[running] = step.terminated
        reward[running] += step.reward
    correct = judge(np.concatenate(answers).astype(np.int64))
    accuracy = Estimate.of_proportion(correct, np.concatenate(answered_in))
    names = teacher.language.type_names
    of = first.command.type
    return {
        **_scores(success, reward),
        **({} if accuracy is None else {"qa_accuracy": accuracy.to_dict()}),
        "commands": {names[type_]: _scores(success[of == type_], reward[of == type_]) for type_ in np.unique(of)},
    }


def _scores(success: NDArray[np.float64], reward: NDArray[np.float64]) -> dict[str, Any]:
    estimates = {"success_rate": Estimate.of_proportion(success), "reward": Estimate.of_mean(reward)}
    return {name: estimate.to_dict() for name, estimate in estimates.items() if estimate is not None}

"""Episodes as they are played: act, judge, ask. The one loop of environments, training, evaluation and figures."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundling.teacher.teacher import Teacher
from groundling.teacher.types import EpisodeBatch
from groundling.world.types import REWARD_UNIT, Bools

Act = Callable[[EpisodeBatch, NDArray[np.int64]], NDArray[np.integer]]
"""Chooses the moves in a batch of episodes; the second argument is their numbers in the first batch."""


class Step(NamedTuple):
    """One step of a batch of episodes."""

    before: EpisodeBatch
    after: EpisodeBatch
    """The same episodes after the step, also those that ended."""
    reward: NDArray[np.float64]
    terminated: Bools
    """The target was reached."""
    truncated: Bools
    """The step limit was reached first: the value of the next state is not zero."""
    asked: Bools
    """There was a question before the step."""
    correct: Bools
    """It was answered right."""

    @property
    def ended(self) -> Bools:
        return self.terminated | self.truncated


def play_step(
    teacher: Teacher,
    episode: EpisodeBatch,
    moves: NDArray[np.integer],
    answers: NDArray[np.integer] | None = None,
    ask: bool = True,
) -> Step:
    """Act, judge moves and answers (tokens), and ask the next question where the episode continues."""
    after, (reward, terminated, truncated) = teacher.step(episode, moves, ask)
    asked = episode.question.answer >= 0
    correct = np.zeros(len(moves), np.bool_) if answers is None else asked & (answers == episode.question.answer)
    bonus = teacher.world.rewards.right_answer
    if bonus and correct.any():
        reward = np.round((reward + bonus * correct) * REWARD_UNIT) / REWARD_UNIT
    return Step(episode, after, reward, terminated, truncated, asked, correct)


def play_to_end(teacher: Teacher, episode: EpisodeBatch, act: Act) -> Iterator[tuple[NDArray[np.int64], Step]]:
    """Play a batch until all its episodes are over; yields the numbers of those that still run, and their step."""
    running = np.arange(len(episode.index))
    while len(running):
        step = play_step(teacher, episode, act(episode, running))
        yield running, step
        running, episode = running[~step.ended], step.after.select(~step.ended)

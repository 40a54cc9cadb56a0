"""The worlds that a learner lives in: many episodes at once, the next beginning where one ends."""

from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from groundling.agent import View
from groundling.evaluation.leak_check import sentence_hashes
from groundling.teacher.teacher import EpisodeBatch, Teacher
from groundling.world.catalog import CELL_PIXELS
from groundling.world.rendering import view_cells
from groundling.world.simulation import Bools, Outcome

Arrays = dict[str, NDArray[Any]]


class Frames(NamedTuple):
    """Moments in episodes, as the agent lives them: [B, ...], or [T, B, ...] for those of T steps."""

    cells: Tensor
    """[B, side, side] int16: what is seen where"""
    commands: Tensor
    """[B, L] int64"""
    questions: Tensor
    """[B, L] int64; a row of padding is silence"""
    answers: Tensor
    """[B] int64: the true ones, -1 for silence"""
    types: Tensor
    """[B] int64: of the questions, -1 for silence; for counting only"""

    @classmethod
    def of(cls, episode: EpisodeBatch) -> Self:
        return cls(
            torch.from_numpy(view_cells(episode.state)),
            torch.from_numpy(episode.command.tokens).long(),
            torch.from_numpy(episode.question.tokens).long(),
            torch.from_numpy(episode.question.answer).long(),
            torch.from_numpy(episode.question.type).long(),
        )

    def select(self, rows: Any) -> "Frames":
        return Frames(*(part[rows] for part in self))

    def to(self, device: torch.device) -> "Frames":
        return Frames(*(part.to(device) for part in self))

    def view(self, pictures: Tensor) -> View:
        """What is seen, given the picture of every cell number."""
        return View.of_cells(self.cells, pictures)


class FinishedEpisodes(NamedTuple):
    """Episodes that have ended: what they were about and what came of them, one entry each."""

    type: NDArray[np.int64]
    success: Bools
    reward: NDArray[np.float64]
    """Sum of the rewards."""
    steps: NDArray[np.int64]


class RolloutEnv:
    """Episodes of a teacher, `count` at once, of indices that nobody else uses under this seed."""

    def __init__(self, teacher: Teacher, seed: int, count: int) -> None:
        self.teacher, self.count = teacher, count
        self.episode = teacher.begin(seed, np.arange(count))
        self.reward = np.zeros(count)
        """Sum of each episode's rewards so far."""
        self.heard: set[int] = set()
        """Hashes of all sentences that were said, to prove what was not."""
        self.answered = np.zeros(len(teacher.lexicon), np.int64)
        """How often each word was the true answer."""

    @property
    def pictures(self) -> Tensor:
        return torch.from_numpy(self.teacher.catalog.pictures[CELL_PIXELS])

    def observe(self) -> Frames:
        """The episodes as they stand; what is said now counts as heard."""
        episode = self.episode
        for sentences in (episode.command, episode.question):
            self.heard.update(sentence_hashes(sentences.tokens[sentences.type >= 0]).tolist())
        np.add.at(self.answered, episode.question.answer[episode.question.answer >= 0], 1)
        return Frames.of(episode)

    def step(self, actions: NDArray[np.int64], leave: Bools | None = None) -> tuple[Outcome, FinishedEpisodes, Frames]:
        """Act; episodes that end, or that `leave` says to leave, give way to new ones.

        Also returned: the episodes that ended, and what the actions led to in all, before any was renewed.
        """
        before = self.episode
        after, outcome = self.teacher.step(before, actions)
        self.reward += outcome.reward
        over = outcome.terminated | outcome.truncated
        ended = FinishedEpisodes(
            before.command.type[over].astype(np.int64),
            outcome.terminated[over],
            self.reward[over],
            after.state.step[over].astype(np.int64),
        )
        reset_prob = over if leave is None else over | leave
        self.reward[reset_prob] = 0
        self.episode = self.teacher.reset(after, reset_prob, after.index + self.count)
        return outcome, ended, Frames.of(after)

    def arrays(self) -> Arrays:
        """All that is needed to go on from here."""
        heard = np.fromiter(self.heard, np.int64, len(self.heard))
        heard.sort()
        own = {"reward": self.reward.copy(), "heard": heard, "answered": self.answered.copy()}
        return {**{f"episode.{name}": array for name, array in self.episode.arrays().items()}, **own}

    def restore(self, arrays: Arrays) -> None:
        prefix = "episode."
        of_session = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        self.episode = EpisodeBatch.of(of_session)
        self.reward, self.answered = arrays["reward"].copy(), arrays["answered"].copy()
        self.heard = set(arrays["heard"].tolist())

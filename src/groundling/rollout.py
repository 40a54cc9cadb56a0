"""Many episodes at once for a model: observations as tensors, actions sampled from logits, automatic resets."""

from typing import Any, NamedTuple, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from groundling.agent import View
from groundling.episodes import Step, play_step
from groundling.teacher.snapshot import check_array, restore_episodes
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import EpisodeBatch
from groundling.world.catalog import CELL_PIXELS
from groundling.world.rendering import view_cells
from groundling.world.types import Bools

Arrays = dict[str, NDArray[Any]]
EPISODE_PREFIX = "episode."


class Frames(NamedTuple):
    """A batch of observations with their questions' true answers: [B, ...], or [T, B, ...] for T steps."""

    cells: Tensor
    """[B, side, side] int16: ids of the cells in view"""
    commands: Tensor
    """[B, L] int64"""
    questions: Tensor
    """[B, L] int64; a row of padding is no question"""
    answers: Tensor
    """[B] int64: the true ones, -1 for no question"""
    types: Tensor
    """[B] int64: of the questions, -1 for no question; for metrics only"""

    @classmethod
    def of(cls, episode: EpisodeBatch) -> Self:
        """The current observations of a batch of episodes."""
        return cls(
            torch.from_numpy(view_cells(episode.state)),
            torch.from_numpy(episode.command.tokens).long(),
            torch.from_numpy(episode.question.tokens).long(),
            torch.from_numpy(episode.question.answer).long(),
            torch.from_numpy(episode.question.type).long(),
        )

    def select(self, rows: Any) -> "Frames":
        """Some rows of the batch."""
        return Frames(*(part[rows] for part in self))

    def to(self, device: torch.device) -> "Frames":
        return Frames(*(part.to(device) for part in self))

    def view(self, pictures: Tensor) -> View:
        """The view of a model, given the picture of every cell id."""
        return View.of_cells(self.cells, pictures)


class FinishedEpisodes(NamedTuple):
    """Episodes that ended in a step, one entry each."""

    type: NDArray[np.int64]
    """Sentence type of the command."""
    success: Bools
    reward: NDArray[np.float64]
    """Sum of the rewards."""
    steps: NDArray[np.int64]


class RolloutEnv:
    """A fixed number of parallel episodes; env i plays the episodes i, i + num_envs, i + 2 num_envs, ... of a seed."""

    def __init__(self, teacher: Teacher, seed: int, num_envs: int) -> None:
        teacher.check_episodes()
        self.teacher, self.num_envs = teacher, num_envs
        self.episode = teacher.begin(seed, np.arange(num_envs))
        self.reward = np.zeros(num_envs)
        """Sum of each episode's rewards so far."""

    @property
    def pictures(self) -> Tensor:
        """[cells, side, side, 3]: the picture of every cell id."""
        return torch.from_numpy(self.teacher.catalog.pictures[CELL_PIXELS])

    def step(self, actions: NDArray[np.int64], abandon: Bools | None = None) -> tuple[Step, FinishedEpisodes]:
        """Act; episodes that end, or that `abandon` marks, are replaced by new ones.

        Returns the step, before any episode was replaced, and the episodes that ended.
        """
        step = play_step(self.teacher, self.episode, actions)
        self.reward += step.reward
        finished = FinishedEpisodes(
            step.before.command.type[step.ended].astype(np.int64),
            step.terminated[step.ended],
            self.reward[step.ended],
            step.after.state.step[step.ended].astype(np.int64),
        )
        replaced = step.ended if abandon is None else step.ended | abandon
        self.reward[replaced] = 0
        self.episode = self.teacher.reset(step.after, replaced, step.after.index + self.num_envs)
        return step, finished

    def arrays(self) -> Arrays:
        """A snapshot from which `restore` continues."""
        episode = {f"{EPISODE_PREFIX}{name}": array for name, array in self.episode.arrays().items()}
        return {**episode, "reward": self.reward.copy()}

    def restore(self, arrays: Arrays) -> None:
        """Continue from a snapshot."""
        check_array(arrays, "reward", self.reward)
        own = {name.removeprefix(EPISODE_PREFIX): array for name, array in arrays.items()}
        self.episode = restore_episodes(self.teacher, own, self.num_envs)
        self.reward = arrays["reward"].copy()


def sample_actions(logits: Tensor, rng: np.random.Generator, random: float = 0.0) -> NDArray[np.int64]:
    """[B]: actions from pi, the softmax of [B, actions], and lambda = `random`: lambda / 4 + (1 - lambda) pi."""
    probability = F.softmax(logits.double(), dim=1).cpu().numpy()
    mixed = random / probability.shape[1] + (1 - random) * probability
    sampled = (mixed.cumsum(1) < rng.random((len(mixed), 1))).sum(1)
    return np.asarray(np.minimum(sampled, probability.shape[1] - 1))

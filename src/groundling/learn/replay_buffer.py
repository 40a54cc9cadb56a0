"""Replay with rank-based priorities (Schaul et al., 2016): the latest steps, the surprising ones drawn more often."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class Replay:
    """A ring of the latest steps, each a row of named tensors, and how surprising each was when last seen."""

    def __init__(self, size: int, priority: float) -> None:
        self.size = size
        self.rows: dict[str, Tensor] = {}
        self.error = np.zeros(size)
        """|TD error| of each step; a new one counts as the most surprising."""
        self.written = 0
        """Steps ever stored."""
        chance = np.arange(1, size + 1) ** -priority
        self.cumulative = chance.cumsum()

    def __len__(self) -> int:
        return min(self.written, self.size)

    def store(self, rows: dict[str, Tensor]) -> None:
        """Keep new steps [B, ...], in the place of the oldest."""
        count = len(next(iter(rows.values())))
        where = (self.written + np.arange(count)) % self.size
        for name, values in rows.items():
            if name not in self.rows:
                self.rows[name] = values.new_zeros(self.size, *values.shape[1:])
            self.rows[name][where] = values
        self.error[where] = np.inf
        self.written += count

    def draw(self, count: int, chance: np.random.Generator) -> NDArray[np.int64]:
        """Where `count` steps are: rank r (1 = the largest error) with a chance in proportion to r ** -priority.

        One rank is drawn from each of `count` stretches of equal chance, as the paper of the method does.
        """
        by_rank = np.argsort(-self.error[: len(self)], kind="stable")
        total = self.cumulative[len(self) - 1]
        points = (np.arange(count) + chance.random(count)) / count * total
        ranks = np.searchsorted(self.cumulative[: len(self)], points)
        return np.asarray(by_rank[np.minimum(ranks, len(self) - 1)])

    def get(self, where: NDArray[np.int64]) -> dict[str, Tensor]:
        return {name: values[where] for name, values in self.rows.items()}

    def tensors(self) -> dict[str, Tensor]:
        counters = {"error": torch.from_numpy(self.error.copy()), "written": torch.tensor(self.written)}
        return {**{f"rows.{name}": values for name, values in self.rows.items()}, **counters}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.error, self.written = tensors["error"].numpy().copy(), int(tensors["written"])
        self.rows = {name[5:]: values.clone() for name, values in tensors.items() if name.startswith("rows.")}

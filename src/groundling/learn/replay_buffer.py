"""A replay buffer with rank-based priorities (Schaul et al., 2016): large TD errors are sampled more often."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class ReplayBuffer:
    """A ring buffer of the latest steps, each a row of named tensors, with the TD error when it was last sampled."""

    def __init__(self, size: int, priority_exponent: float) -> None:
        self.size = size
        self.rows: dict[str, Tensor] = {}
        self.error = np.zeros(size)
        """|TD error| of each step; infinite for a new one, so that it is ranked first."""
        self.written = 0
        """Number of steps stored so far."""
        weight = np.arange(1, size + 1) ** -priority_exponent
        self.cumulative = weight.cumsum()

    def __len__(self) -> int:
        return min(self.written, self.size)

    def store(self, rows: dict[str, Tensor]) -> None:
        """Store steps [B, ...] in place of the oldest ones."""
        count = len(next(iter(rows.values())))
        where = (self.written + np.arange(count)) % self.size
        for name, values in rows.items():
            if name not in self.rows:
                self.rows[name] = values.new_zeros(self.size, *values.shape[1:])
            self.rows[name][where] = values
        self.error[where] = np.inf
        self.written += count

    def sample(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """The indices of `count` steps: rank r (1 = largest error) with probability proportional to r ** -exponent.

        Stratified: one rank is sampled from each of `count` segments of equal probability, as in Schaul et al. (2016).
        """
        by_rank = np.argsort(-self.error[: len(self)], kind="stable")
        total = self.cumulative[len(self) - 1]
        points = (np.arange(count) + rng.random(count)) / count * total
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

"""Means with 95 % confidence intervals."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_Z = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class Estimate:
    """A mean over n episodes or questions, with its 95 % confidence interval (nan if n is too small for one)."""

    mean: float
    low: float
    high: float
    n: int

    @classmethod
    def of_proportion(
        cls, values: Floats, episodes: NDArray[np.int64] | None = None, confidence: float = 0.95
    ) -> "Estimate | None":
        """The estimate of [n] zeros and ones by Wilson's interval; None if there is no value.

        `episodes` [n] is the episode of each value. Values of one episode are not independent (an oscillating agent
        gets the same question repeatedly), so the effective sample size is smaller than n.
        """
        n = len(values)
        if n == 0:
            return None
        mean = float(values.mean())
        variance, clusters = _cluster_variance(values, episodes)
        independent = mean * (1 - mean) / n  # the variance of the mean if all values were independent
        count = min(n, n * independent / variance) if variance else clusters
        z = NormalDist().inv_cdf(0.5 + confidence / 2)
        center = (mean + z**2 / (2 * count)) / (1 + z**2 / count)
        half = z / (1 + z**2 / count) * (mean * (1 - mean) / count + z**2 / (4 * count**2)) ** 0.5
        return cls(mean, max(0.0, center - half), min(1.0, center + half), n)

    @classmethod
    def of_mean(
        cls, values: Floats, episodes: NDArray[np.int64] | None = None, low: float = -np.inf, high: float = np.inf
    ) -> "Estimate | None":
        """The estimate of the mean of [n] values in `low` .. `high` by the normal interval; None without values."""
        n = len(values)
        if n == 0:
            return None
        mean = float(values.mean())
        variance, clusters = _cluster_variance(values, episodes)
        if clusters < 2:
            return cls(mean, float("nan"), float("nan"), n)
        half = _Z * (variance * clusters / (clusters - 1)) ** 0.5
        return cls(mean, max(low, mean - half), min(high, mean + half), n)

    def to_dict(self) -> dict[str, float | None]:
        """The estimate as plain data; an undefined bound is None, which JSON can express."""
        low, high = (None if np.isnan(bound) else bound for bound in (self.low, self.high))
        return {"mean": self.mean, "low": low, "high": high, "n": self.n}


def _cluster_variance(values: Floats, episodes: NDArray[np.int64] | None) -> tuple[float, int]:
    """The variance of the mean of values that are clustered by episode, and the number of clusters."""
    cluster = np.arange(len(values)) if episodes is None else np.unique(episodes, return_inverse=True)[1]
    deviations = np.bincount(cluster, values - values.mean()).astype(np.float64)
    return float((deviations**2).sum()) / len(values) ** 2, len(deviations)

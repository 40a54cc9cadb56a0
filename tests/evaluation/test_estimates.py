"""Confidence intervals: values computed by hand, coverage, clusters, and very small samples."""

import math

import numpy as np
import pytest

from groundling.evaluation.estimates import Estimate, Floats


def proportion(values: Floats, episodes: np.ndarray | None = None) -> Estimate:
    estimate = Estimate.of_proportion(values, episodes)
    assert estimate is not None
    return estimate


def mean(values: Floats, episodes: np.ndarray | None = None, low: float = -np.inf, high: float = np.inf) -> Estimate:
    estimate = Estimate.of_mean(values, episodes, low, high)
    assert estimate is not None
    return estimate


def test_intervals_computed_by_hand() -> None:
    """Wilson's interval for proportions, and the normal interval for means."""
    all_right = proportion(np.ones(100))
    assert (all_right.mean, round(all_right.low, 4), round(all_right.high, 4)) == (1.0, 0.9630, 1.0)
    half = proportion(np.array([0.0, 1.0] * 50))
    assert (round(half.low, 4), round(half.high, 4)) == (0.4038, 0.5962)
    numbers = mean(np.array([1.0, 2.0, 3.0]))
    assert numbers.high - numbers.mean == pytest.approx(1.959964 / 3**0.5, rel=1e-5)
    assert numbers.mean - numbers.low == pytest.approx(1.959964 / 3**0.5, rel=1e-5)


def test_no_values_give_no_estimate() -> None:
    assert Estimate.of_proportion(np.zeros(0)) is None
    assert Estimate.of_mean(np.zeros(0)) is None
    assert Estimate.of_mean(np.zeros(0), low=0, high=1) is None


def test_repeated_values_of_an_episode_do_not_narrow_the_interval() -> None:
    """If an episode gives each value three times, the interval is that of single values."""
    for values in (np.array([0.0, 1.0, 1.0, 1.0] * 20), np.ones(80)):
        once, thrice = proportion(values), proportion(np.repeat(values, 3), np.repeat(np.arange(80), 3))
        assert thrice.n == 240
        np.testing.assert_allclose([thrice.mean, thrice.low, thrice.high], [once.mean, once.low, once.high])
    values = np.arange(80.0)
    once, thrice = mean(values), mean(np.repeat(values, 3), np.repeat(np.arange(80), 3))
    assert thrice.n == 240
    np.testing.assert_allclose([thrice.mean, thrice.low, thrice.high], [once.mean, once.low, once.high])


def test_intervals_of_proportions_have_95_percent_coverage() -> None:
    """About 95 % of the intervals contain the true probability."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(2000):
        estimate = proportion((rng.random(300) < 0.97).astype(float))
        covered += estimate.low <= 0.97 <= estimate.high
    assert 0.93 < covered / 2000 < 0.98


def test_intervals_of_means_have_95_percent_coverage() -> None:
    rng = np.random.default_rng(0)
    estimates = [mean(rng.normal(2.0, 3.0, 200)) for _ in range(2000)]
    assert 0.93 < np.mean([estimate.low <= 2.0 <= estimate.high for estimate in estimates]) < 0.97


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_proportion_of_equal_values(value: float, n: int, clustered: bool) -> None:
    """The interval stays in [0, 1], contains the mean, and has a positive width."""
    estimate = proportion(np.full(n, value), np.zeros(n, np.int64) if clustered else None)
    assert (estimate.mean, estimate.n) == (value, n)
    assert 0 <= estimate.low <= estimate.high <= 1
    # Wilson's bound of k equal values is z^2 / (k + z^2) away from them; one cluster counts as one value.
    k = 1 if clustered else n
    assert estimate.high - estimate.low == pytest.approx(1.959964**2 / (k + 1.959964**2), rel=1e-5)
    assert min(abs(estimate.low - value), abs(estimate.high - value)) == pytest.approx(0, abs=1e-12)


def test_proportion_stays_in_the_unit_interval() -> None:
    rng = np.random.default_rng(1)
    for _ in range(500):
        n = int(rng.integers(1, 20))
        values = (rng.random(n) < rng.random()).astype(float)
        estimate = proportion(values, rng.integers(0, n, n))
        assert 0 <= estimate.low <= estimate.mean + 1e-12
        assert estimate.mean - 1e-12 <= estimate.high <= 1


def test_mean_of_one_value_or_one_episode_has_no_interval() -> None:
    for estimate in (mean(np.array([0.25])), mean(np.array([0.0, 0.5]), np.array([7, 7]), low=0, high=1)):
        assert estimate.mean == 0.25
        assert math.isnan(estimate.low)
        assert math.isnan(estimate.high)


def test_mean_of_two_values_or_two_episodes_has_an_interval() -> None:
    """The deviation of 1 and 2 is 1 / sqrt 2, that of their mean 1 / 2."""
    for estimate in (mean(np.array([1.0, 2.0])), mean(np.array([1.0, 1.0, 2.0, 2.0]), np.array([4, 4, 9, 9]))):
        assert estimate.mean == 1.5
        assert (estimate.low, estimate.high) == pytest.approx((1.5 - 1.959964 / 2, 1.5 + 1.959964 / 2), rel=1e-5)


def test_mean_stays_within_its_bounds() -> None:
    values = np.array([0.0, 1.0, 1.0, 1.0])
    free, bounded = mean(values), mean(values, low=0, high=1)
    assert free.high > 1
    assert (bounded.mean, bounded.low, bounded.high) == (free.mean, free.low, 1)
    few = np.array([0.0, 0.0, 0.0, 3.0])
    assert mean(few).low < 0
    assert (mean(few, low=0).low, mean(few, low=0).high) == (0, mean(few).high)


def test_mean_of_zeros_is_exactly_zero() -> None:
    """For example, `wrong_object_steps` of an agent that steps on no wrong object."""
    estimate = mean(np.zeros(50), low=0)
    assert (estimate.mean, estimate.low, estimate.high, estimate.n) == (0, 0, 0, 50)


def test_estimate_as_plain_data() -> None:
    assert Estimate(0.5, 0.25, 0.75, 8).to_dict() == {"mean": 0.5, "low": 0.25, "high": 0.75, "n": 8}

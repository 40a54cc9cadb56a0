"""The counter-based random numbers: uniform, independent, and a pure function of key and counter."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from groundling.world.rng import below, derive, mix

DRAWS = 20_000


def draws(key: int, n: int, count: int = DRAWS) -> np.ndarray:
    return np.array([below(np.uint64(key), i, n) for i in range(count)])


def chi_square(counts: np.ndarray) -> float:
    """The statistic, standardized: about normal with mean 0 and deviation 1 for a uniform distribution."""
    expected = counts.sum() / counts.size
    freedom = counts.size - 1
    return float((((counts - expected) ** 2 / expected).sum() - freedom) / np.sqrt(2 * freedom))


@pytest.mark.parametrize("n", [2, 3, 10, 97])
def test_draws_are_uniform(n: int) -> None:
    for key in (0, 1, 2**63):
        values = draws(key, n)
        assert values.min() == 0
        assert values.max() == n - 1
        assert abs(chi_square(np.bincount(values, minlength=n))) < 5


def test_consecutive_draws_are_independent() -> None:
    values = draws(7, 10)
    pairs = np.bincount(values[:-1] * 10 + values[1:], minlength=100)
    assert abs(chi_square(pairs)) < 5


@pytest.mark.parametrize("number", [1, 2, 1000])
def test_derived_streams_are_independent(number: int) -> None:
    """Of the key itself, and of neighboring numbers under the same key."""
    key = np.uint64(12345)
    streams = [key, derive(key, number), derive(key, number + 1)]
    for a in range(3):
        for b in range(a):
            pairs = draws(int(streams[a]), 8) * 8 + draws(int(streams[b]), 8)
            assert abs(chi_square(np.bincount(pairs, minlength=64))) < 5


def test_derived_keys_do_not_collide() -> None:
    keys = {int(derive(np.uint64(seed), number)) for seed in range(100) for number in range(1000)}
    assert len(keys) == 100_000


def test_mix_is_a_bijection_with_avalanche() -> None:
    """Distinct inputs have distinct outputs, and one flipped input bit flips about half of the output bits."""
    inputs = np.random.default_rng(0).integers(0, 2**63, 2000, dtype=np.uint64)
    outputs = [int(mix(x)) for x in inputs]
    assert len(set(outputs)) == len(set(inputs.tolist()))
    changed = [int(mix(x ^ np.uint64(1 << (k % 64)))) for k, x in enumerate(inputs)]
    flipped = [(a ^ b).bit_count() for a, b in zip(outputs, changed, strict=True)]
    assert 30 < np.mean(flipped) < 34


def test_draw_is_a_pure_function() -> None:
    assert draws(5, 100, 50).tolist() == draws(5, 100, 50).tolist()
    assert draws(5, 100, 50).tolist() != draws(6, 100, 50).tolist()


def split_mix_64(seed: int) -> Iterator[int]:
    """The published generator, in sequence."""
    limit = (1 << 64) - 1
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & limit
        x = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & limit
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & limit
        yield x ^ (x >> 31)


def test_numbers_are_those_of_split_mix_64() -> None:
    """Draw i is made of output i of the generator, and key i of output i of one that the first output seeds."""
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [*itertools.islice(split_mix_64(1234567), 3)] == published
    for seed in (0, 1, 1234567, 2**63):
        key = np.uint64(seed)
        outputs = [*itertools.islice(split_mix_64(seed), 20)]
        assert [below(key, i, 1000) for i in range(20)] == [((x >> 32) * 1000) >> 32 for x in outputs]
        assert [int(derive(key, i)) for i in range(20)] == [*itertools.islice(split_mix_64(outputs[0]), 20)]

"""Counter-based random numbers: draw `i` under `key` is a pure function of both.

SplitMix64 evaluated at arbitrary counters instead of in sequence. There is no generator state, so episodes can be
generated in any order, on any number of workers, rendered or not, with the same result.
"""

import numpy as np

from groundling.jit import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@kernel
def mix(x: np.uint64) -> np.uint64:
    """SplitMix64's finalizer: a bijection of the 64-bit integers with well-mixed output."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


@kernel
def derive(key: np.uint64, number: int) -> np.uint64:
    """Derive a sub-key: seed -> episode -> attempt or step."""
    return mix(mix(key + _GOLDEN) + np.uint64(number + 1) * _GOLDEN)


@kernel
def below(key: np.uint64, i: int, n: int) -> int:
    """Random draw number `i` under `key`, uniform over 0 .. n-1."""
    bits = mix(key + np.uint64(i + 1) * _GOLDEN) >> np.uint64(32)
    return int(np.int64((bits * np.uint64(n)) >> np.uint64(32)))  # signed, because Numba makes floats of mixed sums

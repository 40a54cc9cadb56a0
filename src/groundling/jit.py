"""The one decorator that compiles the package's loops with Numba."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function on its first call and cache the machine code on disk for later processes."""
    compiled: Callable[P, R] = numba.njit(cache=True, error_model="numpy", forceinline=True)(function)
    return compiled

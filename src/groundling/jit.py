"""How the package compiles its loops: one decorator, so that every kernel is built alike."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile with Numba on first use and keep the machine code on disk for the next process."""
    compiled: Callable[P, R] = numba.njit(cache=True, error_model="numpy", forceinline=True)(function)
    return compiled

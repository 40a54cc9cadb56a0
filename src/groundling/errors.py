"""Errors that a user can fix, and the checks that raise them."""

import difflib
from collections.abc import Iterable
from typing import Any

import numpy as np


class InputError(ValueError):
    """Bad input. The message names the input, the condition it violates and what to do."""


class TrainingError(RuntimeError):
    """Training cannot continue. The message says why; everything saved before is intact."""


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint such as ``, did you mean 'apple'?``, or the empty string if no known word is close."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f", did you mean {close[0]!r}?" if close else ""


def check_int(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return `value` as an int if it is one from `low` to `high`; otherwise raise."""
    bounds = f"an integer of at least {low}" if high is None else f"an integer from {low} to {high}"
    is_int = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_int or value < low or (high is not None and value > high):
        raise InputError(f"{name} must be {bounds}, got {value!r}")
    return int(value)


def check_float(name: str, value: Any, low: float, high: float = float("inf"), above: bool = False) -> float:
    """Return `value` as a float if it is a number from `low` (exclusive if `above`) to `high`; otherwise raise."""
    lower = f"above {low:g}" if above else f"at least {low:g}"
    bounds = f"a number {lower}" if high == float("inf") else f"a number {lower} and at most {high:g}"
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not is_number or not (low < value <= high if above else low <= value <= high):
        raise InputError(f"{name} must be {bounds}, got {value!r}")
    return float(value)


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`; otherwise raise."""
    known = list(choices)
    if not isinstance(value, str) or value not in known:
        hint = nearest(value, known) if isinstance(value, str) else ""
        raise InputError(f"{name} must be one of {', '.join(known)}, got {value!r}{hint}")
    return value

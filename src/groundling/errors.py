"""Errors that a user can fix, and the checks that raise them."""

import difflib
import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

MAX_QUOTE = 80
"""Length at which values are cut in error messages."""


class InputError(ValueError):
    """Bad input. The message names the input, the condition it violates and what to do."""

    def __init__(self, message: str) -> None:
        # A file name can hold bytes that are no text, which could not be printed.
        super().__init__(message.encode(errors="backslashreplace").decode())


class TrainingError(RuntimeError):
    """Training cannot continue. The message says why; everything saved before is intact."""


class Cancelled(Exception):  # noqa: N818 (named like asyncio.CancelledError, which is no error either)
    """Nobody waits for the result any more."""


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint such as ``, did you mean 'apple'?``, or the empty string if no known word is close."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f", did you mean {close[0]!r}?" if close else ""


def quote(value: Any, length: int = MAX_QUOTE) -> str:
    """A value as JSON for an error message, cut after `length` characters."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return show(value) if isinstance(value, str | int | float) else type(value).__name__
    return cut(text, length)


def show(value: Any) -> str:
    """A value as Python code for an error message, cut after 80 characters."""
    try:
        return cut(repr(value))
    except ValueError:  # an integer of thousands of digits
        return f"a value of type {type(value).__name__}"


def cut(text: str, length: int = MAX_QUOTE) -> str:
    """A text for an error message, cut after `length` characters."""
    return text if len(text) <= length else text[: length - 3] + "..."


def is_finite(value: Any) -> bool:
    """Whether a value is a number that a float can hold: no infinity, no NaN and no integer beyond 1e308."""
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def check_int(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return `value` as an int if it is one from `low` to `high`; otherwise raise."""
    bounds = f"an integer of at least {low}" if high is None else f"an integer from {low} to {high}"
    is_int = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_int or value < low or (high is not None and value > high):
        raise InputError(f"{name} must be {bounds}, got {show(value)}")
    return int(value)


def check_float(name: str, value: Any, low: float, high: float = float("inf"), above: bool = False) -> float:
    """Return `value` as a float if it is a number from `low` (exclusive if `above`) to `high`; otherwise raise."""
    bounds = "a finite number"
    if low > float("-inf"):
        bounds += f" above {low:g}" if above else f" of at least {low:g}"
    if high < float("inf"):
        bounds += f" and at most {high:g}"
    if not is_finite(value) or not (low < value <= high if above else low <= value <= high):
        raise InputError(f"{name} must be {bounds}, got {show(value)}")
    return float(value)


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`; otherwise raise."""
    known = list(choices)
    if not isinstance(value, str) or value not in known:
        hint = nearest(value[:40], known) if isinstance(value, str) else ""
        raise InputError(f"{name} must be one of {', '.join(known)}, got {show(value)}{hint}")
    return value

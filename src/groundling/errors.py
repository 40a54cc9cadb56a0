"""The errors that are the user's to mend."""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Bad input: the message names the input and says what would be right."""


class TrainingError(RuntimeError):
    """Training cannot go on: the message says why, and what was saved is whole."""


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint such as ``, did you mean 'apple'?`` or nothing where no known word is close."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f", did you mean {close[0]!r}?" if close else ""

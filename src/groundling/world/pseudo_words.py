"""Pronounceable words that no language has."""

from collections.abc import Iterable, Iterator

import numpy as np

_ONSETS = (*"bdfgklmnprstvwz", "bl", "dr", "fl", "gr", "kr", "pl")
_VOWELS = tuple("aeiou")
_CODAS = ("", "", *"klmnprstx")
MAX_TRIES = 50
"""Words in a row that are taken, before longer ones are tried."""


def pseudo_words(rng: np.random.Generator, taken: Iterable[str], syllables: int = 2) -> Iterator[str]:
    """Pronounceable words such as `grafek`, each once and none of `taken`; they get longer when few are left."""
    used = set(taken)
    tries = 0
    while True:
        word = _pseudo_word(rng, syllables)
        tries += 1
        if word not in used:
            used.add(word)
            tries = 0
            yield word
        elif tries > MAX_TRIES:
            syllables, tries = syllables + 1, 0


def _pseudo_word(rng: np.random.Generator, syllables: int) -> str:
    """Pronounceable syllables; the last one may end in a consonant."""

    def pick(parts: tuple[str, ...]) -> str:
        return parts[rng.integers(len(parts))]

    return "".join(pick(_ONSETS) + pick(_VOWELS) for _ in range(syllables)) + pick(_CODAS)

"""Invented words: a language with the same grammar whose words a model cannot know from elsewhere."""

from functools import lru_cache

import numpy as np

from groundling.errors import check_choice, check_int
from groundling.teacher.language import Language
from groundling.teacher.language_file import DIRECTION, RELATION

LEXICONS = ("plain", "invented", "all-invented")
"""The words of the language; invented words for its content words; invented words for all its words."""
_ONSETS = (*"bdfgklmnprstvwz", "bl", "dr", "fl", "gr", "kr", "pl")
_VOWELS = tuple("aeiou")
_CODAS = ("", "", *"klmnprstx")


def content_words(language: Language) -> tuple[str, ...]:
    """The words that name attributes of objects (their class and color among them), directions and relations."""
    classes = (*(attribute.name for attribute in language.attributes), DIRECTION, RELATION)
    words = [word for name in classes for word in language.word_classes.get(name, ())]
    return tuple(dict.fromkeys(words))


def with_lexicon(language: Language, lexicon: str, seed: int) -> Language:
    """The language with its own words (`plain`) or with a seeded bijection of them to invented words."""
    check_choice("lexicon", lexicon, LEXICONS)
    check_int("lexicon_seed", seed, 0)
    return language if lexicon == "plain" else _invented(language, lexicon, seed)


@lru_cache(maxsize=8)
def _invented(language: Language, lexicon: str, seed: int) -> Language:
    rng = np.random.Generator(np.random.Philox(seed))
    every = (word for word in language.words if word.isalpha())
    old = content_words(language) if lexicon == "invented" else tuple(every)
    new: dict[str, None] = {}
    while len(new) < len(old):
        word = _pseudo_word(rng)
        if word not in language.words:
            new[word] = None
    return language.translated(dict(zip(old, new, strict=True)))


def _pseudo_word(rng: np.random.Generator) -> str:
    """Two pronounceable syllables, such as `grafek`."""

    def pick(parts: tuple[str, ...]) -> str:
        return parts[rng.integers(len(parts))]

    return pick(_ONSETS) + pick(_VOWELS) + pick(_ONSETS) + pick(_VOWELS) + pick(_CODAS)

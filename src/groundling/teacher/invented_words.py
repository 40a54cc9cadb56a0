"""Invented words: a language with the same grammar whose words a model cannot know from elsewhere."""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from groundling.errors import check_choice, check_int
from groundling.teacher.language import Language
from groundling.teacher.language_file import DIRECTION, OBJECT, RELATION
from groundling.world.pseudo_words import pseudo_words

LEXICONS = ("plain", "invented", "all-invented")
"""The words of the language; invented words for its content words; invented words for all its words."""


def content_words(language: Language) -> tuple[str, ...]:
    """The words that name attributes of objects (their class and color among them), directions and relations."""
    classes = (*(attribute.name for attribute in language.attributes), DIRECTION, RELATION)
    words = [word for name in classes for word in language.word_classes.get(name, ())]
    return tuple(dict.fromkeys(words))


def with_lexicon(language: Language, lexicon: str, seed: int, classes: Iterable[str] = ()) -> Language:
    """The language with its own words (`plain`) or with a seeded bijection of them to invented words.

    `classes` are those of the icons: one that the language has no word for gets an invented word, too.
    """
    check_choice("lexicon", lexicon, LEXICONS)
    check_int("lexicon_seed", seed, 0)
    if lexicon == "plain":
        return language
    return _invented(language, lexicon, seed, tuple(sorted(set(classes).difference(language.concepts[OBJECT]))))


@lru_cache(maxsize=8)
def _invented(language: Language, lexicon: str, seed: int, new_classes: tuple[str, ...]) -> Language:
    every = (word for word in language.words if word.isalpha())
    old = content_words(language) if lexicon == "invented" else tuple(every)
    words = pseudo_words(np.random.Generator(np.random.Philox(seed)), {*language.words, *new_classes})
    translations = {word: next(words) for word in old}
    return language.translated(translations, {name: next(words) for name in new_classes})

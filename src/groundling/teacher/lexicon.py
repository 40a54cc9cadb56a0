"""The teacher's words (the paper's lexicon). Word `k` is token `k`, and answer `k`."""

import tomllib
from collections.abc import Iterable
from functools import cached_property
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from groundling.errors import InputError, nearest
from groundling.world.catalog import COLOR_NAMES

_DATA = tomllib.loads(resources.files("groundling.teacher").joinpath("lexicon.toml").read_text("utf-8"))
OBJECTS: tuple[str, ...] = tuple(_DATA["objects"].split())
RELATIONS: tuple[str, ...] = tuple(_DATA["relations"].split())
DIRECTIONS = tuple(word for word in RELATIONS if word != "between")
COLORS = COLOR_NAMES
GRAMMATICAL: tuple[str, ...] = tuple(_DATA["grammatical"].split())
PREPOSITIONS: tuple[str, ...] = tuple(_DATA["prepositions"].split())
NOTHING = "nothing"
PAPER_WORDS = tuple(dict.fromkeys((*OBJECTS, *RELATIONS, *COLORS, *GRAMMATICAL)))
"""The paper's 185 words; `orange` is both an object and a color."""


def split_words(text: str) -> list[str]:
    """The words of a sentence, in lower case; `.` and `?` are words."""
    return text.lower().replace(".", " . ").replace("?", " ? ").split()


def check_new_word(word: str) -> None:
    """Raise unless `word` can name a new object class."""
    if word in PAPER_WORDS or not word.isalpha() or not word.islower():
        raise InputError(
            f"object class {word!r} must be a new word of lower-case letters; the paper's 185 words are taken"
        )


class Lexicon:
    """The words and their tokens. Words for a user's own object classes follow the paper's 185."""

    def __init__(self, new_objects: Iterable[str] = ()) -> None:
        new = tuple(new_objects)
        for word in new:
            check_new_word(word)
        self.objects = OBJECTS + new
        self.words = (*PAPER_WORDS, *new)
        self.token = {word: k for k, word in enumerate(self.words)}
        self.pad = len(self.words)
        """Token that pads sentences and means "no answer": one past the last word."""

    @classmethod
    def of_words(cls, words: Iterable[str]) -> "Lexicon":
        """The lexicon with exactly these words, as a checkpoint stores them."""
        words = tuple(words)
        lexicon = cls(words[len(PAPER_WORDS) :])
        if lexicon.words != words:
            raise InputError("lexicon must start with the paper's 185 words in their order, got other words")
        return lexicon

    def __len__(self) -> int:
        return len(self.words)

    def tokens_of(self, words: Iterable[str]) -> NDArray[np.int16]:
        """The tokens of some words."""
        return np.array([self.token[word] for word in words], np.int16)

    @cached_property
    def answers(self) -> tuple[str, ...]:
        """The words that can answer a question: content words and `nothing`, without `between`."""
        return tuple(dict.fromkeys((*self.objects, *DIRECTIONS, *COLORS, NOTHING)))

    def encode(self, text: str) -> list[int]:
        """The tokens of a sentence; case and the space before `.` and `?` do not matter."""
        words = split_words(text)
        for word in words:
            if word not in self.token:
                raise InputError(f"unknown word {word!r}{nearest(word, self.words)}")
        return [self.token[word] for word in words]

    def decode(self, tokens: Iterable[int]) -> str:
        """The sentence of some tokens, capitalized and punctuated; padding is ignored."""
        words = [self.words[k] for k in tokens if k != self.pad]
        if not words:
            return ""
        end = words.pop() if words[-1] in ".?" else ""
        return " ".join(words).capitalize() + end

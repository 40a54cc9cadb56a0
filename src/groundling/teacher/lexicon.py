"""The words of a language over the objects of a world. Word `k` is token `k`, and answer `k`."""

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from groundling.errors import InputError, nearest
from groundling.teacher.language import Language
from groundling.teacher.language_file import COLOR, DIRECTION, OBJECT, RELATION

MAX_WORDS = (1 << 15) - 2
"""Tokens, and the padding that follows them, are 16-bit integers."""


def split_words(text: str) -> list[str]:
    """The words of a sentence, in lower case; `.` and `?` are words."""
    return text.lower().replace(".", " . ").replace("?", " ? ").split()


def check_new_word(word: str, language: Language) -> None:
    """Raise unless `word` can name a new object class."""
    if word in language.words or not word.isalpha() or not word.islower():
        raise InputError(
            f"object class {word!r} must be a new word of lower-case letters; the {len(language.words)} words of the "
            "language are taken, unless its [words] name the class"
        )


class Lexicon:
    """The words and their tokens. Words for a user's own object classes follow those of the language."""

    def __init__(self, language: Language | None = None, new_objects: Iterable[str] = ()) -> None:
        self.language = language or Language.paper()
        new = tuple(new_objects)
        for word in new:
            check_new_word(word, self.language)
        self.objects = self.language.word_classes[OBJECT] + new
        self.words = (*self.language.words, *new)
        if len(self.words) > MAX_WORDS:
            raise InputError(f"words must be at most {MAX_WORDS}, got {len(self.words)}; use fewer classes")
        self.token = {word: k for k, word in enumerate(self.words)}
        self.pad = len(self.words)
        """Token that pads sentences and means "no answer": one past the last word."""

    @classmethod
    def of_classes(cls, language: Language, classes: Iterable[str]) -> "Lexicon":
        """The lexicon for icons of these classes; a class that the language has no word for is its own word."""
        known = set(language.concepts[OBJECT])
        return cls(language, (language.new_objects.get(name, name) for name in classes if name not in known))

    @classmethod
    def of_words(cls, words: Iterable[str], language: Language | None = None) -> "Lexicon":
        """The lexicon with exactly these words, as a checkpoint stores them."""
        words = tuple(words)
        count = len((language or Language.paper()).words)
        lexicon = cls(language, words[count:])
        if lexicon.words != words:
            raise InputError(
                f"lexicon must start with the {count} words of the language in their order, got other words"
            )
        return lexicon

    def __len__(self) -> int:
        return len(self.words)

    def class_words(self, classes: Iterable[str]) -> tuple[str, ...]:
        """The words for icons of these classes."""
        words = dict(zip(self.language.concepts[OBJECT], self.language.word_classes[OBJECT], strict=True))
        words.update(self.language.new_objects)
        return tuple(words.get(name, name) for name in classes)

    def tokens_of(self, words: Iterable[str]) -> NDArray[np.int16]:
        """The tokens of some words."""
        return np.array([self.token[word] for word in words], np.int16)

    @cached_property
    def content_words(self) -> tuple[str, ...]:
        """The words that name something in the world: objects, attributes, directions and relations."""
        attributes = (attribute.name for attribute in self.language.attributes)
        classes = (DIRECTION, RELATION, *(name for name in attributes if name != OBJECT))
        words = [word for name in classes for word in self.language.word_classes.get(name, ())]
        return tuple(dict.fromkeys((*self.objects, *words)))

    @cached_property
    def answers(self) -> tuple[str, ...]:
        """The words that can answer a question: objects, directions, attributes and `nothing`."""
        classes = self.language.word_classes
        others = [attribute.name for attribute in self.language.attributes if attribute.name not in (OBJECT, COLOR)]
        words = [word for name in (DIRECTION, COLOR, *others) for word in classes.get(name, ())]
        return tuple(dict.fromkeys((*self.objects, *words, self.language.nothing)))

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

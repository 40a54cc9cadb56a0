"""The teacher's words (the paper's table of the lexicon), numbered once: word `k` is token `k` and answer `k`."""

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


def split(text: str) -> list[str]:
    """The words of a written sentence, in lower case, with `.` and `?` apart."""
    return text.lower().replace(".", " . ").replace("?", " ? ").split()


class Lexicon:
    """The words and their numbers. Words of a user's own object classes are numbered after the paper's 185."""

    def __init__(self, new_objects: Iterable[str] = ()) -> None:
        new = tuple(new_objects)
        self.objects = OBJECTS + new
        base = dict.fromkeys((*OBJECTS, *RELATIONS, *COLORS, *GRAMMATICAL))  # `orange` is an object and a color
        for word in new:
            if word in base or not word.isalpha() or not word.islower():
                raise InputError(f"object class {word!r}: a new class needs a new word of lower-case letters")
        self.words = (*base, *new)
        self.number = {word: k for k, word in enumerate(self.words)}
        self.pad = len(self.words)
        """Fills the rest of a token array, one past the last word."""

    def __len__(self) -> int:
        return len(self.words)

    def numbers(self, words: Iterable[str]) -> NDArray[np.int16]:
        return np.array([self.number[word] for word in words], np.int16)

    @cached_property
    def answers(self) -> tuple[str, ...]:
        """The words that can answer a question: content words and `nothing`, but not `between`."""
        return tuple(dict.fromkeys((*self.objects, *DIRECTIONS, *COLORS, NOTHING)))

    def tokens(self, text: str) -> list[int]:
        """The numbers of a written sentence's words; case and the space before `.` and `?` do not matter."""
        words = split(text)
        for word in words:
            if word not in self.number:
                raise InputError(f"unknown word {word!r}{nearest(word, self.words)}")
        return [self.number[word] for word in words]

    def text(self, tokens: Iterable[int]) -> str:
        """A sentence as people write it, from its tokens (padding is passed over)."""
        words = [self.words[k] for k in tokens if k != self.pad]
        if not words:
            return ""
        end = words.pop() if words[-1] in ".?" else ""
        return " ".join(words).capitalize() + end

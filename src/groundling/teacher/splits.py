"""Which sentences are for training and which for testing: predicates over the words that a sentence says together.

zs1 holds out pairs of content words, zs2 and novel hold out object words. In training no command or question says what
is held out; in testing every one does. A zs2 word still occurs in answers, and so is learned; a novel word does not: its
objects are only seen, until it is taught. One agent can be tested on both zs1 and zs2 if it was trained with pairs and
words held out (`joined`): zs1 sentences then say no held-out word.
"""

import hashlib
import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from groundling.errors import InputError
from groundling.teacher.grammar import Meaning
from groundling.teacher.lexicon import NOTHING, RELATIONS, Lexicon

KINDS = ("normal", "zs1", "zs2", "novel")
PHASES = ("train", "test")
_FORMAT = "groundling-split-1"


@dataclass(frozen=True)
class Split:
    """A set of held-out word groups: pairs for zs1, single words for zs2 and novel, none for normal."""

    kind: str
    """What is tested: pairs (zs1) or words (zs2, novel)."""
    holdout: float
    """X, the percentage held out."""
    seed: int
    held_out: tuple[tuple[str, ...], ...]

    @classmethod
    def draw(
        cls, kind: str, holdout: float, seed: int, objects: Iterable[str], pairs: Iterable[tuple[str, str]]
    ) -> Self:
        """Hold out X % of the object words, or of each sort of pair: object with relation, color or object."""
        objects = sorted(objects)
        if kind not in KINDS:
            raise InputError(f"unknown split {kind!r}: it is one of {', '.join(KINDS)}")
        if kind == "normal":
            return cls(kind, 0.0, 0, ())
        if not 0 < holdout < 100:
            raise InputError(f"held-out portion {holdout:g}: X is a percentage above 0 and below 100")
        if seed < 0:
            raise InputError(f"split seed {seed}: a seed is a whole number, 0 or more")
        sorts: list[set[tuple[str, ...]]]
        if kind in ("zs2", "novel"):
            sorts = [{(word,) for word in objects}]
        else:
            with_relation: set[tuple[str, ...]] = {_pair(a, b) for a in objects for b in RELATIONS}
            with_color: set[tuple[str, ...]] = {_pair(color, name) for color, name in pairs}
            # A pair such as (apple, orange) is one pair of words, whether orange is the fruit or the color.
            any_two: set[tuple[str, ...]] = {_pair(a, b) for a in objects for b in objects}
            sorts = [with_relation, with_color, any_two - with_color]
        rng = np.random.Generator(np.random.Philox(seed))
        held: list[tuple[str, ...]] = []
        for sort in map(sorted, sorts):
            chosen = rng.permutation(len(sort))[: round(len(sort) * holdout / 100)]
            held += [sort[k] for k in sorted(chosen)]
        return cls(kind, float(holdout), seed, tuple(held))

    @cached_property
    def _set(self) -> frozenset[tuple[str, ...]]:
        return frozenset(self.held_out)

    def says_held_out(self, meaning: Meaning) -> bool:
        """Whether a sentence with this meaning contains something held out."""
        return self._says_word(meaning) or self._says_pair(meaning)

    def _says_word(self, meaning: Meaning) -> bool:
        return any((word,) in self._set for word in content_words(meaning))

    def _says_pair(self, meaning: Meaning) -> bool:
        return any(_pair(a, b) in self._set for a, b in itertools.combinations(content_words(meaning), 2))

    def allows(self, meaning: Meaning, phase: str, answer: str = NOTHING) -> bool:
        """Whether the teacher may say a sentence with this meaning, whose true answer is that word."""
        if self.kind == "normal":
            return True
        word = self._says_word(meaning) or (self.kind == "novel" and (answer,) in self._set)
        pair = self._says_pair(meaning)
        if phase == "train":
            return not (pair or word)
        return pair and not word if self.kind == "zs1" else word

    def joined(self, other: Self) -> Self:
        """This split, with what another holds out held out as well."""
        return replace(self, held_out=(*self.held_out, *other.held_out))

    def table(self, lexicon: Lexicon) -> NDArray[np.bool_]:
        """[word, word]: held-out pairs; [word, last]: held-out words. For the kernels."""
        held = np.zeros((len(lexicon), len(lexicon) + 1), np.bool_)
        for group in self.held_out:
            for word in group:
                if word not in lexicon.number:
                    raise InputError(f"split: held-out word {word!r} is not in the lexicon")
            a, b = lexicon.number[group[0]], lexicon.number[group[-1]]
            if len(group) == 1:
                held[a, -1] = True
            else:
                held[a, b] = held[b, a] = True
        return held

    @property
    def hash(self) -> str:
        """The same for the same held-out groups, however they were drawn."""
        return hashlib.sha256(json.dumps([self.kind, sorted(self.held_out)]).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """As plain data, with a hash that tells whether it is whole."""
        return {
            "format": _FORMAT,
            "kind": self.kind,
            "holdout": self.holdout,
            "seed": self.seed,
            "hash": self.hash,
            "held_out": [list(group) for group in self.held_out],
        }

    @classmethod
    def of(cls, record: Any) -> Self:
        """From plain data, checked."""
        try:
            if record["format"] != _FORMAT or record["kind"] not in KINDS:
                raise InputError(f"split: not a {_FORMAT} record")
            groups = tuple(tuple(map(str, group)) for group in record["held_out"])
            split = cls(record["kind"], float(record["holdout"]), int(record["seed"]), groups)
            stated = record["hash"]
        except InputError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"split: not a {_FORMAT} record ({error!r})") from error
        sizes = () if split.kind == "normal" else (1, 2)
        if any(len(group) not in sizes for group in groups):
            raise InputError(f"split: {split.kind} holds out {'words and pairs of words' if sizes else 'nothing'}")
        if split.hash != stated:
            raise InputError("split: its held-out list does not match its hash; it was changed")
        return split

    def save(self, path: str | Path) -> None:
        Path(path).write_text(json.dumps(self.to_dict(), indent=1) + "\n", "utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a split file and check that it is whole."""
        try:
            return cls.of(json.loads(Path(path).read_text("utf-8")))
        except OSError as error:
            raise InputError(f"split file {path}: cannot be read ({error.strerror})") from error
        except InputError as error:
            raise InputError(f"split file {path}: {error}") from error
        except ValueError as error:
            raise InputError(f"split file {path}: not a {_FORMAT} file ({error})") from error


def content_words(meaning: Meaning) -> list[str]:
    """The words of a sentence that name objects, colors and relations."""
    relation = ["between"] if "obj2" in meaning.slots else []
    return [word for slot, word in meaning.slots.items() if slot != "prep"] + relation


def _pair(a: str, b: str) -> tuple[str, str]:
    return (a, b) if a <= b else (b, a)

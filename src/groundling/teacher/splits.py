"""Splits of the language into training and test sentences: predicates over the content words of a sentence.

zs1 holds out pairs of content words; zs2 and novel hold out object words. Training sentences contain nothing held out;
every test sentence does. A zs2 word still occurs in answers, and is learned from them; a novel word occurs in no
sentence and no answer, its objects are only seen. `zs1+zs2` trains with pairs and words held out, so that one agent can
be tested on both; its zs1 test sentences contain no held-out word.
"""

import hashlib
import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from groundling.atomic_write import atomic_write
from groundling.errors import InputError, check_choice, check_int, quote
from groundling.read_json import from_plain, read_json
from groundling.teacher.grammar import TYPES, Grammar
from groundling.teacher.lexicon import COLORS, DIRECTIONS, NOTHING, RELATIONS
from groundling.teacher.types import SLOTS, Meaning

KINDS = ("normal", "zs1", "zs2", "novel")
JOINT = "zs1+zs2"
"""Training that holds out pairs and words."""
PHASES = ("train", "test")
_FORMAT = "groundling-split-1"


@dataclass(frozen=True)
class Split:
    """A set of held-out groups of words: pairs for zs1, single words for zs2 and novel, none for normal."""

    kind: str
    """What the test phase contains: pairs (zs1) or words (zs2, novel)."""
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
        check_choice("split", kind, KINDS)
        if kind == "normal":
            return cls(kind, 0.0, 0, ())
        check_holdout(holdout)
        check_int("split_seed", seed, 0)
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

    @property
    def held_out_words(self) -> tuple[str, ...]:
        """The words held out alone, in the order of `held_out`."""
        return tuple(group[0] for group in self.held_out if len(group) == 1)

    def contains_held_out(self, meaning: Meaning) -> bool:
        """Whether a sentence with this meaning contains something held out."""
        return self._contains_word(meaning) or self._contains_pair(meaning)

    def _contains_word(self, meaning: Meaning) -> bool:
        return any((word,) in self._set for word in content_words(meaning))

    def _contains_pair(self, meaning: Meaning) -> bool:
        return any(_pair(a, b) in self._set for a, b in itertools.combinations(content_words(meaning), 2))

    def holds_out_answer(self, word: str) -> bool:
        """Whether training holds the word out of answers, too."""
        return self.kind == "novel" and (word,) in self._set

    def allows(self, meaning: Meaning, phase: str, answer: str = NOTHING) -> bool:
        """Whether a sentence with this meaning and true answer belongs to a phase. The only statement of the rule."""
        if self.kind == "normal":
            return True
        word = self._contains_word(meaning) or self.holds_out_answer(answer)
        pair = self._contains_pair(meaning)
        if phase == "train":
            return not (pair or word)
        return pair and not word if self.kind == "zs1" else word

    def joined(self, other: Self) -> Self:
        """This split, with what another holds out held out as well."""
        return replace(self, held_out=(*self.held_out, *other.held_out))

    @property
    def hash(self) -> str:
        """The same for the same held-out groups, however they were sampled."""
        return hashlib.sha256(json.dumps([self.kind, sorted(self.held_out)]).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """The split as plain data, with a hash that shows whether it was changed."""
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
        """The split of plain data, checked."""
        plain = from_plain(_PlainSplit, record, "split")
        if plain.format != _FORMAT:
            raise InputError(f"split: format must be {_FORMAT!r}, got {quote(plain.format)}")
        check_choice("split: kind", plain.kind, KINDS)
        split = cls(plain.kind, plain.holdout, plain.seed, plain.held_out)
        groups, stated = plain.held_out, plain.hash
        sizes = () if split.kind == "normal" else (1, 2)
        if any(len(group) not in sizes for group in groups):
            wanted = "words and pairs of words" if sizes else "nothing"
            raise InputError(f"split of kind {split.kind} must hold out {wanted}, got groups of other sizes")
        if split.hash != stated:
            raise InputError("split must match its hash, got a changed list of held-out words; draw the split again")
        return split

    def save(self, path: str | Path) -> None:
        """Write a split file."""
        atomic_write(path, (json.dumps(self.to_dict(), indent=1) + "\n").encode())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read and check a split file."""
        record = read_json(Path(path), "split file")
        try:
            return cls.of(record)
        except InputError as error:
            raise InputError(f"split file {path}: {error}") from None


@dataclass(frozen=True)
class _PlainSplit:
    """The fields of a split record."""

    format: str
    kind: str
    holdout: float
    seed: int
    hash: str
    held_out: tuple[tuple[str, ...], ...]


class AllowedTable(NamedTuple):
    """`Split.allows`, tabulated over all fillings of all types for the kernels."""

    allowed: NDArray[np.bool_]
    """[filling, answer is held out]"""
    filling_row: NDArray[np.int64]
    """[type, (first, obj, obj2, col, loc)]: row of the type's first filling, and the distance of the rows of
    consecutive words in each slot (0 for unused slots)"""

    def classes_needed(self, type_: int, rank: NDArray[np.int64], any_answer: bool) -> int | None:
        """The smallest k so that a sentence of a type is allowed about classes of rank below k; None if there is none.

        `rank` [class] is a permutation; `any_answer`: whether an answer of the type can be held out.
        """
        firsts = [*self.filling_row[:, 0].tolist(), len(self.allowed)]
        rows = np.arange(firsts[type_ + 1] - firsts[type_])
        allowed = self.allowed[firsts[type_] : firsts[type_ + 1], : 2 if any_answer else 1].any(axis=1)
        needed = np.zeros(len(rows), np.int64)
        strides = self.filling_row[type_, 1:3]  # of obj and obj2
        words = [rows // stride % len(rank) for stride in strides if stride]
        for word in words:
            needed = np.maximum(needed, rank[word] + 1)
        if len(words) == 2:  # nothing is between an object and itself
            allowed = allowed & (words[0] != words[1])
        return int(needed[allowed].min()) if allowed.any() else None


def allowed_table(split: Split, phase: str, grammar: Grammar, classes: tuple[str, ...]) -> AllowedTable:
    """Evaluate the split once for every filling; `classes` are the objects of the world in index order."""
    slots = {name: grammar.slots(name) for name in TYPES}
    return _allowed_table(split, phase, classes, tuple(slots.items()))


@lru_cache(maxsize=16)
def _allowed_table(
    split: Split,
    phase: str,
    classes: tuple[str, ...],
    slots: tuple[tuple[str, tuple[str, ...]], ...],
) -> AllowedTable:
    """As `allowed_table`; cached, because an evaluation makes a teacher for each sentence type of the same split."""
    vocabulary = {"obj": classes, "obj2": classes, "col": COLORS, "loc": DIRECTIONS}
    answers = [NOTHING, *[word for word in classes if split.holds_out_answer(word)][:1]]
    rows: list[list[bool]] = []
    filling_row = np.zeros((len(slots), len(SLOTS)), np.int64)
    for t, (type_, names) in enumerate(slots):
        used = [name for name in names if name != "prep"]
        filling_row[t, 0] = len(rows)
        for k, name in enumerate(used):
            sizes = [len(vocabulary[other]) for other in used[k + 1 :]]
            filling_row[t, 1 + SLOTS.index(name)] = np.prod(sizes, dtype=np.int64)
        for words in itertools.product(*(vocabulary[name] for name in used)):
            meaning = Meaning(type_, 0, dict(zip(used, words, strict=True)))
            rows.append([split.allows(meaning, phase, answer) for answer in answers])
    allowed = np.array(rows, np.bool_)
    return AllowedTable(np.repeat(allowed, 2 // len(answers), axis=1), filling_row)


def content_words(meaning: Meaning) -> list[str]:
    """The words of a sentence that name objects, colors and relations."""
    relation = ["between"] if "obj2" in meaning.slots else []
    return [word for slot, word in meaning.slots.items() if slot != "prep"] + relation


def check_holdout(holdout: Any) -> None:
    """Raise unless `holdout` is a percentage."""
    is_number = isinstance(holdout, int | float | np.integer | np.floating) and not isinstance(holdout, bool)
    if not is_number or not 1 <= holdout < 100:
        raise InputError(
            f"holdout must be a percentage, at least 1 and below 100, got {holdout!r}; for one half use 50"
        )


def _pair(a: str, b: str) -> tuple[str, str]:
    return (a, b) if a <= b else (b, a)

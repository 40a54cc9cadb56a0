"""Splits of the language into training and test sentences: predicates over meanings, wordings, answers and icons.

zs1 holds out pairs of content words; zs2 and novel hold out object words, category those of whole categories such as
animals. Training sentences contain nothing held out; every test sentence does. A zs2 or category word still occurs in
answers, and is learned from them; a novel word occurs in no sentence and no answer, its objects are only seen.
`zs1+zs2` trains with pairs and words held out, so that one agent can be tested on both; its zs1 test sentences contain
no held-out word. paraphrase holds out random wordings of each sentence type, length the longest ones, and icon some of
the icons of each class, which training never shows.

A split of your own is a subclass of `Split` that overrides the predicates.
"""

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from groundling.atomic_write import atomic_write
from groundling.errors import InputError, check_choice, check_int, quote
from groundling.imports import import_class, names_code
from groundling.read_json import from_plain, read_json
from groundling.teacher.grammar import Grammar
from groundling.teacher.language import Language
from groundling.teacher.language_file import COLOR, DIRECTION, OBJECT, RELATION
from groundling.teacher.references import AllowedTable
from groundling.teacher.types import Meaning, SentenceType

KINDS = ("normal", "zs1", "zs2", "novel", "category", "paraphrase", "length", "icon")
JOINT = "zs1+zs2"
"""Training that holds out pairs and words."""
PHASES = ("train", "test")
MAX_FILLINGS = 1 << 25
MAX_DRAWS = 100
_FORMAT = "groundling-split-1"
_WORDS = ("zs2", "novel", "category")
"""Kinds whose test sentences contain a held-out word."""
_WORDINGS = ("paraphrase", "length")

Template = tuple[str, ...]


@dataclass(frozen=True)
class Split:
    """A set of held-out groups: pairs of words (zs1), words (zs2, novel, category), a sentence type and a wording
    (paraphrase, length), a class and the number of an icon (icon), none (normal)."""

    kind: str = "normal"
    """What the test phase contains: one of KINDS, or `module:Class` for a subclass."""
    holdout: float = 0.0
    """X, the percentage held out."""
    seed: int = 0
    held_out: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def draw(cls, kind: str, holdout: float, seed: int, grammar: Grammar) -> "Split":
        """Hold out X % of what a kind holds out; a subclass, given as `module:Class`, decides for itself."""
        if names_code(kind):
            return import_class(kind, Split, "split")(kind, float(holdout), seed)
        check_choice("split", kind, KINDS)
        if kind == "normal":
            return cls()
        check_holdout(holdout)
        check_int("split_seed", seed, 0)
        rng = np.random.Generator(np.random.Philox(seed))
        if kind == "category":
            return cls(kind, float(holdout), seed, tuple(_draw_categories(grammar, holdout, rng)))
        for _ in range(MAX_DRAWS):
            held: list[tuple[str, ...]] = []
            for group in _DRAWN[kind](grammar):
                held += [group[k] for k in sorted(_chosen(kind, group, holdout, rng))]
            split = cls(kind, float(holdout), seed, tuple(held))
            # zs1 tests new combinations of known words. If no two objects may be said with `between`, it is not known.
            if kind != "zs1" or _trains_every_type(split, grammar):
                break
        return split

    @cached_property
    def _set(self) -> frozenset[tuple[str, ...]]:
        return frozenset(self.held_out)

    @property
    def held_out_words(self) -> tuple[str, ...]:
        """The words held out alone, in the order of `held_out`."""
        return tuple(group[0] for group in self.held_out if len(group) == 1)

    # The predicates. A subclass overrides what it holds out.

    def holds_out(self, meaning: Meaning) -> bool:
        """Whether a sentence contains something held out, judged by its type and the words in its slots."""
        return self._contains_word(meaning) or self._contains_pair(meaning)

    def holds_out_wording(self, type_: str, template: Template) -> bool:
        """Whether a wording is held out; a template is words and slots such as `{obj}`."""
        return self.kind in _WORDINGS and (type_, " ".join(template)) in self._set

    def holds_out_answer(self, word: str) -> bool:
        """Whether training holds the word out of answers, too."""
        return self.kind == "novel" and (word,) in self._set

    def holds_out_icon(self, name: str, number: int) -> bool:
        """Whether training never shows an icon, given its class and its number within the class."""
        return self.kind == "icon" and (name, str(number)) in self._set

    # What follows from them. The only statements of the rule.

    @property
    def restricts_content(self) -> bool:
        """Whether it holds out sentences by their content."""
        return self.kind in ("zs1", *_WORDS) or self._overrides("holds_out") or self._overrides("holds_out_answer")

    @property
    def restricts_wording(self) -> bool:
        """Whether it holds out wordings."""
        return self.kind in _WORDINGS or self._overrides("holds_out_wording")

    @property
    def restricts_icons(self) -> bool:
        """Whether it holds out icons."""
        return self.kind == "icon" or self._overrides("holds_out_icon")

    def _overrides(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(Split, name)

    def allows(self, meaning: Meaning, phase: str, answer: str = "") -> bool:
        """Whether the content of a sentence with this true answer belongs to a phase, whatever its wording."""
        if not self.restricts_content:
            return True
        held_out = self.holds_out(meaning) or self.holds_out_answer(answer)
        if phase == "train":
            return not held_out
        if self.kind == "zs1":  # of a joint split, without held-out words
            return held_out and not self._contains_word(meaning)
        return held_out and (self.kind not in _WORDS or self._contains_word(meaning) or self.holds_out_answer(answer))

    def allows_wording(self, type_: str, template: Template, phase: str) -> bool:
        """Whether a wording belongs to a phase."""
        return not self.restricts_wording or self.holds_out_wording(type_, template) == (phase == "test")

    def _contains_word(self, meaning: Meaning) -> bool:
        return any((word,) in self._set for word in meaning.content)

    def _contains_pair(self, meaning: Meaning) -> bool:
        return self.kind not in _WORDINGS and any(
            _pair(a, b) in self._set for a, b in itertools.combinations(meaning.content, 2)
        )

    def joined(self, other: "Split") -> Self:
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
    def of(cls, record: Any) -> "Split":
        """The split of plain data, checked."""
        plain = from_plain(_PlainSplit, record, "split")
        if plain.format != _FORMAT:
            raise InputError(f"split: format must be {_FORMAT!r}, got {quote(plain.format)}")
        if names_code(plain.kind):
            return import_class(plain.kind, Split, "split")(plain.kind, plain.holdout, plain.seed, plain.held_out)
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
    def load(cls, path: str | Path) -> "Split":
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


Groups = list[list[tuple[str, ...]]]


def _objects(grammar: Grammar) -> list[str]:
    return sorted(grammar.lexicon.class_words(grammar.catalog.classes))


def _words(grammar: Grammar) -> Groups:
    return [[(word,) for word in _objects(grammar)]]


def _pairs(grammar: Grammar) -> Groups:
    """The sorts of pairs: object with relation, color or object; then with each attribute of a user's language."""
    objects, classes = _objects(grammar), grammar.language.word_classes
    relations = sorted((*classes.get(RELATION, ()), *classes[DIRECTION]))
    with_relation = {_pair(a, b) for a in objects for b in relations}
    with_color = {_pair(color, name) for color, name in grammar.pairs}
    # A pair such as (apple, orange) is one pair of words, whether orange is the fruit or the color.
    any_two = {_pair(a, b) for a in objects for b in objects}
    sorts = [with_relation, with_color, any_two - with_color]
    others = [attribute for attribute in grammar.language.attributes if attribute.name not in (OBJECT, COLOR)]
    for attribute in others:
        words = grammar.shown((attribute.name, OBJECT)) if attribute.source == "icon" else None
        pairs = words or itertools.product(classes[attribute.name], objects)
        sorts.append({_pair(word, name) for word, name in pairs})
    return [sorted(sort) for sort in sorts]


def _draw_categories(grammar: Grammar, holdout: float, rng: np.random.Generator) -> list[tuple[str, ...]]:
    """The words of random categories, as many as are closest to X % of the words; at least one, and not all."""
    catalog = grammar.catalog
    words = grammar.lexicon.class_words(catalog.classes)
    names = sorted(set(catalog.categories))
    if len(names) < 2:
        raise InputError(f"split category must have icons in at least two categories, got {len(names)}")
    order = [names[k] for k in rng.permutation(len(names))]
    sizes = np.cumsum([catalog.categories.count(name) for name in order])[:-1]
    count = 1 + int(np.abs(sizes - len(words) * holdout / 100).argmin())
    held = set(order[:count])
    return sorted((word,) for word, name in zip(words, catalog.categories, strict=True) if name in held)


def _wordings(grammar: Grammar) -> Groups:
    """The wordings of each sentence type, shortest first."""
    return [[(name, " ".join(t)) for t in templates] for name, templates in grammar.templates.items()]


def _icons(grammar: Grammar) -> Groups:
    """The icons of each class."""
    catalog = grammar.catalog
    counts = np.diff(catalog.first_icon).tolist()
    return [[(name, str(k)) for k in range(count)] for name, count in zip(catalog.classes, counts, strict=True)]


_DRAWN: dict[str, Callable[[Grammar], Groups]] = {
    "zs1": _pairs,
    "zs2": _words,
    "novel": _words,
    "paraphrase": _wordings,
    "length": _wordings,
    "icon": _icons,
}
"""What each kind holds out a part of, in groups; X % of each group is held out."""


def _chosen(kind: str, group: list[tuple[str, ...]], holdout: float, rng: np.random.Generator) -> list[int]:
    """The indices of a group that are held out."""
    count = round(len(group) * holdout / 100)
    if kind in (
        *_WORDINGS,
        "icon",
    ):  # each type keeps a wording, each class an icon; where there are two, one is held out
        count = min(max(count, 1), len(group) - 1)
    if kind == "length":
        return list(range(len(group) - count, len(group)))
    order = rng.permutation(len(group))
    return [int(k) for k in order[:count]]


def allowed_table(split: Split, phase: str, grammar: Grammar) -> AllowedTable | None:
    """Evaluate the split once for every filling; None if it restricts no content."""
    return _allowed_table(split, phase, grammar.language, grammar.lexicon.class_words(grammar.catalog.classes))


@lru_cache(maxsize=16)
def _allowed_table(split: Split, phase: str, language: Language, classes: tuple[str, ...]) -> AllowedTable | None:
    """As `allowed_table`; cached, because an evaluation makes a teacher for each sentence type of the same split."""
    if not split.restricts_content:
        return None
    vocabulary = {**language.word_classes, OBJECT: classes}
    slots = list(language.slots)
    words_of_language = itertools.chain(classes, language.words)
    answers = ["", *[word for word in words_of_language if split.holds_out_answer(word)][:1]]
    rows: list[list[bool]] = []
    first_row = np.zeros(len(language.types), np.int64)
    strides = np.zeros((len(language.types), len(slots)), np.int64)
    for t, type_ in enumerate(language.types):
        used = sorted(type_.reference.slots, key=slots.index)
        first_row[t] = len(rows)
        sizes = [len(vocabulary[language.slots[slot]]) for slot in used]
        if len(rows) + np.prod(sizes, dtype=np.float64) > MAX_FILLINGS:
            raise InputError(f"split {split.kind} must have at most {MAX_FILLINGS} fillings to judge, got more")
        for k, slot in enumerate(used):
            strides[t, slots.index(slot)] = np.prod(sizes[k + 1 :], dtype=np.int64)
        rows += [
            [split.allows(meaning, phase, answer) for answer in answers]
            for meaning in _meanings(type_, language, classes)
        ]
    allowed = np.array(rows, np.bool_)
    return AllowedTable(np.repeat(allowed, 2 // len(answers), axis=1), first_row, strides)


def _meanings(type_: SentenceType, language: Language, classes: tuple[str, ...]) -> Iterator[Meaning]:
    """The meaning of a type with every filling of its slots, the last slot changing fastest."""
    vocabulary = {**language.word_classes, OBJECT: classes}
    used = sorted(type_.reference.slots, key=list(language.slots).index)
    relations = language.relation_words[type_.name]
    for words in itertools.product(*(vocabulary[language.slots[slot]] for slot in used)):
        yield Meaning(type_.name, 0, dict(zip(used, words, strict=True)), (*words, *relations))


def _trains_every_type(split: Split, grammar: Grammar) -> bool:
    """Whether training has a sentence of every type; no reference names the same word twice."""
    classes = grammar.lexicon.class_words(grammar.catalog.classes)
    return all(
        any(
            split.allows(meaning, "train", "")
            for meaning in _meanings(type_, grammar.language, classes)
            if len({*meaning.slots.values()}) == len(meaning.slots)
        )
        for type_ in grammar.language.types
    )


def check_holdout(holdout: Any) -> None:
    """Raise unless `holdout` is a percentage."""
    is_number = isinstance(holdout, int | float | np.integer | np.floating) and not isinstance(holdout, bool)
    if not is_number or not 1 <= holdout < 100:
        raise InputError(
            f"holdout must be a percentage, at least 1 and below 100, got {holdout!r}; for one half use 50"
        )


def _pair(a: str, b: str) -> tuple[str, str]:
    return (a, b) if a <= b else (b, a)

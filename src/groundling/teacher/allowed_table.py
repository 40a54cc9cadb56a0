"""A split as a table for the kernels: which sentences a phase allows.

Object words that a split treats alike are one *group*, and the split is evaluated once for each combination of groups.
So the table does not grow with the square of the number of classes, except where pairs of objects are listed.
"""

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundling.errors import InputError
from groundling.teacher.grammar import Grammar
from groundling.teacher.language import Language
from groundling.teacher.language_file import OBJECT
from groundling.teacher.splits import Split
from groundling.teacher.types import Meaning, SentenceType
from groundling.world.types import Bools, Int16s

MAX_FILLINGS = 1 << 25


class AllowedTable(NamedTuple):
    """`Split.allows`, tabulated over all fillings of all types for the kernels."""

    allowed: Bools
    """[filling, answer is held out]"""
    first_row: NDArray[np.int64]
    """[type]: row of the type's first filling"""
    strides: NDArray[np.int64]
    """[type, slot]: the distance of the rows of consecutive groups of words in a slot; 0 for unused slots"""
    group: Int16s
    """[type, slot, word]: the group of words, which the split treats alike, to which a word belongs"""

    def row(self, t: int, filling: Sequence[int]) -> int:
        """The row of a filling of a type, given the index of the word in each slot (any for unused slots)."""
        return int(self.first_row[t] + self.strides[t] @ self.group[t, np.arange(len(filling)), filling])


def allowed_table(split: Split, phase: str, grammar: Grammar) -> AllowedTable | None:
    """Evaluate the split for every filling; None if it restricts no content."""
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
    group = np.zeros((len(language.types), len(slots), max(map(len, vocabulary.values()))), np.int16)
    for t, type_ in enumerate(language.types):
        used = sorted(type_.reference.slots, key=slots.index)
        members = _members(split, type_, language, classes)
        of_slot = [members if language.slots[s] == OBJECT else _each(vocabulary[language.slots[s]]) for s in used]
        first_row[t] = len(rows)
        sizes = [len(groups) for groups in of_slot]
        if len(rows) + np.prod(sizes, dtype=np.float64) > MAX_FILLINGS:
            raise InputError(
                f"split {split.kind} must have at most {MAX_FILLINGS} fillings to judge, got more; use fewer classes"
            )
        for k, slot in enumerate(used):
            strides[t, slots.index(slot)] = np.prod(sizes[k + 1 :], dtype=np.int64)
            index = {word: i for i, word in enumerate(vocabulary[language.slots[slot]])}
            for number, words in enumerate(of_slot[k]):
                group[t, slots.index(slot), [index[word] for word in words]] = number
        relations = language.relation_words[type_.name]
        for chosen in itertools.product(*of_slot):
            words = _representatives(chosen)
            meaning = Meaning(type_.name, 0, dict(zip(used, words, strict=True)), (*words, *relations))
            rows.append([split.allows(meaning, phase, answer) for answer in answers])
    allowed = np.array(rows, np.bool_)
    return AllowedTable(np.repeat(allowed, 2 // len(answers), axis=1), first_row, strides, group)


def _each(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Each word as a group of its own."""
    return [(word,) for word in words]


def _members(split: Split, type_: SentenceType, language: Language, classes: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The groups of object words that a split treats alike in sentences of a type."""
    kinds = [language.slots[slot] for slot in type_.reference.slots]
    objects = kinds.count(OBJECT)
    if objects == 0 or not split.is_by_words or (objects > 1 and split.lists_pairs_of_objects):
        return _each(classes)
    others = [word for kind in kinds if kind != OBJECT for word in language.word_classes[kind]]
    others += language.relation_words[type_.name]
    groups: dict[tuple[object, ...], list[str]] = {}
    for word in classes:
        pairs = tuple(split.holds_out_pair(word, other) for other in others)
        groups.setdefault((split.holds_out_word(word), split.group_of(word), *pairs), []).append(word)
    return [tuple(words) for words in groups.values()]


def _representatives(groups: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """A word of each group; of the same group twice, two words if there are two."""
    seen: dict[tuple[str, ...], int] = {}
    words = []
    for group in groups:
        k = seen[group] = seen.get(group, -1) + 1
        words.append(group[k % len(group)])
    return tuple(words)


def classes_needed(
    table: AllowedTable, t: int, slots: list[int], rank: NDArray[np.int64], any_answer: bool
) -> int | None:
    """The smallest k so that a sentence of a type is allowed about classes of rank below k; None if there is none.

    `slots` are those of objects; `any_answer`: whether an answer of the type can be held out.
    """
    firsts = [*table.first_row.tolist(), len(table.allowed)]
    rows = np.arange(firsts[t + 1] - firsts[t])
    allowed = table.allowed[firsts[t] : firsts[t + 1], : 2 if any_answer else 1].any(axis=1)
    needed = np.ones(len(rows), np.int64)
    groups = []
    for slot in slots:
        group = table.group[t, slot, : len(rank)].astype(np.int64)
        # The two lowest ranks of each group; without a second word, one that is out of reach.
        order = np.lexsort((rank, group))
        starts = np.searchsorted(group[order], np.arange(group.max() + 2))
        ranks = np.append(rank[order], len(rank))
        lowest = ranks[starts[:-1]]
        second = np.where(np.diff(starts) > 1, ranks[np.minimum(starts[:-1] + 1, len(rank))], len(rank))
        groups.append(rows // table.strides[t, slot] % (group.max() + 1))
        needed = np.maximum(needed, lowest[groups[-1]] + 1)
    if len(groups) == 2:  # nothing is between an object and itself
        needed = np.where(groups[0] == groups[1], np.maximum(needed, second[groups[0]] + 1), needed)
    possible = needed[allowed & (needed <= len(rank))]
    return int(possible.min()) if len(possible) else None

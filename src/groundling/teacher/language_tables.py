"""A language, the icons of its world and a split as arrays, for the kernels that interpret references."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundling.errors import check_choice
from groundling.teacher.allowed_table import AllowedTable
from groundling.teacher.grammar import Grammar
from groundling.teacher.language_file import DIRECTION, MAX_ATTRIBUTES, MAX_DESCRIPTION, MAX_STEPS, OBJECT
from groundling.teacher.types import Reference
from groundling.world.types import Bools, Int16s

Ints = NDArray[np.int64]

CLASS_BITS, VALUE_BITS = 20, 8
"""Bits of a key for the object's class, and for each other attribute; 0 is no value, k + 1 the k-th word."""

# Columns of `LanguageTables.scans`; the first type and the end are indices into `LanguageTables.scan_types`.
BASE, FIRST, SECOND, EMPTY, FIRST_TYPE, END_TYPE, STEPS = range(7)
FROM_AGENT, FROM_OBJECT, FROM_BETWEEN = range(3)
"""Values of the column BASE."""
# Columns of `LanguageTables.descriptions`, before the triples (slot, shift, mask) of its attributes.
SAME_SET, ATTRIBUTES, TRIPLES = range(3)
SLOT, SHIFT, MASK = range(3)
# Columns of `LanguageTables.types`: the last are, slot by slot, whether the type uses it, the distances of rows in
# `allowed`, and rows of `group`.
SCAN, EMPTY_SCAN, ANSWER_ROW, ANSWER_SHIFT, ANSWER_MASK, FIRST_ROW, USED = range(7)
TARGET, NEAR = -1, -2
"""Values of ANSWER_SHIFT for a command, and for a question about a direction."""


class LanguageTables(NamedTuple):
    """A language, its catalog and split, as arrays. Few of them, because each one costs time in every call."""

    commands: int
    """Number of scans of commands, which come first; then those of questions."""
    questions: int
    """Number of scans before those of questions about empty cells."""
    nothing: int
    """Token of the answer about an empty cell."""
    restricted: bool
    """Whether the split restricts the content of sentences."""
    scans: Ints
    """[scan, column]: a reference, and the types that use it"""
    scan_types: Ints
    """The types of all scans."""
    types: Ints
    """[type, column]"""
    descriptions: Ints
    """[description, column]: the slots that describe an object"""
    sets: Ints
    """[set, (number, masks of attributes)]: the distinct sets of attributes of all descriptions"""
    icon_key: Ints
    """[icon]: attributes of icons"""
    place_key: Ints
    """[position]: attributes of places"""
    map_attributes: Ints
    """[rule, (shift, number of words)]: the attributes that a compiled rule computes"""
    token: Int16s
    """[word class, index]: the token of a word; in the last row 1 for a token that is a held-out answer"""
    allowed: Bools
    """[filling, answer is held out]: whether the split allows a sentence, see `Split.allows`"""
    group: Int16s
    """[row, word]: the distinct rows of `AllowedTable.group`"""


def make_tables(grammar: Grammar, size: int, table: AllowedTable | None, held_out_answers: Bools) -> LanguageTables:
    """The language over its icons as arrays; `table` is None if the split restricts no content."""
    language, lexicon = grammar.language, grammar.lexicon
    slots, rows = list(language.slots), list(language.word_classes)
    shifts = {a.name: (0 if k == 0 else CLASS_BITS + VALUE_BITS * (k - 1)) for k, a in enumerate(language.attributes)}
    masks = {name: (1 << (VALUE_BITS if shift else CLASS_BITS)) - 1 << shift for name, shift in shifts.items()}

    sets: list[tuple[str, ...]] = []
    descriptions: list[list[int]] = []

    def description(used: tuple[str, ...]) -> int:
        names = tuple(sorted(language.slots[slot] for slot in used))
        if names not in sets:
            sets.append(names)
        row = [sets.index(names), len(used)]
        for slot in used:
            row += [slots.index(slot), shifts[language.slots[slot]], masks[language.slots[slot]]]
        descriptions.append(row + [0] * (TRIPLES + 3 * MAX_DESCRIPTION - len(row)))
        return len(descriptions) - 1

    scans: list[list[int]] = []
    scan_types: list[int] = []

    def add_scan(reference: Reference, empty: bool, types: list[int]) -> int:
        described = [description(used) for used in reference.described]
        steps = [slots.index(slot) for slot in reference.steps]
        start = len(scan_types)
        scan_types.extend(types)
        scans.append([
            len(described), *[*described, 0, 0][:2], int(empty), start, len(scan_types), len(steps),
            *[*steps, 0, 0, 0][:MAX_STEPS],
        ])  # fmt: skip
        return len(scans) - 1

    types = np.zeros((len(language.types), USED + 3 * len(slots)), np.int64)
    ends = []
    for commands in (True, False):
        of_kind = [t for t, type_ in enumerate(language.types) if type_.is_command == commands]
        groups: dict[tuple[Reference, bool], list[int]] = {}
        for t in of_kind:
            groups.setdefault((language.types[t].reference, language.types[t].empty), []).append(t)
        for (reference, empty), members in groups.items():
            types[members, SCAN] = add_scan(reference, empty, members)
        ends.append(len(scans))
    for t, type_ in enumerate(language.types):
        about_empty = type_.asked == OBJECT and type_.reference.is_place
        types[t, EMPTY_SCAN] = add_scan(type_.reference, True, [t]) if about_empty else -1
        types[t, [USED + slots.index(slot) for slot in type_.reference.slots]] = 1
        if type_.is_command:
            types[t, ANSWER_SHIFT] = TARGET
        else:
            is_direction = type_.asked == DIRECTION
            types[t, ANSWER_ROW] = rows.index(type_.asked)
            types[t, ANSWER_SHIFT] = NEAR if is_direction else shifts[type_.asked]
            types[t, ANSWER_MASK] = 0 if is_direction else masks[type_.asked]
    group = np.zeros((1, 1), np.int16)
    if table is not None:
        types[:, FIRST_ROW], types[:, USED + len(slots) : USED + 2 * len(slots)] = table.first_row, table.strides
        group, row = np.unique(table.group.reshape(-1, table.group.shape[-1]), axis=0, return_inverse=True)
        types[:, USED + 2 * len(slots) :] = row.reshape(len(types), len(slots))

    token = np.full((len(rows) + 1, len(lexicon)), -1, np.int16)
    for k, name in enumerate(rows):
        words = lexicon.class_words(grammar.catalog.classes) if name == OBJECT else language.word_classes[name]
        token[k, : len(words)] = lexicon.tokens_of(words)
    token[-1] = held_out_answers
    set_rows = np.zeros((len(sets), 1 + MAX_ATTRIBUTES), np.int64)
    for row, names in zip(set_rows, sets, strict=True):
        row[: 1 + len(names)] = [len(names), *(masks[name] for name in names)]
    return LanguageTables(
        commands=ends[0],
        questions=ends[1],
        nothing=lexicon.token[language.nothing],
        restricted=table is not None,
        scans=np.array(scans, np.int64),
        scan_types=np.array(scan_types, np.int64),
        types=types,
        descriptions=np.array(descriptions, np.int64).reshape(-1, TRIPLES + 3 * MAX_DESCRIPTION),
        sets=set_rows,
        icon_key=_icon_keys(grammar, shifts),
        place_key=_place_keys(grammar, shifts, size),
        map_attributes=np.array(
            [(shifts[a.name], len(language.word_classes[a.name])) for a in language.attributes if a.source == "map"],
            np.int64,
        ).reshape(-1, 2),
        token=token,
        allowed=np.ones((1, 2), np.bool_) if table is None else table.allowed,
        group=group,
    )


def _icon_keys(grammar: Grammar, shifts: dict[str, int]) -> Ints:
    """[icon]: class, color and other attributes of icons."""
    catalog, classes = grammar.catalog, grammar.language.word_classes
    keys = catalog.icon_class.astype(np.int64) + 1
    for attribute in grammar.language.attributes[1:]:
        if attribute.source == "icon":
            words = classes[attribute.name]
            values = [0 if word is None else words.index(word) + 1 for word in catalog.attribute(attribute.name, words)]
            keys |= np.array(values, np.int64) << shifts[attribute.name]
    return keys


def _place_keys(grammar: Grammar, shifts: dict[str, int], size: int) -> Ints:
    """[position]: attributes of places."""
    keys = np.zeros(size * size, np.int64)
    for attribute in grammar.language.attributes:
        if attribute.source != "place":
            continue
        assert attribute.rule is not None
        words = grammar.language.word_classes[attribute.name]
        for position in range(size * size):
            word = attribute.rule(*divmod(position, size), size)
            if word is not None:
                check_choice(f"word of the rule of {attribute.name}", word, words)
                keys[position] |= words.index(word) + 1 << shifts[attribute.name]
    return keys

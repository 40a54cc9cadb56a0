"""What the sentences of a language refer to on a map: the kernels that interpret references.

An object is a row of attribute values, packed into one integer, its *key*. A description picks the only object with
some values. A *scan* enumerates all fillings of a reference with the cells that they refer to, and for each sentence
type of that reference the target or answer. Scanning once counts the fillings of every type; scanning again picks one
of them. The conditions C0 to C8 of the paper are marked where they are checked.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from groundling.errors import check_choice
from groundling.jit import constant, kernel
from groundling.teacher.grammar import Grammar
from groundling.teacher.language_file import DIRECTION, MAX_ATTRIBUTES, MAX_DESCRIPTION, MAX_STEPS, OBJECT
from groundling.teacher.types import Reference
from groundling.world.catalog import FIRST_ICON, FLOOR, WALL
from groundling.world.types import DIRECTIONS, OFFSETS, Bools, Int16s, State

Ints = NDArray[np.int64]

_DIRECTION_AT = np.full((3, 3), -1, np.int64)
_DIRECTION_AT[OFFSETS[:, 0] + 1, OFFSETS[:, 1] + 1] = np.arange(len(OFFSETS))
DIRECTION_COUNT = constant(len(DIRECTIONS))

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


OBJECT_ON_MAP = np.dtype(
    [
        ("position", np.int64),
        ("row", np.int64),  # of the position; stored because divisions in the loops below are slow
        ("column", np.int64),
        ("key", np.int64),
        ("near", np.int64),  # the direction from the agent if it is one of the 8 neighbors, or -1
        ("visible", np.bool_),  # not under the agent, where no image would show it
    ]
)
"""One object of a map."""


class Scratch(NamedTuple):
    """Working memory for one map."""

    objects: NDArray[np.void]
    """[object] of OBJECT_ON_MAP"""
    unique: Bools
    """[set, object]: whether the attributes of a set identify the object"""
    found: Ints
    """[type]: number of fillings found"""
    slots: Ints
    """[slot]: the filling of the current scan"""
    filling: Ints
    """[slot]: the filling that was picked; then its cell, and its target or the answer's token"""
    walk: Ints
    """[step, (next candidate, row, column)]"""
    distance: Int16s
    """[position]: steps from the agent, -1 where it cannot go; only commands need it"""
    queue: Int16s
    positions: Ints
    """[position]: working memory of `distances` and `draw_map`"""


def make_scratch(tables: LanguageTables, slots: int, max_objects: int) -> Scratch:
    """Working memory for maps of up to `max_objects` objects."""
    return Scratch(
        np.zeros(max_objects, OBJECT_ON_MAP),
        np.zeros((len(tables.sets), max_objects), np.bool_),
        np.zeros(len(tables.types), np.int64),
        np.full(slots, -1, np.int64),
        np.full(slots + 2, -1, np.int64),
        np.zeros((MAX_STEPS, 3), np.int64),
        np.zeros(len(tables.place_key), np.int16),
        np.zeros(len(tables.place_key), np.int16),
        np.zeros(len(tables.place_key), np.int64),
    )


@kernel
def direction(rows: int, columns: int) -> int:
    """The direction of an offset (rows down, columns right), or -1 if it is not one of the 8 neighbors."""
    return _DIRECTION_AT[rows + 1, columns + 1] if abs(rows) <= 1 and abs(columns) <= 1 else -1


@kernel
def neighbor(size: int, row: int, column: int, loc: int) -> int:
    """The position next to (row, column) in a direction, or -1 outside the map."""
    row, column = row + OFFSETS[loc, 0], column + OFFSETS[loc, 1]
    return row * size + column if 0 <= row < size and 0 <= column < size else -1


@kernel
def middle(a: Any, b: Any) -> int:
    """The position between two objects that are exactly two cells apart in a row or column, or -1."""
    rows, columns = abs(a.row - b.row), abs(a.column - b.column)
    return (a.position + b.position) // 2 if rows + columns == 2 and rows * columns == 0 else -1


@kernel
def describe_objects(
    grid: Int16s, size: int, objects: Int16s, agent: int, scratch: Scratch, tables: LanguageTables, rule: Any
) -> int:
    """Fill `scratch.objects` and `scratch.unique`; return the number of objects."""
    count = 0
    row, column = agent // size, agent % size
    while count < len(objects) and objects[count] >= 0:
        item = scratch.objects[count]
        item.position, item.row, item.column = objects[count], objects[count] // size, objects[count] % size
        item.key = tables.icon_key[grid[item.position] - FIRST_ICON] | tables.place_key[item.position]
        item.near = direction(item.row - row, item.column - column)
        item.visible = item.position != agent
        count += 1
    if rule is not None:
        for k in range(len(tables.map_attributes)):
            for i in range(count):
                value = rule(k, grid, size, agent, objects, count, i)
                if 0 <= value < tables.map_attributes[k, 1]:
                    scratch.objects[i].key |= (value + 1) << tables.map_attributes[k, 0]
    for s in range(len(tables.sets)):
        for i in range(count):
            scratch.unique[s, i] = identifies(s, i, count, scratch, tables)
    return count


@kernel
def identifies(s: int, i: int, count: int, scratch: Scratch, tables: LanguageTables) -> bool:
    """C1 and C4: no other object has these attributes. C2: with two or more, another object shares one of them."""
    key, number = scratch.objects[i].key, tables.sets[s, 0]
    for a in range(number):
        if key & tables.sets[s, 1 + a] == 0:  # it lacks the attribute
            return False
    shared = number == 1
    for j in range(count):
        if j != i:
            difference = key ^ scratch.objects[j].key
            differs = False
            for a in range(number):
                if difference & tables.sets[s, 1 + a]:
                    differs = True
                else:
                    shared = True
            if not differs:
                return False
    return bool(shared)


@kernel
def scan_references(
    low: int, high: int, picked: int, k: int, grid: Int16s, size: int, agent: int, count: int, scratch: Scratch,
    tables: LanguageTables,
) -> None:  # fmt: skip
    """Count the fillings of all types of the scans low .. high-1; put filling `k` of type `picked` into
    `scratch.filling`.

    Every kernel is called at one place, because they are all inlined: a second call would be compiled again.
    """
    scans, descriptions, objects, unique = tables.scans, tables.descriptions, scratch.objects, scratch.unique
    walk, slots = scratch.walk, scratch.slots
    for s in range(low, high):
        for n in range(scans[s, FIRST_TYPE], scans[s, END_TYPE]):
            scratch.found[tables.scan_types[n]] = 0
        base, empty, steps = scans[s, BASE], scans[s, EMPTY], scans[s, STEPS]
        for i in range(count if base != FROM_AGENT else 1):
            if base != FROM_AGENT:
                is_described = unique[descriptions[scans[s, FIRST], SAME_SET], i]
                if not objects[i].visible or not is_described:
                    continue
            for j in range(count if base == FROM_BETWEEN else 1):
                position, referred = agent, -1
                if base != FROM_AGENT:
                    position, referred = objects[i].position, i
                if base == FROM_BETWEEN:  # C3 and C7
                    is_described = unique[descriptions[scans[s, SECOND], SAME_SET], j]
                    position, referred = middle(objects[i], objects[j]), -1
                    if position < 0 or position == agent or not objects[j].visible or not is_described:
                        continue
                    for m in range(count):
                        if objects[m].position == position:
                            referred = m
                    if (referred < 0) != (empty and steps == 0) or grid[position] == WALL:
                        continue
                bind(s, base, i, j, scratch, tables)
                # The steps, from object to object (C5, C6); the last one may lead to an empty cell.
                level = 0
                if steps > 0:
                    walk[0, 0], walk[0, 1], walk[0, 2] = 0, position // size, position % size
                while level >= 0:
                    if steps == 0:
                        level = -1
                    else:
                        last = level == steps - 1
                        step = walk[level, 0]
                        if step == (DIRECTION_COUNT if last and empty else count):
                            level -= 1
                            continue
                        walk[level, 0] += 1
                        if last and empty:
                            position, referred = neighbor(size, walk[level, 1], walk[level, 2], step), -1
                            if position < 0 or position == agent or grid[position] != FLOOR:
                                continue
                            slots[scans[s, STEPS + 1 + level]] = step
                        else:
                            loc = direction(objects[step].row - walk[level, 1], objects[step].column - walk[level, 2])
                            is_named = base != FROM_AGENT and (step == i or (base == FROM_BETWEEN and step == j))
                            if loc < 0 or not objects[step].visible or is_named:
                                continue
                            slots[scans[s, STEPS + 1 + level]] = loc
                            position, referred = objects[step].position, step
                            if not last:
                                level += 1
                                walk[level, 0], walk[level, 1] = 0, objects[step].row
                                walk[level, 2] = objects[step].column
                                continue
                    emit(s, picked, k, position, referred, scratch, tables)


@kernel
def bind(s: int, base: int, i: int, j: int, scratch: Scratch, tables: LanguageTables) -> None:
    """Put the attributes of the described objects, i and j, into their slots."""
    rows = tables.descriptions
    for part in range(base):  # from no object, one or two
        d, key = tables.scans[s, FIRST + part], scratch.objects[i if part == 0 else j].key
        for column in range(TRIPLES, TRIPLES + 3 * rows[d, ATTRIBUTES], 3):
            value = (key & rows[d, column + MASK]) >> rows[d, column + SHIFT]
            scratch.slots[rows[d, column + SLOT]] = value - 1


@kernel
def emit(s: int, picked: int, k: int, position: int, referred: int, scratch: Scratch, tables: LanguageTables) -> None:
    """Count what can be said with the current slots about a cell: object `referred`, or (-1) an empty cell."""
    types, objects, slots = tables.types, scratch.objects, scratch.slots
    for n in range(tables.scans[s, FIRST_TYPE], tables.scans[s, END_TYPE]):
        t = tables.scan_types[n]
        if picked >= 0 and t != picked:
            continue
        asked, outcome = types[t, ANSWER_SHIFT], -1
        if asked == TARGET:
            if scratch.distance[position] > 0:  # C0: the target can be reached
                outcome = position
        elif referred < 0:
            outcome = tables.nothing
        elif asked == NEAR:
            if objects[referred].near >= 0:  # C5 and C8: the agent is next to it
                outcome = tables.token[types[t, ANSWER_ROW], objects[referred].near]
        else:
            value = (objects[referred].key & types[t, ANSWER_MASK]) >> asked
            if value > 0:
                outcome = tables.token[types[t, ANSWER_ROW], value - 1]
        if outcome < 0:
            continue
        if tables.restricted:
            row = types[t, FIRST_ROW]
            for slot in range(len(slots)):
                group = tables.group[types[t, USED + 2 * len(slots) + slot], slots[slot]]
                row += group * types[t, USED + len(slots) + slot]
            if not tables.allowed[row, tables.token[len(tables.token) - 1, outcome] if asked != TARGET else 0]:
                continue
        if picked >= 0 and scratch.found[t] == k:
            for slot in range(len(slots)):
                scratch.filling[slot] = slots[slot] if types[t, USED + slot] else -1
            scratch.filling[len(slots)] = position
            scratch.filling[len(slots) + 1] = outcome
        scratch.found[t] += 1


@kernel
def find_referred(
    state: State, sentences: Any, size: int, positions: Int16s, scratch: Scratch, tables: LanguageTables, rule: Any
) -> None:
    """Write the positions that sentences refer to: the target of a command, or the cell that a question is about."""
    slots = len(scratch.slots)
    for b in range(len(positions)):
        t, grid, agent = int(np.int64(sentences.type[b])), state.grid[b], int(np.int64(state.agent[b]))
        if t < 0:
            continue
        if tables.types[t, ANSWER_SHIFT] == TARGET:
            positions[b] = state.target[b]
            continue
        count = describe_objects(grid, size, state.objects[b], agent, scratch, tables, rule)
        s = tables.types[t, EMPTY_SCAN if sentences.answer[b] == tables.nothing else SCAN]
        k = found = 0
        while k <= found and positions[b] < 0:  # k = 0 only counts
            scan_references(s, s + 1, t if k > 0 else -1, k - 1, grid, size, agent, count, scratch, tables)
            found = scratch.found[t]
            same = k > 0
            for slot in range(slots):
                used = tables.types[t, USED + slot] > 0
                same = same and (not used or scratch.filling[slot] == sentences.slots[b, slot])
            if same:
                positions[b] = scratch.filling[slots]
            k += 1


class AllowedTable(NamedTuple):
    """`Split.allows`, tabulated over all fillings of all types for the kernels."""

    allowed: Bools
    """[filling, answer is held out]"""
    first_row: Ints
    """[type]: row of the type's first filling"""
    strides: Ints
    """[type, slot]: the distance of the rows of consecutive groups of words in a slot; 0 for unused slots"""
    group: Int16s
    """[type, slot, word]: the group of words, which the split treats alike, to which a word belongs"""

    def row(self, t: int, filling: Sequence[int]) -> int:
        """The row of a filling of a type, given the index of the word in each slot (any for unused slots)."""
        return int(self.first_row[t] + self.strides[t] @ self.group[t, np.arange(len(filling)), filling])


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


def map_rule(grammar: Grammar) -> Any:
    """The compiled rules of all attributes of maps as one kernel (rule, grid, size, agent, objects, count, i); or None.

    A rule is a function (grid, size, agent, objects, count, i) of the map's cell ids, its side, the agent's position,
    the objects' positions and their number; it returns the index of the attribute's word for object i, or -1.
    """
    combined: Any = None
    rules = [attribute.rule for attribute in grammar.language.attributes if attribute.source == "map"]
    for number, rule in reversed(list(enumerate(rules))):
        assert rule is not None
        combined = _either(number, rule, combined)
    return combined


@cache
def _either(number: int, given: Callable[..., int], others: Any) -> Any:
    """A kernel that calls `given` for its number, otherwise the others. Cached, because every teacher asks for it."""
    rule = given if hasattr(given, "py_func") else numba.njit(given)
    if others is None:
        return numba.njit(lambda k, grid, size, agent, objects, count, i: rule(grid, size, agent, objects, count, i))

    def chosen(k: int, grid: Int16s, size: int, agent: int, objects: Int16s, count: int, i: int) -> int:
        if k == number:
            return rule(grid, size, agent, objects, count, i)
        return int(others(k, grid, size, agent, objects, count, i))

    return numba.njit(chosen)

"""What the sentences of a language refer to on a map: the kernels that interpret references.

An object is a row of attribute values, packed into one integer, its *key*. A description picks the only object with
some values. A *scan* enumerates all fillings of a reference with the cells that they refer to, and for each sentence
type of that reference the target or answer. Scanning once counts the fillings of every type; scanning again picks one
of them. The conditions C0 to C8 of the paper are marked where they are checked.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundling.jit import constant, kernel
from groundling.teacher.language_file import MAX_STEPS
from groundling.teacher.language_tables import (
    ANSWER_MASK,
    ANSWER_ROW,
    ANSWER_SHIFT,
    ATTRIBUTES,
    BASE,
    EMPTY,
    EMPTY_SCAN,
    END_TYPE,
    FIRST,
    FIRST_ROW,
    FIRST_TYPE,
    FROM_AGENT,
    FROM_BETWEEN,
    MASK,
    NEAR,
    SAME_SET,
    SCAN,
    SECOND,
    SHIFT,
    SLOT,
    STEPS,
    TARGET,
    TRIPLES,
    USED,
    Ints,
    LanguageTables,
)
from groundling.world.catalog import FIRST_ICON, FLOOR, WALL
from groundling.world.types import DIRECTIONS, OFFSETS, Bools, Int16s, State

_DIRECTION_AT = np.full((3, 3), -1, np.int64)
_DIRECTION_AT[OFFSETS[:, 0] + 1, OFFSETS[:, 1] + 1] = np.arange(len(OFFSETS))
DIRECTION_COUNT = constant(len(DIRECTIONS))

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

"""Which sentences a map triggers: the conditions of the paper's sixteen sentence types, C0 to C8.

`find_commands` and `find_questions` list every valid filling of every type. The teacher then samples a type among those
with at least one filling, and one of its fillings.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundling.jit import constant, kernel
from groundling.teacher.grammar import TYPES
from groundling.world.catalog import FIRST_ICON, FLOOR, NO_COLOR
from groundling.world.types import Bools, Int16s

OFFSETS = np.array([(0, 1), (-1, 0), (-1, 1), (-1, -1), (1, 0), (1, 1), (1, -1), (0, -1)], np.int64)
"""[direction]: (rows, columns); north is up. In the order of `lexicon.DIRECTIONS`."""
_DIRECTION_AT = np.full((3, 3), -1, np.int64)
_DIRECTION_AT[OFFSETS[:, 0] + 1, OFFSETS[:, 1] + 1] = np.arange(len(OFFSETS))

(
    NAV_OBJ, NAV_COL_OBJ, NAV_NR_OBJ, NAV_BW_OBJ,
    REC_COL2OBJ, REC_OBJ2COL, REC_LOC2OBJ, REC_OBJ2LOC, REC_LOC2COL, REC_COL2LOC,
    REC_LOC_OBJ2OBJ, REC_LOC_OBJ2COL, REC_COL_OBJ2LOC, REC_BW_OBJ2OBJ, REC_BW_OBJ2LOC, REC_BW_OBJ2COL,
) = map(constant, range(len(TYPES)))  # fmt: skip
COMMAND_COUNT = REC_COL2OBJ
EMPTY = constant(len(TYPES))
"""Questions about an empty cell, with the answer `nothing`, are listed after the types."""

NONE = constant(-1)
"""An unused slot."""
Ints = NDArray[np.int64]

OBJECT, COLOR, DIRECTION, PREPOSITION, ANSWER_COLUMN = range(5)
"""Rows of `WordTables.token`: the vocabularies of content slots, and the column of `allowed` for each answer."""


class WordTables(NamedTuple):
    """What the kernels need of the lexicon and the split. Few arrays, because each one costs time in every call."""

    token: Int16s
    """[OBJECT, COLOR, DIRECTION or PREPOSITION; index]: the token of the word; [ANSWER_COLUMN; token]: 1 for an answer
    that is held out, otherwise 0"""
    nothing: int
    """Token of the answer `nothing`."""
    restricted: bool
    """Whether the split restricts sentences at all."""
    allowed: Bools
    """[filling, answer is held out]: whether the split allows a sentence, see `Split.allows`"""
    filling_row: Ints
    """[type, (first, obj, obj2, col, loc)]: row of the type's first filling in `allowed`, and the distance of the rows
    of consecutive words in each slot"""


OBJECT_ON_MAP = np.dtype(
    [
        ("position", np.int64),
        ("row", np.int64),  # of the position; stored because divisions in the loops below are slow
        ("column", np.int64),
        ("cls", np.int64),
        ("color", np.int64),
        ("name", np.int64),  # token of its class
        ("color_name", np.int64),  # token of its color, or -1
        ("near", np.int64),  # the direction from the agent if it is one of the 8 neighbors, or -1
        ("visible", np.bool_),  # not under the agent, where no image would show it
        ("named", np.bool_),  # C1: no other object has its class
        ("only_color", np.bool_),  # C4: it has a color, and no other object has that color
        ("contrasted", np.bool_),  # C2: another object shares its class or its color, but none shares both
    ]
)
"""One object of a map, with the facts that the conditions need."""


class Scratch(NamedTuple):
    """Working memory for one map: its objects and the fillings found."""

    objects: NDArray[np.void]
    """[object] of OBJECT_ON_MAP"""
    found: Ints
    """[type]: number of fillings found"""
    fillings: Ints
    """[type, filling, (obj, obj2, col, loc, outcome)]: class, class, color and direction, or -1; then the target
    position or the answer's token"""


def make_scratch(max_objects: int) -> Scratch:
    """Working memory for maps of up to `max_objects` objects."""
    max_fillings = max(len(OFFSETS) * max_objects, max_objects**2)
    return Scratch(
        np.zeros(max_objects, OBJECT_ON_MAP),
        np.zeros(len(TYPES) + 1, np.int64),
        np.empty((len(TYPES) + 1, max_fillings, 5), np.int64),
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
    grid: Int16s,
    size: int,
    objects: Int16s,
    agent: int,
    icon_class: Int16s,
    icon_color: Int16s,
    scratch: Scratch,
    words: WordTables,
) -> int:
    """Fill `scratch.objects`; return the number of objects."""
    count = 0
    row, column = agent // size, agent % size
    while count < len(objects) and objects[count] >= 0:
        item = scratch.objects[count]
        item.position, item.row, item.column = objects[count], objects[count] // size, objects[count] % size
        icon = grid[item.position] - FIRST_ICON
        item.cls, item.color = icon_class[icon], icon_color[icon]
        item.name = words.token[OBJECT, item.cls]
        item.color_name = words.token[COLOR, item.color] if item.color != NO_COLOR else -1
        item.near = direction(item.row - row, item.column - column)
        item.visible = item.position != agent
        count += 1
    for i in range(count):
        same_name = same_color = same_both = 0
        item = scratch.objects[i]
        for j in range(count):
            name, color = item.cls == scratch.objects[j].cls, item.color == scratch.objects[j].color
            same_name += name
            same_color += color
            same_both += name and color
        colored = item.color != NO_COLOR
        item.named = same_name == 1
        item.only_color = colored and same_color == 1
        item.contrasted = colored and same_both == 1 and (same_name > 1 or same_color > 1)
    return count


@kernel
def allowed(words: WordTables, type_: int, obj: int, obj2: int, col: int, loc: int, answer: int) -> bool:
    """Look up whether the split allows a sentence; `answer` is the token of its answer, or -1 for a command."""
    if not words.restricted:
        return True
    row = words.filling_row[type_, 0]
    if obj >= 0:
        row += obj * words.filling_row[type_, 1]
    if obj2 >= 0:
        row += obj2 * words.filling_row[type_, 2]
    if col >= 0:
        row += col * words.filling_row[type_, 3]
    if loc >= 0:
        row += loc * words.filling_row[type_, 4]
    return bool(words.allowed[row, words.token[ANSWER_COLUMN, answer] if answer >= 0 else 0])


@kernel
def add_filling(
    scratch: Scratch, words: WordTables, kind: int, type_: int, obj: int, obj2: int, col: int, loc: int, outcome: int
) -> None:
    """Add a filling to the list `kind` (its type, or EMPTY) if the split allows it."""
    if allowed(words, type_, obj, obj2, col, loc, outcome if type_ >= COMMAND_COUNT else -1):
        k = scratch.found[kind]
        scratch.fillings[kind, k, 0] = obj
        scratch.fillings[kind, k, 1] = obj2
        scratch.fillings[kind, k, 2] = col
        scratch.fillings[kind, k, 3] = loc
        scratch.fillings[kind, k, 4] = outcome
        scratch.found[kind] = k + 1


@kernel
def add(scratch: Scratch, words: WordTables, type_: int, obj: int, obj2: int, col: int, loc: int, outcome: int) -> None:
    """Add a filling to the list of its own type if the split allows it."""
    add_filling(scratch, words, type_, type_, obj, obj2, col, loc, outcome)


@kernel
def find_commands(grid: Int16s, size: int, distance: Int16s, count: int, scratch: Scratch, words: WordTables) -> None:
    """List all commands at the start of an episode (C0) with a reachable target; `count` objects are described."""
    scratch.found[:COMMAND_COUNT] = 0
    for i in range(count):
        item = scratch.objects[i]
        if distance[item.position] > 0:
            if item.named:
                add(scratch, words, NAV_OBJ, item.cls, NONE, NONE, NONE, item.position)
            if item.contrasted:
                add(scratch, words, NAV_COL_OBJ, item.cls, NONE, item.color, NONE, item.position)
        if not item.named:
            continue
        for loc in range(len(OFFSETS)):
            position = neighbor(size, item.row, item.column, loc)
            if position >= 0 and grid[position] == FLOOR and distance[position] > 0:
                add(scratch, words, NAV_NR_OBJ, item.cls, NONE, NONE, loc, position)
        for j in range(count):  # C3: both are unique in their class, and two cells apart
            other = scratch.objects[j]
            position = middle(item, other)
            if position >= 0 and other.named and grid[position] == FLOOR and distance[position] > 0:
                add(scratch, words, NAV_BW_OBJ, item.cls, other.cls, NONE, NONE, position)


@kernel
def find_questions(agent: int, count: int, scratch: Scratch, words: WordTables) -> None:
    """List all questions about a map with their true answers; `count` objects are described."""
    scratch.found[COMMAND_COUNT:] = 0
    for i in range(count):
        item = scratch.objects[i]
        if not item.visible:
            continue
        if item.only_color:
            add(scratch, words, REC_COL2OBJ, NONE, NONE, item.color, NONE, item.name)
        if item.named and item.color_name >= 0:
            add(scratch, words, REC_OBJ2COL, item.cls, NONE, NONE, NONE, item.color_name)
        if item.near >= 0:  # C5
            where = int(words.token[DIRECTION, item.near])
            add(scratch, words, REC_LOC2OBJ, NONE, NONE, NONE, item.near, item.name)
            if item.color_name >= 0:
                add(scratch, words, REC_LOC2COL, NONE, NONE, NONE, item.near, item.color_name)
            if item.named:
                add(scratch, words, REC_OBJ2LOC, item.cls, NONE, NONE, NONE, where)
            if item.only_color:
                add(scratch, words, REC_COL2LOC, NONE, NONE, item.color, NONE, where)
            if item.contrasted:
                add(scratch, words, REC_COL_OBJ2LOC, item.cls, NONE, item.color, NONE, where)
        if item.named:
            find_relative_questions(agent, count, i, scratch, words)


@kernel
def find_relative_questions(agent: int, count: int, i: int, scratch: Scratch, words: WordTables) -> None:
    """List the questions that refer to a cell next to object `i`, or between it and another object."""
    item = scratch.objects[i]
    for j in range(count):
        other = scratch.objects[j]
        if j == i or not other.visible:
            continue
        loc = direction(other.row - item.row, other.column - item.column)
        if loc >= 0:  # C6
            add(scratch, words, REC_LOC_OBJ2OBJ, item.cls, NONE, NONE, loc, other.name)
            if other.color_name >= 0:
                add(scratch, words, REC_LOC_OBJ2COL, item.cls, NONE, NONE, loc, other.color_name)
        position = middle(item, other)
        if position < 0 or not other.named or position == agent:
            continue
        for k in range(count):  # C7
            between = scratch.objects[k]
            if between.position == position:
                add(scratch, words, REC_BW_OBJ2OBJ, item.cls, other.cls, NONE, NONE, between.name)
                if between.color_name >= 0:
                    add(scratch, words, REC_BW_OBJ2COL, item.cls, other.cls, NONE, NONE, between.color_name)
                if between.near >= 0:  # C8
                    where = int(words.token[DIRECTION, between.near])
                    add(scratch, words, REC_BW_OBJ2LOC, item.cls, other.cls, NONE, NONE, where)


@kernel
def find_empty(
    grid: Int16s, size: int, agent: int, count: int, type_: int, scratch: Scratch, words: WordTables
) -> None:
    """List all questions of a type that asks for an object by its position, about empty cells (answer: `nothing`)."""
    scratch.found[EMPTY] = 0
    if type_ == REC_LOC2OBJ:
        for loc in range(len(OFFSETS)):
            position = neighbor(size, agent // size, agent % size, loc)
            if position >= 0 and grid[position] == FLOOR:
                add_filling(scratch, words, EMPTY, type_, NONE, NONE, NONE, loc, words.nothing)
        return
    for i in range(count):
        item = scratch.objects[i]
        if not item.visible or not item.named:
            continue
        if type_ == REC_LOC_OBJ2OBJ:
            for loc in range(len(OFFSETS)):
                position = neighbor(size, item.row, item.column, loc)
                if position >= 0 and position != agent and grid[position] == FLOOR:
                    add_filling(scratch, words, EMPTY, type_, item.cls, NONE, NONE, loc, words.nothing)
        elif type_ == REC_BW_OBJ2OBJ:
            for j in range(count):
                other = scratch.objects[j]
                position = middle(item, other)
                if other.visible and other.named and position >= 0 and position != agent and grid[position] == FLOOR:
                    add_filling(scratch, words, EMPTY, type_, item.cls, other.cls, NONE, NONE, words.nothing)

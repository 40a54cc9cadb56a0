"""The sixteen sentence types: when each may be said of a world (C0 to C8), and what its target or true answer is.

`find_commands` and `find_questions` list every true filling of every type. The teacher then draws a type among those
that have one, and one of its fillings.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundling.jit import kernel
from groundling.teacher.grammar import TYPES
from groundling.world.catalog import FIRST_ICON, FLOOR, NO_COLOR
from groundling.world.simulation import Bools, Int16s

OFFSETS = np.array([(0, 1), (-1, 0), (-1, 1), (-1, -1), (1, 0), (1, 1), (1, -1), (0, -1)], np.int64)
"""[direction]: (rows, columns); north is up. In the order of `lexicon.DIRECTIONS`."""
_DIRECTION_AT = np.full((3, 3), -1, np.int64)
_DIRECTION_AT[OFFSETS[:, 0] + 1, OFFSETS[:, 1] + 1] = np.arange(len(OFFSETS))

(
    NAV_OBJ, NAV_COL_OBJ, NAV_NR_OBJ, NAV_BW_OBJ,
    REC_COL2OBJ, REC_OBJ2COL, REC_LOC2OBJ, REC_OBJ2LOC, REC_LOC2COL, REC_COL2LOC,
    REC_LOC_OBJ2OBJ, REC_LOC_OBJ2COL, REC_COL_OBJ2LOC, REC_BW_OBJ2OBJ, REC_BW_OBJ2LOC, REC_BW_OBJ2COL,
) = range(len(TYPES))  # fmt: skip
COMMAND_COUNT = REC_COL2OBJ
EMPTY = len(TYPES)
"""Questions of an empty cell, whose answer is `nothing`, are listed behind the types."""

Ints = NDArray[np.int64]

ANY, NOTHING_HELD_OUT, HELD_OUT_PAIR, HELD_OUT_WORD = range(4)
OBJECT, COLOR, DIRECTION, PREPOSITION = range(4)


class WordTables(NamedTuple):
    """What a kernel needs of the lexicon and the split."""

    numbers: Int16s
    """[OBJECT, COLOR, DIRECTION or PREPOSITION; index]: the number of the word for it."""
    between: int
    nothing: int
    held: Bools
    """[word, word]: held-out pairs; [word, last]: held-out words."""
    wanted: int
    """Sentences to say: ANY, with NOTHING_HELD_OUT, with a HELD_OUT_PAIR of words that are not, or a HELD_OUT_WORD."""
    with_answers: bool
    """Whether a word is held out of answers too."""


SEEN = np.dtype(
    [
        ("place", np.int64),
        ("row", np.int64),  # of the place; kept because dividing in the loops below is slow
        ("column", np.int64),
        ("cls", np.int64),
        ("color", np.int64),
        ("name", np.int64),  # the word for its class
        ("color_name", np.int64),  # the word for its color, or -1
        ("near", np.int64),  # the direction in which the agent sees it close by, or -1
        ("visible", np.bool_),  # not under the agent, where no picture would show it
        ("named", np.bool_),  # C1: no other object has its name
        ("only_color", np.bool_),  # C4: it has a color, and no other object has it
        ("contrasted", np.bool_),  # C2: another object shares its name or its color, but none both
    ]
)
"""An object on a map, as the teacher sees it."""


class Findings(NamedTuple):
    """Scratch for one world: its objects and the fillings found."""

    seen: NDArray[np.void]
    """[object] of SEEN"""
    found: Ints
    """[type]: how many fillings were found"""
    fillings: Ints
    """[type, filling, (obj, obj2, col, loc, outcome)]: classes, color and direction, or -1; then target or answer"""


def findings(most_objects: int) -> Findings:
    """Room for the findings on maps of up to so many objects."""
    most_fillings = max(8 * most_objects, most_objects**2)
    return Findings(
        np.zeros(most_objects, SEEN),
        np.zeros(len(TYPES) + 1, np.int64),
        np.empty((len(TYPES) + 1, most_fillings, 5), np.int64),
    )


@kernel
def direction(rows: int, columns: int) -> int:
    """The direction of a neighbor so many rows down and columns right, or -1 if it is none of the eight."""
    return _DIRECTION_AT[rows + 1, columns + 1] if abs(rows) <= 1 and abs(columns) <= 1 else -1


@kernel
def neighbor(size: int, row: int, column: int, loc: int) -> int:
    """The place next to (row, column) in a direction, or -1 where the map ends."""
    row, column = row + OFFSETS[loc, 0], column + OFFSETS[loc, 1]
    return row * size + column if 0 <= row < size and 0 <= column < size else -1


@kernel
def middle(a: Any, b: Any) -> int:
    """The one place between two objects in the same row or column, or -1."""
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
    f: Findings,
    w: WordTables,
) -> int:
    """Describe each object in `f.seen`; return how many there are."""
    n = 0
    row, column = agent // size, agent % size
    while n < len(objects) and objects[n] >= 0:
        o = f.seen[n]
        o.position, o.row, o.column = objects[n], objects[n] // size, objects[n] % size
        icon = grid[o.position] - FIRST_ICON
        o.cls, o.color = icon_class[icon], icon_color[icon]
        o.name = w.numbers[OBJECT, o.cls]
        o.color_name = w.numbers[COLOR, o.color] if o.color != NO_COLOR else -1
        o.near = direction(o.row - row, o.column - column)
        o.visible = o.position != agent
        n += 1
    for i in range(n):
        same_name = same_color = same_both = 0
        o = f.seen[i]
        for j in range(n):
            name, color = o.cls == f.seen[j].cls, o.color == f.seen[j].color
            same_name += name
            same_color += color
            same_both += name and color
        colored = o.color != NO_COLOR
        o.named = same_name == 1
        o.only_color = colored and same_color == 1
        o.contrasted = colored and same_both == 1 and (same_name > 1 or same_color > 1)
    return n


@kernel
def allowed(w: WordTables, obj: int, obj2: int, col: int, loc: int, answer: int) -> bool:
    """Whether the split lets the teacher say these words together; `answer` is the word to be answered, or -1."""
    if w.wanted == ANY:
        return True
    single = w.held.shape[1] - 1
    pair = False
    word = w.with_answers and answer >= 0 and w.held[answer, single]
    relation = w.numbers[DIRECTION, loc] if loc >= 0 else w.between if obj2 >= 0 else -1
    color = w.numbers[COLOR, col] if col >= 0 else -1
    if color >= 0:
        word |= w.held[color, single]  # `orange` may be held out as an object
    if obj >= 0:
        name = w.numbers[OBJECT, obj]
        word |= w.held[name, single]
        if color >= 0:
            pair |= w.held[name, color]
        if relation >= 0:
            pair |= w.held[name, relation]
        if obj2 >= 0:
            other = w.numbers[OBJECT, obj2]
            word |= w.held[other, single]
            pair |= w.held[name, other] or w.held[other, relation]
    if w.wanted == HELD_OUT_PAIR:
        return pair and not word
    return word if w.wanted == HELD_OUT_WORD else not (pair or word)


@kernel
def add_filling(f: Findings, w: WordTables, kind: int, obj: int, obj2: int, col: int, loc: int, outcome: int) -> None:
    """Add a filling, if the split lets it be said."""
    if allowed(w, obj, obj2, col, loc, outcome if kind >= COMMAND_COUNT else -1):
        k = f.found[kind]
        f.fillings[kind, k, 0] = obj
        f.fillings[kind, k, 1] = obj2
        f.fillings[kind, k, 2] = col
        f.fillings[kind, k, 3] = loc
        f.fillings[kind, k, 4] = outcome
        f.found[kind] = k + 1


@kernel
def find_commands(grid: Int16s, size: int, distance: Int16s, n: int, f: Findings, w: WordTables) -> None:
    """All commands at the beginning of a episode (C0) whose target the agent can reach; `n` objects are seen."""
    f.found[:COMMAND_COUNT] = 0
    for i in range(n):
        o = f.seen[i]
        if distance[o.position] > 0:
            if o.named:
                add_filling(f, w, NAV_OBJ, o.cls, -1, -1, -1, o.position)
            if o.contrasted:
                add_filling(f, w, NAV_COL_OBJ, o.cls, -1, o.color, -1, o.position)
        if not o.named:
            continue
        for loc in range(len(OFFSETS)):
            position = neighbor(size, o.row, o.column, loc)
            if position >= 0 and grid[position] == FLOOR and distance[position] > 0:
                add_filling(f, w, NAV_NR_OBJ, o.cls, -1, -1, loc, position)
        for j in range(n):  # C3: both are named, and one cell apart
            other = f.seen[j]
            position = middle(o, other)
            if position >= 0 and other.named and grid[position] == FLOOR and distance[position] > 0:
                add_filling(f, w, NAV_BW_OBJ, o.cls, other.cls, -1, -1, position)


@kernel
def find_questions(agent: int, n: int, f: Findings, w: WordTables) -> None:
    """All questions of a world and their true answers; `n` objects are seen."""
    f.found[COMMAND_COUNT:] = 0
    for i in range(n):
        o = f.seen[i]
        if not o.visible:
            continue
        if o.only_color:
            add_filling(f, w, REC_COL2OBJ, -1, -1, o.color, -1, o.name)
        if o.named and o.color_name >= 0:
            add_filling(f, w, REC_OBJ2COL, o.cls, -1, -1, -1, o.color_name)
        if o.near >= 0:  # C5
            where = w.numbers[DIRECTION, o.near]
            add_filling(f, w, REC_LOC2OBJ, -1, -1, -1, o.near, o.name)
            if o.color_name >= 0:
                add_filling(f, w, REC_LOC2COL, -1, -1, -1, o.near, o.color_name)
            if o.named:
                add_filling(f, w, REC_OBJ2LOC, o.cls, -1, -1, -1, where)
            if o.only_color:
                add_filling(f, w, REC_COL2LOC, -1, -1, o.color, -1, where)
            if o.contrasted:
                add_filling(f, w, REC_COL_OBJ2LOC, o.cls, -1, o.color, -1, where)
        if o.named:
            find_relative_questions(agent, n, i, f, w)


@kernel
def find_relative_questions(agent: int, n: int, i: int, f: Findings, w: WordTables) -> None:
    """The questions that refer to something by its place beside object `i`, or between it and another."""
    o = f.seen[i]
    for j in range(n):
        other = f.seen[j]
        if j == i or not other.visible:
            continue
        loc = direction(other.row - o.row, other.column - o.column)
        if loc >= 0:  # C6
            add_filling(f, w, REC_LOC_OBJ2OBJ, o.cls, -1, -1, loc, other.name)
            if other.color_name >= 0:
                add_filling(f, w, REC_LOC_OBJ2COL, o.cls, -1, -1, loc, other.color_name)
        position = middle(o, other)
        if position < 0 or not other.named or position == agent:
            continue
        for k in range(n):  # C7
            between = f.seen[k]
            if between.position == position:
                add_filling(f, w, REC_BW_OBJ2OBJ, o.cls, other.cls, -1, -1, between.name)
                if between.color_name >= 0:
                    add_filling(f, w, REC_BW_OBJ2COL, o.cls, other.cls, -1, -1, between.color_name)
                if between.near >= 0:  # C8
                    where = w.numbers[DIRECTION, between.near]
                    add_filling(f, w, REC_BW_OBJ2LOC, o.cls, other.cls, -1, -1, where)


@kernel
def find_empty(grid: Int16s, size: int, agent: int, n: int, type_: int, f: Findings, w: WordTables) -> None:
    """All questions of a type that asks for an object by its place, put of an empty cell: the answer is `nothing`."""
    f.found[EMPTY] = 0
    if type_ == REC_LOC2OBJ:
        for loc in range(len(OFFSETS)):
            position = neighbor(size, agent // size, agent % size, loc)
            if position >= 0 and grid[position] == FLOOR:
                add_filling(f, w, EMPTY, -1, -1, -1, loc, w.nothing)
        return
    for i in range(n):
        o = f.seen[i]
        if not o.visible or not o.named:
            continue
        if type_ == REC_LOC_OBJ2OBJ:
            for loc in range(len(OFFSETS)):
                position = neighbor(size, o.row, o.column, loc)
                if position >= 0 and position != agent and grid[position] == FLOOR:
                    add_filling(f, w, EMPTY, o.cls, -1, -1, loc, w.nothing)
        elif type_ == REC_BW_OBJ2OBJ:
            for j in range(n):
                other = f.seen[j]
                position = middle(o, other)
                if other.visible and other.named and position >= 0 and position != agent and grid[position] == FLOOR:
                    add_filling(f, w, EMPTY, o.cls, other.cls, -1, -1, w.nothing)

"""The sixteen sentence types: when each may be said of a world (C0 to C8), and what its target or true answer is.

`find_commands` and `find_questions` list every true filling of every type. The teacher then draws a type among those
that have one, and one of its fillings.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundling.kernel import kernel
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
"""Type t asked of an empty cell, whose answer is `nothing`, is listed as EMPTY + t."""

Ints = NDArray[np.int64]

ANY, WITHOUT_HELD_OUT, WITH_HELD_OUT = range(3)


class Words(NamedTuple):
    """Word numbers of what the catalogue calls by index, and the held-out ones: what a kernel needs of language."""

    objects: Int16s
    """[class]"""
    colors: Int16s
    directions: Int16s
    prepositions: Int16s
    between: int
    nothing: int
    held_words: Bools
    held_pairs: Bools
    wanted: int
    """ANY, WITHOUT_HELD_OUT or WITH_HELD_OUT."""


class Findings(NamedTuple):
    """Scratch for one world: its objects as the teacher sees them, and the fillings found."""

    place: Ints
    """[object], as the following five"""
    cls: Ints
    color: Ints
    near: Ints
    """The direction in which the agent sees it close by, -1 if it does not."""
    visible: Bools
    """Not under the agent, where no picture would show it."""
    named: Bools
    """C1: no other object has its name."""
    only_color: Bools
    """C4: it has a colour, and no other object has it."""
    contrasted: Bools
    """C2: colour and name together pick it out, and another object shares one of the two but not both."""
    count: Ints
    """[type]: how many fillings were found."""
    fillings: Ints
    """[type, filling, (obj, obj2, col, loc, outcome)]: classes, colour and direction, or -1; then target or answer."""




def findings(most_objects: int) -> Findings:
    """Room for the findings on maps of up to so many objects."""
    most_fillings = max(8 * most_objects, most_objects**2)
    return Findings(
        *(np.empty(most_objects, np.int64) for _ in range(4)),
        *(np.empty(most_objects, np.bool_) for _ in range(4)),
        np.zeros(2 * len(TYPES), np.int64),
        np.empty((2 * len(TYPES), most_fillings, 5), np.int64),
    )


@kernel
def direction(size: int, here: int, there: int) -> int:
    """The direction in which `there` is one of the eight neighbours of `here`, or -1."""
    rows, columns = there // size - here // size, there % size - here % size
    if abs(rows) > 1 or abs(columns) > 1:
        return -1
    return _DIRECTION_AT[rows + 1, columns + 1]


@kernel
def neighbour(size: int, place: int, loc: int) -> int:
    """The place next to `place` in a direction, or -1 where the map ends."""
    row, column = place // size + OFFSETS[loc, 0], place % size + OFFSETS[loc, 1]
    return row * size + column if 0 <= row < size and 0 <= column < size else -1


@kernel
def middle(size: int, a: int, b: int) -> int:
    """The one place between two in the same row or column, or -1."""
    rows, columns = abs(a // size - b // size), abs(a % size - b % size)
    return (a + b) // 2 if (rows == 0 and columns == 2) or (rows == 2 and columns == 0) else -1


@kernel
def look(
    grid: Int16s, size: int, objects: Int16s, agent: int, icon_class: Int16s, icon_color: Int16s, f: Findings
) -> int:
    """Describe each object in `f`; return how many there are."""
    n = 0
    while n < len(objects) and objects[n] >= 0:
        icon = grid[objects[n]] - FIRST_ICON
        f.place[n], f.cls[n], f.color[n] = objects[n], icon_class[icon], icon_color[icon]
        f.near[n] = direction(size, agent, objects[n])
        f.visible[n] = objects[n] != agent
        n += 1
    for i in range(n):
        same_name = same_color = same_both = 0
        for j in range(n):
            name, color = f.cls[i] == f.cls[j], f.color[i] == f.color[j]
            same_name += name
            same_color += color
            same_both += name and color
        colored = f.color[i] != NO_COLOR
        f.named[i] = same_name == 1
        f.only_color[i] = colored and same_color == 1
        f.contrasted[i] = colored and same_both == 1 and (same_name > 1 or same_color > 1)
    return n


@kernel
def sayable(w: Words, obj: int, obj2: int, col: int, loc: int) -> bool:
    """Whether the split lets the teacher say these words together."""
    if w.wanted == ANY:
        return True
    held = False
    object_word = w.objects[obj] if obj >= 0 else -1
    color_word = w.colors[col] if col >= 0 else -1
    relation = w.directions[loc] if loc >= 0 else -1
    if object_word >= 0:
        held |= w.held_words[object_word]
        if color_word >= 0:
            held |= w.held_pairs[object_word, color_word]
    if color_word >= 0:
        held |= w.held_words[color_word]  # `orange` may be held out as an object
    if obj2 >= 0:
        other_word, relation = w.objects[obj2], w.between
        held |= w.held_words[other_word] | w.held_pairs[object_word, other_word] | w.held_pairs[other_word, relation]
    if object_word >= 0 and relation >= 0:
        held |= w.held_pairs[object_word, relation]
    return held == (w.wanted == WITH_HELD_OUT)


@kernel
def note(f: Findings, w: Words, kind: int, obj: int, obj2: int, col: int, loc: int, outcome: int) -> None:
    """Add a filling, if the split lets it be said."""
    if sayable(w, obj, obj2, col, loc):
        filling = f.fillings[kind, f.count[kind]]
        filling[0], filling[1], filling[2], filling[3], filling[4] = obj, obj2, col, loc, outcome
        f.count[kind] += 1


@kernel
def find_commands(grid: Int16s, size: int, agent: int, distance: Int16s, n: int, f: Findings, w: Words) -> None:
    """All commands at the beginning of a session (C0) whose target the agent can reach; `n` objects are in `f`."""
    f.count[:COMMAND_COUNT] = 0
    for i in range(n):
        obj = f.cls[i]
        if distance[f.place[i]] > 0:
            if f.named[i]:
                note(f, w, NAV_OBJ, obj, -1, -1, -1, f.place[i])
            if f.contrasted[i]:
                note(f, w, NAV_COL_OBJ, obj, -1, f.color[i], -1, f.place[i])
        if not f.named[i]:
            continue
        for loc in range(len(OFFSETS)):
            place = neighbour(size, f.place[i], loc)
            if place >= 0 and grid[place] == FLOOR and distance[place] > 0:
                note(f, w, NAV_NR_OBJ, obj, -1, -1, loc, place)
        for j in range(n):  # C3: both are named, and one cell apart
            place = middle(size, f.place[i], f.place[j])
            if place >= 0 and f.named[j] and grid[place] == FLOOR and distance[place] > 0:
                note(f, w, NAV_BW_OBJ, obj, f.cls[j], -1, -1, place)


@kernel
def find_questions(grid: Int16s, size: int, agent: int, n: int, f: Findings, w: Words) -> None:
    """All questions of a world and their true answers; `n` objects are in `f`."""
    f.count[COMMAND_COUNT:] = 0
    for i in range(n):
        if not f.visible[i]:
            continue
        obj, col, near = f.cls[i], f.color[i], f.near[i]
        name = w.objects[obj]
        color = w.colors[col] if col != NO_COLOR else -1
        if f.only_color[i]:
            note(f, w, REC_COL2OBJ, -1, -1, col, -1, name)
        if f.named[i] and color >= 0:
            note(f, w, REC_OBJ2COL, obj, -1, -1, -1, color)
        if near >= 0:  # C5
            note(f, w, REC_LOC2OBJ, -1, -1, -1, near, name)
            if color >= 0:
                note(f, w, REC_LOC2COL, -1, -1, -1, near, color)
            if f.named[i]:
                note(f, w, REC_OBJ2LOC, obj, -1, -1, -1, w.directions[near])
            if f.only_color[i]:
                note(f, w, REC_COL2LOC, -1, -1, col, -1, w.directions[near])
            if f.contrasted[i]:
                note(f, w, REC_COL_OBJ2LOC, obj, -1, col, -1, w.directions[near])
        if f.named[i]:
            find_relative_questions(grid, size, agent, n, i, f, w)
    for loc in range(len(OFFSETS)):
        place = neighbour(size, agent, loc)
        if place >= 0 and grid[place] == FLOOR:
            note(f, w, EMPTY + REC_LOC2OBJ, -1, -1, -1, loc, w.nothing)


@kernel
def find_relative_questions(grid: Int16s, size: int, agent: int, n: int, i: int, f: Findings, w: Words) -> None:
    """The questions that refer to something by its place beside object `i`, or between it and another."""
    obj = f.cls[i]
    for j in range(n):
        if j == i or not f.visible[j]:
            continue
        loc = direction(size, f.place[i], f.place[j])
        if loc >= 0:  # C6
            note(f, w, REC_LOC_OBJ2OBJ, obj, -1, -1, loc, w.objects[f.cls[j]])
            if f.color[j] != NO_COLOR:
                note(f, w, REC_LOC_OBJ2COL, obj, -1, -1, loc, w.colors[f.color[j]])
        place = middle(size, f.place[i], f.place[j])
        if place < 0 or not f.named[j] or place == agent:
            continue
        obj2 = f.cls[j]
        if grid[place] == FLOOR:
            note(f, w, EMPTY + REC_BW_OBJ2OBJ, obj, obj2, -1, -1, w.nothing)
        for k in range(n):  # C7
            if f.place[k] == place:
                note(f, w, REC_BW_OBJ2OBJ, obj, obj2, -1, -1, w.objects[f.cls[k]])
                if f.color[k] != NO_COLOR:
                    note(f, w, REC_BW_OBJ2COL, obj, obj2, -1, -1, w.colors[f.color[k]])
                if f.near[k] >= 0:  # C8
                    note(f, w, REC_BW_OBJ2LOC, obj, obj2, -1, -1, w.directions[f.near[k]])
    for loc in range(len(OFFSETS)):
        place = neighbour(size, f.place[i], loc)
        if place >= 0 and grid[place] == FLOOR and place != agent:
            note(f, w, EMPTY + REC_LOC_OBJ2OBJ, obj, -1, -1, loc, w.nothing)

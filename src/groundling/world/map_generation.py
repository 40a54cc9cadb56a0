"""Random map generation. All randomness comes from one key, so a map is a pure function of it.

A *generator* lays out floor and walls; objects and agent are then placed on the floor. `open` is the paper's, with
walls placed last. A generator of a user is a kernel with the arguments of `rooms`.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from numba.core.registry import CPUDispatcher
from numpy.typing import NDArray

from groundling.errors import InputError, cut, nearest
from groundling.imports import import_name, names_code
from groundling.jit import constant, kernel
from groundling.world.catalog import FIRST_ICON, FLOOR, WALL
from groundling.world.rng import below, derive
from groundling.world.types import Int16s

TOP, LEFT, OBJECT_COUNT, WALL_COUNT, ALONG, ACROSS, VERTICAL, FIRST_FREE = map(constant, range(8))
"""The numbers of the draws under a map's key."""
ZERO, ONE, TWO, FOUR = map(constant, (0, 1, 2, 4))
_DOORS = tuple(map(constant, range(2, 6)))
"""The numbers of the draws of doors under the key of a layout."""
_LAYOUT = constant(1 << 20)
"""The number of the key of a layout, beyond all draws of a map."""
GENERATORS = ("open", "rooms", "maze")
OPEN, ROOMS, MAZE, OWN = map(constant, range(4))
"""Indices of GENERATORS, then a user's generator."""


def find_generator(maps: str | Callable[..., None]) -> tuple[int, Any]:
    """The index of a built-in generator and None, or OWN and the compiled function of a user."""
    if isinstance(maps, str):
        if maps in GENERATORS:
            return GENERATORS.index(maps), None
        if not names_code(maps):
            hint = nearest(maps[:40], GENERATORS)
            raise InputError(f"maps must be {', '.join(GENERATORS)} or module:function, got {cut(maps)!r}{hint}")
        maps = import_name(maps, "maps")
    if not callable(maps):
        raise InputError(f"maps must be {', '.join(GENERATORS)}, module:function or a function, got {maps!r:.80}")
    return int(OWN), maps if isinstance(maps, CPUDispatcher) else _compiled(maps)


@cache
def _compiled(function: Callable[..., None]) -> Any:
    """Cached, because every teacher asks for it."""
    return numba.njit(error_model="numpy")(function)


@kernel
def rooms(key: np.uint64, size: int, grid: Int16s) -> None:
    """Lay out four rooms: one wall across and one down, with a door in each of their four parts."""
    grid[:] = FLOOR
    if size < 5:
        return
    row, column = 2 + below(key, TOP, size - 4), 2 + below(key, LEFT, size - 4)
    for k in range(size):
        grid[row * size + k] = WALL
        grid[k * size + column] = WALL
    grid[row * size + below(key, _DOORS[0], column)] = FLOOR
    grid[row * size + column + 1 + below(key, _DOORS[1], size - 1 - column)] = FLOOR
    grid[below(key, _DOORS[2], row) * size + column] = FLOOR
    grid[(row + 1 + below(key, _DOORS[3], size - 1 - row)) * size + column] = FLOOR


@kernel
def maze(key: np.uint64, size: int, grid: Int16s) -> None:
    """Lay out a maze by random walks that carve floor (Aldous and Broder): every free cell is reachable."""
    grid[:] = WALL
    side = (size + 1) // 2  # cells of the maze are those with even row and column
    row = column = visited = 0
    draw = ZERO
    while True:
        if grid[2 * row * size + 2 * column] == WALL:
            grid[2 * row * size + 2 * column] = FLOOR
            visited += 1
            if visited == side * side:
                return
        step = below(key, draw, FOUR)
        draw += 1
        next_row = row + (step == 0) - (step == 1)
        next_column = column + (step == 2) - (step == 3)
        if 0 <= next_row < side and 0 <= next_column < side:
            if grid[2 * next_row * size + 2 * next_column] == WALL:
                grid[(row + next_row) * size + column + next_column] = FLOOR
            row, column = next_row, next_column


@kernel
def draw_map(
    key: np.uint64,
    size: int,
    open_size: int,
    objects_range: tuple[int, int],
    walls_range: tuple[int, int],
    in_line: int,
    classes: Int16s,
    first_icon: Int16s,
    icons: Int16s,
    generator: int,
    own_generator: Any,
    grid: Int16s,
    objects: Int16s,
    positions: NDArray[np.int64],
) -> int:
    """Sample a map into `grid` and `objects`; return the agent's start position.

    A square of side `open_size` at a random offset is open; the rest of the map is wall. The objects, the agent and
    the walls occupy distinct cells of the square. The class of each object is sampled from `classes` with replacement,
    then one of its icons. Random maps rarely have a cell between two objects, so `in_line` forces such a layout:
    2 puts two objects on either side of an empty cell, 3 puts a third object on that cell, 0 forces nothing.
    Other generators than `open` lay out the whole map, without further walls. `positions` is scratch space.
    """
    margin = size - open_size + 1
    top, left = below(key, TOP, margin), below(key, LEFT, margin)
    objects_count = objects_range[0] + below(key, OBJECT_COUNT, objects_range[1] - objects_range[0] + 1)
    walls_count = walls_range[0] + below(key, WALL_COUNT, walls_range[1] - walls_range[0] + 1)

    if generator == OPEN:
        grid[:] = FLOOR if open_size == size else WALL
        cell_count = open_size * open_size
        for i in range(cell_count):
            positions[i] = (top + i // open_size) * size + left + i % open_size
            grid[positions[i]] = FLOOR
    else:
        layout_key = derive(key, _LAYOUT)
        if own_generator is not None:
            own_generator(layout_key, size, grid)
        if generator == ROOMS:
            rooms(layout_key, size, grid)
        elif generator == MAZE:
            maze(layout_key, size, grid)
        open_size, top, left, walls_count = size, 0, 0, 0
        cell_count = 0
        for position in range(size * size):
            if grid[position] == FLOOR:
                positions[cell_count] = position
                cell_count += 1
            else:
                grid[position] = WALL
        objects_count = min(objects_count, cell_count - 1)
        if objects_count < 1:  # no room for an object: no command will be found
            objects[:] = -1
            return 0
    if in_line > 0:
        along, across = below(key, ALONG, open_size - 2), below(key, ACROSS, open_size)
        vertical = below(key, VERTICAL, TWO) == 0
        first = along * size + across if vertical else across * size + along
        first += top * size + left
        stride = size if vertical else 1
        free = grid[first] == FLOOR and grid[first + stride] == FLOOR and grid[first + 2 * stride] == FLOOR
        if free and objects_count >= in_line:
            put(positions, cell_count, first, ZERO)
            put(positions, cell_count, first + 2 * stride, ONE)
            put(positions, cell_count, first + stride, 2 if in_line == 3 else cell_count - 1)
            cell_count -= in_line == 2  # nothing may be placed on the empty cell
        else:
            in_line = 0
    # Partial Fisher-Yates shuffle: the first positions go to the objects, the next to the agent, the rest to walls.
    counter = FIRST_FREE
    for i in range(in_line, min(objects_count + 1 + walls_count, cell_count)):
        j = i + below(key, counter, cell_count - i)
        counter += 1
        positions[i], positions[j] = positions[j], positions[i]
        if i > objects_count:
            grid[positions[i]] = WALL

    objects[:] = -1
    for i in range(objects_count):
        c = classes[below(key, counter, len(classes))]
        icon = icons[first_icon[c] + below(key, counter + 1, first_icon[c + 1] - first_icon[c])]
        counter += 2
        objects[i] = positions[i]
        grid[objects[i]] = FIRST_ICON + icon
    return int(positions[objects_count])


@kernel
def put(positions: NDArray[np.int64], count: int, position: int, to: int) -> None:
    """Swap a position to index `to` of the list."""
    for k in range(count):
        if positions[k] == position:
            positions[k], positions[to] = positions[to], positions[k]
            return

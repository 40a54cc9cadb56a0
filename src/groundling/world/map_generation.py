"""Random map generation. All randomness comes from one key, so a map is a pure function of it."""

import numpy as np
from numpy.typing import NDArray

from groundling.jit import constant, kernel
from groundling.world.catalog import FIRST_ICON, FLOOR, WALL
from groundling.world.rng import below
from groundling.world.types import Int16s

TOP, LEFT, OBJECT_COUNT, WALL_COUNT, ALONG, ACROSS, VERTICAL, FIRST_FREE = map(constant, range(8))
"""The numbers of the draws under a map's key."""
TWO = constant(2)


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
    grid: Int16s,
    objects: Int16s,
    positions: NDArray[np.int64],
) -> int:
    """Sample a map into `grid` and `objects`; return the agent's start position.

    A square of side `open_size` at a random offset is open; the rest of the map is wall. The objects, the agent and
    the walls occupy distinct cells of the square. The class of each object is sampled from `classes` with replacement,
    then one of its icons. Random maps rarely have a cell between two objects, so `in_line` forces such a layout:
    2 puts two objects on either side of an empty cell, 3 puts a third object on that cell, 0 forces nothing.
    `positions` is scratch space.
    """
    margin = size - open_size + 1
    top, left = below(key, TOP, margin), below(key, LEFT, margin)
    objects_count = objects_range[0] + below(key, OBJECT_COUNT, objects_range[1] - objects_range[0] + 1)
    walls_count = walls_range[0] + below(key, WALL_COUNT, walls_range[1] - walls_range[0] + 1)

    grid[:] = FLOOR if open_size == size else WALL
    cell_count = open_size * open_size
    for i in range(cell_count):
        positions[i] = (top + i // open_size) * size + left + i % open_size
        grid[positions[i]] = FLOOR
    if in_line > 0:
        along, across = below(key, ALONG, open_size - 2), below(key, ACROSS, open_size)
        vertical = below(key, VERTICAL, TWO) == 0
        first = along * open_size + across if vertical else across * open_size + along
        stride = open_size if vertical else 1
        for i, k in enumerate((first, first + 2 * stride)):
            positions[i], positions[k] = positions[k], positions[i]
        between = (top + (first + stride) // open_size) * size + left + (first + stride) % open_size
        slot = 2 if in_line == 3 else cell_count - 1
        for k in range(2, cell_count):
            if positions[k] == between:
                positions[k], positions[slot] = positions[slot], positions[k]
                break
        cell_count -= in_line == 2  # nothing may be placed on the empty cell
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
        icon = first_icon[c] + below(key, counter + 1, first_icon[c + 1] - first_icon[c])
        counter += 2
        objects[i] = positions[i]
        grid[objects[i]] = FIRST_ICON + icon
    return int(positions[objects_count])

"""Drawing a random map. All that is random comes from one key, so a map is a pure function of it."""

import numpy as np
from numpy.typing import NDArray

from groundling.jit import kernel
from groundling.world.catalog import FIRST_ICON, FLOOR, WALL
from groundling.world.rng import below
from groundling.world.simulation import Int16s


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
    """Fill `grid` and `objects`, and return where the agent starts.

    A square of `open_size` lies somewhere on the map and the rest is wall. In it are objects, each of a class drawn
    anew from `classes` and of one of its icons, the agent, and walls, all on different cells. Maps on which one thing
    is between two others are rare: with `in_line` 2, two objects stand a cell apart and that cell stays empty; with 3,
    an object stands there too; with 0, places are wholly random. `places` is scratch.
    """
    margin = size - open_size + 1
    top, left = below(key, 0, margin), below(key, 1, margin)
    objects_count = objects_range[0] + below(key, 2, objects_range[1] - objects_range[0] + 1)
    walls_count = walls_range[0] + below(key, 3, walls_range[1] - walls_range[0] + 1)

    grid[:] = FLOOR if open_size == size else WALL
    n = open_size * open_size
    for i in range(n):
        positions[i] = (top + i // open_size) * size + left + i % open_size
        grid[positions[i]] = FLOOR
    if in_line > 0:
        along, across = below(key, 4, open_size - 2), below(key, 5, open_size)
        upright = below(key, 6, 2) == 0
        first = along * open_size + across if upright else across * open_size + along
        stride = open_size if upright else 1
        for i, k in enumerate((first, first + 2 * stride)):
            positions[i], positions[k] = positions[k], positions[i]
        between = (top + (first + stride) // open_size) * size + left + (first + stride) % open_size
        last = 2 if in_line == 3 else n - 1
        for k in range(2, n):
            if positions[k] == between:
                positions[k], positions[last] = positions[last], positions[k]
                break
        n -= in_line == 2  # the empty cell is out of the draw
    # A partial shuffle: the first places are the objects', then comes the agent's, then the walls'.
    draw = 7
    for i in range(in_line, min(objects_count + 1 + walls_count, n)):
        j = i + below(key, draw, n - i)
        draw += 1
        positions[i], positions[j] = positions[j], positions[i]
        if i > objects_count:
            grid[positions[i]] = WALL

    objects[:] = -1
    for i in range(objects_count):
        c = classes[below(key, draw, len(classes))]
        icon = first_icon[c] + below(key, draw + 1, first_icon[c + 1] - first_icon[c])
        draw += 2
        objects[i] = positions[i]
        grid[objects[i]] = FIRST_ICON + icon
    return int(positions[objects_count])

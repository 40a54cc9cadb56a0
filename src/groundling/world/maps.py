"""Drawing a random map. All that is random comes from one key, so a map is a pure function of it."""

import numpy as np
from numpy.typing import NDArray

from groundling.kernel import kernel
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
    classes: Int16s,
    first_icon: Int16s,
    grid: Int16s,
    objects: Int16s,
    places: NDArray[np.int64],
) -> int:
    """Fill `grid` and `objects`, and return where the agent starts.

    A square of `open_size` lies somewhere on the map and the rest is wall. In it are objects, each of a class drawn
    anew from `classes` and of one of its icons, walls, and the agent, all on different cells. `places` is scratch.
    """
    draw = 0
    margin = size - open_size + 1
    top, left = below(key, 0, margin), below(key, 1, margin)
    objects_count = objects_range[0] + below(key, 2, objects_range[1] - objects_range[0] + 1)
    walls_count = walls_range[0] + below(key, 3, walls_range[1] - walls_range[0] + 1)
    draw = 4

    grid[:] = FLOOR if open_size == size else WALL
    n = open_size * open_size
    for i in range(n):
        places[i] = (top + i // open_size) * size + left + i % open_size
        grid[places[i]] = FLOOR
    # A partial shuffle: its first places are the agent's, the objects' and the walls'.
    for i in range(min(1 + objects_count + walls_count, n)):
        j = i + below(key, draw, n - i)
        draw += 1
        places[i], places[j] = places[j], places[i]
        if i > objects_count:
            grid[places[i]] = WALL

    objects[:] = -1
    for i in range(objects_count):
        c = classes[below(key, draw, len(classes))]
        icon = first_icon[c] + below(key, draw + 1, first_icon[c + 1] - first_icon[c])
        draw += 2
        objects[i] = places[1 + i]
        grid[objects[i]] = FIRST_ICON + icon
    return places[0]

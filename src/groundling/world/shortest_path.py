"""The shortest way to a target: through empty cells only, for walls and other objects are in the way."""

import numpy as np
from numpy.typing import NDArray

from groundling.jit import kernel
from groundling.world.catalog import FLOOR, WALL
from groundling.world.simulation import MOVES, Int16s, State, move


@kernel
def distances(grid: Int16s, size: int, start: int, distance: Int16s, queue: Int16s) -> None:
    """[place]: steps from `start` by breadth-first search, -1 where there is no way. `queue` is scratch.

    Objects are reached but not passed; the start is passed whatever lies there.
    """
    distance[:] = -1
    distance[start] = 0
    queue[0] = start
    head, tail = 0, 1
    while head < tail:
        position = queue[head]
        head += 1
        if grid[position] != FLOOR and position != start:
            continue
        for action in range(len(MOVES)):
            neighbor = move(grid, size, position, action)
            if distance[neighbor] < 0 and grid[neighbor] != WALL:
                distance[neighbor] = distance[position] + 1
                queue[tail] = neighbor
                tail += 1


@kernel
def _best_actions(
    grid: Int16s, objects: Int16s, agent: Int16s, target: Int16s, size: int, action: NDArray[np.int64], length: Int16s
) -> None:
    distance = np.empty(size * size, np.int16)
    queue = np.empty(size * size, np.int16)
    for b in range(len(agent)):
        distances(grid[b], size, target[b], distance, queue)
        length[b] = distance[agent[b]]
        action[b] = 0
        for a in range(len(MOVES)):
            position = move(grid[b], size, agent[b], a)
            passable = grid[b, position] == FLOOR or position == target[b]
            if passable and distance[position] >= 0 and distance[position] < length[b]:
                action[b] = a
                break


def best_actions(state: State) -> tuple[NDArray[np.int64], Int16s]:
    """[B]: the first action of a shortest way to the target, and that way's length (-1: there is none)."""
    action = np.empty(len(state.agent), np.int64)
    length = np.empty(len(state.agent), np.int16)
    _best_actions(*state[:4], state.size, action, length)
    return action, length

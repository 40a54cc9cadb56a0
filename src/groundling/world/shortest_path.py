"""Shortest paths to a target by breadth-first search. Walls and objects other than the target are obstacles."""

import numpy as np
from numpy.typing import NDArray

from groundling.jit import kernel
from groundling.world.catalog import FLOOR, WALL
from groundling.world.simulation import MOVES, move
from groundling.world.types import Int16s, State


@kernel
def distances(grid: Int16s, size: int, start: int, distance: Int16s, queue: Int16s) -> None:
    """Write the number of steps from `start` to each position into `distance`, -1 if unreachable.

    A path may end at an object but not pass through it; `start` may itself be an object. `queue` is scratch space.
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
    grid: Int16s, agent: Int16s, target: Int16s, size: int, action: NDArray[np.int64], length: Int16s, distance: Int16s,
    queue: Int16s,
) -> None:  # fmt: skip
    for b in range(len(agent)):
        distances(grid[b], size, int(np.int64(target[b])), distance, queue)
        length[b] = distance[agent[b]]
        action[b] = 0
        for a in range(len(MOVES)):
            position = move(grid[b], size, agent[b], a)
            passable = grid[b, position] == FLOOR or position == target[b]
            if passable and distance[position] >= 0 and distance[position] < length[b]:
                action[b] = a
                break


def best_actions(state: State) -> tuple[NDArray[np.int64], Int16s]:
    """[B], [B]: the first action of a shortest path to the target, and the path's length (-1 if unreachable)."""
    action = np.empty(len(state.agent), np.int64)
    length = np.empty(len(state.agent), np.int16)
    scratch = np.empty((2, state.grid.shape[1]), np.int16)
    _best_actions(state.grid, state.agent, state.target, state.size, action, length, *scratch)
    return action, length

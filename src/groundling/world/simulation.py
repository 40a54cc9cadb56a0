"""The rules of the world: batched, pure (`state, actions -> state`), and knowing nothing of language or drawing."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundling.errors import InputError
from groundling.jit import kernel
from groundling.world.catalog import FIRST_ICON, WALL

ACTIONS = ("left", "right", "up", "down")
MOVES = np.array([(0, -1), (0, 1), (-1, 0), (1, 0)], np.int64)
"""[action]: (rows, columns)"""

STEP_TENTHS, BLOCKED_TENTHS, WRONG_OBJECT_TENTHS, REACHED_TENTHS = -1, -2, -10, 10
"""The rewards, in tenths so that their sums are exact: -0.1, -0.2, -1.0 and +1.0."""

Int16s = NDArray[np.int16]
Bools = NDArray[np.bool_]


class State(NamedTuple):
    """A batch of worlds; the batch is the first axis of every array. A place is row * size + column."""

    grid: Int16s
    """[B, size * size]: the number of each cell, see `catalog`. The agent is not on the grid."""
    objects: Int16s
    """[B, most objects]: where each object is, -1 behind the last one."""
    agent: Int16s
    """[B]: where the agent is."""
    target: Int16s
    """[B]: where it must go."""
    step: Int16s
    """[B]: how many actions were taken."""

    @property
    def size(self) -> int:
        return math.isqrt(self.grid.shape[1])


class Outcome(NamedTuple):
    """What a batch of actions led to."""

    reward: NDArray[np.float64]
    terminated: Bools
    """The target was reached."""
    truncated: Bools
    """Time was up first: the episode is cut, its value is not zero."""


def step(state: State, actions: NDArray[np.integer], max_steps: int) -> tuple[State, Outcome]:
    """Every agent acts once, and is judged."""
    if actions.shape != state.agent.shape or ((actions < 0) | (actions >= len(ACTIONS))).any():
        raise InputError(f"actions {actions!r}: they are {len(state.agent)} numbers from 0 to {len(ACTIONS) - 1}")
    after = State(state.grid, state.objects, state.agent.copy(), state.target, state.step + np.int16(1))
    outcome = Outcome(
        np.empty(len(actions), np.float64), np.empty(len(actions), np.bool_), np.empty(len(actions), np.bool_)
    )
    _step(after.grid, after.agent, after.target, after.step, state.size, max_steps, actions, *outcome)
    return after, outcome


@kernel
def _step(
    grid: Int16s,
    agent: Int16s,
    target: Int16s,
    steps: Int16s,
    size: int,
    max_steps: int,
    actions: NDArray[np.integer],
    reward: NDArray[np.float64],
    terminated: Bools,
    truncated: Bools,
) -> None:
    for b in range(len(actions)):
        position = move(grid[b], size, agent[b], actions[b])
        tenths = STEP_TENTHS
        if position == agent[b]:
            tenths += BLOCKED_TENTHS
        if position == target[b]:
            tenths += REACHED_TENTHS
        elif grid[b, position] >= FIRST_ICON:
            tenths += WRONG_OBJECT_TENTHS
        agent[b] = position
        reward[b] = tenths / 10
        terminated[b] = position == target[b]
        truncated[b] = not terminated[b] and steps[b] >= max_steps


@kernel
def move(grid: Int16s, size: int, position: int, action: int) -> int:
    """Where an action leads: the next cell, or the same one if the map's edge or a wall is in the way."""
    row = position // size + MOVES[action, 0]
    column = position % size + MOVES[action, 1]
    inside = 0 <= row < size and 0 <= column < size
    if not inside or grid[row * size + column] == WALL:
        return position
    return int(row * size + column)

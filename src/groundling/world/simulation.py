"""The rules of the world: batched and pure (`state, actions -> state`), independent of language and rendering."""

import numpy as np
from numpy.typing import NDArray

from groundling.errors import InputError
from groundling.jit import kernel
from groundling.world.catalog import FIRST_ICON, WALL
from groundling.world.types import Bools, Int16s, Outcome, State

ACTIONS = ("left", "right", "up", "down")
MOVES = np.array([(0, -1), (0, 1), (-1, 0), (1, 0)], np.int64)
"""[action, 2]: the change of (row, column)."""

STEP_TENTHS, BLOCKED_TENTHS, WRONG_OBJECT_TENTHS, REACHED_TENTHS = -1, -2, -10, 10
"""The rewards -0.1, -0.2, -1.0 and +1.0, in tenths so that their sums are exact."""


def step(state: State, actions: NDArray[np.integer], max_steps: int) -> tuple[State, Outcome]:
    """Apply one action in every map; return the next states, rewards and which episodes ended."""
    if actions.shape != state.agent.shape or ((actions < 0) | (actions >= len(ACTIONS))).any():
        raise InputError(
            f"actions must be an array of shape {state.agent.shape} of integers from 0 to {len(ACTIONS) - 1}, "
            f"got {actions!r:.80}"
        )
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
    """The position after an action: the next cell, or the same one if a wall or the edge of the map blocks it."""
    row = position // size + MOVES[action, 0]
    column = position % size + MOVES[action, 1]
    inside = 0 <= row < size and 0 <= column < size
    if not inside or grid[row * size + column] == WALL:
        return position
    return int(row * size + column)

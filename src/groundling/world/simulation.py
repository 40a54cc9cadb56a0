"""The rules of the world: batched and pure (`state, actions -> state`), independent of language and rendering."""

import numpy as np
from numpy.typing import NDArray

from groundling.errors import InputError
from groundling.jit import kernel
from groundling.world.catalog import FIRST_ICON, WALL
from groundling.world.types import REWARD_UNIT, Bools, Int16s, Outcome, Rewards, State

PAPER_REWARDS = Rewards()
ACTIONS = ("left", "right", "up", "down")
MOVES = np.array([(0, -1), (0, 1), (-1, 0), (1, 0)], np.int64)
"""[action, 2]: the change of (row, column)."""
_STEP, _BLOCKED, _WRONG_OBJECT, _REACHED = range(4)
"""The order of `Rewards.units`."""


def step(
    state: State, actions: NDArray[np.integer], max_steps: int, rewards: Rewards = PAPER_REWARDS
) -> tuple[State, Outcome]:
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
    _step(after.grid, after.agent, after.target, after.step, state.size, max_steps, rewards.units, actions, *outcome)
    return after, outcome


@kernel
def _step(
    grid: Int16s,
    agent: Int16s,
    target: Int16s,
    steps: Int16s,
    size: int,
    max_steps: int,
    rewards: NDArray[np.int64],
    actions: NDArray[np.integer],
    reward: NDArray[np.float64],
    terminated: Bools,
    truncated: Bools,
) -> None:
    for b in range(len(actions)):
        position = move(grid[b], size, agent[b], actions[b])
        units = rewards[_STEP]
        if position == agent[b]:
            units += rewards[_BLOCKED]
        if position == target[b]:
            units += rewards[_REACHED]
        elif grid[b, position] >= FIRST_ICON:
            units += rewards[_WRONG_OBJECT]
        agent[b] = position
        reward[b] = units / REWARD_UNIT
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

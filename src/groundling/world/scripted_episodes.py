"""Replay of scripted episodes: maps and actions as JSON Lines in, positions and rewards out."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from groundling.errors import InputError, nearest, quote
from groundling.read_json import parse_json, read_text
from groundling.world.catalog import FIRST_ICON, FLOOR, WALL
from groundling.world.scenario import OccupiedCells, describe_object, read_position
from groundling.world.simulation import ACTIONS, step
from groundling.world.types import MAX_STEP_LIMIT, STEPS_PER_SIDE, State

SIZE = 7
REQUIRED_KEYS = ("objects", "walls", "agent", "target", "actions")
KEYS = (*REQUIRED_KEYS, "max_steps")


def replay_file(path: str | Path, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Replay each episode of a file; yield its `positions` after each action, its `rewards` and how it `ended`.

    `names` are the known object classes. The first invalid line stops the replay with an error that gives its number.
    """
    known = set(names)
    for number, line in enumerate(read_text(Path(path), "replay file").splitlines(), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        record = parse_json(line, where)
        try:
            yield replay(record, known)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error


def replay(episode: Any, names: set[str]) -> dict[str, Any]:
    """Replay one scripted episode until it ends or there are no more actions."""
    state, max_steps, actions = read_episode(episode, names)
    positions, rewards, ended = [], [], None
    for action in actions:
        state, outcome = step(state, np.array([action]), max_steps)
        positions.append([int(state.agent[0]) // SIZE, int(state.agent[0]) % SIZE])
        rewards.append(float(outcome.reward[0]))
        ended = "terminated" if outcome.terminated[0] else "truncated" if outcome.truncated[0] else None
        if ended:
            break
    return {"positions": positions, "rewards": rewards, "ended": ended}


def read_episode(episode: Any, names: set[str]) -> tuple[State, int, list[int]]:
    """Check a scripted episode; return its state as a batch of one, its step limit and its actions."""
    if not isinstance(episode, dict):
        raise InputError(f"an episode must be a JSON object, got {quote(episode)}")
    for key in REQUIRED_KEYS:
        if key not in episode:
            raise InputError(f"{key!r} is missing; an episode has the keys {', '.join(REQUIRED_KEYS)}")
    for key in episode:
        if key not in KEYS:
            raise InputError(f"keys must be among {', '.join(KEYS)}, got {quote(key)}{nearest(key[:40], KEYS)}")
    for key in ("objects", "walls", "actions"):
        if not isinstance(episode[key], list):
            raise InputError(f"{key} must be a list, got {quote(episode[key])}")
    max_steps = episode.get("max_steps", STEPS_PER_SIDE * SIZE)
    if type(max_steps) is not int or not 1 <= max_steps <= MAX_STEP_LIMIT:
        raise InputError(f"max_steps must be an integer from 1 to {MAX_STEP_LIMIT}, got {quote(max_steps)}")

    grid = np.full(SIZE * SIZE, FLOOR, np.int16)
    occupied = OccupiedCells(SIZE)
    for wall in episode["walls"]:
        grid[occupied.add("a wall", wall)] = WALL
    objects = [occupied.add(describe_object(entry, names), entry["at"]) for entry in episode["objects"]]
    grid[objects] = FIRST_ICON  # any icon: the rules do not depend on it
    agent = read_position("the position of the agent", episode["agent"], SIZE)  # on an object, if it moved there
    if grid[agent] == WALL:
        raise InputError(f"the position of the agent must be a cell without a wall, got {episode['agent']}")
    target = read_position("target", episode["target"], SIZE)
    if grid[target] == WALL:
        raise InputError(f"target must be a cell without a wall, got {episode['target']}")
    for action in episode["actions"]:
        if action not in ACTIONS:
            raise InputError(f"actions must be among {', '.join(ACTIONS)}, got {quote(action)}")
    state = State(
        grid=grid[None],
        objects=np.array([objects], np.int16).reshape(1, -1),
        agent=np.array([agent], np.int16),
        target=np.array([target], np.int16),
        step=np.zeros(1, np.int16),
    )
    return state, max_steps, [ACTIONS.index(action) for action in episode["actions"]]

"""Playing written episodes by the rules: one JSON object a line in, positions and rewards out."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from groundling.errors import InputError, nearest
from groundling.world.catalog import FIRST_ICON, FLOOR, WALL
from groundling.world.scenario import Cells, object_told, read_position
from groundling.world.simulation import ACTIONS, State, step

SIZE = 7


def replay_file(path: str | Path, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Each episode of a file played: its `positions` after each action, the `rewards`, and how it `ended`.

    `names` are the object classes there are. The first faulty line ends the replay with an error that names it.
    """
    known = set(names)
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield replay(json.loads(line), known)
        except (json.JSONDecodeError, RecursionError) as error:
            raise InputError(f"{path}, line {number}: not JSON ({error})") from error
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from error


def replay(episode: Any, names: set[str]) -> dict[str, Any]:
    """Play one written episode until it ends or its actions do."""
    state, max_steps, actions = read_session(episode, names)
    positions, rewards, ended = [], [], None
    for action in actions:
        state, outcome = step(state, np.array([action]), max_steps)
        positions.append([int(state.agent[0]) // SIZE, int(state.agent[0]) % SIZE])
        rewards.append(float(outcome.reward[0]))
        ended = "terminated" if outcome.terminated[0] else "truncated" if outcome.truncated[0] else None
        if ended:
            break
    return {"positions": positions, "rewards": rewards, "ended": ended}


def read_session(episode: Any, names: set[str]) -> tuple[State, int, list[int]]:
    """A written episode as a batch of one, its step limit and its actions, checked."""
    if not isinstance(episode, dict):
        raise InputError(f"a episode is an object, not {json.dumps(episode)}")
    required = ("objects", "walls", "agent", "target", "actions")
    for key in required:
        if key not in episode:
            raise InputError(f"{key!r} is missing")
    for key in episode:
        if key not in (*required, "max_steps"):
            raise InputError(f"unknown key {key!r}{nearest(key, (*required, 'max_steps'))}")
    for key in ("objects", "walls", "actions"):
        if not isinstance(episode[key], list):
            raise InputError(f"{key!r} is a list, not {json.dumps(episode[key])}")
    max_steps = episode.get("max_steps", 4 * SIZE)
    if not isinstance(max_steps, int) or isinstance(max_steps, bool) or not 1 <= max_steps < 1 << 15:
        raise InputError(f"max_steps {json.dumps(max_steps)}: it is a whole number, 1 or more and below 32,768")

    grid = np.full(SIZE * SIZE, FLOOR, np.int16)
    cells = Cells(SIZE)
    for wall in episode["walls"]:
        grid[cells.put("a wall", wall)] = WALL
    objects = [cells.put(object_told(entry, names), entry["at"]) for entry in episode["objects"]]
    grid[objects] = FIRST_ICON  # which icon does not matter to the rules
    agent = cells.put("the agent", episode["agent"])
    target = read_position("the target", episode["target"], SIZE)
    if grid[target] == WALL:
        raise InputError(f"the target {episode['target']} is in a wall: it must be a cell that the agent can enter")
    for action in episode["actions"]:
        if action not in ACTIONS:
            raise InputError(f"unknown action {json.dumps(action)}: it is one of {', '.join(ACTIONS)}")
    state = State(
        grid=grid[None],
        objects=np.array([objects], np.int16).reshape(1, -1),
        agent=np.array([agent], np.int16),
        target=np.array([target], np.int16),
        step=np.zeros(1, np.int16),
    )
    return state, max_steps, [ACTIONS.index(action) for action in episode["actions"]]

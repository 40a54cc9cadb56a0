"""A world written down: {"objects": [{"name": "apple", "color": "red", "at": [0, 1]}], "walls": [], "agent": [3, 3]}.

A place is [row, column]. Everything is checked, because people write such worlds by hand.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from groundling.errors import InputError, nearest
from groundling.world.catalog import COLOR_NAMES, FIRST_ICON, FLOOR, NO_COLOR, WALL, Catalog
from groundling.world.simulation import State

MOST_OBJECTS = 16
KEYS = ("objects", "walls", "agent")


@dataclass(frozen=True)
class Scenario:
    """Where everything stands in one world of `size` x `size` cells; places are row * size + column."""

    size: int
    objects: tuple[tuple[int, int], ...]
    """(place, icon) of each."""
    walls: tuple[int, ...]
    agent: int

    @classmethod
    def of(cls, record: Any, catalog: Catalog, size: int) -> "Scenario":
        """From plain data with the keys of KEYS; the agent may stand on an object, for it may have walked there."""
        for key in KEYS:
            if key not in record:
                raise InputError(f"{key!r} is missing")
        for key in ("objects", "walls"):
            if not isinstance(record[key], list):
                raise InputError(f"{key!r} is a list, not {quote(record[key])}")
        if len(record["objects"]) > MOST_OBJECTS:
            raise InputError(f"{len(record['objects'])} objects: a world holds {MOST_OBJECTS} at the most")
        cells = Cells(size)
        walls = tuple(cells.put("a wall", wall) for wall in record["walls"])
        objects = []
        for entry in record["objects"]:
            told = object_told(entry, catalog.classes)
            objects.append((cells.put(told, entry["at"]), _icon(entry, catalog)))
        agent = read_position("the agent", record["agent"], size)
        if agent in walls:
            raise InputError(f"the agent at {record['agent']}: a wall is there already")
        return cls(size, tuple(objects), walls, agent)

    @classmethod
    def of_state(cls, state: State) -> "Scenario":
        """The first world of a batch."""
        grid = state.grid[0].tolist()
        objects = tuple(
            (position, grid[position] - FIRST_ICON) for position in state.objects[0].tolist() if position >= 0
        )
        walls = tuple(position for position, cell in enumerate(grid) if cell == WALL)
        return cls(state.size, objects, walls, int(state.agent[0]))

    def state(self, target: int = 0) -> State:
        """As a batch of one."""
        grid = np.full(self.size**2, FLOOR, np.int16)
        grid[list(self.walls)] = WALL
        positions = np.full(MOST_OBJECTS, -1, np.int16)
        for k, (position, icon) in enumerate(self.objects):
            grid[position] = FIRST_ICON + icon
            positions[k] = position
        return State(
            grid=grid[None],
            objects=positions[None],
            agent=np.array([self.agent], np.int16),
            target=np.array([target], np.int16),
            step=np.zeros(1, np.int16),
        )

    def to_dict(self, catalog: Catalog) -> dict[str, Any]:
        """Plain data that `of` reads; `icon` tells apart the icons of a class."""
        return {
            "objects": [
                {
                    "name": catalog.classes[catalog.icon_class[icon]],
                    "color": _color(catalog, icon),
                    "icon": icon - int(catalog.first_icon[catalog.icon_class[icon]]),
                    "at": self.at(position),
                }
                for position, icon in self.objects
            ],
            "walls": [self.at(position) for position in self.walls],
            "agent": self.at(self.agent),
        }

    def at(self, position: int) -> list[int]:
        return [position // self.size, position % self.size]


class Cells:
    """Which cells of a map are taken, and by what: no two things share one."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._taken: dict[int, str] = {}

    def put(self, what: str, at: Any) -> int:
        position = read_position(what, at, self.size)
        if position in self._taken:
            raise InputError(f"{what} at {at}: {self._taken[position]} is there already")
        self._taken[position] = what
        return position


def read_position(what: str, at: Any, size: int) -> int:
    if not isinstance(at, list) or len(at) != 2 or not all(type(k) is int and 0 <= k < size for k in at):
        raise InputError(f"{what} at {quote(at)}: a place is [row, column], each from 0 to {size - 1}")
    row, column = at
    return int(row) * size + int(column)


def object_told(entry: Any, names: Collection[str]) -> str:
    """An object's entry in words, such as `the red apple`; its name and color are checked, its place is not."""
    if not isinstance(entry, dict) or not {"name", "at"} <= entry.keys() <= {"name", "color", "icon", "at"}:
        raise InputError(f'an object is {{"name": ..., "color": ... or null, "at": [row, col]}}, not {quote(entry)}')
    name, color = entry["name"], entry.get("color")
    if not isinstance(name, str) or name not in names:
        raise InputError(f"unknown object {quote(name)}{nearest(str(name)[:40], names)}")
    if color is not None and color not in COLOR_NAMES:
        raise InputError(f"unknown color {quote(color)}{nearest(str(color)[:40], COLOR_NAMES)} (or null for none)")
    return f"the {color} {name}" if color else f"the {name}"


def quote(value: Any) -> str:
    """A value as JSON, cut where it is long, for a message."""
    text = json.dumps(value)
    return text if len(text) <= 200 else text[:200] + " ..."


def _icon(entry: dict[str, Any], catalog: Catalog) -> int:
    """The icon that an entry names by its number in the class; without one, the first of its color."""
    name, color, number = entry["name"], entry.get("color"), entry.get("icon")
    c = catalog.classes.index(name)
    icons = range(int(catalog.first_icon[c]), int(catalog.first_icon[c + 1]))
    if number is not None and (type(number) is not int or not 0 <= number < len(icons)):
        raise InputError(f"icon {quote(number)} of {name}: it is a number from 0 to {len(icons) - 1}")
    for icon in icons if number is None else icons[number : number + 1]:
        if color is None or _color(catalog, icon) == color:
            return icon
    which = "no icon of it has" if number is None else f"its icon {number} has not"
    raise InputError(f"{name}: {which} the color {color}")


def _color(catalog: Catalog, icon: int) -> str | None:
    color = int(catalog.icon_color[icon])
    return None if color == NO_COLOR else COLOR_NAMES[color]

"""A map as JSON: {"objects": [{"name": "apple", "color": "red", "at": [0, 1]}], "walls": [], "agent": [3, 3]}.

A position is [row, column]. All input is checked, because scenarios are often written by hand.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from groundling.errors import InputError, nearest, quote
from groundling.world.catalog import COLOR_NAMES, FIRST_ICON, FLOOR, NO_COLOR, WALL, Catalog
from groundling.world.types import MAX_OBJECTS, State

KEYS = ("objects", "walls", "agent")


@dataclass(frozen=True)
class Scenario:
    """The content of one map of `size` x `size` cells. A position is row * size + column."""

    size: int
    objects: tuple[tuple[int, int], ...]
    """(position, icon) of each object."""
    walls: tuple[int, ...]
    agent: int

    @classmethod
    def of(cls, record: Any, catalog: Catalog, size: int, max_objects: int = MAX_OBJECTS) -> "Scenario":
        """Read plain data with the keys in KEYS. The agent may be on an object, because it may have moved there."""
        for key in KEYS:
            if key not in record:
                raise InputError(f"{key!r} is missing; a scenario has the keys {', '.join(KEYS)}")
        for key in ("objects", "walls"):
            if not isinstance(record[key], list):
                raise InputError(f"{key} must be a list, got {quote(record[key])}")
        if len(record["objects"]) > max_objects:
            raise InputError(f"objects must be a list of at most {max_objects}, got {len(record['objects'])}")
        occupied = OccupiedCells(size)
        walls = tuple(occupied.add("a wall", wall) for wall in record["walls"])
        objects = []
        for entry in record["objects"]:
            description = describe_object(entry, catalog.classes)
            objects.append((occupied.add(description, entry["at"]), _icon(entry, catalog)))
        agent = read_position("the position of the agent", record["agent"], size)
        if agent in walls:
            raise InputError(f"the position of the agent must be a cell without a wall, got {record['agent']}")
        return cls(size, tuple(objects), walls, agent)

    @classmethod
    def of_state(cls, state: State) -> "Scenario":
        """The scenario of the first map in a batch."""
        grid = state.grid[0].tolist()
        objects = tuple(
            (position, grid[position] - FIRST_ICON) for position in state.objects[0].tolist() if position >= 0
        )
        walls = tuple(position for position, cell in enumerate(grid) if cell == WALL)
        return cls(state.size, objects, walls, int(state.agent[0]))

    def state(self, target: int = 0) -> State:
        """Return the scenario as a batch of one, at step 0."""
        grid = np.full(self.size**2, FLOOR, np.int16)
        grid[list(self.walls)] = WALL
        positions = np.full(MAX_OBJECTS, -1, np.int16)
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
        """Return plain data that `of` can read; `icon` is the number of the icon within its class."""
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
        """Convert a position to [row, column]."""
        return [position // self.size, position % self.size]


class OccupiedCells:
    """The occupied cells of a map and a description of what occupies each; a cell holds at most one thing."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._occupant: dict[int, str] = {}

    def add(self, description: str, at: Any) -> int:
        """Mark the cell [row, column] as occupied and return its position; raise if it is occupied already."""
        position = read_position(f"the position of {description}", at, self.size)
        if position in self._occupant:
            raise InputError(
                f"the position of {description} must be an empty cell, got {at}, which holds {self._occupant[position]}"
            )
        self._occupant[position] = description
        return position


def read_position(name: str, at: Any, size: int) -> int:
    """Convert [row, column] to a position; the error for anything else starts with `name`."""
    if not isinstance(at, list) or len(at) != 2 or not all(type(k) is int and 0 <= k < size for k in at):
        raise InputError(f"{name} must be [row, column], each from 0 to {size - 1}, got {quote(at)}")
    row, column = at
    return int(row) * size + int(column)


def describe_object(entry: Any, names: Collection[str]) -> str:
    """Check the name and color of an object's entry; return a description such as `the red apple`."""
    if not isinstance(entry, dict) or not {"name", "at"} <= entry.keys() <= {"name", "color", "icon", "at"}:
        raise InputError(f'an object must be {{"name": ..., "color": ..., "at": [row, column]}}, got {quote(entry)}')
    name, color = entry["name"], entry.get("color")
    if not isinstance(name, str) or name not in names:
        hint = nearest(str(name)[:40], names)
        raise InputError(f"the name of an object must be one of the {len(names)} classes, got {quote(name)}{hint}")
    if color is not None and color not in COLOR_NAMES:
        hint = nearest(str(color)[:40], COLOR_NAMES)
        raise InputError(f"color must be one of {', '.join(COLOR_NAMES)} or null, got {quote(color)}{hint}")
    return f"the {color} {name}" if color else f"the {name}"


def _icon(entry: dict[str, Any], catalog: Catalog) -> int:
    """Find the icon of an object's entry: by its number within the class if given, otherwise the first of its color."""
    name, color, number = entry["name"], entry.get("color"), entry.get("icon")
    c = catalog.classes.index(name)
    icons = range(int(catalog.first_icon[c]), int(catalog.first_icon[c + 1]))
    if number is not None and (type(number) is not int or not 0 <= number < len(icons)):
        raise InputError(f"icon of {name} must be an integer from 0 to {len(icons) - 1}, got {quote(number)}")
    candidates = icons if number is None else icons[number : number + 1]
    for icon in candidates:
        if color is None or _color(catalog, icon) == color:
            return icon
    possible = sorted({known for icon in candidates if (known := _color(catalog, icon))})
    which = name if number is None else f"{name} with icon {number}"
    raise InputError(f"color of {which} must be {' or '.join([*possible, 'null'])}, got {quote(color)}")


def _color(catalog: Catalog, icon: int) -> str | None:
    """The color name of an icon, or None."""
    color = int(catalog.icon_color[icon])
    return None if color == NO_COLOR else COLOR_NAMES[color]

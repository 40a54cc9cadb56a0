"""A second implementation of which sentences a map triggers, and of their targets and answers.

It follows the paper's table of sentence types and their conditions C0 to C8 literally, with lists and loops. It shares
no code with the package, so the two implementations can be compared.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

Cell = tuple[int, int]  # (row, column)

DIRECTIONS: dict[str, Cell] = {
    "north": (-1, 0),
    "northeast": (-1, 1),
    "east": (0, 1),
    "southeast": (1, 1),
    "south": (1, 0),
    "southwest": (1, -1),
    "west": (0, -1),
    "northwest": (-1, -1),
}
MOVES: tuple[Cell, ...] = ((-1, 0), (1, 0), (0, -1), (0, 1))


class MapObject(NamedTuple):
    """An object on the map; its color is None if it has none of the eight."""

    name: str
    color: str | None
    at: Cell


class World(NamedTuple):
    """A square map of `size` x `size` cells."""

    size: int
    objects: list[MapObject]
    walls: set[Cell]
    agent: Cell


class InvalidSentence(Exception):  # noqa: N818 - a result, not an error
    """The map does not trigger this sentence."""


def answer(world: World, type_: str, slots: dict[str, str]) -> str:
    """The true answer to a question, of a type rec_<reference>2<asked>; raises if the map does not trigger it."""
    reference, asked = type_.removeprefix("rec_").split("2")
    cell = referred(world, reference, slots)
    if asked == "obj":
        return "nothing" if is_empty(world, cell) else visible_at(world, cell).name
    item = visible_at(world, cell)
    if asked == "loc":  # C5, C8
        return direction_of(world, item)
    assert asked == "col", type_
    if item.color is None:
        raise InvalidSentence(f"the {item.name} has no color")
    return item.color


def target(world: World, type_: str, slots: dict[str, str]) -> Cell:
    """The target of a command at the start of an episode (C0); raises if the map does not trigger it."""
    goal = referred(world, type_.removeprefix("nav_"), slots)
    if type_ in ("nav_nr_obj", "nav_bw_obj") and not is_empty(world, goal):
        raise InvalidSentence(f"{goal} is not an empty cell")
    if not reachable(world, goal):
        raise InvalidSentence(f"no path through empty cells to {goal}")
    return goal


def referred(world: World, reference: str, slots: dict[str, str]) -> Cell:
    """The one cell that a sentence refers to, possibly outside the map."""
    match reference:
        case "obj":
            return named(world, slots["obj"]).at
        case "col":
            return colored(world, slots["col"]).at
        case "col_obj":
            return colored_and_named(world, slots["col"], slots["obj"]).at
        case "loc":  # C5: next to the agent
            return next_to(world.agent, slots["loc"])
        case "loc_obj" | "nr_obj":  # C6: next to the named object
            return next_to(named(world, slots["obj"]).at, slots["loc"])
        case "bw_obj":
            return between(world, slots["obj"], slots["obj2"])
    raise ValueError(f"reference must be that of a sentence type, got {reference!r}")


def the_only(world: World, found: list[MapObject], what: str) -> MapObject:
    """The only object found, if the image shows it; an object under the agent is counted but hidden."""
    if len(found) != 1:
        raise InvalidSentence(f"{len(found)} objects are {what}")
    if found[0].at == world.agent:
        raise InvalidSentence(f"the agent hides the object that is {what}")
    return found[0]


def named(world: World, name: str) -> MapObject:
    """C1: the only object of this name."""
    return the_only(world, [t for t in world.objects if t.name == name], name)


def colored(world: World, color: str) -> MapObject:
    """C4: the only object of this color."""
    return the_only(world, [t for t in world.objects if t.color == color], color)


def colored_and_named(world: World, color: str, name: str) -> MapObject:
    """C2: the only object of this color and name, where another one shares its name or its color but not both."""
    item = the_only(world, [t for t in world.objects if t.color == color and t.name == name], f"{color} {name}")
    for other in world.objects:
        if (other.name == name) != (other.color == color):
            return item
    raise InvalidSentence(f"no other object is {color} or named {name}")


def next_to(cell: Cell, direction: str) -> Cell:
    """The neighbor of a cell in a direction, possibly outside the map."""
    down, right = DIRECTIONS[direction]
    return cell[0] + down, cell[1] + right


def between(world: World, name: str, name2: str) -> Cell:
    """C3 and C7: the middle cell of two uniquely named objects in one row or column, with one cell between them."""
    (row, column), (row2, column2) = named(world, name).at, named(world, name2).at
    if (abs(row - row2), abs(column - column2)) not in ((0, 2), (2, 0)):
        raise InvalidSentence(f"{name} and {name2} are not separated by one cell")
    return (row + row2) // 2, (column + column2) // 2


def direction_of(world: World, item: MapObject) -> str:
    """C5 and C8: the direction from the agent to an object next to it."""
    offset = (item.at[0] - world.agent[0], item.at[1] - world.agent[1])
    for direction, step in DIRECTIONS.items():
        if step == offset:
            return direction
    raise InvalidSentence(f"the agent is not near the {item.name}")


def visible_at(world: World, cell: Cell) -> MapObject:
    """The object that the image shows in a cell."""
    for item in world.objects:
        if item.at == cell and cell != world.agent:
            return item
    raise InvalidSentence(f"no visible object at {cell}")


def is_open(world: World, cell: Cell) -> bool:
    """Whether a cell is on the map and not a wall."""
    return 0 <= cell[0] < world.size and 0 <= cell[1] < world.size and cell not in world.walls


def is_empty(world: World, cell: Cell) -> bool:
    """Whether a cell is on the map and holds no wall, no object and not the agent."""
    return is_open(world, cell) and cell != world.agent and all(item.at != cell for item in world.objects)


def reachable(world: World, goal: Cell) -> bool:
    """Breadth-first search from the agent to the goal, through no wall and no object except one at the goal."""
    closed = {item.at for item in world.objects if item.at != goal}
    closed.add(world.agent)
    queue = deque([world.agent])
    while queue:
        row, column = queue.popleft()
        if (row, column) == goal:
            return True
        for down, right in MOVES:
            cell = (row + down, column + right)
            if cell not in closed and is_open(world, cell):
                closed.add(cell)
                queue.append(cell)
    return False

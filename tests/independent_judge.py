"""A slow, plain judge of what the teacher may say about a world, and what the truth is.

It follows the paper's table of sentence types and their conditions C0 to C8 word by word, with lists and loops,
and shares no code with the package, so that the two can be compared.
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


class Thing(NamedTuple):
    """An object on the map; its color is None if it has none of the eight."""

    name: str
    color: str | None
    at: Cell


class World(NamedTuple):
    """A square map of `size` x `size` cells."""

    size: int
    things: list[Thing]
    walls: set[Cell]
    agent: Cell


class Unasked(Exception):  # noqa: N818 - a verdict, not an error
    """The teacher may not say this sentence in this world."""


def answer(world: World, type_: str, slots: dict[str, str]) -> str:
    """The true answer to a question, of a type rec_<reference>2<asked>; raises Unasked if it may not be asked."""
    reference, asked = type_.removeprefix("rec_").split("2")
    cell = referred(world, reference, slots)
    if asked == "obj":
        return "nothing" if is_empty(world, cell) else seen_at(world, cell).name
    thing = seen_at(world, cell)
    if asked == "loc":  # C5, C8
        return direction_of(world, thing)
    assert asked == "col", type_
    if thing.color is None:
        raise Unasked(f"the {thing.name} has no color")
    return thing.color


def target(world: World, type_: str, slots: dict[str, str]) -> Cell:
    """Where a command given at the beginning of a episode (C0) sends the agent; raises Unasked if it may not be."""
    goal = referred(world, type_.removeprefix("nav_"), slots)
    if type_ in ("nav_nr_obj", "nav_bw_obj") and not is_empty(world, goal):
        raise Unasked(f"{goal} is not an empty cell")
    if not reachable(world, goal):
        raise Unasked(f"no way through empty cells to {goal}")
    return goal


def referred(world: World, reference: str, slots: dict[str, str]) -> Cell:
    """The one cell that a sentence refers to, perhaps outside the map."""
    match reference:
        case "obj":
            return named(world, slots["obj"]).at
        case "col":
            return colored(world, slots["col"]).at
        case "col_obj":
            return colored_and_named(world, slots["col"], slots["obj"]).at
        case "loc":  # C5: beside the agent
            return beside(world.agent, slots["loc"])
        case "loc_obj" | "nr_obj":  # C6: beside the named object
            return beside(named(world, slots["obj"]).at, slots["loc"])
        case "bw_obj":
            return between(world, slots["obj"], slots["obj2"])
    raise ValueError(f"no sentence type has the reference {reference}")


def the_only(world: World, found: list[Thing], what: str) -> Thing:
    """The one thing found, if it is one and the picture shows it; a thing under the agent is counted but hidden."""
    if len(found) != 1:
        raise Unasked(f"{len(found)} objects are {what}")
    if found[0].at == world.agent:
        raise Unasked(f"the agent hides the object that is {what}")
    return found[0]


def named(world: World, name: str) -> Thing:
    """C1: the only object of this name."""
    return the_only(world, [t for t in world.things if t.name == name], name)


def colored(world: World, color: str) -> Thing:
    """C4: the only object of this color."""
    return the_only(world, [t for t in world.things if t.color == color], color)


def colored_and_named(world: World, color: str, name: str) -> Thing:
    """C2: the only object of this color and name, where another one shares its name or its color but not both."""
    thing = the_only(world, [t for t in world.things if t.color == color and t.name == name], f"{color} {name}")
    for other in world.things:
        if (other.name == name) != (other.color == color):
            return thing
    raise Unasked(f"nothing to tell the {color} {name} from")


def beside(cell: Cell, direction: str) -> Cell:
    """The neighbor of a cell in a direction, perhaps outside the map."""
    down, right = DIRECTIONS[direction]
    return cell[0] + down, cell[1] + right


def between(world: World, name: str, name2: str) -> Cell:
    """C3 and C7: the middle cell of two uniquely named objects in one row or column, with one cell between them."""
    (row, column), (row2, column2) = named(world, name).at, named(world, name2).at
    if (abs(row - row2), abs(column - column2)) not in ((0, 2), (2, 0)):
        raise Unasked(f"{name} and {name2} are not separated by one cell")
    return (row + row2) // 2, (column + column2) // 2


def direction_of(world: World, thing: Thing) -> str:
    """C5 and C8: the direction in which the agent sees a thing near it."""
    offset = (thing.at[0] - world.agent[0], thing.at[1] - world.agent[1])
    for direction, step in DIRECTIONS.items():
        if step == offset:
            return direction
    raise Unasked(f"the agent is not near the {thing.name}")


def seen_at(world: World, cell: Cell) -> Thing:
    """The object that the picture shows in a cell."""
    for thing in world.things:
        if thing.at == cell and cell != world.agent:
            return thing
    raise Unasked(f"no object to be seen at {cell}")


def is_open(world: World, cell: Cell) -> bool:
    """Whether a cell is on the map and no wall."""
    return 0 <= cell[0] < world.size and 0 <= cell[1] < world.size and cell not in world.walls


def is_empty(world: World, cell: Cell) -> bool:
    """Whether a cell is on the map and holds no wall, no object and not the agent."""
    return is_open(world, cell) and cell != world.agent and all(thing.at != cell for thing in world.things)


def reachable(world: World, goal: Cell) -> bool:
    """Breadth-first search from the agent to the goal, entering no wall and no object but one at the goal."""
    closed = {thing.at for thing in world.things if thing.at != goal}
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

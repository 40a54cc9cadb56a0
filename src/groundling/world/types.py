"""The types that other packages use of the world: its settings, its state, and the outcome of a step."""

import math
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundling.errors import InputError, check_float, check_int

Int16s = NDArray[np.int16]
Bools = NDArray[np.bool_]

MAX_SIZE = 64
MAX_REWARD = 1e6
FREE_CELLS = 2
"""Cells that are always free, so that commands such as `north of the apple` are possible."""
MAX_OBJECTS = 512
"""Objects on a map; more than a map of MAX_SIZE has with the density of the paper's."""
MAX_STEP_LIMIT = (1 << 15) - 1  # step counters are int16
STEPS_PER_SIDE = 4
"""The paper's time limit: four times the side of the map."""
DIRECTIONS = ("east", "north", "northeast", "northwest", "south", "southeast", "southwest", "west")
OFFSETS = np.array([(0, 1), (-1, 0), (-1, 1), (-1, -1), (1, 0), (1, 1), (1, -1), (0, -1)], np.int64)
"""[direction]: (rows, columns); north is up."""
REWARD_UNIT = 1000
"""Rewards are integers out of this number inside the simulator, so that their sums are exact."""


@dataclass(frozen=True)
class Rewards:
    """The rewards of a step, which are added up. The defaults are the paper's."""

    step: float = -0.1
    """Reward of every step."""
    blocked: float = -0.2
    """Reward of a step against a wall or the edge of the map."""
    wrong_object: float = -1.0
    """Reward of a step onto an object that is not the target."""
    reached: float = 1.0
    """Reward of reaching the target."""
    right_answer: float = 0.0
    """Reward of a right answer in `NavQA`."""

    def __post_init__(self) -> None:
        for name, value in self.__dict__.items():
            check_float(f"rewards.{name}", value, -MAX_REWARD, MAX_REWARD)
            if abs(value * REWARD_UNIT - round(value * REWARD_UNIT)) > 1e-6:
                raise InputError(f"rewards.{name} must have at most three decimals, got {value}")

    @cached_property
    def units(self) -> NDArray[np.int64]:
        """[5]: the rewards in this order as integers out of REWARD_UNIT."""
        return np.array([round(value * REWARD_UNIT) for value in astuple(self)], np.int64)


@dataclass(frozen=True)
class WorldConfig:
    """Size and content of the maps. The defaults are the paper's test conditions."""

    size: int = 7
    """Side of the square map in cells (3 to 64)."""
    objects: tuple[int, int] = (1, 5)
    """Minimum and maximum number of objects on a map."""
    walls: tuple[int, int] = (0, 15)
    """Minimum and maximum number of wall cells on a map."""
    max_steps: int | None = None
    """Steps after which an episode is truncated (None: 4 x size)."""
    maps: str = "open"
    """Map generator: open (the paper's), rooms, maze or `module:function`; environments take a function, too."""
    rewards: Rewards = Rewards()
    """The rewards of a step."""

    def __post_init__(self) -> None:
        check_int("size", self.size, 3, MAX_SIZE)
        object.__setattr__(self, "objects", _int_range("objects", self.objects, 1, MAX_OBJECTS))
        object.__setattr__(self, "walls", _int_range("walls", self.walls, 0, self.size**2))
        needed = 1 + self.objects[1] + self.walls[1] + FREE_CELLS
        if needed > self.size**2:
            raise InputError(
                f"objects, walls, the agent and {FREE_CELLS} free cells must fit on the map, got up to {needed} cells "
                f"for a map of {self.size} x {self.size}; lower the maximum of objects or walls, or raise size"
            )
        if self.max_steps is not None:
            check_int("max_steps", self.max_steps, 1, MAX_STEP_LIMIT)

    def resized(
        self,
        size: int | None = None,
        objects: tuple[int, int] | None = None,
        walls: tuple[int, int] | None = None,
    ) -> "WorldConfig":
        """The settings for maps of another size (None: the same), with as many objects and walls per cell if they are
        not given. The time limit grows with the side."""
        side = self.size if size is None else check_int("size", size, 3, MAX_SIZE)
        growth = side**2 / self.size**2
        most = side**2 - 1 - FREE_CELLS
        if objects is None:
            low, high = (min(max(1, round(growth * limit)), most, MAX_OBJECTS) for limit in self.objects)
            objects = low, high
        if walls is None:
            low, high = (min(round(growth * limit), max(0, most - objects[1])) for limit in self.walls)
            walls = low, high
        max_steps = None if self.max_steps is None else max(1, round(self.max_steps * side / self.size))
        return replace(self, size=side, objects=objects, walls=walls, max_steps=max_steps)

    @property
    def step_limit(self) -> int:
        """Steps after which an episode is truncated."""
        return self.max_steps or STEPS_PER_SIDE * self.size


class State(NamedTuple):
    """A batch of maps; the batch is the first axis of every array. A position is row * size + column."""

    grid: Int16s
    """[B, size * size]: the id of each cell, see `catalog`. The agent is not on the grid."""
    objects: Int16s
    """[B, max objects]: the position of each object, -1 after the last one."""
    agent: Int16s
    """[B]: the agent's position."""
    target: Int16s
    """[B]: the position to reach."""
    step: Int16s
    """[B]: number of actions taken."""

    @property
    def size(self) -> int:
        return math.isqrt(self.grid.shape[1])


class Outcome(NamedTuple):
    """What a batch of actions led to."""

    reward: NDArray[np.float64]
    terminated: Bools
    """The target was reached."""
    truncated: Bools
    """The step limit was reached first: the value of the next state is not zero."""


def _int_range(name: str, pair: Any, low: int, high: int) -> tuple[int, int]:
    """Check a (minimum, maximum) pair; return it as a tuple of ints."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InputError(f"{name} must be a pair (minimum, maximum), got {pair!r}; for exactly 3 write (3, 3)")
    for value in pair:
        check_int(name, value, low, high)
    if pair[0] > pair[1]:
        raise InputError(f"{name} must be a pair (minimum, maximum) with minimum <= maximum, got {tuple(pair)}")
    return int(pair[0]), int(pair[1])

"""Maps of your own: a generator is a compiled function that lays out floor and walls.

    python examples/own_maps.py
    cd examples && groundling train smoke --maps own_maps:corridors

Objects and the agent are placed on the floor by the world. Random numbers must come from `key`, so that a map is a
function of the episode alone: `below(key, i, n)` is draw number i, from 0 to n - 1.
"""

import gymnasium as gym
import numba
import numpy as np
from numpy.typing import NDArray

import groundling  # noqa: F401 - registers the environments
from groundling.world.catalog import FLOOR, WALL
from groundling.world.rng import below


@numba.njit
def corridors(key: np.uint64, size: int, grid: NDArray[np.int16]) -> None:
    """Rows of floor with walls between them; each wall has two doors."""
    grid[:] = FLOOR
    for row in range(1, size, 2):
        for column in range(size):
            grid[row * size + column] = WALL
        for door in range(2):
            grid[row * size + below(key, 2 * row + door, size)] = FLOOR


def main() -> None:
    for maps in ("rooms", "maze", corridors):
        env = gym.make("groundling/Nav-v0", maps=maps, size=9, render_mode="ansi")
        env.reset(seed=0)
        print(env.render(), "\n")


if __name__ == "__main__":
    main()

"""Random maps: what is placed where, and that the map of a key never changes."""

import numpy as np
import pytest

from groundling.world.catalog import FIRST_ICON, FLOOR, WALL
from groundling.world.map_generation import draw_map

SIZE, OPEN_SIZE = 5, 4


def drawn(key: int, in_line: int = 0) -> tuple[int, list[int], list[int]]:
    """The agent's position, the objects' positions and the grid of a map with 3 objects and 2 to 4 walls."""
    grid, objects, positions = np.zeros(25, np.int16), np.zeros(3, np.int16), np.zeros(25, np.int64)
    classes, first_icon = np.array([0, 1], np.int16), np.array([0, 3, 6], np.int16)
    agent = draw_map(
        np.uint64(key), SIZE, OPEN_SIZE, (3, 3), (2, 4), in_line, classes, first_icon, grid, objects, positions
    )
    return agent, objects.tolist(), grid.tolist()


@pytest.mark.parametrize("in_line", [0, 2, 3])
def test_objects_agent_and_walls_occupy_distinct_cells_of_the_open_square(in_line: int) -> None:
    walls_seen, squares = set(), set()
    for key in range(300):
        agent, objects, grid = drawn(key, in_line)
        assert len({agent, *objects}) == 4
        assert grid[agent] == FLOOR
        icons = [position for position, cell in enumerate(grid) if cell >= FIRST_ICON]
        assert icons == sorted(objects)
        not_wall = [divmod(position, SIZE) for position, cell in enumerate(grid) if cell != WALL]
        top, left = (min(part) for part in zip(*not_wall, strict=True))
        assert max(row for row, _ in not_wall) < top + OPEN_SIZE
        assert max(column for _, column in not_wall) < left + OPEN_SIZE
        squares.add((top, left))
        walls_seen.add(OPEN_SIZE**2 - len(not_wall))
    assert walls_seen == {2, 3, 4}
    assert {(0, 0), (0, 1), (1, 0), (1, 1)} <= squares


@pytest.mark.parametrize("in_line", [2, 3])
def test_two_objects_are_on_either_side_of_an_empty_cell_or_of_a_third_object(in_line: int) -> None:
    directions = set()
    for key in range(300):
        _, objects, grid = drawn(key, in_line)
        (row, column), (row2, column2) = (divmod(position, SIZE) for position in objects[:2])
        assert (abs(row2 - row), abs(column2 - column)) in ((0, 2), (2, 0))
        directions.add((row2 - row, column2 - column))
        between = (row + row2) // 2 * SIZE + (column + column2) // 2
        if in_line == 3:
            assert objects[2] == between
        else:
            assert grid[between] == FLOOR
    assert len(directions) == 2


def test_map_of_a_key_stays_the_same() -> None:
    """Scores were measured on the episodes of certain seeds, which must not change from version to version."""
    walls, icons = {0, 1, 2, 3, 4, 5, 10, 11, 15, 18, 19, 20}, {16: FIRST_ICON, 12: FIRST_ICON + 5, 22: FIRST_ICON + 5}
    grid = [WALL if position in walls else icons.get(position, FLOOR) for position in range(SIZE**2)]
    assert drawn(1) == (6, [16, 12, 22], grid)

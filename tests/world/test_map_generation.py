"""Random maps: what is placed where, that the map of a key never changes, and the other map generators."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from groundling.cli import main
from groundling.errors import InputError
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import SamplingConfig
from groundling.world.catalog import FIRST_ICON, FLOOR, WALL
from groundling.world.map_generation import GENERATORS, OPEN, draw_map, maze, rooms
from groundling.world.types import WorldConfig

SIZE, OPEN_SIZE = 5, 4
Layout = Callable[[np.uint64, int, NDArray[np.int16]], None]


def drawn(key: int, in_line: int = 0) -> tuple[int, list[int], list[int]]:
    """The agent's position, the objects' positions and the grid of a map with 3 objects and 2 to 4 walls."""
    grid, objects, positions = np.zeros(25, np.int16), np.zeros(3, np.int16), np.zeros(25, np.int64)
    classes, first_icon = np.array([0, 1], np.int16), np.array([0, 3, 6], np.int16)
    icons = np.arange(6, dtype=np.int16)
    agent = draw_map(
        np.uint64(key), SIZE, OPEN_SIZE, (3, 3), (2, 4), in_line, classes, first_icon, icons, OPEN, None, grid, objects,
        positions,
    )  # fmt: skip
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


def test_only_the_icons_given_are_placed() -> None:
    """Class 0 has the icons 2 and 5, class 1 the icon 3."""
    grid, objects, positions = np.zeros(25, np.int16), np.zeros(3, np.int16), np.zeros(25, np.int64)
    classes, first_icon, icons = (np.array(values, np.int16) for values in ([0, 1], [0, 2, 3], [2, 5, 3]))
    seen = set()
    for key in range(50):
        draw_map(
            np.uint64(key), 5, 5, (3, 3), (0, 0), 0, classes, first_icon, icons, OPEN, None, grid, objects, positions
        )  # fmt: skip
        seen |= set((grid[grid >= FIRST_ICON] - FIRST_ICON).tolist())
    assert seen == {2, 3, 5}


def laid_out(layout: Layout, key: int, size: int) -> NDArray[np.int16]:
    """The grid of a layout, which must not depend on what was there before."""
    grids = [np.full(size * size, content, np.int16) for content in (FLOOR, WALL, FIRST_ICON)]
    for grid in grids:
        layout(np.uint64(key), size, grid)
    assert (grids[0] == grids[1]).all()
    assert (grids[0] == grids[2]).all()
    return grids[0].reshape(size, size)


def connected(floor: NDArray[np.bool_]) -> bool:
    """Whether all floor cells can be reached from each other."""
    cells = {(int(row), int(column)) for row, column in np.argwhere(floor)}
    reached = [min(cells)]
    for row, column in reached:
        for cell in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            if cell in cells and cell not in reached:
                reached.append(cell)
    return len(reached) == len(cells)


@pytest.mark.parametrize("size", [3, 4, 5, 6, 7, 12])
def test_maze_is_a_spanning_tree_of_its_cells(size: int) -> None:
    """Cells with even row and column are floor and joined without a cycle; so n cells have n - 1 passages."""
    side, layouts = (size + 1) // 2, set()
    for key in range(40):
        grid = laid_out(maze, key, size)
        floor = grid == FLOOR
        assert set(np.unique(grid).tolist()) == {FLOOR, WALL}
        assert floor[::2, ::2].all()
        assert floor.sum() == 2 * side * side - 1
        assert not floor[1::2, 1::2].any()
        assert connected(floor)
        layouts.add(grid.tobytes())
    assert len(layouts) > (3 if size < 5 else 30)  # 2 x 2 cells have four spanning trees


def test_mazes_of_four_cells_are_equally_frequent() -> None:
    """The random walk gives each of the four spanning trees of 2 x 2 cells with probability 1/4."""
    counts = Counter(laid_out(maze, key, 3).tobytes() for key in range(2000))
    assert [count / 2000 for count in counts.values()] == pytest.approx([0.25] * 4, abs=0.03)


@pytest.mark.parametrize("size", [5, 6, 7, 12])
def test_four_rooms_with_four_doors(size: int) -> None:
    """One wall across and one down, neither at the edge, and one door in each of their four parts."""
    rows, columns = set(), set()
    for key in range(200):
        grid = laid_out(rooms, key, size)
        walls = grid == WALL
        assert set(np.unique(grid).tolist()) == {FLOOR, WALL}
        row, column = int(walls.sum(axis=1).argmax()), int(walls.sum(axis=0).argmax())
        rows.add(row)
        columns.add(column)
        assert walls.sum() == 2 * size - 1 - 4
        parts = (walls[row, :column], walls[row, column + 1 :], walls[:row, column], walls[row + 1 :, column])
        assert [int((~part).sum()) for part in parts] == [1, 1, 1, 1]
        assert connected(~walls)
    assert rows == columns == set(range(2, size - 2))


def test_rooms_of_a_small_map_are_one_room() -> None:
    for size in (3, 4):
        assert (laid_out(rooms, 0, size) == FLOOR).all()


@pytest.mark.parametrize("maps", ["rooms", "maze"])
@pytest.mark.parametrize("balanced", [0.0, 0.5])
def test_objects_and_agent_are_on_the_floor_of_the_layout(maps: str, balanced: float) -> None:
    """Whatever `walls` says: the walls are those of the layout. Mazes seldom have room for two objects in line."""
    world = WorldConfig(size=7, objects=(2, 5), maps=maps)
    episode = Teacher(world, sampling=SamplingConfig(type_balanced_fraction=balanced)).begin(0, np.arange(300))
    layouts = set()
    for grid, objects, agent in zip(
        episode.state.grid, episode.state.objects.tolist(), episode.state.agent.tolist(), strict=True
    ):
        walls = (grid == WALL).reshape(7, 7)
        assert walls.sum() == (9 if maps == "rooms" else 18)
        assert connected(~walls)
        placed = [position for position in objects if position >= 0]
        assert 2 <= len(placed) <= 5
        assert np.flatnonzero(grid >= FIRST_ICON).tolist() == sorted(placed)
        assert grid[agent] == FLOOR
        layouts.add(walls.tobytes())
    assert len(layouts) > 80


def checkerboard(key: np.uint64, size: int, grid: NDArray[np.int16]) -> None:
    """A generator of a user: cells (odd, odd) are anything but floor."""
    for position in range(size * size):
        odd = position // size % 2 == 1 and position % size % 2 == 1
        grid[position] = 77 if odd else 1


compiled_checkerboard = numba.njit(checkerboard)


@pytest.mark.parametrize("maps", [checkerboard, compiled_checkerboard, f"{__name__}:checkerboard"], ids=["a", "b", "c"])
@pytest.mark.usefixtures("no_kernel_cache")
def test_generator_of_a_user(maps: Any) -> None:
    """As a function, compiled or not, or by its name. What is not floor is wall."""
    env = gym.make_vec("groundling/NavQA-v0", num_envs=20, maps=maps, size=5, walls=(0, 0), observation="cells")
    observation, _ = env.reset(seed=0)
    for _ in range(10):
        env.step(env.action_space.sample())
    grids = env.unwrapped.episode.state.grid.reshape(-1, 5, 5)  # type: ignore[attr-defined]
    assert (grids[:, 1::2, 1::2] == WALL).all()
    assert (grids == WALL).sum() == 20 * 4
    assert isinstance(env.observation_space, gym.spaces.Dict)
    assert env.observation_space["cells"].contains(observation["cells"])


def no_room(key: np.uint64, size: int, grid: NDArray[np.int16]) -> None:
    """A generator that leaves one cell."""
    grid[:] = 2
    grid[0] = 1


@pytest.mark.parametrize(
    ("maps", "message"),
    [
        ("room", "maps must be open, rooms, maze or module:function, got 'room', did you mean 'rooms'"),
        ("x" * 300, r"maps must be open, rooms, maze or module:function, got 'x+\.\.\.'$"),
        ("nowhere:maps", r"maps 'nowhere:maps' cannot be imported \(No module named 'nowhere'\)"),
        (f"{__name__}:missing", "cannot be imported .*has no attribute 'missing'"),
        (":", "maps must be open, rooms, maze or module:function, got ':'"),
        (3, "maps must be open, rooms, maze, module:function or a function, got 3"),
        (f"{__name__}:SIZE", "maps must be open, rooms, maze, module:function or a function, got 5"),
        (no_room, "hardly any map triggers a sentence"),
    ],
)
@pytest.mark.usefixtures("no_kernel_cache")
def test_invalid_generator_is_refused(maps: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        gym.make_vec("groundling/Nav-v0", num_envs=1, maps=maps)


@pytest.mark.usefixtures("no_kernel_cache")
def test_generator_in_a_file_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands import it from there; the library only from its path."""
    (tmp_path / "my_maps.py").write_text("def plain(key, size, grid):\n    grid[:] = 1\n    grid[size + 1] = 2\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"maps 'my_maps:plain' cannot be imported \(No module named 'my_maps'\)"):
        Teacher(WorldConfig(maps="my_maps:plain"))
    main(["world", "show", "--maps", "my_maps:plain"])
    assert capsys.readouterr().out.count("#") == 1


def test_names_of_the_built_in_generators() -> None:
    assert GENERATORS == ("open", "rooms", "maze")
    assert WorldConfig().maps == "open"

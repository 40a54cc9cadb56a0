"""The rules with hand-computed rewards, and shortest paths and rendering on small maps."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from groundling.errors import InputError
from groundling.world.catalog import AGENT, FIRST_ICON, FLOOR, OUTSIDE, WALL, Catalog
from groundling.world.rendering import ansi, draw, map_cells, on_map, view_cells
from groundling.world.shortest_path import best_actions, distances
from groundling.world.simulation import ACTIONS, PAPER_REWARDS, step
from groundling.world.types import Rewards, State, WorldConfig

LEFT, RIGHT, UP, DOWN = range(4)


def make_state(text: str) -> State:
    """Build a state from rows of `.` floor, `#` wall, `o` object, `@` agent, `X` target cell, `T` target object."""
    marks = "".join(text.split())
    cells = {"#": WALL, "o": FIRST_ICON, "T": FIRST_ICON + 1}
    objects = [position for position, mark in enumerate(marks) if mark in "oT"]
    return State(
        grid=np.array([[cells.get(mark, FLOOR) for mark in marks]], np.int16),
        objects=np.array([objects], np.int16),
        agent=np.array([marks.index("@")], np.int16),
        target=np.array([max(marks.find("X"), marks.find("T"))], np.int16),
        step=np.zeros(1, np.int16),
    )


def rewards(
    state: State, actions: list[int], max_steps: int = 28, settings: Rewards = PAPER_REWARDS
) -> tuple[list[float], str | None]:
    """The reward of each action, and how the episode ended."""
    received, ended = [], None
    for action in actions:
        state, outcome = step(state, np.array([action]), max_steps, settings)
        received.append(float(outcome.reward[0]))
        ended = "terminated" if outcome.terminated[0] else "truncated" if outcome.truncated[0] else None
    return received, ended


def test_order_of_actions() -> None:
    assert ACTIONS == ("left", "right", "up", "down")
    state = make_state("... .@. ..X")
    agents = [int(step(state, np.array([action]), 28)[0].agent[0]) for action in range(4)]
    assert agents == [3, 5, 1, 7]


@pytest.mark.parametrize(
    ("text", "actions", "expected", "ended"),
    [
        ("@.. ... ..X", [RIGHT], [-0.1], None),
        ("@#. ... ..X", [RIGHT, UP], [-0.3, -0.3], None),
        ("@o. ... ..X", [RIGHT, UP, UP, RIGHT], [-1.1, -1.3, -1.3, -0.1], None),
        ("@X. ... ...", [RIGHT], [0.9], "terminated"),
        ("@T. ... ...", [RIGHT], [0.9], "terminated"),
        ("@.T ... .o.", [DOWN, RIGHT, DOWN], [-0.1, -0.1, -1.1], None),
    ],
)
def test_rewards(text: str, actions: list[int], expected: list[float], ended: str | None) -> None:
    assert rewards(make_state(text), actions) == (expected, ended)


@pytest.mark.parametrize(
    ("text", "actions", "expected", "ended"),
    [
        ("@.. ... ..X", [RIGHT], [0.001], None),
        ("@#. ... ..X", [RIGHT, UP], [-0.049, -0.049], None),
        ("@o. ... ..X", [RIGHT, UP, RIGHT], [-3.332, -3.382, 0.001], None),
        ("@T. ... ...", [RIGHT], [1000.001], "terminated"),
    ],
)
def test_rewards_of_a_user(text: str, actions: list[int], expected: list[float], ended: str | None) -> None:
    """They are added up exactly: 0.001 - 0.05 - 3.333 is -3.382, not -3.3819999999999997."""
    settings = Rewards(step=0.001, blocked=-0.05, wrong_object=-3.333, reached=1000)
    assert rewards(make_state(text), actions, settings=settings) == (expected, ended)


def test_default_rewards_are_those_of_the_paper() -> None:
    assert WorldConfig().rewards == PAPER_REWARDS == Rewards(-0.1, -0.2, -1.0, 1.0, 0.0)
    assert Rewards().units.tolist() == [-100, -200, -1000, 1000, 0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step": 0.0001}, r"rewards\.step must have at most three decimals, got 0\.0001"),
        ({"reached": 1e7}, r"rewards\.reached must be a finite number of at least -1e\+06 and at most 1e\+06, got"),
        ({"blocked": float("nan")}, r"rewards\.blocked must be a finite number .*, got nan"),
        ({"wrong_object": "1"}, r"rewards\.wrong_object must be a finite number .*, got '1'"),
        ({"right_answer": True}, r"rewards\.right_answer must be a finite number .*, got True"),
    ],
)
def test_invalid_rewards_are_rejected(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Rewards(**settings)


def test_invalid_actions_are_rejected() -> None:
    state = make_state("@.. ... ..X")
    for actions in ([4], [-1], [0, 0], []):
        with pytest.raises(
            InputError, match=r"actions must be an array of shape \(1,\) of integers from 0 to 3, got array"
        ):
            step(state, np.array(actions, np.int64), 28)


def test_truncated_is_not_terminated() -> None:
    state = make_state("@.. ... ..X")
    assert rewards(state, [RIGHT, LEFT, RIGHT], max_steps=3) == ([-0.1, -0.1, -0.1], "truncated")
    assert rewards(state, [RIGHT, LEFT], max_steps=3) == ([-0.1, -0.1], None)
    # reaching the target at the last step counts as terminated
    assert rewards(make_state("@X. ... ..."), [UP, UP, RIGHT], max_steps=3) == ([-0.3, -0.3, 0.9], "terminated")


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("@.. ... ..X", 4),
        ("@#X .#. ...", 6),
        ("@oX ... ...", 4),  # around the object
        ("@oX ##. ...", -1),  # an object blocks the only path
        ("@#T ### ...", -1),
        ("@T. ... ...", 1),
    ],
)
def test_shortest_path_length(text: str, length: int) -> None:
    assert best_actions(make_state(text))[1][0] == length


def test_distances_do_not_depend_on_what_the_scratch_space_holds() -> None:
    """Position 2 is behind walls; the scratch space is full of it, as after a search on another map."""
    state = make_state("@#. .## ..X")
    distance, queue = np.full(9, 7, np.int16), np.full(9, 2, np.int16)
    distances(state.grid[0], 3, 0, distance, queue)
    assert distance.tolist() == [0, -1, -1, 1, -1, -1, 2, 3, 4]


def test_view_is_centered_on_the_agent() -> None:
    state = make_state("#o. .@. ..X")
    cells = view_cells(state)[0]
    assert cells.shape == (5, 5)
    assert cells[2, 2] == AGENT
    assert cells[1].tolist() == [OUTSIDE, WALL, FIRST_ICON, FLOOR, OUTSIDE]
    assert (cells[0] == OUTSIDE).all()
    corner = view_cells(make_state("@o# ... ..X"))[0]
    assert corner[2].tolist() == [OUTSIDE, OUTSIDE, AGENT, FIRST_ICON, WALL]
    assert (corner[:2] == OUTSIDE).all()


@pytest.mark.parametrize("text", ["@o# ... ..X", "#o. .@. ..X", "#oX ... ..@", "#.X ..@ o.."])
def test_part_of_the_view_that_is_on_the_map(text: str) -> None:
    state = make_state(text)
    part = on_map(view_cells(state)[0].ravel().astype(np.float32), 3, int(state.agent[0]))
    np.testing.assert_array_equal(part, map_cells(state)[0])


def test_draw_tiles_the_cell_images(catalog: Catalog) -> None:
    rng = np.random.default_rng(0)
    cells: NDArray[np.int16] = rng.integers(0, catalog.cells, (3, 4, 5)).astype(np.int16)
    for side, images in catalog.pictures.items():
        frames = draw(cells, images)
        out = np.zeros_like(frames)
        assert draw(cells, images, out) is out
        np.testing.assert_array_equal(out, frames)
        assert frames.shape == (3, 4 * side, 5 * side, 3)
        for row in range(4):
            for column in range(5):
                patch = frames[0, row * side : (row + 1) * side, column * side : (column + 1) * side]
                np.testing.assert_array_equal(patch, images[cells[0, row, column]])
    with pytest.raises(ValueError, match="out must be"):
        draw(cells, catalog.pictures[12], np.zeros((1, 2, 3), np.uint8))


def test_map_as_text(catalog: Catalog) -> None:
    (text,) = ansi(make_state("#o. .@. ..X"), catalog, mark_target=True)
    assert text.splitlines()[0].startswith("# a .    a ")
    assert text.splitlines()[1:] == [". @ .", ". . X"]
    assert map_cells(make_state("#o. .@. ..X"))[0, 1].tolist() == [FLOOR, AGENT, FLOOR]

"""Replay of scripted episodes; `tests/cli` tests the replay of files."""

from typing import Any

import pytest

from groundling.errors import InputError
from groundling.world.scripted_episodes import replay

EPISODE: dict[str, Any] = {
    "objects": [{"name": "apple", "at": [0, 1]}],
    "walls": [[1, 0]],
    "agent": [0, 0],
    "target": [0, 2],
    "actions": ["down", "right", "right", "left"],
}


def test_replay_stops_when_the_target_is_reached() -> None:
    assert replay(EPISODE, {"apple"}) == {
        "positions": [[0, 0], [0, 1], [0, 2]],
        "rewards": [-0.3, -1.1, 0.9],
        "ended": "terminated",
    }


def test_agent_may_start_on_an_object() -> None:
    """As in the middle of an episode; leaving it costs no more than another step."""
    change = {"agent": [0, 1], "actions": ["right"]}
    assert replay(EPISODE | change, {"apple"}) == {
        "positions": [[0, 2]],
        "rewards": [0.9],
        "ended": "terminated",
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": [1, 0]}, r"target must be a cell without a wall, got \[1, 0\]"),
        ({"target": [0, 7]}, r"target must be \[row, column\], each from 0 to 6, got \[0, 7\]"),
        ({"agent": [1, 0]}, r"the position of the agent must be a cell without a wall, got \[1, 0\]"),
        ({"walls": 5}, "walls must be a list, got 5"),
        ({"max_steps": True}, "max_steps must be an integer from 1 to 32767, got true"),
        ({"actions": ["jump"]}, 'actions must be among left, right, up, down, got "jump"'),
        ({"wals": []}, "keys must be among .*, got \"wals\", did you mean 'walls'"),
    ],
)
def test_invalid_episode_is_rejected(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replay(EPISODE | change, {"apple"})


@pytest.mark.parametrize("key", ["objects", "walls", "agent", "target", "actions", "max_steps"])
def test_errors_do_not_repeat_long_values(key: str) -> None:
    with pytest.raises(InputError) as error:
        replay(EPISODE | {key: "x" * 1000}, {"apple"})
    assert len(str(error.value)) < 200

"""Maps of up to 64 x 64 cells: environments, scenarios, snapshots, map generators and text."""

from typing import Any

import numpy as np
import pytest

from groundling.env import NavQAEnv
from groundling.errors import InputError

SIZE = 64


@pytest.mark.parametrize("maps", ["open", "rooms", "maze"])
@pytest.mark.parametrize("observation", ["pixels", "cells", "text"])
def test_envs_play_and_continue_from_snapshots(maps: str, observation: str) -> None:
    env = NavQAEnv(size=SIZE, maps=maps, observation=observation, render_mode="ansi")
    shown, info = env.reset(seed=1)
    assert env.observation_space.contains(shown)
    assert 0 < info["shortest_path"] < SIZE**2
    saved, action = env.save_state(), np.array([1, 0])
    first = env.step(action)
    assert env.observation_space.contains(first[0])
    env.load_state(saved)
    second = env.step(action)
    for name, value in first[0].items():
        np.testing.assert_array_equal(value, second[0][name])
    assert len(env.render().splitlines()) >= SIZE


def test_scenarios_reach_the_last_row_and_column() -> None:
    scenario: dict[str, Any] = {
        "objects": [{"name": "apple", "at": [63, 63]}, {"name": "cat", "at": [0, 63]}],
        "walls": [[5, 5]],
        "agent": [63, 0],
    }
    env = NavQAEnv(size=SIZE, observation="text")
    shown, info = env.reset(seed=0, options={"scenario": scenario, "command": "Go to the apple."})
    assert info["shortest_path"] == 63
    assert "apple 63 steps east" in shown["text"]
    assert "cat 63 steps north, 63 steps east" in shown["text"]
    terminated = False
    for _ in range(63):
        assert not terminated
        terminated = env.step(np.array([1, env.lexicon.pad]))[2]
    assert terminated
    with pytest.raises(InputError, match=r"must be \[row, column\], each from 0 to 63, got \[64, 0\]"):
        env.reset(options={"scenario": scenario | {"agent": [64, 0]}})


def test_larger_ones_are_refused() -> None:
    with pytest.raises(InputError, match="size must be an integer from 3 to 64, got 65"):
        NavQAEnv(size=SIZE + 1)

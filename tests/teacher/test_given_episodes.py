"""Episodes with a given map or command, through the environments."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from groundling.cli.world import shortest_path_actions
from groundling.env import NavEnv, NavQAEnv
from groundling.errors import InputError
from groundling.world.scenario import Scenario
from groundling.world.simulation import ACTIONS

TWO_APPLES: dict[str, Any] = {
    "objects": [{"name": "apple", "color": "red", "at": [0, 0]}, {"name": "apple", "color": "green", "at": [3, 3]}],
    "walls": [[1, 1]],
    "agent": [6, 6],
}


def test_given_map_and_command() -> None:
    env = NavQAEnv()
    _, info = env.reset(seed=0, options={"scenario": TWO_APPLES, "command": "Go to the red apple."})
    state = env.batch.episode.state
    assert info["command"] == "Go to the red apple."
    assert info["shortest_path"] == 12
    assert int(state.target[0]) == 0
    given = Scenario.of_state(state).to_dict(env.batch.teacher.catalog)
    assert [(item["color"], item["at"]) for item in given["objects"]] == [("red", [0, 0]), ("green", [3, 3])]
    assert given["walls"] == [[1, 1]]
    assert info["question"]
    actions = shortest_path_actions(env.batch.teacher, env.batch.episode)
    for action in actions:
        _, reward, terminated, _, last = env.step([ACTIONS.index(action), 0])
    assert terminated
    assert last["is_success"]
    assert reward == 0.9


def test_given_map_gets_a_possible_command_that_seed_and_index_determine() -> None:
    env = NavEnv()
    commands = {env.reset(seed=seed, options={"scenario": TWO_APPLES})[1]["command"] for seed in range(20)}
    assert len(commands) > 3
    for command in commands:
        assert {"red", "green"} & set(command.lower().split())  # `the apple` would be ambiguous
    again = [env.reset(seed=5, options={"scenario": TWO_APPLES})[1]["command"] for _ in range(2)]
    assert again[0] == again[1]


@pytest.mark.parametrize("command", ["Go to the fox.", "Reach the north of the owl.", "Go to the blue glove."])
def test_given_command_gets_a_random_map_on_which_it_is_possible(command: str) -> None:
    env = NavQAEnv(split="zs2", phase="train")  # whatever the split holds out
    for seed in range(5):
        _, info = env.reset(seed=seed, options={"command": command})
        assert info["command"] == command
        assert info["shortest_path"] > 0


def test_vector_env_takes_one_for_all_or_one_for_each() -> None:
    envs = gym.make_vec("groundling/Nav-v0", num_envs=3)
    _, info = envs.reset(seed=0, options={"command": ["Go to the fox.", None, "Go to the owl."]})
    without = gym.make_vec("groundling/Nav-v0", num_envs=3).reset(seed=0)[1]["command"]
    assert info["command"].tolist() == ["Go to the fox.", without[1], "Go to the owl."]
    _, info = envs.reset(options={"scenario": TWO_APPLES, "reset_mask": np.array([True, False, False])})
    assert "apple" in info["command"][0]
    assert info["command"][2] == "Go to the owl."
    with pytest.raises(InputError, match="command must be one for all envs or a list of 3, got 1"):
        envs.reset(options={"command": ["Go to the fox."]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scenario": 3}, 'scenario must be {"objects"'),
        ({"scenario": {**TWO_APPLES, "agent": [1, 1]}}, "the position of the agent must be a cell without a wall"),
        ({"scenario": {"objects": [], "walls": [], "agent": [0, 0]}}, "scenario must allow a command"),
        ({"scenario": {**TWO_APPLES, "objects": 6 * TWO_APPLES["objects"]}}, "must be an empty cell"),
        ({"command": 5}, "command must be a sentence as text, got 5"),
        ({"command": "What is in the north?"}, "command must be a command of the language, got the question"),
        ({"command": "Go to the durian."}, "unknown word 'durian'"),
        ({"command": "Go to the apple.", "scenario": TWO_APPLES}, "'Go to the apple.' is not possible on this map"),
        ({"command": "Go to the grid between cat and cat."}, "was possible on none of"),
    ],
)
def test_bad_scenario_or_command_is_refused_and_the_episode_goes_on(options: dict[str, Any], message: str) -> None:
    env = NavEnv()
    env.reset(seed=1)
    before = env.save_state()
    with pytest.raises(InputError, match=message):
        env.reset(seed=2, options=options)
    after = env.save_state()
    assert before.keys() == after.keys()
    for name, array in before.items():
        np.testing.assert_array_equal(array, after[name])


def test_agent_may_stand_on_an_object() -> None:
    """Play can reach such a state, so it can be saved and given."""
    env = NavEnv()
    on_green = {**TWO_APPLES, "agent": [3, 3]}
    _, info = env.reset(options={"scenario": on_green, "command": "Go to the red apple."})
    assert info["shortest_path"] == 6
    assert Scenario.of_state(env.batch.episode.state).to_dict(env.batch.teacher.catalog)["agent"] == [3, 3]

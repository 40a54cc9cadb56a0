"""The documentation of the environments, in their docstrings, says what they do."""

import inspect
import re
from dataclasses import fields

import gymnasium as gym
import pytest
from gymnasium import spaces

import groundling  # noqa: F401 - registers the environments
from groundling.env import NavEnv, NavQAEnv
from groundling.env_options import EnvOptions
from groundling.world.simulation import ACTIONS
from groundling.world.types import Rewards

SECTIONS = """Description; Action Space; Observation Space; Rewards; Starting State; Episode End; Info; Arguments;
Vector Environment; Version History"""
ENVS = {"groundling/Nav-v0": NavEnv, "groundling/NavQA-v0": NavQAEnv}


def sections(name: str) -> dict[str, str]:
    parts = re.split(r"^## (.*)\n", inspect.cleandoc(ENVS[name].__doc__ or ""), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def keys(section: str) -> set[str]:
    """The names in the first column of a table."""
    return set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))


@pytest.mark.parametrize("name", ENVS)
def test_sections_are_those_of_gymnasium(name: str) -> None:
    assert list(sections(name)) == [title.strip() for title in SECTIONS.split(";")]


@pytest.mark.parametrize("name", ENVS)
def test_spaces_are_as_documented(name: str) -> None:
    env = gym.make(name)
    assert isinstance(env.observation_space, spaces.Dict)
    observed = sections(name)["Observation Space"]
    assert keys(observed) == set(env.observation_space.keys())
    assert "Box(0, 255, (156, 156, 3), uint8)" in observed
    assert str(env.observation_space["image"]) == "Box(0, 255, (156, 156, 3), uint8)"
    command = env.observation_space["command"]
    assert isinstance(command, spaces.MultiDiscrete)
    assert "`MultiDiscrete([186] * 13)`" in observed
    assert command.nvec.tolist() == [186] * 13
    described = sections(name)["Action Space"]
    if isinstance(env.action_space, spaces.Discrete):
        assert described.startswith("\n`Discrete(4)`")
        assert env.action_space.n == 4
        assert [row.split()[0] for row in re.findall(r"\| \d \| (.*) \|", described)] == list(ACTIONS)
    else:
        assert described.startswith("\n`MultiDiscrete([4, 186])`")
        assert isinstance(env.action_space, spaces.MultiDiscrete)
        assert env.action_space.nvec.tolist() == [4, 186]


def test_infos_are_as_documented() -> None:
    documented = {name: keys(sections(name)["Info"]) for name in ENVS}
    documented["groundling/NavQA-v0"] |= documented["groundling/Nav-v0"]
    for name, expected in documented.items():
        env = gym.make(name, max_steps=1)
        _, first = env.reset(seed=0)
        *_, last = env.step(env.action_space.sample())
        assert set(first) | set(last) == expected


def test_rewards_and_arguments_are_as_documented() -> None:
    documented = sections("groundling/Nav-v0")
    rewards = Rewards()
    shown = [float(value) for value in re.findall(r"^\| ([+-][\d.]+) \|", documented["Rewards"], re.MULTILINE)]
    assert shown == [rewards.step, rewards.blocked, rewards.wrong_object, rewards.reached]
    named = set(re.findall(r"`(\w+)`", documented["Arguments"]))
    assert {field.name for field in fields(EnvOptions)} <= named

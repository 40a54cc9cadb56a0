"""The environment for TRL: tools with hints and docstrings, the same chats as the suites, and rewards."""

import inspect
from typing import Any

import pytest

from groundling.adapters.trl_environment import GroundlingEnvironment, environment_factory, rows, suite_rows
from groundling.suites.players import RandomPlayer, oracle
from groundling.suites.suite import Suite, suite_names
from tests.adapters.transcripts import transcripts


@pytest.mark.parametrize("name", suite_names())
def test_players_score_as_without_trl(name: str) -> None:
    for player in (oracle, RandomPlayer()):
        replies, success = transcripts(player, Suite.load(name), "sentences")
        env = environment_factory()()
        rewards = []
        for i, row in enumerate(suite_rows(name)):
            tool = env.answer if Suite.load(name)[i].task == "qa" else env.move
            chat = [str(env.reset(**row))]
            while tuple(chat) in replies:
                reply = replies[tuple(chat)]
                chat += [reply, str(tool(reply))]
            rewards.append(env.get_reward())
        assert rewards == list(map(float, success))
        if player is oracle:
            assert set(rewards) == {1.0}


def test_tools_have_hints_and_google_docstrings() -> None:
    public = [name for name in dir(GroundlingEnvironment) if not name.startswith("_")]
    assert public == ["answer", "get_reward", "move", "reset"]
    for name in ("answer", "move"):
        tool = getattr(GroundlingEnvironment, name)
        (argument,) = list(inspect.signature(tool).parameters)[1:]
        doc = inspect.getdoc(tool)
        assert doc is not None
        assert f"Args:\n    {argument}: " in doc
        assert "Returns:" in doc


def test_rows_begin_episodes_and_the_wrong_tool_is_an_invalid_reply() -> None:
    env = environment_factory(view="both")()
    for row in rows(5, task="qa"):
        content: Any = env.reset(**row)
        assert [part["type"] for part in content] == ["text", "text", "image", "text"]
        assert content[2]["image"].size == (448, 448)
        env.move("up")
        assert env.get_reward() == 0
        assert env.answer("apple") == "The episode is over."

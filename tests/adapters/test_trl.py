"""The environment for TRL: tools with hints and docstrings, the same chats as the suites, and rewards."""

import inspect
from typing import Any

import pytest

from groundling.adapters.trl_environment import GroundlingEnvironment, environment_factory, rows, suite_rows
from groundling.suites.suite import Suite
from groundling.text import data_url
from tests.adapters.transcripts import CASES, PLAYERS, transcripts


def shown_by_trl(content: Any) -> str:
    """All that the environment returns; a picture as the data URL of a PNG file."""
    if isinstance(content, str):
        return content
    return "\n\n".join(part["text"] if part["type"] == "text" else data_url(part["image"]) for part in content)


@pytest.mark.parametrize(("player", "name", "view"), CASES)
def test_players_score_as_without_trl(player: str, name: str, view: str, size: str) -> None:
    suite = Suite.load(name, size)
    replies, success = transcripts(PLAYERS[player], suite, view)
    env = environment_factory(view)()
    rewards = []
    for episode, row in zip(suite, suite_rows(name, size), strict=True):
        tool = env.answer if episode.task == "qa" else env.move
        chat = [shown_by_trl(env.reset(**row))]
        while tuple(chat) in replies:
            reply = replies[tuple(chat)]
            chat += [reply, shown_by_trl(tool(reply))]
        rewards.append(env.get_reward())
    assert rewards == list(map(float, success))
    assert player == "random" or set(rewards) == {1.0}


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

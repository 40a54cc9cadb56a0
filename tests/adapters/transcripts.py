"""What a player replies to each chat of a suite: the adapters must show the same chats, word for word."""

from collections.abc import Callable
from typing import Any

from groundling.suites.suite import Suite
from groundling.text import TextEpisode, message_text

Chat = tuple[str, ...]


def chat(messages: list[Any]) -> Chat:
    """The texts of a chat."""
    return tuple(map(message_text, messages))


def transcripts(player: Callable[[TextEpisode], str], suite: Suite, view: str) -> tuple[dict[Chat, str], list[bool]]:
    """The reply to each chat, and which episodes succeeded."""
    replies: dict[Chat, str] = {}
    success = []
    for i in range(len(suite)):
        game = suite.begin(i, view)
        while not game.done:
            now = chat(game.messages)
            replies.setdefault(now, player(game))
            game.reply(replies[now])
        success.append(game.success)
    return replies, success

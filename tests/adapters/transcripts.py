"""What a player replies to each chat of a suite: adapters must show the same chats, texts and pictures."""

from collections.abc import Callable
from typing import Any

from groundling.suites.suite import Suite
from groundling.text import TextEpisode

Chat = tuple[str, ...]
VIEWS = {"normal": "both", "zs1": "sentences", "zs2": "grid", "paraphrase": "sentences", "invented": "grid"}
"""How each suite is shown in the tests, so that they cover sentences, grids and pictures."""


def shown(content: Any) -> str:
    """All that is in the content of a message, as one string: its texts and pictures (data URLs)."""
    if isinstance(content, str):
        return content
    return "\n\n".join(part["text"] if part["type"] == "text" else part["image_url"]["url"] for part in content)


def chat(messages: list[Any]) -> Chat:
    """All that is in a chat."""
    return tuple(shown(message["content"]) for message in messages)


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

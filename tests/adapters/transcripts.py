"""What a player replies to each chat of a suite: adapters must show the same chats, texts and pictures."""

from typing import Any

from groundling.suites.players import Player, RandomPlayer, oracle
from groundling.suites.suite import Suite

Chat = tuple[str, ...]
PLAYERS: dict[str, Player] = {"oracle": oracle, "random": RandomPlayer()}
VIEWS = {"normal": "both", "zs1": "sentences", "zs2": "grid", "paraphrase": "sentences", "invented": "grid"}
"""How each suite is shown to the oracle."""
CASES = [
    *(("oracle", name, view) for name, view in VIEWS.items()),
    *(("random", name, "sentences") for name in VIEWS),
]
"""Player, suite and view."""


def shown(content: Any) -> str:
    """All that is in the content of a message, as one string: its texts and pictures (data URLs)."""
    if isinstance(content, str):
        return content
    return "\n\n".join(part["text"] if part["type"] == "text" else part["image_url"]["url"] for part in content)


def chat(messages: list[Any]) -> Chat:
    """All that is in a chat."""
    return tuple(shown(message["content"]) for message in messages)


def transcripts(player: Player, suite: Suite, view: str) -> tuple[dict[Chat, str], list[bool]]:
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

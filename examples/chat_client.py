"""A language model behind an OpenAI-compatible server plays a frozen suite.

    python examples/chat_client.py http://localhost:8000/v1 my-model --suite invented --out my-model.json
    groundling leaderboard my-model.json --size small

The key, if the server wants one, is read from the environment variable OPENAI_API_KEY.
"""

import json
import os
import urllib.request
from pathlib import Path
from typing import Annotated

import tyro

from groundling.suites.score import Result, score
from groundling.suites.suite import Suite
from groundling.text import TextEpisode

TIMEOUT = 300


class ChatPlayer:
    """Sends the chat of an episode to a server, and returns the model's reply."""

    def __init__(self, address: str, model: str) -> None:
        self.url, self.model = f"{address.rstrip('/')}/chat/completions", model

    def __call__(self, game: TextEpisode) -> str:
        body = {"model": self.model, "messages": game.messages, "temperature": 0}
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get("OPENAI_API_KEY"):
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(self.url, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            return json.load(response)["choices"][0]["message"]["content"] or ""


def main(
    address: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="URL")],
    model: tyro.conf.Positional[str],
    suite: str = "normal",
    size: str = "small",
    view: str = "sentences",
    out: Path | None = None,
) -> Result:
    """Score a model on a suite: normal, zs1, zs2, paraphrase or invented. An interrupted run with `out` goes on."""
    result = score(ChatPlayer(address, model), Suite.load(suite, size), model, view, out=out)
    for name, rate in (("NAV success", result.nav), ("QA accuracy", result.qa)):
        print(f"{name}: {rate['mean']:.1%} ({rate['low']:.1%} to {rate['high']:.1%})")
    print(f"{result.invalid} of {result.replies} replies were invalid")
    return result


if __name__ == "__main__":
    tyro.cli(main)

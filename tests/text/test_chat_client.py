"""The chat client against a real HTTP server on loopback, whose scripted model is an oracle that reads the chat."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from groundling.suites.players import oracle
from groundling.suites.score import Result
from groundling.suites.suite import Suite
from tests.adapters.transcripts import chat, transcripts
from tests.load_example import load_example


@pytest.fixture(scope="module")
def client() -> Any:
    return load_example("chat_client")


class Server(ThreadingHTTPServer):
    """Answers as a model that knows one reply for each chat; otherwise null, as a model that calls a tool."""

    replies: dict[Any, str]
    requests: list[Any]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, body, self.headers.get("Authorization")))
        content = self.server.replies.get(chat(body["messages"]))
        data = json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Handler)
    server.replies, server.requests = {}, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(("name", "view"), [("normal", "sentences"), ("invented", "grid"), ("zs2", "both")])
def test_oracle_behind_a_server_scores_everything(
    client: Any, server: Server, name: str, view: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    server.replies, _ = transcripts(oracle, Suite.load(name), view)
    result = client.main(f"http://127.0.0.1:{server.server_port}/v1/", "m", name, view=view, out=tmp_path / "r.json")
    assert set(result.outcomes) == {"1"}
    assert Result.load(tmp_path / "r.json").player == "m"
    path, body, key = server.requests[0]
    assert path == "/v1/chat/completions"
    assert body["model"] == "m"
    assert key == "Bearer secret"
    assert isinstance(body["messages"][0]["content"], list) == (view == "both")


def test_empty_replies_are_invalid(client: Any, server: Server) -> None:
    player = client.ChatPlayer(f"http://127.0.0.1:{server.server_port}/v1", "m")
    game = Suite.load("normal").begin(0)
    game.reply(player(game))
    assert game.invalid == 1

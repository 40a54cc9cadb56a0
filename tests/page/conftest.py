"""What the page's tests need: an app on shipped weights, a client of it, and worlds that are easy to reason about."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient, WebSocketTestSession

from groundling.learn.trained_agent import load_agent
from groundling.page.app_state import AppState, ServedAgent
from groundling.page.limits import Limits
from groundling.page.server import Server

HOST = "127.0.0.1"
BASE = f"http://{HOST}"
TALK = f"ws://{HOST}/talk"

SCENE: dict[str, Any] = {
    "objects": [
        {"name": "apple", "color": "red", "at": [1, 1]},
        {"name": "giraffe", "at": [3, 2]},
        {"name": "cat", "at": [6, 6]},
    ],
    "walls": [[0, 3], [1, 3]],
    "agent": [3, 3],
}


class Client:
    """A client of the websocket that numbers its messages."""

    def __init__(self, socket: WebSocketTestSession) -> None:
        self.socket = socket
        self.hello = socket.receive_json()["hello"]

    def ask(self, do: str, **fields: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.raw(json.dumps({"id": 1, "do": do, **fields}))
        return answer

    def raw(self, text: str) -> Any:
        self.socket.send_text(text)
        return self.socket.receive_json()


@pytest.fixture(scope="session")
def served() -> ServedAgent:
    return ServedAgent("normal", load_agent("normal"))


def app_of(served: list[ServedAgent], settings: Limits | None = None) -> Server:
    return Server(AppState(served, settings or Limits(messages_per_second=1e9)))


@pytest.fixture(scope="module")
def http(served: ServedAgent) -> Iterator[TestClient]:
    with TestClient(app_of([served]).app(HOST, None), base_url=BASE) as client:
        yield client


@pytest.fixture
def client(http: TestClient) -> Iterator[Client]:
    with http.websocket_connect(TALK, headers={"origin": BASE}) as socket:
        yield Client(socket)

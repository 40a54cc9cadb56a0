"""Fixtures and helpers of the page tests: a server with pretrained weights, its client, and a simple scene."""

import base64
import contextlib
import io
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page
from starlette.testclient import TestClient, WebSocketTestSession

from groundling.learn.trained_agent import load_agent
from groundling.page.app_state import AppState, ServedAgent
from groundling.page.limits import Limits
from groundling.page.server import Server, bind, uvicorn_server
from tests.page.site import Site, chromium, open_scene

HOST = "127.0.0.1"
BASE_URL = f"http://{HOST}"
WEBSOCKET_URL = f"ws://{HOST}/ws"
HEADERS = {"origin": BASE_URL}

SCENE: dict[str, Any] = {
    "objects": [
        {"name": "apple", "color": "red", "at": [1, 1]},
        {"name": "giraffe", "at": [3, 2]},
        {"name": "cat", "at": [6, 6]},
    ],
    "walls": [[0, 3], [1, 3]],
    "agent": [3, 3],
}


class SocketClient:
    """A client of the websocket."""

    def __init__(self, socket: WebSocketTestSession) -> None:
        self.socket = socket
        self.hello = socket.receive_json()["hello"]

    def request(self, name: str, /, **fields: Any) -> dict[str, Any]:
        """The reply to a request."""
        reply: dict[str, Any] = self.send(json.dumps({"id": 1, "request": name, **fields}))
        return reply

    def send(self, text: str) -> Any:
        """The reply to a message of any text."""
        self.socket.send_text(text)
        return self.socket.receive_json()


def server_of(agents: list[ServedAgent], limits: Limits | None = None) -> Server:
    """A server, by default without a limit on the message rate."""
    return Server(AppState(agents, limits or Limits(messages_per_second=1e9)))


def http_client(agents: list[ServedAgent], limits: Limits | None = None) -> TestClient:
    return TestClient(server_of(agents, limits).app(HOST, None), base_url=BASE_URL)


@contextlib.contextmanager
def socket_client(agents: list[ServedAgent], limits: Limits | None = None) -> Iterator[SocketClient]:
    """A client of a server with these agents and limits."""
    with http_client(agents, limits) as http, http.websocket_connect(WEBSOCKET_URL, headers=HEADERS) as socket:
        yield SocketClient(socket)


@contextlib.contextmanager
def running_server(agents: list[ServedAgent], limits: Limits, send_buffer: int | None = None) -> Iterator[int]:
    """The server in a thread, with real sockets, optionally with small send buffers; yields its port."""
    bound = bind(HOST, 0)
    if send_buffer is not None:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)  # accepted sockets inherit it
    server = uvicorn_server(server_of(agents, limits), HOST, None)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield bound.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(10)


def teach_message(words: int, examples: int) -> str:
    """A request to teach that takes as long as `words` times `examples`."""
    names = ("apple", "giraffe", "cat", "dog", "zebra", "banana", "elephant", "horse")[:words]
    taught = [
        {"word": name, "examples": [{"scene": SCENE, "sentence": "What is in the west?"}] * examples} for name in names
    ]
    return json.dumps({"id": 1, "request": "teach", "agent": 0, "taught_words": taught})


def png(side: int = 40, color: tuple[int, int, int] = (200, 20, 120)) -> str:
    """A PNG in base64 of an image unlike any icon: rings of two colors."""
    image = Image.new("RGB", (side, side), "white")
    for k in range(0, side // 2, 8):
        image.paste(color if k % 16 else (10, 60, 60), (k, k, side - k, side - k))
    out = io.BytesIO()
    image.save(out, "PNG")
    return base64.b64encode(out.getvalue()).decode()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A server with the default agent."""
    with Site() as site:
        yield site


@pytest.fixture(scope="module")
def two_agents() -> Iterator[Site]:
    """A server that compares two agents."""
    with Site("normal", "--compare", "san") as site:
        yield site


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """The page with SCENE as its world."""
    with open_scene(browser, site, SCENE) as page:
        yield page


@pytest.fixture(scope="session")
def served() -> ServedAgent:
    return ServedAgent("normal", load_agent("normal"))


@pytest.fixture(scope="module")
def http(served: ServedAgent) -> Iterator[TestClient]:
    with TestClient(server_of([served]).app(HOST, None), base_url=BASE_URL) as client:
        yield client


@pytest.fixture
def client(http: TestClient) -> Iterator[SocketClient]:
    with http.websocket_connect(WEBSOCKET_URL, headers={"origin": BASE_URL}) as socket:
        yield SocketClient(socket)

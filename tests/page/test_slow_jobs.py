"""Slow requests: they stop when their client leaves, and addresses take turns."""

import asyncio
import json
import time
from typing import Any

import pytest
from starlette.testclient import TestClient

from groundling.errors import Cancelled
from groundling.learn import trained_agent
from groundling.learn.few_shot import learn_word
from groundling.page.app_state import AppState, ServedAgent
from groundling.page.client import Client
from groundling.page.limits import Limits
from groundling.page.message import Message
from tests.page.conftest import BASE_URL, SCENE, WEBSOCKET_URL, SocketClient, server_of, teach_message

HEADERS = {"origin": BASE_URL}
PATH = [[3, 3], [3, 4], [3, 3], [3, 4]]
EXPORT = {"id": 1, "request": "export", "agent": 0, "scene": SCENE, "sentence": "go to the apple", "path": PATH}
TEACH = json.loads(teach_message(words=3, examples=1))


def test_teaching_stops_when_the_client_leaves(http: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def learn_slowly(*arguments: Any) -> Any:
        time.sleep(0.5)
        return learn_word(*arguments)

    monkeypatch.setattr(trained_agent, "learn_word", learn_slowly)  # 10 s for each client
    start = time.monotonic()
    for _ in range(3):
        with http.websocket_connect(WEBSOCKET_URL, headers=HEADERS) as leaving:
            leaving.receive_json()
            leaving.send_text(teach_message(words=20, examples=1))
            for seed in range(3):  # read ahead while it teaches
                leaving.send_text(json.dumps({"id": seed, "request": "new_world", "seed": seed}))
            time.sleep(0.2)
    with http.websocket_connect(WEBSOCKET_URL, headers=HEADERS) as socket:
        reply = SocketClient(socket).send(json.dumps({**EXPORT, "format": "html"}))
    assert "base64" in reply
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    ("message", "stop_at"),
    [(TEACH, 1), (TEACH, 3), ({**EXPORT, "format": "html"}, 1), ({**EXPORT, "format": "gif"}, len(PATH) + 1)],
)
def test_request_is_cancelled_at_the_next_step(served: ServedAgent, message: dict[str, Any], stop_at: int) -> None:
    """A request asks before each step whether it is cancelled, and stops at the first positive answer."""
    asked = 0

    def is_cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked == stop_at

    client = Client(AppState([served], Limits()), is_cancelled)
    fields = {key: value for key, value in message.items() if key not in ("id", "request")}
    with pytest.raises(Cancelled):
        client.requests[message["request"]](Message(fields))
    assert asked == stop_at


class FakeSocket:
    async def close(self, code: int = 1000, reason: str | None = None) -> None: ...


def test_addresses_take_turns(served: ServedAgent) -> None:
    """A client behind the three jobs of another address waits for one of them."""
    server = server_of([served])
    order = []

    async def job(address: str) -> None:
        connection = await server.connections.add(FakeSocket(), address)
        assert connection is not None
        async with server._turn(connection):
            order.append(address)
            await asyncio.sleep(0.01)

    async def run() -> None:
        jobs = []
        for address in ("a", "a", "a", "b"):
            jobs.append(asyncio.create_task(job(address)))
            await asyncio.sleep(0)
        await asyncio.gather(*jobs)

    asyncio.run(run())
    assert order == ["a", "b", "a", "a"]
    assert not server.slow_job_of_address, "no address is remembered"

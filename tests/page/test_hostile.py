"""10,000 malformed messages: each gets a reply, no server detail leaks, and memory use stays constant."""

import copy
import json
import random
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.websockets import WebSocketDisconnect

from tests.page.conftest import SCENE, SocketClient

MESSAGES = 10_000
WARMUP_MESSAGES = 3_000
"""Not part of the memory measurement: each thread first fills memory of its own."""
MAX_GROWTH_BYTES = 60 * 1024 * 1024

EXAMPLES = [{"scene": SCENE, "sentence": "go"}] * 2
REQUESTS: list[dict[str, Any]] = [
    {"request": "new_world", "seed": 1},
    {"request": "load", "scene": SCENE},
    {"request": "check_sentence", "agent": 0, "scene": SCENE, "sentence": "go to the apple"},
    {"request": "suggest_sentence", "agent": 0, "scene": SCENE, "kind": "command", "seed": 1},
    {"request": "step", "agent": 0, "scene": SCENE, "sentence": "go to the apple", "start": [3, 3]},
    {"request": "examples", "agent": 0, "scene": SCENE},
    {"request": "progress"},
    {"request": "detect", "agent": 0, "scene": SCENE, "word": "apple"},
    {"request": "describe_cell", "agent": 0, "scene": SCENE, "at": [1, 1]},
    {"request": "convert_drawing", "name": "gizmo", "png": "iVBORw0KGgo="},
    {"request": "teach", "agent": 0, "taught_words": [{"word": "gizmo", "examples": EXAMPLES}]},
    {"request": "export", "agent": 0, "scene": SCENE, "sentence": "go", "format": "gif", "path": [[3, 3]]},
]
VALUES: list[Any] = [
    None, True, -1, 0, 1, 2**63, 10**30, 1e308, -0.0, "", " ", "\x00", "../../etc/passwd", "go to the apple" * 20,
    "\ud800", "é" * 50, "<script>alert(1)</script>", "'; drop table words; --", [], [[]], [[0, 0]] * 100, {}, {"a": 1},
    {"__class__": "x"}, [None] * 50,
]  # fmt: skip


def malformed_messages(rng: random.Random) -> Iterator[str]:
    """An endless stream of messages: mostly valid ones with changed values, also garbage, cut and nested ones."""
    kinds = [mutated] * 12 + [garbage] * 2 + [cut] * 2 + [nested]
    while True:
        yield rng.choice(kinds)(rng)


def mutated(rng: random.Random) -> str:
    """A valid message with one to three values replaced, removed or added."""
    message = json.loads(json.dumps({"id": 1, **rng.choice(REQUESTS)}))
    for _ in range(rng.randint(1, 3)):
        at: Any = message
        while True:
            key = rng.choice(list(at) if isinstance(at, dict) else range(len(at)))
            if isinstance(at[key], dict | list) and at[key] and rng.random() < 0.7:
                at = at[key]
                continue
            break
        if rng.random() < 0.2:
            del at[key]
        elif rng.random() < 0.2 and isinstance(at, dict):
            at["".join(rng.choices(string.printable, k=8))] = copy.deepcopy(rng.choice(VALUES))
        else:
            at[key] = copy.deepcopy(rng.choice(VALUES))
        if not message:
            break
    return json.dumps(message)


def garbage(rng: random.Random) -> str:
    return "".join(rng.choices(string.printable, k=rng.randint(0, 300)))


def cut(rng: random.Random) -> str:
    whole = json.dumps({"id": 1, **rng.choice(REQUESTS)})
    return whole[: rng.randrange(len(whole))]


def nested(rng: random.Random) -> str:
    depth = rng.choice([10, 1000, 50_000])
    return '{"a":' * depth + "1" + "}" * depth


def resident_set_bytes() -> int:
    """Memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_malformed_messages_get_an_error_reply(client: SocketClient) -> None:
    messages = malformed_messages(random.Random(0))
    start = 0
    for number in range(MESSAGES):
        reply = client.send(next(messages))
        assert "id" in reply
        text = json.dumps(reply)
        assert "Traceback" not in text
        assert "site-packages" not in text
        assert "internal server error" not in text, "every malformed message has an error of its own"
        if number == WARMUP_MESSAGES and Path("/proc/self/statm").exists():
            start = resident_set_bytes()
    if start:
        assert resident_set_bytes() - start < MAX_GROWTH_BYTES
    assert client.request("new_world", seed=1)["scene"], "the connection still works"


def test_long_sentence_is_refused_or_closes_the_connection(client: SocketClient) -> None:
    """A sentence that is too long gets an error; one beyond the maximum message size closes the connection."""
    message = {"id": 1, "request": "step", "agent": 0, "scene": SCENE}
    for length in (1000, 100_000, 1_000_000):
        reply = client.send(json.dumps({**message, "sentence": "x" * length}))
        assert "sentence must have at most 200 characters" in reply["error"]
    client.socket.send_text(json.dumps({**message, "sentence": "x" * 1_100_000}))
    with pytest.raises(WebSocketDisconnect) as closed:
        client.socket.receive_json()
    assert closed.value.code == 1009

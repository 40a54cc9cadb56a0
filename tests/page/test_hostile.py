"""Ten thousand hostile messages: each is answered or the connection closed, nothing leaks, and memory stays flat."""

import copy
import json
import random
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.websockets import WebSocketDisconnect

from tests.page.conftest import SCENE, Client

MESSAGES = 10_000
MOST_GROWTH = 60 * 1024 * 1024
"""Bytes; the first three thousand messages are left out, for each thread has memory of its own to fill."""

REQUESTS: list[dict[str, Any]] = [
    {"do": "world", "seed": 1},
    {"do": "load", "scene": SCENE},
    {"do": "read", "agent": 0, "scene": SCENE, "sentence": "go to the apple"},
    {"do": "say", "agent": 0, "scene": SCENE, "kind": "command", "seed": 1},
    {"do": "think", "agent": 0, "scene": SCENE, "sentence": "go to the apple", "from": [3, 3]},
    {"do": "where", "agent": 0, "scene": SCENE, "word": "apple"},
    {"do": "seen", "agent": 0, "scene": SCENE, "at": [1, 1]},
    {"do": "drawing", "name": "gizmo", "png": "iVBORw0KGgo="},
    {"do": "teach", "agent": 0, "lessons": [{"word": "gizmo", "examples": [{"scene": SCENE, "sentence": "go"}] * 2}]},
    {"do": "export", "agent": 0, "scene": SCENE, "sentence": "go", "format": "gif", "path": [[3, 3]]},
]
VALUES: list[Any] = [
    None, True, -1, 0, 1, 2**63, 10**30, 1e308, -0.0, "", " ", "\x00", "../../etc/passwd", "go to the apple" * 20,
    "\ud800", "é" * 50, "<script>alert(1)</script>", "'; drop table words; --", [], [[]], [[0, 0]] * 100, {}, {"a": 1},
    {"__class__": "x"}, [None] * 50,
]  # fmt: skip


def hostile(rng: random.Random) -> Iterator[str]:
    """Messages without end: broken ones, huge ones, and good ones with something changed anywhere inside."""
    kinds = [mutated] * 12 + [garbage] * 2 + [cut] * 2 + [nested]
    while True:
        yield rng.choice(kinds)(rng)


def mutated(rng: random.Random) -> str:
    """A good message with one to three values replaced, removed or added."""
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


def resident_bytes() -> int:
    """What this process has in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_hostile_messages(client: Client) -> None:
    rng = random.Random(0)
    messages = hostile(rng)
    start = 0
    for number in range(MESSAGES):
        answer = client.raw(next(messages))
        assert "id" in answer
        text = json.dumps(answer)
        assert "Traceback" not in text
        assert "site-packages" not in text
        assert "its log says why" not in text, "every kind of bad message is foreseen"
        if number == 3 * MESSAGES // 10 and Path("/proc/self/statm").exists():
            start = resident_bytes()
    if start:
        assert resident_bytes() - start < MOST_GROWTH
    assert client.ask("world", seed=1)["scene"], "and the episode goes on"


def test_long_sentences(client: Client) -> None:
    """A megabyte in one sentence is refused in words where it fits a message, and closes the connection where not."""
    message = {"id": 1, "do": "think", "agent": 0, "scene": SCENE}
    for length in (1000, 100_000, 1_000_000):
        refused = client.raw(json.dumps({**message, "sentence": "x" * length}))
        assert "letters: 200 at the most" in refused["error"]
    client.socket.send_text(json.dumps({**message, "sentence": "x" * 1_100_000}))
    with pytest.raises(WebSocketDisconnect) as closed:
        client.socket.receive_json()
    assert closed.value.code == 1009

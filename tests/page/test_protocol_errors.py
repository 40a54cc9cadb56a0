"""Messages that are refused, and the limits of a client."""

import base64
import copy
import json
from dataclasses import replace
from typing import Any

import pytest
import torch
from starlette.websockets import WebSocketDisconnect

from groundling.page.app_state import ServedAgent
from groundling.page.limits import Limits
from groundling.page.server import TRY_LATER
from tests.page.conftest import HEADERS, SCENE, WEBSOCKET_URL, SocketClient, http_client, png, socket_client


def changed(**fields: Any) -> dict[str, Any]:
    return {**copy.deepcopy(SCENE), **fields}


def load(**fields: Any) -> dict[str, Any]:
    return {"request": "load", "scene": changed(**fields)}


def step(**fields: Any) -> dict[str, Any]:
    return {"request": "step", "agent": 0, "scene": SCENE, "sentence": "go", **fields}


def teach(*taught_words: Any) -> dict[str, Any]:
    return {"request": "teach", "agent": 0, "taught_words": list(taught_words)}


def convert(name: str, image: str) -> dict[str, Any]:
    return {"request": "convert_drawing", "name": name, "png": image}


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("", "message must be valid JSON"),
        ("[1]", "message must be a JSON object, got [1]"),
        ("[" * 100_000, "message must be valid JSON"),
        ("9" * 10_000, "message must be valid JSON"),
        ('{"id": NaN}', "numbers in a message must be finite, got NaN"),
        ('{"request": "new_world", "seed": 1}', "message must have a field 'id'"),
        ('{"id": "x", "request": "new_world"}', "id must be an integer from 0 to"),
        ('{"id": true, "request": "new_world"}', "id must be an integer from 0 to"),
        ({"request": "new_wrold"}, "request must be one of new_world, load"),
        ({"request": ["new_world"]}, "request must be one of"),
        ({"request": "new_world", "seed": -1}, "seed must be an integer from 0 to 2,147,483,647, got -1"),
        ({"request": "new_world", "seed": 1.5}, "got 1.5"),
        ({"request": "new_world", "seed": 1 << 40}, "got 1099511627776"),
        ({"request": "new_world", "seed": 1, "sed": 2}, "unknown field \"sed\" in message, did you mean 'seed'"),
        ({"request": "load", "scene": 5}, "scenario must be a JSON object, got 5"),
        ({"request": "load", "scene": {}}, "scenario must have a field 'objects'"),
        (load(format="x"), "scenario format must be 'groundling-scenario-1', got \"x\""),
        (load(agent=[0, 3]), "the position of the agent must be a cell without a wall"),
        (load(agent=[9, 9]), "each from 0 to 6, got [9, 9]"),
        (load(objects=[{"name": "aple", "at": [0, 0]}]), "did you mean 'apple'"),
        (load(objects=[{"name": "apple", "icon": 3, "at": [0, 0]}]), "from 0 to 2"),
        (load(objects=[{"name": "cat", "color": "purple", "at": [0, 0]}]), "color of cat must be"),
        (load(objects=[{"name": "cat", "at": [0, 0]}] * 17), "at most 16"),
        (load(walls=[[0, 3], [0, 3]]), "the position of a wall must be an empty cell"),
        (load(wals=[]), "unknown field \"wals\" in scenario, did you mean 'walls'"),
        (load(drawings={"gizmo": "x"}), "image must be encoded in base64"),
        (load(drawings={"gizmo": "eHh4"}), "image must be a complete PNG file"),
        (load(drawings={"apple": png(64)}), "class must not be in the catalog already"),
        (load(drawings={"to": png(64)}), "new word"),
        (load(drawings={"x" * 50: png(64)}), "a drawing's name must have at most 20 characters"),
        (load(drawings={"gizmo": png(100)}), "image must have at most 64 pixels per side, got 100 x 100"),
        (load(drawings=[1]), "drawings must be"),
        (convert("Gizmo", png()), "lower-case"),
        (convert("gizmo", png(1500)), "image must have at most 1024 pixels per side"),
        (convert("gizmo", "A" * 400_000), "image must have at most 256 KB, got 292 KB"),
        (step(sentence=" "), "sentence must be a non-empty string"),
        (step(sentence="x" * 300), "sentence must have at most 200 characters, got 300"),
        (step(sentence="go " * 40), "sentence must have at most 20 words, got 40"),
        (step(agent=1), "agent must be an integer from 0 to 0, got 1"),
        (
            {"request": "suggest_sentence", "agent": 0, "scene": SCENE, "seed": 1, "kind": "x"},
            'kind must be one of command, question, got "x"',
        ),
        ({"request": "describe_cell", "agent": 0, "scene": SCENE, "at": [0, 7]}, "cell must be [row, column]"),
        (teach({}), "taught word must have a field 'word'"),
        (teach({"word": "gizmo", "examples": []}), "examples of 'gizmo' must be at least one"),
        (teach({"word": "the", "examples": []}), "a taught word must name an object, got 'the'"),
        (teach(*range(9)), "taught_words must have at most 8 items, got 9"),
        (
            {"request": "export", "agent": 0, "scene": SCENE, "sentence": "go", "format": "exe", "path": []},
            "format must be one of gif, html",
        ),
    ],
)
def test_invalid_messages_get_a_specific_error(client: SocketClient, message: Any, error: str) -> None:
    reply = client.send(message if isinstance(message, str) else json.dumps({"id": 1, **message}))
    assert error in reply["error"]
    assert client.request("new_world", seed=1)["scene"], "the connection still works"


def test_corrupt_images_are_refused(client: SocketClient) -> None:
    """An image with any byte inverted is converted or refused; it never causes an internal error."""
    whole = base64.b64decode(png())
    for position in range(len(whole)):
        corrupt = whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :]
        reply = client.request("convert_drawing", name="gizmo", png=base64.b64encode(corrupt).decode())
        assert "png" in reply or reply["error"].startswith("image must be")


def test_bytes_are_refused(client: SocketClient) -> None:
    client.socket.send_bytes(b"\x00\x01")
    assert client.socket.receive_json()["error"] == "message must be text, got bytes"


def test_internal_error_has_no_details(client: SocketClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the secret")

    monkeypatch.setattr("groundling.page.app_state.AppState.sample_world", fail)
    reply = client.request("new_world", seed=1)
    assert reply["error"] == "internal server error; see the server's log"


def test_numbers_that_are_not_finite_are_an_error(served: ServedAgent) -> None:
    checkpoint = served.trained.checkpoint
    model = copy.deepcopy(checkpoint.model)
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))
    damaged = ServedAgent("damaged", replace(served.trained, checkpoint=replace(checkpoint, model=model)))
    fields = {"agent": 0, "scene": SCENE, "sentence": "go to the cat"}
    with socket_client([damaged]) as client:
        for reply in (
            client.request("step", **fields),
            client.request("detect", agent=0, scene=SCENE, word="cat"),
            client.request("export", format="html", path=[[3, 3]], **fields),
        ):
            assert reply == {"id": 1, "error": "numbers in a reply must be finite, got NaN or infinity from the agent"}
        assert client.request("new_world", seed=1)["scene"], "the connection still works"


def test_message_rate_is_limited(served: ServedAgent) -> None:
    with socket_client([served], Limits(messages_per_second=5, burst=3)) as client:
        replies = [client.request("new_world", seed=1) for _ in range(4)]
        assert ["error" in reply for reply in replies] == [False, False, False, True]
        assert "at most 5 messages per second" in replies[-1]["error"]


def test_message_that_is_too_long_closes_the_connection(served: ServedAgent) -> None:
    with socket_client([served], Limits(message_bytes=1000)) as client:
        client.socket.send_text(" " * 2000)
        with pytest.raises(WebSocketDisconnect) as closed:
            client.socket.receive_json()
        assert closed.value.code == 1009


def test_number_of_connections_is_limited(served: ServedAgent) -> None:
    with http_client([served], Limits(connections=1)) as http:
        with http.websocket_connect(WEBSOCKET_URL, headers=HEADERS) as first:
            first.receive_json()
            with http.websocket_connect(WEBSOCKET_URL, headers=HEADERS) as second:
                with pytest.raises(WebSocketDisconnect) as closed:
                    second.receive_json()
                assert closed.value.code == TRY_LATER
        with http.websocket_connect(WEBSOCKET_URL, headers=HEADERS) as third:
            assert "hello" in third.receive_json()


def test_idle_connection_is_closed_for_a_new_one(served: ServedAgent) -> None:
    with (
        http_client([served], Limits(connections=1, idle_seconds_at_maximum=0)) as http,
        http.websocket_connect(WEBSOCKET_URL, headers=HEADERS) as first,
    ):
        first.receive_json()
        with http.websocket_connect(WEBSOCKET_URL, headers=HEADERS) as second:
            assert "hello" in second.receive_json()
            with pytest.raises(WebSocketDisconnect) as closed:
                first.receive_json()
            assert closed.value.code == 1001


def test_idle_connection_is_closed(served: ServedAgent) -> None:
    with socket_client([served], Limits(idle_seconds=0.05)) as client:
        with pytest.raises(WebSocketDisconnect) as closed:
            client.socket.receive_json()
        assert closed.value.code == 1001

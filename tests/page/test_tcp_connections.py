"""Limits of TCP connections and of websocket frames, with real sockets."""

import contextlib
import json
import logging
import socket
import time
from collections.abc import Callable, Iterator
from typing import cast

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from groundling.page.app_state import ServedAgent
from groundling.page.limits import Limits
from groundling.page.tcp_connections import RESERVED_FILES, max_tcp_connections
from tests.page.conftest import HOST, SCENE, running_server

HEAD = f"GET /icons.webp HTTP/1.1\r\nHost: {HOST}\r\n".encode()


def open_socket(port: int, data: bytes, receive_buffer: int | None = None) -> socket.socket:
    """A connection to the server that has sent `data`."""
    connection = socket.socket()
    connection.settimeout(10)
    if receive_buffer is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.connect((HOST, port))
    with contextlib.suppress(ConnectionError):  # it was closed at once
        connection.sendall(data)
    return connection


@contextlib.contextmanager
def open_websocket(port: int) -> Iterator[ClientConnection]:
    with connect(f"ws://{HOST}:{port}/ws", origin=cast(Origin, f"http://{HOST}:{port}")) as client:
        assert "hello" in json.loads(client.recv())
        yield client


def read_all(connection: socket.socket) -> bytes:
    """What the server sends until it closes the connection."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while data := connection.recv(1 << 20):
            received += data
    return received


def is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def is_served(port: int) -> bool:
    with open_socket(port, HEAD + b"Connection: close\r\n\r\n") as connection:
        return read_all(connection).startswith(b"HTTP/1.1 200")


def test_half_open_connections_are_closed_and_others_are_served(served: ServedAgent) -> None:
    limits = Limits(tcp_connections=40, head_seconds=2)
    with running_server([served], limits) as port, contextlib.ExitStack() as stack:
        start = time.monotonic()
        half_open = [stack.enter_context(open_socket(port, HEAD)) for _ in range(100)]
        assert all(is_served(port) for _ in range(20))
        still_open = [is_open(connection) for connection in half_open]
        assert time.monotonic() - start < limits.head_seconds
        assert sum(still_open) <= limits.tcp_connections, "the oldest ones were closed for new ones"
        assert still_open == sorted(still_open)
        assert still_open[-1]
        time.sleep(limits.head_seconds + 0.5)
        assert not any(is_open(connection) for connection in half_open)
        assert is_served(port)


def test_websocket_is_not_closed_for_half_open_connections(served: ServedAgent) -> None:
    limits = Limits(tcp_connections=10, head_seconds=0.3)
    with running_server([served], limits) as port, contextlib.ExitStack() as stack, open_websocket(port) as client:
        for _ in range(30):
            stack.enter_context(open_socket(port, HEAD))
        time.sleep(2 * limits.head_seconds)
        client.send(json.dumps({"id": 1, "request": "new_world", "seed": 1}))
        assert "scene" in json.loads(client.recv())


def test_second_request_head_has_the_same_time_limit(served: ServedAgent) -> None:
    """uvicorn's own limit of idle connections ends with the first byte of the next request."""
    with running_server([served], Limits(head_seconds=0.5)) as port, open_socket(port, HEAD + b"\r\n") as connection:
        start = time.monotonic()
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
        connection.sendall(HEAD)
        read_all(connection)
        assert time.monotonic() - start < 3


def test_response_that_is_not_read_is_discarded(served: ServedAgent) -> None:
    limits = Limits(head_seconds=5, write_seconds=0.5)
    with (
        running_server([served], limits, send_buffer=4096) as port,
        open_socket(port, HEAD + b"\r\n", receive_buffer=4096) as connection,
    ):
        time.sleep(1)
        received = read_all(connection)
        length = int(received.split(b"content-length: ")[1].split(b"\r\n")[0])
        assert 0 < len(received) < length


def test_websocket_whose_replies_are_not_read_is_closed(served: ServedAgent) -> None:
    with running_server([served], Limits(write_seconds=0.5), send_buffer=4096) as port:
        head = (
            f"GET /ws HTTP/1.1\r\nHost: {HOST}\r\nOrigin: http://{HOST}\r\nConnection: Upgrade\r\n"
            f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {'A' * 22}==\r\n\r\n"
        )
        fields = {"agent": 0, "scene": SCENE, "sentence": "go to the cat", "format": "html", "path": [[3, 3]] * 60}
        message = json.dumps({"id": 1, "request": "export", **fields}).encode()
        request = Frame(Opcode.TEXT, message).serialize(mask=True)
        with open_socket(port, head.encode(), receive_buffer=4096) as connection:
            assert connection.recv(1000).startswith(b"HTTP/1.1 101")
            connection.sendall(5 * request)
            time.sleep(2)
            read_all(connection)  # TimeoutError if the server does not close it


def flood_with_pings(client: ClientConnection) -> None:
    for _ in range(1000):
        client.ping()


def flood_with_pongs(client: ClientConnection) -> None:
    for _ in range(1000):
        client.pong()


def flood_with_empty_fragments(client: ClientConnection) -> None:
    client.send([""] * 1000)


@pytest.mark.parametrize("flood", [flood_with_pings, flood_with_pongs, flood_with_empty_fragments])
def test_flood_of_frames_closes_the_connection(served: ServedAgent, flood: Callable[[ClientConnection], None]) -> None:
    limits = Limits(frames_per_second=1, frame_burst=100)
    with running_server([served], limits) as port, open_websocket(port) as client, open_websocket(port) as other:
        with pytest.raises(ConnectionClosed):  # noqa: PT012 (the flood itself or the next read fails)
            flood(client)
            client.recv(timeout=5)
        for _ in range(50):
            other.ping()
        other.send(["", json.dumps({"id": 1, "request": "new_world", "seed": 1})])
        assert "scene" in json.loads(other.recv()), "fewer pings and fragments are allowed"


def test_invalid_utf8_closes_the_connection_without_a_traceback(
    served: ServedAgent, caplog: pytest.LogCaptureFixture
) -> None:
    with running_server([served], Limits()) as port, open_websocket(port) as client:
        logging.getLogger("uvicorn.error").addHandler(caplog.handler)
        client.send(b"\xff\xfe", text=True)
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(timeout=5)
        logging.getLogger("uvicorn.error").removeHandler(caplog.handler)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1007
    assert [record.exc_info for record in caplog.records] == [None]


def test_number_of_tcp_connections_is_below_the_number_of_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")

    def limit_with(files: int) -> int:
        monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
        return max_tcp_connections(Limits(tcp_connections=512))

    assert limit_with(resource.RLIM_INFINITY) == limit_with(1024) == 512
    assert limit_with(256) == 256 - RESERVED_FILES
    assert limit_with(10) == 1

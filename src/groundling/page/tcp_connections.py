"""Limits of TCP connections: their number, the time that a client may take, and websocket frames without a message.

uvicorn has no such limits, so its protocol classes are extended here.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from groundling.page.limits import Limits
from groundling.page.rate_limit import RateLimit

ACCEPTED_AT_ONCE = 16
"""Connections that asyncio accepts in one iteration of its loop (its `backlog`)."""
WAITING_CONNECTIONS = 4096
"""Connections that the system holds until they are accepted. Beyond them a client has to wait a second or more."""
RESERVED_FILES = 64 + 4 * ACCEPTED_AT_ONCE
"""Open files besides the TCP connections: of the process, and of connections accepted but not counted yet."""
SLICE_BYTES = 16 * 1024
"""Received data is parsed in slices, so that a flood of small frames is noticed after a part of it."""


def max_tcp_connections(limits: Limits) -> int:
    """The maximum number of TCP connections that leaves enough open files for everything else."""
    with contextlib.suppress(ImportError):
        import resource  # not on Windows

        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files != resource.RLIM_INFINITY:
            return max(1, min(limits.tcp_connections, files - RESERVED_FILES))
    return limits.tcp_connections


class Deadlines:
    """TCP connections that wait for their client, by the time at which they are closed."""

    def __init__(self) -> None:
        self._timers: dict[asyncio.Transport, asyncio.TimerHandle] = {}

    def set(self, transport: asyncio.Transport, seconds: float) -> None:
        """Close a connection after some seconds, unless its deadline is removed or set again before."""
        self.remove(transport)
        self._timers[transport] = asyncio.get_running_loop().call_later(seconds, self.expire, transport)

    def remove(self, transport: asyncio.Transport) -> None:
        """Remove the deadline of a connection, if any."""
        if timer := self._timers.pop(transport, None):
            timer.cancel()

    def expire(self, transport: asyncio.Transport) -> None:
        """Close a connection now."""
        self.remove(transport)
        transport.abort()

    def expire_first(self, default: asyncio.Transport) -> None:
        """Close the connection that has waited longest, or `default` if none waits."""
        self.expire(next(iter(self._timers), default))


def limited_protocols(limits: Limits) -> tuple[type[H11Protocol], type[WebSocketsSansIOProtocol]]:
    """The HTTP and the websocket protocol of one server.

    A connection waits while its request head is incomplete, between requests, and while its client does not read what
    was sent. Waiting connections are closed at their deadline; at the maximum number, the first of them for a new one.
    """
    deadlines, max_connections = Deadlines(), max_tcp_connections(limits)

    class HttpProtocol(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > max_connections:
                deadlines.expire_first(transport)
            if not transport.is_closing():
                deadlines.set(transport, limits.head_seconds)

        def on_response_complete(self) -> None:
            is_read = self.transport.get_write_buffer_size() == 0
            deadlines.set(self.transport, limits.head_seconds if is_read else limits.write_seconds)
            super().on_response_complete()

        def handle_websocket_upgrade(self, event: h11.Request) -> None:
            deadlines.remove(self.transport)
            super().handle_websocket_upgrade(event)

        def connection_lost(self, exc: Exception | None) -> None:
            deadlines.remove(self.transport)
            super().connection_lost(exc)

    class WebSocketProtocol(WebSocketsSansIOProtocol):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.frame_rate = RateLimit(limits.frames_per_second, limits.frame_burst)
            self.is_answered = False  # whether the app has sent all that it will send

        def data_received(self, data: bytes) -> None:
            for start in range(0, len(data), SLICE_BYTES):
                if not self.transport.is_closing():
                    super().data_received(data[start : start + SLICE_BYTES])

        def handle_ping(self) -> None:
            self._limited(super().handle_ping)

        def handle_pong(self, event: Any) -> None:
            self._limited(super().handle_pong, event)

        def handle_cont(self, event: Any) -> None:
            self._limited(super().handle_cont, event)

        def _limited(self, handle: Callable[..., None], *args: Any) -> None:
            """Handle a ping, a pong or a fragment, of which browsers send few."""
            if self.frame_rate.allow():
                handle(*args)
            else:
                self.transport.abort()

        def pause_writing(self) -> None:
            deadlines.set(self.transport, limits.write_seconds)
            super().pause_writing()

        def resume_writing(self) -> None:
            if not self.is_answered:
                deadlines.remove(self.transport)
            super().resume_writing()

        async def run_asgi(self) -> None:
            await super().run_asgi()
            self.is_answered = True
            if self in self.connections:  # the client has not read all of it yet
                deadlines.set(self.transport, limits.write_seconds)

        def connection_lost(self, exc: Exception | None) -> None:
            deadlines.remove(self.transport)
            super().connection_lost(exc)

    return HttpProtocol, WebSocketProtocol

"""Open websocket connections: their number, the message rate of each, and which idle ones are closed for new ones."""

import asyncio
import contextlib
import threading
import time
from typing import Protocol

from groundling.page.limits import Limits
from groundling.page.rate_limit import Clock, RateLimit

CLOSE_SECONDS = 1.0
"""Maximum time to wait for the close of an idle connection, whose client may not read any more."""


class Closable(Protocol):
    """The part of a websocket that is needed to close a connection."""

    async def close(self, code: int = 1000, reason: str | None = None) -> None: ...


class Connection:
    """A client's connection with its rate limit."""

    def __init__(self, socket: Closable, address: str, limits: Limits, clock: Clock) -> None:
        self.socket, self.address, self.clock = socket, address, clock
        self.is_closed = threading.Event()
        """Set when the client left; threads that work for it look at it."""
        self.last_message = clock()
        self.message_rate = RateLimit(limits.messages_per_second, limits.burst, clock)

    def allow_message(self) -> bool:
        """Count a message; return False if it exceeds the rate limit."""
        self.last_message = self.clock()
        return self.message_rate.allow()


class Connections:
    """All open connections. At the maximum, a new one is accepted only if an idle one can be closed."""

    def __init__(self, limits: Limits, clock: Clock = time.monotonic) -> None:
        self.limits, self.clock = limits, clock
        self.open: set[Connection] = set()

    async def add(self, socket: Closable, address: str) -> Connection | None:
        """A new connection from an IP address, or None if there are too many."""
        if len(self.open) >= self.limits.connections and not await self._close_most_idle():
            return None
        connection = Connection(socket, address, self.limits, self.clock)
        self.open.add(connection)
        return connection

    def remove(self, connection: Connection) -> None:
        self.open.discard(connection)

    async def _close_most_idle(self) -> bool:
        most_idle = min(self.open, key=lambda connection: connection.last_message)
        if self.clock() - most_idle.last_message < self.limits.idle_seconds_at_maximum:
            return False
        self.remove(most_idle)
        with contextlib.suppress(RuntimeError, TimeoutError):  # the client is closing it at the same time
            async with asyncio.timeout(CLOSE_SECONDS):
                await most_idle.socket.close(1001, "idle; closed for a new connection")
        return True

"""Open connections: their number, the message rate of each, and which idle ones are closed for new ones."""

import contextlib
import time
from collections.abc import Callable
from typing import Protocol

from groundling.page.limits import Limits

Clock = Callable[[], float]


class Closable(Protocol):
    """The part of a websocket that is needed to close a connection."""

    async def close(self, code: int = 1000, reason: str | None = None) -> None: ...


class Connection:
    """A client's connection with its rate limit, a token bucket."""

    def __init__(self, socket: Closable, limits: Limits, clock: Clock) -> None:
        self.socket, self.limits, self.clock = socket, limits, clock
        self.last_message = clock()
        self.allowance = float(limits.burst)

    def allow_message(self) -> bool:
        """Count a message; return False if it exceeds the rate limit."""
        now = self.clock()
        earned = (now - self.last_message) * self.limits.messages_per_second
        self.last_message = now
        self.allowance = min(self.allowance + earned, float(self.limits.burst))
        if self.allowance < 1:
            return False
        self.allowance -= 1
        return True


class Connections:
    """All open connections. At the maximum, a new one is accepted only if an idle one can be closed."""

    def __init__(self, limits: Limits, clock: Clock = time.monotonic) -> None:
        self.limits, self.clock = limits, clock
        self.open: set[Connection] = set()

    async def add(self, socket: Closable) -> Connection | None:
        """A new connection, or None if there are too many."""
        if len(self.open) >= self.limits.connections and not await self._close_most_idle():
            return None
        connection = Connection(socket, self.limits, self.clock)
        self.open.add(connection)
        return connection

    def remove(self, connection: Connection) -> None:
        self.open.discard(connection)

    async def _close_most_idle(self) -> bool:
        most_idle = min(self.open, key=lambda connection: connection.last_message)
        if self.clock() - most_idle.last_message < self.limits.idle_seconds_at_maximum:
            return False
        self.remove(most_idle)
        with contextlib.suppress(RuntimeError):  # the client is closing it at the same time
            await most_idle.socket.close(1001, "idle; closed for a new connection")
        return True

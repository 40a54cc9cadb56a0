"""The open connections: how many there may be, how fast each may speak, and which are dropped for others."""

import contextlib
import time
from collections.abc import Callable
from typing import Protocol

from groundling.page.limits import Limits

Clock = Callable[[], float]


class Closable(Protocol):
    """The part of a websocket that is needed to drop a connection."""

    async def close(self, code: int = 1000, reason: str | None = None) -> None: ...


class Connection:
    """One client's connection and its allowance of messages, which refills as time goes by."""

    def __init__(self, socket: Closable, settings: Limits, clock: Clock) -> None:
        self.socket, self.settings, self.clock = socket, settings, clock
        self.heard = self.refilled = clock()
        self.allowance = float(settings.burst)

    def may_speak(self) -> bool:
        """Note a message; False if it is one too many."""
        now = self.clock()
        earned = (now - self.refilled) * self.settings.messages_per_second
        self.heard = self.refilled = now
        self.allowance = min(self.allowance + earned, float(self.settings.burst))
        if self.allowance < 1:
            return False
        self.allowance -= 1
        return True


class Connections:
    """All of them. A new one is let in if there is room, or if room can be made by dropping an idle one."""

    def __init__(self, settings: Limits, clock: Clock = time.monotonic) -> None:
        self.settings, self.clock = settings, clock
        self.open: set[Connection] = set()

    async def admit(self, socket: Closable) -> Connection | None:
        if len(self.open) >= self.settings.connections and not await self._make_room():
            return None
        connection = Connection(socket, self.settings, self.clock)
        self.open.add(connection)
        return connection

    def leave(self, connection: Connection) -> None:
        self.open.discard(connection)

    async def _make_room(self) -> bool:
        quietest = min(self.open, key=lambda connection: connection.heard)
        if self.clock() - quietest.heard < self.settings.crowded_idle_seconds:
            return False
        self.leave(quietest)
        with contextlib.suppress(RuntimeError):  # it is just leaving by itself
            await quietest.socket.close(1001, "idle, and others are waiting")
        return True

"""The open sessions: how many there may be, how fast each may speak, and which are dropped for others."""

import contextlib
import time
from collections.abc import Callable
from typing import Protocol

from groundling.page.settings import Settings

Clock = Callable[[], float]


class Closable(Protocol):
    """The part of a websocket that is needed to drop a session."""

    async def close(self, code: int = 1000, reason: str | None = None) -> None: ...


class Session:
    """One client's connection and its allowance of messages, which refills as time goes by."""

    def __init__(self, socket: Closable, settings: Settings, clock: Clock) -> None:
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


class Sessions:
    """All of them. A new one is let in if there is room, or if room can be made by dropping an idle one."""

    def __init__(self, settings: Settings, clock: Clock = time.monotonic) -> None:
        self.settings, self.clock = settings, clock
        self.open: set[Session] = set()

    async def admit(self, socket: Closable) -> Session | None:
        if len(self.open) >= self.settings.sessions and not await self._make_room():
            return None
        session = Session(socket, self.settings, self.clock)
        self.open.add(session)
        return session

    def leave(self, session: Session) -> None:
        self.open.discard(session)

    async def _make_room(self) -> bool:
        quietest = min(self.open, key=lambda session: session.heard)
        if self.clock() - quietest.heard < self.settings.crowded_idle_seconds:
            return False
        self.leave(quietest)
        with contextlib.suppress(RuntimeError):  # it is just leaving by itself
            await quietest.socket.close(1001, "idle, and others are waiting")
        return True

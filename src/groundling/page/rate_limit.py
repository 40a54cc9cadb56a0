"""Rate limits: of messages, websocket frames, wrong tokens and repeated lines of the log."""

import time
from collections.abc import Callable, Hashable

Clock = Callable[[], float]


class RateLimit:
    """A token bucket that allows `burst` events at once and `per_second` events on average."""

    def __init__(self, per_second: float, burst: int, clock: Clock = time.monotonic) -> None:
        self.per_second, self.burst, self.clock = per_second, burst, clock
        self._allowance, self._updated = float(burst), clock()

    def allow(self) -> bool:
        """Count an event; return False if it exceeds the limit."""
        now = self.clock()
        earned = (now - self._updated) * self.per_second
        self._updated = now
        self._allowance = min(self._allowance + earned, float(self.burst))
        if self._allowance < 1:
            return False
        self._allowance -= 1
        return True


class RateLimits:
    """A rate limit for each key; when there are too many keys, all start again."""

    MAX_KEYS = 10_000

    def __init__(self, per_second: float, burst: int, clock: Clock = time.monotonic) -> None:
        self.per_second, self.burst, self.clock = per_second, burst, clock
        self._limits: dict[Hashable, RateLimit] = {}

    def allow(self, key: Hashable) -> bool:
        """Count an event of `key`; return False if it exceeds the limit of that key."""
        if key not in self._limits:
            if len(self._limits) >= self.MAX_KEYS:
                self._limits.clear()
            self._limits[key] = RateLimit(self.per_second, self.burst, self.clock)
        return self._limits[key].allow()

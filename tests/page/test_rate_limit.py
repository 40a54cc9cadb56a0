"""Rate limits and the filter of the log."""

import logging

from groundling.page.log_filter import LogFilter
from groundling.page.rate_limit import RateLimit, RateLimits


class FakeClock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_rate_limit_allows_a_burst_and_then_the_average_rate() -> None:
    clock = FakeClock()
    limit = RateLimit(per_second=2, burst=3, clock=clock)
    assert [limit.allow() for _ in range(4)] == [True, True, True, False]
    clock.now = 1.0
    assert [limit.allow() for _ in range(3)] == [True, True, False]
    clock.now = 100.0
    assert [limit.allow() for _ in range(4)] == [True, True, True, False], "the allowance never exceeds the burst"


def test_each_key_has_a_limit_and_their_number_is_bounded() -> None:
    limits = RateLimits(per_second=0, burst=1)
    assert [limits.allow(key) for key in "aabba"] == [True, False, True, False, False]
    for number in range(2 * limits.MAX_KEYS):
        limits.allow(number)
        assert len(limits._limits) <= limits.MAX_KEYS


def test_repeated_messages_are_logged_once_per_minute() -> None:
    clock = FakeClock()
    log_filter = LogFilter(clock)

    def is_logged(message: str, error: Exception | None = None) -> bool:
        exc_info = (type(error), error, None) if error else None
        return log_filter.filter(logging.LogRecord("asyncio", logging.ERROR, "", 0, message, (), exc_info))

    accept = "socket.accept() out of system resource\nsocket: <TransportSocket fd={}>"
    assert is_logged(accept.format(1), OSError())
    assert not is_logged(accept.format(2), OSError())
    assert is_logged(accept.format(3), ValueError()), "another error"
    assert is_logged("Invalid HTTP request received.")
    clock.now = 61.0
    assert is_logged(accept.format(4), OSError())

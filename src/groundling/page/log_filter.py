"""The log of the server, which clients must not be able to fill."""

import logging
import time

from groundling.page.rate_limit import Clock, RateLimits


class LogFilter(logging.Filter):
    """Passes messages with the same first line and type of exception once per minute.

    Invalid UTF-8 is an error of the client, so it has no traceback.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        super().__init__()
        self._limits = RateLimits(1 / 60, 1, clock)

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[0] if record.exc_info else None
        if error is UnicodeDecodeError:
            record.exc_info = None
        return self._limits.allow((str(record.msg).partition("\n")[0], error))

"""The command `groundling`."""

import os
import signal
import sys
import threading
from collections.abc import Sequence

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command with the given arguments, or with those of the process."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # Until a command runs, Ctrl-C ends at once: some imports would swallow a KeyboardInterrupt.
    interruptible = threading.current_thread() is threading.main_thread()
    earlier = signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED)) if interruptible else None
    try:
        from groundling.cli.commands import run

        if interruptible and given[:1] != ["play"]:  # which handles Ctrl-C itself
            signal.signal(signal.SIGINT, earlier)
        run(given)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        if interruptible:
            signal.signal(signal.SIGINT, earlier)

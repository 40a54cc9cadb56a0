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
    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread:  # imports take a moment, and some of them would swallow a KeyboardInterrupt
        earlier = signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    from groundling.cli.commands import run

    if in_main_thread:
        signal.signal(signal.SIGINT, earlier)
    try:
        run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)

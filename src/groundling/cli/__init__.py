"""The command `groundling`."""

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command with the given arguments, or with those of the process."""
    try:
        from groundling.cli.commands import run  # takes a moment, in which Ctrl-C prints no traceback either

        run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        sys.exit(130)

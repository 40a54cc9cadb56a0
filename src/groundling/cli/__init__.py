"""The command `groundling`: subcommands that print a table for people, or JSON with --json."""

import sys
from collections.abc import Sequence
from typing import Any

import tyro

from groundling.cli import bench, demo, language, models, world
from groundling.errors import InputError

app = tyro.extras.SubcommandApp()
app.command(language.app, name="language", help="The teacher's sentences: count, list, sample and parse them.")
app.command(world.app, name="world", help="The world: look at a session, or replay written ones.")
app.command(bench.app, name="bench", help="Measure this machine: rates and their ratios, in one run.")
app.command(models.models)
app.command(demo.demo)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; bad input ends it with one line on stderr and exit code 2."""
    config: Any = (tyro.conf.FlagCreatePairsOff,)
    try:
        app.cli(
            prog="groundling",
            description="A 2D world in which an agent learns a language.",
            args=arguments,
            config=config,
        )
    except InputError as error:
        print(f"groundling: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        sys.stderr.close()
        sys.exit(0)

"""The command `groundling`: subcommands that print a table for people, or JSON with --json."""

import sys
from collections.abc import Sequence
from typing import Any

import tyro

from groundling.cli import bench, demo, evaluate, language, leaks, models, play, ship, study, teaching, train, world
from groundling.errors import InputError, TrainingError

app = tyro.extras.SubcommandApp()
app.command(language.app, name="language", help="The teacher's sentences: count, list, sample and parse them.")
app.command(world.app, name="world", help="The world: look at a episode, or replay written ones.")
app.command(bench.app, name="bench", help="Measure this machine: rates and their ratios, in one run.")
app.command(study.app, name="study", help="The paper's study: make its runs, and print its tables.")
app.command(study.figures)
app.command(models.models)
app.command(name="train")(train.help_train)
app.command(evaluate.evaluate)
app.command(leaks.leaks)
app.command(ship.ship)
app.command(teaching.teaching)
app.command(play.play)
app.command(demo.demo)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; bad input ends it with one line on stderr and exit code 2."""
    config: Any = (tyro.conf.FlagCreatePairsOff,)
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if given[:1] == ["train"]:  # its options depend on the preset, and loading those takes torch
            train.train(given[1:])
        else:
            app.cli(
                prog="groundling",
                description="A 2D world in which an agent learns a language.",
                args=given,
                config=config,
            )
    except (InputError, TrainingError) as error:
        print(f"groundling: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, InputError) else 1)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        sys.stderr.close()
        sys.exit(0)

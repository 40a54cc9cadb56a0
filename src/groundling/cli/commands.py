"""All commands, and what their errors print."""

import contextlib
import sys
from collections.abc import Sequence
from typing import Any

import tyro

import groundling
from groundling.cli import (
    bench,
    check_leaks,
    convert,
    demo,
    evaluate,
    export,
    gallery,
    language,
    models,
    package,
    play,
    study,
    suites,
    train,
    warm,
    world,
)
from groundling.cli.output import folded_help
from groundling.cli.own_models import current_folder_on_path
from groundling.errors import InputError, TrainingError, cut
from groundling.imports import names_code

app = tyro.extras.SubcommandApp()
app.command(name="train")(train.help_train)
app.command(evaluate.evaluate)
app.command(play.play)
app.command(gallery.gallery)
app.command(demo.demo)
app.command(language.app, name="language", help="Count, list, sample and parse the teacher's sentences.")
app.command(world.app, name="world", help="Show a random episode, or replay the episodes of a file.")
app.command(models.models)
app.command(study.app, name="study", help="Reproduce the experiments of the paper: runs, tables and analyses.")
app.command(study.figures)
app.command(suites.app, name="suites", help="List, check and run the frozen test suites.")
app.command(suites.leaderboard)
app.command(export.app, name="export", help="Export episodes for offline learning: Minari or Parquet.")
app.command(package.package)
app.command(check_leaks.check_leaks)
app.command(convert.convert)
app.command(warm.warm)
app.command(bench.app, name="bench", help="Measure the speed of simulator, model, training and web page.")


def run(arguments: Sequence[str]) -> None:
    """Run a command; bad input ends it with one line on stderr and exit code 2."""
    given = list(arguments)
    try:
        if given[:1] == ["--version"]:
            print(f"groundling {groundling.__version__}")
            return
        wants_help = "-h" in given or "--help" in given
        with_code = any(map(names_code, given))
        with folded_help() if wants_help else contextlib.nullcontext(), current_folder_on_path(with_code):
            _run(given)
    except (InputError, TrainingError) as error:
        print(f"groundling: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, InputError) else 1)
    except BrokenPipeError:  # the reader, such as `head`, closed the pipe
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # a file that cannot be read or written, wherever it was used
        print(f"groundling: {cut(str(error), 200)}", file=sys.stderr)
        sys.exit(2)


def _run(arguments: list[str]) -> None:
    if arguments[:1] == ["train"]:  # its defaults depend on the preset
        return train.train(arguments[1:])
    config: Any = (tyro.conf.FlagCreatePairsOff,)
    description = "A 2D world in which an agent learns a language. --version prints the version."
    app.cli(prog="groundling", description=description, args=arguments, config=config)

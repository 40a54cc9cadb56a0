"""`groundling train`"""

import argparse
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from groundling.cli.output import Device, Threads, set_threads
from groundling.cli.own_models import current_folder_on_path
from groundling.errors import check_choice
from groundling.extras import needs

if TYPE_CHECKING:
    from groundling.learn.config import TrainConfig
    from groundling.learn.trainer import Trainer

SIGNAL_EXIT_CODE = 128
"""Exit code of a process ended by a signal: this plus the number of the signal."""


def help_train() -> None:
    """Train an agent: groundling train {fast,paper,paper-literal,smoke} [options]."""


@dataclass(frozen=True)
class TrainOptions:
    """The options of a training run that do not change what is trained."""

    out: Annotated[
        Path | None,
        tyro.conf.arg(
            metavar="PATH",
            help="Folder to write the run to.",
            help_behavior_hint="(default: runs/PRESET-SPLIT-SEED)",
        ),
    ] = None
    resume: Annotated[bool, tyro.conf.arg(help="Resume the run in the folder of --out, if it has one.")] = False
    minutes: Annotated[
        float | None,
        tyro.conf.arg(
            metavar="FLOAT",
            help="Training budget in minutes, cumulative over resumes.",
            help_behavior_hint="(default: no limit)",
        ),
    ] = None
    workers: Annotated[
        int | None,
        tyro.conf.arg(
            metavar="INT",
            help="Processes of one thread each that share the work of updates; weights depend on their number.",
            help_behavior_hint="(default: one for each core, at most 4; 1 with --threads, on a GPU or for paper)",
        ),
    ] = None
    threads: Threads = None
    device: Device = "auto"
    save_seconds: Annotated[float, tyro.conf.arg(help="Seconds between saves of the training state.")] = 30.0
    snapshots: Annotated[
        tuple[float, ...],
        tyro.conf.arg(metavar="SECONDS ...", help="Training times at which a snapshot for `groundling play` is kept."),
    ] = ()


def train(arguments: list[str]) -> None:
    """Parse and run `[PRESET] [options]`."""
    needs("agent")
    import torch

    from groundling.learn.device import choose_device
    from groundling.learn.snapshots import Snapshots
    from groundling.learn.trainer import Trainer
    from groundling.learn.workers import default_workers

    preset, config, options = parse_train(arguments)
    workers = options.workers
    if workers is None:
        device = torch.device(choose_device(options.device))
        workers = default_workers(config, device) if options.threads is None else 1
    set_threads(1 if workers > 1 and options.threads is None else options.threads)
    split = config.split if config.split == "normal" else f"{config.split}-{config.holdout:g}"
    folder = options.out or Path("runs") / f"{preset}-{split}-{config.seed}"
    snapshots = Snapshots(folder, options.snapshots)
    trainer = Trainer(config, folder, options.resume, options.device, options.save_seconds, workers)
    trainer.before_update = snapshots.write_due
    follow(trainer, options.minutes)


def parse_train(arguments: list[str]) -> "tuple[str, TrainConfig, TrainOptions]":
    """The preset, config and options of `[PRESET] [options]`. Imports the presets, which need PyTorch.

    The options of the agent are those of its model, whose module is imported if it is one of your own; the length of
    the curriculum depends on the number of classes.
    """
    from groundling.agent import find_model
    from groundling.learn.config import TrainConfig
    from groundling.learn.presets import PRESETS, defaults_of

    preset = arguments[0] if arguments and not arguments[0].startswith("-") else "fast"
    check_choice("preset", preset, PRESETS)
    method, icons, classes = _defining(arguments)
    defaults = defaults_of(preset, icons, classes)
    if method is not None:
        with current_folder_on_path():
            kind = find_model(method, allow_import=True)
        defaults = replace(defaults, agent=kind.Config.like(defaults.agent, method))

    def parse(
        options: Annotated[TrainOptions, tyro.conf.arg(name="")] = TrainOptions(),
        config: Annotated[TrainConfig, tyro.conf.arg(name="")] = defaults,
    ) -> tuple[str, TrainConfig, TrainOptions]:
        return preset, config, options

    parsed: tuple[str, TrainConfig, TrainOptions] = tyro.cli(
        parse,
        prog=f"groundling train {preset}",
        description=f"Train an agent. Presets: fast (ours), paper (a reading of the paper), paper-literal (its text), "
        f"smoke (a small world for a first try); the defaults below are those of {preset}.",
        args=arguments[1:] if arguments[:1] == [preset] else arguments,
        config=(tyro.conf.FlagCreatePairsOff,),
    )
    return parsed


def _defining(arguments: list[str]) -> tuple[str | None, str | None, int | None]:
    """The method, icons and number of classes that are named among arguments, on which defaults of others depend."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--agent.method", "--method", dest="method", nargs="?")
    parser.add_argument("--icons", nargs="?")
    parser.add_argument("--num-classes", nargs="?")
    found = parser.parse_known_args(arguments)[0]
    classes = found.num_classes
    return found.method, found.icons, int(classes) if classes and classes.isdecimal() else None


def follow(trainer: "Trainer", minutes: float | None = None) -> str:
    """Train with a progress bar; after an interrupt, say how to resume."""
    console = Console()
    console.print(f"Training in {trainer.folder}")
    with training_bars(console) as bar:
        tasks: dict[str, Any] = {}

        def report(progress: Any, fraction: float, line: dict[str, float]) -> None:
            if progress.stage not in tasks:
                tasks[progress.stage] = bar.add_task(progress.stage, total=1.0, metrics="")
            metrics = format_metrics(progress.frames / max(progress.seconds, 1e-9), line)
            evaluation = {name.removeprefix("eval/"): v for name, v in line.items() if name.startswith("eval/")}
            if evaluation:
                scores = "  ".join(_scores(evaluation))
                console.print(f"{progress.seconds / 60:6.1f} min  {progress.stage:<14} evaluation: {scores}")
            bar.update(tasks[progress.stage], completed=fraction, metrics=metrics)

        reason = trainer.train(minutes, report)
    minutes_spent = trainer.progress.seconds / 60
    console.print(f"Ended ({reason}) after {minutes_spent:.1f} minutes of training: {trainer.folder}")
    if reason == "signal":
        assert trainer.signal is not None
        console.print("Saved. The same command with --resume continues the run.")
        sys.exit(SIGNAL_EXIT_CODE + trainer.signal)
    return reason


def training_bars(console: Console) -> Progress:
    """Progress bars, one line of at most 80 columns per stage."""
    return Progress(
        TextColumn("{task.description:<14}"),
        BarColumn(6),
        TextColumn("{task.fields[metrics]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
    )


def format_metrics(frames_per_second: float, line: dict[str, float]) -> str:
    """The metrics beside a progress bar."""
    return "  ".join([f"{frames_per_second:,.0f} fps", *_scores(line)])


def _scores(line: dict[str, float]) -> list[str]:
    labels = {"success_rate": "success", "qa_accuracy": "QA"}
    return [f"{label} {line[name]:.1%}" for name, label in labels.items() if name in line]

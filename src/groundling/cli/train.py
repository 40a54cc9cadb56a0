"""`groundling train`"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from groundling.cli.output import Device, Threads, set_threads
from groundling.errors import check_choice
from groundling.extras import needs

if TYPE_CHECKING:
    from groundling.learn.trainer import Trainer

SIGNAL_EXIT_CODE = 128
"""Exit code of a process ended by a signal: this plus the number of the signal."""


def help_train() -> None:
    """Train an agent: `groundling train [fast | paper | smoke] [options]`."""


def train(arguments: list[str]) -> None:
    """Parse and run `[PRESET] [options]`. The presets are imported only here, because they need PyTorch."""
    needs("agent")
    from groundling.learn.config import PRESETS, TrainConfig

    preset = arguments[0] if arguments and not arguments[0].startswith("-") else "fast"
    check_choice("preset", preset, PRESETS)

    def run(
        config: Annotated[TrainConfig, tyro.conf.arg(name="")] = PRESETS[preset],
        out: Annotated[Path | None, tyro.conf.arg(help="Folder of the run (default: a folder in runs/).")] = None,
        resume: Annotated[bool, tyro.conf.arg(help="Resume the run in the folder, if there is one.")] = False,
        minutes: Annotated[
            float | None, tyro.conf.arg(help="Training budget in minutes, cumulative over resumes (default: none).")
        ] = None,
        threads: Threads = None,
        device: Device = "auto",
        save_seconds: Annotated[float, tyro.conf.arg(help="Seconds between saves of the state.")] = 30.0,
    ) -> None:
        from groundling.learn.trainer import Trainer

        set_threads(threads)
        split = config.split if config.split == "normal" else f"{config.split}-{config.holdout:g}"
        folder = out or Path("runs") / f"{preset}-{split}-{config.seed}"
        follow(Trainer(config, folder, resume, device, save_seconds), minutes)

    run.__doc__ = f"Train an agent. Presets: {', '.join(PRESETS)}. The defaults below are those of `{preset}`."
    tyro.cli(
        run,
        prog=f"groundling train {preset}",
        args=arguments[1:] if arguments and arguments[0] == preset else arguments,
        config=(tyro.conf.FlagCreatePairsOff,),
    )


def follow(trainer: "Trainer", minutes: float | None = None) -> str:
    """Train with a progress bar; after an interrupt, say how to resume."""
    console = Console()
    columns = (
        TextColumn("{task.description:<14}"),
        BarColumn(8),
        TextColumn("{task.fields[metrics]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    console.print(f"Training in {trainer.folder}")
    with Progress(*columns, console=console) as bar:
        tasks: dict[str, Any] = {}

        def report(progress: Any, fraction: float, line: dict[str, float]) -> None:
            if progress.stage not in tasks:
                tasks[progress.stage] = bar.add_task(progress.stage, total=1.0, metrics="")
            metrics = [f"{progress.frames / max(progress.seconds, 1e-9):,.0f} frames/s", *_scores(line)]
            evaluation = {name.removeprefix("eval/"): v for name, v in line.items() if name.startswith("eval/")}
            if evaluation:
                scores = "  ".join(_scores(evaluation))
                console.print(f"{progress.seconds / 60:6.1f} min  {progress.stage:<14} evaluation: {scores}")
            bar.update(tasks[progress.stage], completed=fraction, metrics="  ".join(metrics))

        reason = trainer.train(minutes, report)
    minutes_spent = trainer.progress.seconds / 60
    console.print(f"Ended ({reason}) after {minutes_spent:.1f} minutes of training: {trainer.folder}")
    if reason == "signal":
        assert trainer.signal is not None
        console.print("Saved. The same command with --resume continues the run.")
        sys.exit(SIGNAL_EXIT_CODE + trainer.signal)
    return reason


def _scores(line: dict[str, float]) -> list[str]:
    labels = {"success_rate": "success", "qa_accuracy": "QA"}
    return [f"{label} {line[name]:.1%}" for name, label in labels.items() if name in line]

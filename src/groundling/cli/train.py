"""`groundling train`"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from groundling.errors import InputError
from groundling.extras import needs

if TYPE_CHECKING:
    from groundling.learn.trainer import Trainer

EXIT_AT_SIGNAL = 128


def help_train() -> None:
    """Train an agent: `groundling train [fast | paper | smoke] [options]`."""


def train(arguments: list[str]) -> None:
    """Parse and run: `[PRESET] [options]`. The presets are loaded only here, because they need torch."""
    needs("agent")
    from groundling.learn.config import PRESETS, TrainConfig

    preset = arguments[0] if arguments and not arguments[0].startswith("-") else "fast"
    if preset not in PRESETS:
        raise InputError(f"preset {preset!r}: it is one of {', '.join(PRESETS)}")

    def run(
        config: Annotated[TrainConfig, tyro.conf.arg(name="")] = PRESETS[preset],
        out: Annotated[Path | None, tyro.conf.arg(help="Folder of the run; one in runs/ if not given.")] = None,
        resume: Annotated[bool, tyro.conf.arg(help="Go on with the run in the folder, if there is one.")] = False,
        minutes: Annotated[float | None, tyro.conf.arg(help="Save and stop after so many, over all resumes.")] = None,
        threads: Annotated[int | None, tyro.conf.arg(help="Of PyTorch; all cores if not given.")] = None,
        device: Annotated[str, tyro.conf.arg(help="auto (a GPU where there is one), cpu, cuda, mps.")] = "auto",
        save_seconds: Annotated[float, tyro.conf.arg(help="Time between saves.")] = 30.0,
    ) -> None:
        import torch

        from groundling.learn.trainer import Trainer

        if threads is not None:
            if threads < 1:
                raise InputError(f"threads {threads}: it is 1 or more")
            torch.set_num_threads(threads)
        held = config.split if config.split == "normal" else f"{config.split}-{config.holdout:g}"
        folder = out or Path("runs") / f"{preset}-{held}-{config.seed}"
        follow(Trainer(config, folder, resume, device, save_seconds), minutes)

    run.__doc__ = f"Train an agent. Presets: {', '.join(PRESETS)}; these are the numbers of `{preset}`."
    tyro.cli(
        run,
        prog=f"groundling train {preset}",
        args=arguments[1:] if arguments and arguments[0] == preset else arguments,
        config=(tyro.conf.FlagCreatePairsOff,),
    )


def follow(trainer: "Trainer", minutes: float | None = None) -> str:
    """Train with a progress bar, and say how to go on if it was interrupted."""
    console = Console()
    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(),
        TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    console.print(f"Training into {trainer.folder}; compiling the simulator takes a while the first time.")
    with Progress(*columns, console=console) as bar:
        tasks: dict[str, Any] = {}

        def report(progress: Any, done: float, line: dict[str, float]) -> None:
            if progress.stage not in tasks:
                tasks[progress.stage] = bar.add_task(progress.stage, total=1.0, told="")
            told = [f"{progress.frames / max(progress.seconds, 1e-9):,.0f} frames/s"]
            if "success" in line:
                told.append(f"success {line['success']:.1%}")
            if "accuracy" in line:
                told.append(f"questions {line['accuracy']:.1%}")
            if "evaluation/success" in line:
                answered = f", questions {line['evaluation/accuracy']:.1%}" if "evaluation/accuracy" in line else ""
                console.print(
                    f"{progress.seconds / 60:6.1f} min  {progress.stage:<12} evaluated: success "
                    f"{line['evaluation/success']:.1%}{answered}"
                )
            bar.update(tasks[progress.stage], completed=done, told="  ".join(told))

        reason = trainer.train(minutes, report)
    minutes_spent = trainer.progress.seconds / 60
    console.print(f"Ended ({reason}) after {minutes_spent:.1f} minutes of training: {trainer.folder}")
    if reason == "signal":
        assert trainer.signal is not None
        console.print("Saved; the same command with --resume goes on.")
        sys.exit(EXIT_AT_SIGNAL + trainer.signal)
    return reason

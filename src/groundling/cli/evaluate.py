"""`groundling evaluate`"""

import json
from pathlib import Path
from typing import Annotated, Any

import tyro

from groundling.cli.output import Json, print_json, print_table
from groundling.errors import InputError
from groundling.extras import needs


def evaluate(
    checkpoint: Annotated[tyro.conf.Positional[str], tyro.conf.arg(help="A file, a run's folder or shipped weights.")],
    split: Annotated[str | None, tyro.conf.arg(help="normal, zs1, zs2 or novel; its training's if not given.")] = None,
    holdout: Annotated[float | None, tyro.conf.arg(help="X, if not what its training held out.")] = None,
    phase: Annotated[str | None, tyro.conf.arg(help="train: sentences as in training; test: held-out ones.")] = None,
    episodes: Annotated[int, tyro.conf.arg(help="Whole episodes, as triggered.")] = 5000,
    episodes_per_type: Annotated[int, tyro.conf.arg(help="Episodes of each sentence type's own.")] = 1000,
    device: Annotated[str, tyro.conf.arg(help="auto (a GPU where there is one), cpu, cuda, mps.")] = "auto",
    out: Annotated[Path | None, tyro.conf.arg(help="Write the report into this file, too.")] = None,
    as_json: Json = False,
) -> None:
    """How good an agent is, on sentences of a split: success, reward, SPL, answers and attention, with intervals."""
    needs("agent")
    from groundling.atomic_write import atomic_write
    from groundling.evaluation.evaluator import evaluate
    from groundling.learn.trained_agent import load_agent
    from groundling.learn.trainer import choose_device

    for name, number in (("episodes", episodes), ("of_each_type", episodes_per_type)):
        if number < 1:
            raise InputError(f"{name} {number}: it is 1 or more")
    found = load_agent(checkpoint, choose_device(device))
    teacher = found.teacher(split, holdout, phase)
    report = {
        "checkpoint": checkpoint,
        "split": teacher.split.kind,
        "holdout": teacher.split.holdout,
        "phase": teacher.phase,
        "held_out_in_training": found.held_out(teacher.split),
        **evaluate(found.model, teacher, episodes, episodes_per_type),
    }
    if out is not None:
        try:
            atomic_write(out, (json.dumps(report, indent=1) + "\n").encode())
        except OSError as error:
            raise InputError(f"{out}: cannot be written ({error.strerror})") from error
    if as_json:
        return print_json(report)
    show(report)


def show(report: dict[str, Any]) -> None:
    """The report as tables."""
    of = f"{report['checkpoint']} on {report['split']} sentences"
    if report["split"] != "normal":
        of += f" (X = {report['holdout']:g}, {report['phase']})"
    for policy in ("greedy", "sampled"):
        part = report[policy]
        rows = [("as triggered", *_commands(part["as_triggered"]))]
        rows += [(type_, *_commands(scores)) for type_, scores in part["commands"].items()]
        print_table(
            f"{of}: commands, policy {policy}",
            ("commands", "success %", "reward", "SPL", "wrong-object steps", "attention on target", "episodes"),
            rows,
        )
    rows = [("as triggered", *_questions(report["greedy"]["as_triggered"]))]
    rows += [(type_, *_questions(scores)) for type_, scores in report["questions"].items()]
    print_table(f"{of}: questions", ("questions", "right %", "attention on true cells", "questions"), rows)


def _commands(scores: dict[str, Any]) -> tuple[str, ...]:
    numbers = [_interval(scores.get(name), digits=2) for name in ("reward", "spl", "wrong_object_steps")]
    attention = _interval(scores.get("command_attention"), digits=2)
    return _interval(scores["success"], 100, 1), *numbers, attention, f"{scores['success']['n']:,}"


def _questions(scores: dict[str, Any]) -> tuple[str, ...]:
    asked = f"{scores['accuracy']['n']:,}" if "accuracy" in scores else "0"
    return _interval(scores.get("accuracy"), 100, 1), _interval(scores.get("question_attention"), digits=2), asked


def _interval(estimate: dict[str, float] | None, scale: float = 1, digits: int = 1) -> str:
    if estimate is None:
        return "-"
    mean, low, high = (f"{scale * estimate[name]:.{digits}f}" for name in ("mean", "low", "high"))
    return f"{mean} ({low} .. {high})"

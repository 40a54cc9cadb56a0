"""`groundling evaluate`"""

import json
from pathlib import Path
from typing import Annotated, Any

import tyro

from groundling.cli.output import (
    Checkpoint,
    Device,
    Episodes,
    EpisodesPerType,
    Json,
    MapObjects,
    MapSize,
    MapWalls,
    Threads,
    TrainedIcons,
    TrainedLanguage,
    print_json,
    print_table,
    progress_bar,
    set_threads,
)
from groundling.cli.own_models import AllowImport, load_agent
from groundling.errors import InputError, check_int
from groundling.extras import needs


def evaluate(
    checkpoint: Checkpoint,
    split: Annotated[
        str | None,
        tyro.conf.arg(
            metavar="STR",
            help="Split to evaluate on: normal, zs1, zs2, novel, category, paraphrase, length, icon, or module:Class.",
            help_behavior_hint="(default: that of training)",
        ),
    ] = None,
    holdout: Annotated[
        float | None,
        tyro.conf.arg(
            metavar="FLOAT",
            help="Percentage of word pairs, words, wordings or icons that the split holds out.",
            help_behavior_hint="(default: that of training)",
        ),
    ] = None,
    phase: Annotated[
        str, tyro.conf.arg(help="Sentences with held-out pairs or words (test), or those without (train).")
    ] = "test",
    size: MapSize = None,
    objects: MapObjects = None,
    walls: MapWalls = None,
    episodes: Episodes = 5000,
    episodes_per_type: EpisodesPerType = 1000,
    icons: TrainedIcons = None,
    language: TrainedLanguage = None,
    device: Device = "auto",
    threads: Threads = None,
    out: Annotated[
        Path | None,
        tyro.conf.arg(metavar="FILE", help="JSON file to write the report to.", help_behavior_hint="(default: none)"),
    ] = None,
    allow_import: AllowImport = False,
    as_json: Json = False,
) -> None:
    """Evaluate an agent: success rate, QA accuracy and more, with 95 % intervals."""
    needs("agent")
    from groundling.atomic_write import atomic_write
    from groundling.evaluation.evaluator import evaluate
    from groundling.learn.device import choose_device

    check_int("episodes", episodes, 1)
    check_int("episodes_per_type", episodes_per_type, 1)
    set_threads(threads)
    agent = load_agent(checkpoint, choose_device(device), allow_import, icons, language)
    agent = agent.resized(size, objects, walls)
    teacher = agent.teacher(split, holdout, phase)
    with progress_bar("Evaluating") as progress:
        scores = evaluate(agent.model, teacher, episodes, episodes_per_type, progress)
    report = {
        "checkpoint": checkpoint,
        "split": teacher.split.kind,
        "holdout": teacher.split.holdout,
        "phase": teacher.phase,
        "size": teacher.world.size,
        "objects": teacher.world.objects,
        "walls": teacher.world.walls,
        "held_out_in_training": agent.held_out(teacher.split),
        **scores,
    }
    if out is not None:
        try:
            atomic_write(out, (json.dumps(report, indent=1) + "\n").encode())
        except OSError as error:
            raise InputError(f"{out}: cannot be written ({error.strerror})") from error
    if as_json:
        return print_json(report)
    print_report(report)


def print_report(report: dict[str, Any]) -> None:
    """Print the report as tables."""
    of = f"{report['checkpoint']}, {report['split']} sentences"
    if report["split"] != "normal":
        of += f" ({report['holdout']:g} % held out, {report['phase']} phase)"
    of += f", {report['size']} x {report['size']} cells"
    for policy in ("greedy", "sampled"):
        part = report[policy]
        rows = [("random walk", *_commands(report["chance"])), ("oracle", *_commands(report["oracle"]))]
        rows += [("natural", *_commands(part["natural"]))]
        rows += [(type_, *_commands(scores)) for type_, scores in part["commands"].items()]
        print_table(
            f"{of}: navigation, {policy} policy",
            ("commands", "success rate, %", "reward", "SPL", "wrong-object steps", "attention on target", "episodes"),
            rows,
        )
    chance = report["chance"]
    rows = [(f"always {chance['answer']}", *_questions(chance)), ("oracle", *_questions(report["oracle"]))]
    rows += [("natural", *_questions(report["greedy"]["natural"]))]
    rows += [(type_, *_questions(scores)) for type_, scores in report["questions"].items()]
    print_table(f"{of}: questions", ("questions", "QA accuracy, %", "attention on true cells", "number"), rows)
    natural = report["greedy"]["natural"]
    if "command_content_word_steps" not in natural:  # a model without an interpreter
        return
    rows = [("commands", *_reading(natural, "command")), ("questions", *_reading(natural, "question"))]
    rows += [(type_, *_reading(scores, "command")) for type_, scores in report["greedy"]["commands"].items()]
    rows += [(type_, *_reading(scores, "question")) for type_, scores in report["questions"].items()]
    columns = ("sentences", "steps whose top word is a content word, %", "attention on content words, %")
    print_table(f"{of}: reading", columns, rows)


def _commands(scores: dict[str, Any]) -> tuple[str, ...]:
    numbers = [_interval(scores.get(name), digits=2) for name in ("reward", "spl", "wrong_object_steps")]
    attention = _interval(scores.get("command_attention"), digits=2)
    return _interval(scores["success_rate"], 100, 1), *numbers, attention, f"{scores['success_rate']['n']:,}"


def _questions(scores: dict[str, Any]) -> tuple[str, ...]:
    number = f"{scores['qa_accuracy']['n']:,}" if "qa_accuracy" in scores else "0"
    return _interval(scores.get("qa_accuracy"), 100, 1), _interval(scores.get("question_attention"), digits=2), number


def _reading(scores: dict[str, Any], kind: str) -> tuple[str, ...]:
    return tuple(_interval(scores.get(f"{kind}_content_word_{name}"), 100, 1) for name in ("steps", "mass"))


def _interval(estimate: dict[str, Any] | None, scale: float = 1, digits: int = 1) -> str:
    if estimate is None:
        return "-"
    mean, low, high = (
        "?" if estimate[name] is None else f"{scale * estimate[name]:.{digits}f}" for name in ("mean", "low", "high")
    )
    return f"{mean} ({low}..{high})"

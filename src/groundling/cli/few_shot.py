"""`groundling teaching`"""

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import tyro
from rich.progress import track

from groundling.cli.output import print_table
from groundling.errors import InputError
from groundling.extras import needs


def teaching(
    agent: Annotated[
        tyro.conf.Positional[str], tyro.conf.arg(help="An agent trained with --split novel.")
    ] = "novel-12",
    episodes: Annotated[int, tyro.conf.arg(help="Whole episodes with each word after each lesson.")] = 200,
    out: Annotated[Path, tyro.conf.arg(help="Folder for teaching.json and the curve.")] = Path("results"),
) -> None:
    """Teach each novel word from 1, 2, 5, 10 and 50 examples, five times; command and ask with it; draw the curve."""
    needs("agent")
    needs("study")
    from groundling.atomic_write import atomic_write
    from groundling.learn.trained_agent import load_agent
    from groundling.study.curves import teaching as curve
    from groundling.study.curves import write
    from groundling.study.few_shot import measure, summary

    found = load_agent(agent)
    if found.split.kind != "novel":
        raise InputError(f"{agent}: trained on the split {found.split.kind}; teaching needs words that are novel to it")
    out.mkdir(parents=True, exist_ok=True)
    words = [word for group in found.split.held_out for word in group]
    results = [measure(found, word, episodes) for word in track(words, "teaching")]
    by_count = summary(results)
    record = {"agent": agent, "episodes": episodes, "summary": by_count, "words": results}
    atomic_write(out / "teaching.json", (json.dumps(record, indent=1) + "\n").encode())
    write(partial(curve, by_count), out / "teaching.svg")
    rows = [
        (row["examples"], *(f"{100 * row[name]['mean']:.1f}" for name in ("success", "accuracy"))) for row in by_count
    ]
    print_table(f"{len(words)} words", ("examples", "commands done %", "questions right %"), rows)

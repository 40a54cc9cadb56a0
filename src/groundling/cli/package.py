"""`groundling ship`"""

from pathlib import Path
from typing import Annotated

import tyro

from groundling.cli.output import print_table
from groundling.errors import InputError
from groundling.extras import needs


def ship(
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(help="The folder of a training run.")],
    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(help="Weights to write, without suffix.")],
    episodes: Annotated[int, tyro.conf.arg(help="Whole episodes, as triggered.")] = 5000,
    episodes_per_type: Annotated[int, tyro.conf.arg(help="Episodes of each sentence type's own.")] = 1000,
) -> None:
    """Write a run's agent in half precision, and a card: the command, the time, the leak check and the scores."""
    needs("agent")
    from groundling.study.model_card import make

    if not out.parent.is_dir():
        raise InputError(f"{out}: there is no folder {out.parent}")
    card = make(run, out, episodes, episodes_per_type)
    scores = card["greedy"]["as_triggered"]
    rows = [
        ("command", card["command"]),
        ("minutes of training", card["minutes"]),
        ("sentences that leaked", card["leaks"]["leaked"]),
        ("commands done, greedy", scores["success"]["mean"]),
        ("questions right", scores["accuracy"]["mean"] if "accuracy" in scores else "-"),
        ("least of a command type", min(part["success"]["mean"] for part in card["greedy"]["commands"].values())),
        ("least of a question type", min((part["accuracy"]["mean"] for part in card["questions"].values()), default=0)),
    ]
    print_table(f"{out}.safetensors and {out}.json", ("", ""), rows)

"""`groundling package`"""

from pathlib import Path
from typing import Annotated

import tyro

from groundling.cli.output import (
    Episodes,
    EpisodesPerType,
    Json,
    RunFolder,
    Threads,
    print_json,
    print_table,
    progress_bar,
    set_threads,
)
from groundling.cli.own_models import AllowImport, current_folder_on_path
from groundling.errors import InputError, check_int
from groundling.extras import needs


def package(
    run: RunFolder,
    out: Annotated[
        tyro.conf.Positional[Path],
        tyro.conf.arg(metavar="OUT", help="Path of the files OUT.safetensors (weights) and OUT.json (model card)."),
    ],
    episodes: Episodes = 5000,
    episodes_per_type: EpisodesPerType = 1000,
    threads: Threads = None,
    allow_import: AllowImport = False,
    as_json: Json = False,
) -> None:
    """Write the agent of a run in half precision, with a model card of its scores."""
    needs("agent")
    from groundling.study.model_card import package

    check_int("episodes", episodes, 1)
    check_int("episodes_per_type", episodes_per_type, 1)
    if not out.parent.is_dir():
        raise InputError(f"out must be in an existing folder, got {out}")
    set_threads(threads)
    try:
        with progress_bar("Evaluating") as progress, current_folder_on_path(allow_import):
            card = package(run, out, episodes, episodes_per_type, progress, allow_import)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror})") from error
    if as_json:
        return print_json(card)
    scores = card["greedy"]["natural"]
    rows = [
        ("training command", card["command"]),
        ("minutes of training", card["minutes"]),
        ("leaked sentences", card["leaks"]["leaked"]),
        ("success rate, greedy", scores["success_rate"]["mean"]),
        ("success rate of a random walk", card["chance"]["success_rate"]["mean"]),
        ("QA accuracy", scores["qa_accuracy"]["mean"] if "qa_accuracy" in scores else "-"),
        (f"QA accuracy of always {card['chance']['answer']}", card["chance"]["qa_accuracy"]["mean"]),
        (
            "lowest success rate of a type",
            min(part["success_rate"]["mean"] for part in card["greedy"]["commands"].values()),
        ),
        (
            "lowest QA accuracy of a type",
            min((p["qa_accuracy"]["mean"] for p in card["questions"].values()), default=0),
        ),
    ]
    print_table(f"{out}.safetensors and {out}.json", ("", ""), rows)

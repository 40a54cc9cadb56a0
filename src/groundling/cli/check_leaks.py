"""`groundling leaks`"""

import json
import sys
from pathlib import Path
from typing import Annotated

import tyro

from groundling.cli.output import Json, print_json, print_table
from groundling.errors import InputError
from groundling.extras import needs


def leaks(
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(help="The folder of a training run.")],
    as_json: Json = False,
) -> None:
    """Prove, from the hashes of all sentences heard in a run, that nothing held out was trained on."""
    needs("agent")
    from groundling.learn.config import TrainConfig
    from groundling.learn.trainer import check_leaks

    try:
        config = TrainConfig.of(json.loads((run / "config.json").read_text("utf-8")))
    except (OSError, ValueError) as error:
        raise InputError(f"folder {run}: there is no training run in it ({error})") from error
    found = check_leaks(run, config)
    result = {**found._asdict(), "clean": found.clean}
    if as_json:
        print_json(result)
    else:
        rows = [
            ("distinct sentences heard in training", found.sentences),
            ("sentences of the language with something held out", found.held_out),
            ("of those, heard in training", len(found.leaked)),
            ("hashes of no sentence of the language", found.unknown),
        ]
        print_table(f"{run}: {'clean' if found.clean else 'NOT CLEAN'}", ("", ""), rows)
    if not found.clean:
        sys.exit(1)

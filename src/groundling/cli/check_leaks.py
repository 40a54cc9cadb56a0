"""`groundling check-leaks`"""

import json
import sys

from groundling.cli.output import Json, RunFolder, print_json, print_table
from groundling.errors import InputError
from groundling.extras import needs


def check_leaks(
    run: RunFolder,
    as_json: Json = False,
) -> None:
    """Check the log of a run: were held-out words or pairs in training sentences?"""
    needs("agent")
    from groundling.learn.config import TrainConfig
    from groundling.learn.trainer import check_run

    try:
        config = TrainConfig.of(json.loads((run / "config.json").read_text("utf-8")))
    except (OSError, ValueError) as error:
        raise InputError(f"folder {run}: it holds no training run ({error})") from error
    found = check_run(run, config)
    result = {**found._asdict(), "clean": found.clean}
    if as_json:
        print_json(result)
    else:
        rows = [
            ("distinct sentences seen in training", found.sentences),
            ("sentences of the language that contain something held out", found.held_out),
            ("held-out sentences seen in training", len(found.leaked)),
            ("logged hashes of no sentence of the language", found.unknown),
        ]
        print_table(f"{run}: {'clean' if found.clean else 'NOT CLEAN'}", ("", ""), rows)
    if not found.clean:
        sys.exit(1)

"""`groundling check-leaks`"""

import sys

from groundling.cli.output import Json, RunFolder, print_json, print_table
from groundling.extras import needs
from groundling.read_json import read_json


def check_leaks(
    run: RunFolder,
    as_json: Json = False,
) -> None:
    """Check the log of a run: were held-out words or pairs in training sentences?"""
    needs("agent")
    from groundling.learn.config import TrainConfig
    from groundling.learn.trainer import check_run

    config = read_json(run / "config.json", "config of the run")
    if isinstance(config, dict):
        config.pop("agent", None)  # whose model may be of a module that is not imported; the check does not need it
    found = check_run(run, TrainConfig.of(config))
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

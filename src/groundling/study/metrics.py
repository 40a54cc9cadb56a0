"""The metrics that a run writes as it goes."""

import json
from pathlib import Path
from typing import Any

from groundling.errors import InputError


def read_metrics(path: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not the metrics of a run ({error})") from error

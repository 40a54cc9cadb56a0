"""Reading the metrics of a run."""

import json
from pathlib import Path
from typing import Any

from groundling.errors import InputError


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of a metrics.jsonl file."""
    try:
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a metrics file of a training run ({error})") from error

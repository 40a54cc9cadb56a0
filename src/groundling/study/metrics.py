"""Reading the metrics of a run."""

from pathlib import Path
from typing import Any

from groundling.read_json import parse_json, read_text


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of a metrics.jsonl file."""
    lines = read_text(path, "metrics file").splitlines()
    return [parse_json(line, f"{path}, line {number}") for number, line in enumerate(lines, 1)]

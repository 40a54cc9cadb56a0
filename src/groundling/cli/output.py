"""How commands print: a table for a person, JSON for a machine."""

import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

Json = Annotated[bool, tyro.conf.arg(name="json", help="Print JSON for machines.")]
Seed = Annotated[int, tyro.conf.arg(name="seed", help="Whole number, 0 or more; the same seed gives the same result.")]


def print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Numbers are set right-aligned, with thousands marked."""
    console = Console()
    console.print(title, style="italic")
    table = Table(show_header=any(columns))
    rows = list(rows)
    for k, column in enumerate(columns):
        numeric = any(isinstance(row[k], int | float) for row in rows)
        table.add_column(column, justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(_text(value) for value in row))
    console.print(table)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)

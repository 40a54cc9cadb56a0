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
    """Numbers are set right-aligned, with thousands marked; no word is cut, however narrow the terminal."""
    table = Table(show_header=any(columns))
    rows = list(rows)
    texts = [[_text(value) for value in row] for row in rows]
    needed = 1
    for k, column in enumerate(columns):
        cells = [line[k] for line in texts]
        whole = all(" " not in cell for cell in cells)  # is never broken; else between words
        parts = [part for text in (column, *cells) for part in (text.splitlines() if whole else text.split())]
        needed += 4 + max(map(len, parts), default=0)  # with a line, margins and some air
        numeric = any(isinstance(row[k], int | float) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", no_wrap=whole, overflow="fold")
    for line in texts:
        table.add_row(*line)
    console = Console(width=max(Console().width, needed))
    console.print(title, style="italic")
    console.print(table)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)

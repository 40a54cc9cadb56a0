"""How commands print: a table for people, JSON for programs; and the options that several commands share."""

import json
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from groundling.errors import check_int

Json = Annotated[bool, tyro.conf.arg(name="json", help="Print JSON instead of tables.")]
Seed = Annotated[int, tyro.conf.arg(name="seed", help="Random seed, 0 or larger.")]
Device = Annotated[str, tyro.conf.arg(help="PyTorch device: auto (a GPU if there is one), cpu, cuda or mps.")]
Threads = Annotated[
    int | None,
    tyro.conf.arg(help="PyTorch threads (default: all cores); use 1 when several commands run at the same time."),
]
Checkpoint = Annotated[
    tyro.conf.Positional[str], tyro.conf.arg(help="Checkpoint file, run folder or name of pretrained weights.")
]
Episodes = Annotated[int, tyro.conf.arg(help="Evaluation episodes from the natural distribution.")]
EpisodesPerType = Annotated[int, tyro.conf.arg(help="Evaluation episodes for each sentence type.")]

ProgressCallback = Callable[[int, int], None]
"""Called with the number of episodes done, and in total."""
_WRAP_ABOVE = 24
"""Cells longer than this are wrapped between words; shorter ones stay on one line."""


def set_threads(threads: int | None) -> None:
    """Set the number of PyTorch threads; None keeps PyTorch's default."""
    if threads is not None:
        import torch

        torch.set_num_threads(check_int("threads", threads, 1))


def print_json(value: Any) -> None:
    """Print one line of JSON."""
    print(json.dumps(value, ensure_ascii=False))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table that fits the terminal: columns that do not fit follow in further tables with the first column.

    Numbers are right-aligned, with thousands separators.
    """
    rows = list(rows)
    texts = [[_text(value) for value in row] for row in rows]
    console = Console()
    console.print(title, style="italic")
    widths = [_width(column, [row[k] for row in texts]) for k, column in enumerate(columns)]
    for group in _groups(widths, console.width):
        table = Table(show_header=any(columns))
        for k in group:
            numeric = any(isinstance(row[k], int | float) for row in rows)
            fits = all(len(row[k]) <= _WRAP_ABOVE for row in texts)
            header = "\n".join(textwrap.wrap(columns[k], widths[k])) if fits else columns[k]
            table.add_column(header, justify="right" if numeric else "left", no_wrap=fits, overflow="fold")
        for row in texts:
            table.add_row(*(row[k] for k in group))
        console.print(table)


def _width(column: str, cells: Sequence[str]) -> int:
    """The smallest width of a column in which no word is broken."""
    parts = [
        *column.split(),
        *(part for cell in cells for part in (cell.split() if len(cell) > _WRAP_ABOVE else [cell])),
    ]
    return max(map(len, parts), default=1)


def _groups(widths: Sequence[int], available: int) -> list[list[int]]:
    """Split columns into groups that fit next to the first column."""
    groups: list[list[int]] = [[0]]
    frame = 1
    used = frame + widths[0] + 3
    for k, width in enumerate(widths[1:], 1):
        if used + width + 3 > available and len(groups[-1]) > 1:
            groups.append([0])
            used = frame + widths[0] + 3
        groups[-1].append(k)
        used += width + 3
    return groups


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


@contextmanager
def progress_bar(description: str) -> Iterator[ProgressCallback]:
    """A progress bar on stderr, as a callback of (done, total)."""
    columns = (TextColumn("{task.description}"), BarColumn(20), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)

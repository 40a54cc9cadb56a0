"""How commands print: a table for people, JSON for programs; and the options that several commands share."""

import io
import json
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Annotated, Any, TextIO

import tyro
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from groundling.errors import check_int

Json = Annotated[bool, tyro.conf.arg(name="json", help="Print JSON instead of tables.")]
Seed = Annotated[int, tyro.conf.arg(name="seed", help="Random seed (an integer of at least 0).")]
Device = Annotated[str, tyro.conf.arg(help="PyTorch device: auto (a GPU if there is one), cpu, cuda or mps.")]
Threads = Annotated[
    int | None,
    tyro.conf.arg(
        metavar="INT",
        help="PyTorch threads; use 1 when several commands run at the same time.",
        help_behavior_hint="(default: all cores)",
    ),
]
Checkpoint = Annotated[
    tyro.conf.Positional[str],
    tyro.conf.arg(metavar="CHECKPOINT", help="Checkpoint file, run folder or name of pretrained weights."),
]
OptionalCheckpoint = Annotated[Checkpoint, tyro.conf.arg(metavar="[CHECKPOINT]")]
_ICONS_HELP = "Folder of icons, +FOLDER to add to the built-in ones, procedural:CLASSES, or module:function."
Icons = Annotated[
    str | None, tyro.conf.arg(metavar="PATH", help=_ICONS_HELP, help_behavior_hint="(default: built-in icons)")
]
LanguageName = Annotated[
    str, tyro.conf.arg(name="language", metavar="FILE", help="Language: `paper`, or the path of a language file.")
]
TrainedIcons = Annotated[
    str | None, tyro.conf.arg(metavar="PATH", help=_ICONS_HELP, help_behavior_hint="(default: those of training)")
]
TrainedLanguage = Annotated[
    str | None,
    tyro.conf.arg(
        name="language", metavar="FILE", help="Language file.", help_behavior_hint="(default: that of training)"
    ),
]
MapSize = Annotated[
    int | None,
    tyro.conf.arg(
        metavar="INT",
        help="Side of the maps in cells; objects and walls grow with the area, unless they are given.",
        help_behavior_hint="(default: that of training)",
    ),
]
MapObjects = Annotated[
    tuple[int, int] | None,
    tyro.conf.arg(
        metavar="MIN MAX",
        help="Number of objects on a map.",
        help_behavior_hint="(default: as many per cell as in training)",
    ),
]
MapWalls = Annotated[
    tuple[int, int] | None,
    tyro.conf.arg(
        metavar="MIN MAX", help="Number of wall cells.", help_behavior_hint="(default: as many per cell as in training)"
    ),
]
RunFolder = Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN", help="Folder of a training run.")]
Episodes = Annotated[int, tyro.conf.arg(help="Evaluation episodes with the natural distribution of sentence types.")]
EpisodesPerType = Annotated[int, tyro.conf.arg(help="Evaluation episodes for each sentence type, in addition.")]

ProgressCallback = Callable[[int, int], None]
"""Called with the number of episodes done, and in total."""
_WRAP_ABOVE = 24
"""Cells longer than this are wrapped between words; shorter ones stay on one line."""


def set_threads(threads: int | None) -> None:
    """Set the number of PyTorch threads; None keeps PyTorch's default."""
    if threads is not None:
        import torch

        torch.set_num_threads(check_int("threads", threads, 1))


class _HelpBuffer(io.StringIO):
    """Collects printed help, with the properties of the real output on which its colors and frames depend."""

    def __init__(self, out: TextIO) -> None:
        super().__init__()
        self.out = out

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self.out.encoding

    def isatty(self) -> bool:
        return self.out.isatty()


@contextmanager
def folded_help() -> Iterator[None]:
    """Fold printed help to the width of the terminal: tyro folds option tables, but no usage and description."""
    out = sys.stdout
    buffer = _HelpBuffer(out)
    try:
        with redirect_stdout(buffer):
            yield
    finally:
        width = shutil.get_terminal_size().columns
        out.writelines(f"{_fold(line.rstrip(), width)}\n" for line in buffer.getvalue().splitlines())


def _fold(line: str, width: int) -> str:
    """A line of help folded between words; an option of the usage and its value stay together."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", line)  # without colors
    if len(plain) <= width:
        return line
    line = plain
    if line.startswith("usage:"):
        line = re.sub(r",(?=\S)", ", ", line)
        line = re.sub(r"\[--.*?\]+", lambda option: option[0].replace(" ", "\0"), line)
    folded = textwrap.fill(
        line, width, subsequent_indent="  " if line.startswith("usage:") else "", break_on_hyphens=False
    )
    return folded.replace("\0", " ")


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
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(description, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)

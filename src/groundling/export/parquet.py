"""Episodes as Parquet files: one row for each episode, and one for each question; `datasets` reads them as they are.

The files of a folder hold SHARD episodes each and are written one after another, so memory is bounded, and an export
that was interrupted continues with the first file that is missing.

episodes/*.parquet   seed, index, type, command, views (what is seen before each step, and at the end), questions,
                     answers (those given), actions (moves), rewards, success
questions/*.parquet  seed, index, step, view, question, answer (the true one)
"""

import json
import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from groundling.atomic_write import atomic_write
from groundling.errors import InputError, check_int, cut, quote
from groundling.export.recording import Episode, ExportConfig
from groundling.extras import needs
from groundling.read_json import read_json, reason
from groundling.teacher.teacher import Teacher
from groundling.text import describe_view

SHARD = 10_000
FORMAT = "groundling-parquet-1"
Columns = defaultdict[str, list[Any]]


def export_parquet(
    config: ExportConfig, folder: Path, episodes: int, progress: Callable[[int, int], None] | None = None
) -> None:
    """Write the episodes 0 .. `episodes` - 1; files that exist already are kept."""
    needs("offline")
    check_int("episodes", episodes, 1)
    try:
        _claim(folder, config)
        _export(config, folder, episodes, progress)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({cut(reason(error))})") from error


def _export(config: ExportConfig, folder: Path, episodes: int, progress: Callable[[int, int], None] | None) -> None:
    recording = config.recording()
    kinds = ("questions", "episodes") if config.questions else ("episodes",)  # the rows of the last one are counted
    for first in range(0, episodes, SHARD):
        end = min(first + SHARD, episodes)
        paths = {kind: folder / kind / f"{first:09d}.parquet" for kind in kinds}
        kept = all(path.is_file() for path in paths.values())
        if not kept or _rows(paths["episodes"]) < end - first:
            columns: dict[str, Columns] = {kind: defaultdict(list) for kind in kinds}
            for batch in recording.batches(first, end):
                for episode in batch:
                    _add(columns, episode, recording.teacher)
                if progress is not None:
                    progress(batch[-1].index + 1, episodes)
            for kind in kinds:
                _write(paths[kind], columns[kind])
        if progress is not None:
            progress(end, episodes)


def _claim(folder: Path, config: ExportConfig) -> None:
    """Write what the folder contains, or check that it contains the same."""
    path, content = folder / "export.json", {"format": FORMAT, **asdict(config)}
    if path.is_file():
        if (found := read_json(path, "export")) != content:
            raise InputError(
                f"{folder} must hold an export with the same settings, got {quote(found, 300)}; choose another folder"
            )
        return
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write(path, (json.dumps(content, indent=1) + "\n").encode())


def _rows(path: Path) -> int:
    """The number of rows of a Parquet file."""
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, ValueError) as error:  # also of PyArrow
        raise InputError(f"{path}: not a Parquet file ({cut(reason(error))}); delete it to export it again") from None


def _write(path: Path, columns: Columns) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(".part")
    pq.write_table(pa.table(dict(columns)), part, compression="zstd")
    os.replace(part, path)


def _add(columns: dict[str, Columns], episode: Episode, teacher: Teacher) -> None:
    """Add an episode and its questions to the columns."""
    words, decode = (*teacher.lexicon.words, ""), teacher.lexicon.decode
    views = [describe_view(cells, teacher.catalog) for cells in episode.cells]
    row: dict[str, Any] = {
        "seed": episode.seed,
        "index": episode.index,
        "type": episode.type,
        "command": decode(episode.command.tolist()),
        "views": views,
        "actions": episode.actions.reshape(len(views) - 1, -1)[:, 0].tolist(),
        "rewards": episode.rewards.tolist(),
        "success": bool(episode.terminated[-1]),
    }
    if "questions" in columns:
        questions = [decode(tokens) for tokens in episode.question[:-1].tolist()]
        row |= {"questions": questions, "answers": [words[k] for k in episode.actions[:, 1].tolist()]}
        for step, (view, question) in enumerate(zip(views, questions, strict=False)):
            if question:
                answer = words[episode.true_answer[step]]
                pair = {"step": step, "view": view, "question": question, "answer": answer}
                _append(columns["questions"], {"seed": episode.seed, "index": episode.index, **pair})
    _append(columns["episodes"], row)


def _append(columns: Columns, row: dict[str, Any]) -> None:
    for name, value in row.items():
        columns[name].append(value)

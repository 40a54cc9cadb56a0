"""Damaged and hostile files of results: of suites and interrupted ones, frozen suites, study results, and exports.

    python fuzz/results.py --count 500 --seed 0 [--kind result|record|suites|study|export]

Each is refused with an InputError, or read and shown or continued. `--count` is per kind. Bars: no other exception, no
crash, no blocking, and at most 60 s and 1 GB for each file.
"""

import contextlib
import io
import json
import sys
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet as pq
from common import Make, Rng, Use, arguments, damaged_file, mutate_bytes, run, without_root

from groundling.cli.suites import leaderboard
from groundling.export.parquet import FORMAT as EXPORT_FORMAT
from groundling.export.parquet import export_parquet
from groundling.export.recording import ExportConfig
from groundling.study import ablation_tables, tables
from groundling.study.result_store import Store
from groundling.suites import suite
from groundling.suites.score import FORMAT, read_record, reference_results
from groundling.suites.suite import Suite, read_suites

STUDY = {
    "format": "groundling-study-1",
    "name": "ours-zs1-50-0",
    "key": "0123456789",
    "method": "ours",
    "seed": 0,
    "command": "groundling train fast --split zs1",
    "minutes": 4.5,
    "frames": 200_000,
    "split": "zs1",
    "holdout": 50.0,
    "leaks": {"leaked": 0, "unknown": 0, "sentences": 1000},
    "episodes": 5000,
    "greedy": {
        "natural": {"success_rate": {"mean": 0.9, "low": 0.8, "high": 0.95, "n": 5000}},
        "commands": {"nav_obj": {"success_rate": {"mean": 0.9, "low": 0.8, "high": 0.95, "n": 1000}}},
    },
    "questions": {"rec_loc2obj": {"qa_accuracy": {"mean": 0.9, "low": 0.8, "high": 0.95, "n": 1000}}},
    "chance": {"success_rate": {"mean": 0.3, "low": 0.2, "high": 0.4, "n": 1000}},
    "oracle": {"success_rate": {"mean": 1.0, "low": 0.9, "high": 1.0, "n": 1000}},
    "curve": [{"seconds": 1.0, "frames": 100, "eval/success_rate": 0.5}],
}
EXPORT = {"format": EXPORT_FORMAT, **asdict(ExportConfig())}


def make_result(rng: Rng, folder: Path) -> tuple[str, Path]:
    paths = [path for path in reference_results() if "-small-" in path.name]
    path = paths[rng.integers(len(paths))]
    what, damaged = damaged_file(rng, folder, "result.json", json.loads(path.read_text("utf-8")))
    return f"{path.stem}: {what}", damaged


def use_result(path: Path) -> None:
    with without_root(), contextlib.redirect_stdout(io.StringIO()):
        leaderboard((path,), "small")
        leaderboard((path,), "small", as_json=True)


def make_record(rng: Rng, folder: Path) -> tuple[str, Path]:
    """The record of an interrupted run, damaged in one line or anywhere."""
    frozen = Suite.load("normal", "small")
    lines = [json.dumps([FORMAT, frozen.name, frozen.size, frozen.hash, "player", "none"])]
    lines += [json.dumps([True, 3, 0])] * int(rng.integers(0, 6))
    path = folder / "result.json.part"
    if rng.integers(3) == 0:
        what, data = mutate_bytes(rng, "\n".join(lines).encode())
        path.write_bytes(data)
        return what, path
    at = int(rng.integers(len(lines)))
    what, damaged = damaged_file(rng, folder, path.name, json.loads(lines[at]))
    if damaged.is_file() and not damaged.is_symlink() and damaged.stat().st_mode & 0o400:
        lines[at] = damaged.read_bytes().decode("utf-8", "surrogateescape")
        damaged.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    return f"line {at}: {what}", damaged


def use_record(path: Path) -> None:
    with without_root():
        played = read_record(path, Suite.load("normal", "small"), "player", "none")
    assert all(type(episode.success) is bool for episode in played)


def make_suites(rng: Rng, folder: Path) -> tuple[str, Path]:
    text = (Path(suite.__file__).parent / "suites-1.json").read_text("utf-8")
    return damaged_file(rng, folder, "suites.json", json.loads(text), odd_files=False)


def use_suites(path: Path) -> None:
    suites = read_suites(path.read_bytes().decode("utf-8", "replace"), path.name)
    assert all(isinstance(entry["options"], dict) for entry in suites.values())


def make_study(rng: Rng, folder: Path) -> tuple[str, Path]:
    return damaged_file(rng, folder, "ours-zs1-50-0.json", STUDY)


def use_study(path: Path) -> None:
    """All tables that show a result."""
    with without_root():
        found = list(Store(str(path.parent)).results().values())
    tables.rows(found)
    for part, name, _ in tables.BY_TYPE:
        tables.by_type(found, part, name)
    tables.attention_by_words(found)
    ablation_tables.rows(found)


def make_export(rng: Rng, folder: Path) -> tuple[str, Path]:
    """An export of three episodes whose manifest or episodes are damaged."""
    out = folder / "export"
    export_parquet(ExportConfig(), out, 3)
    if rng.integers(3):
        what, _ = damaged_file(rng, out, "export.json", EXPORT)
        return what, out
    path = out / str(rng.choice(["episodes", "questions"])) / "000000000.parquet"
    what, data = mutate_bytes(rng, path.read_bytes())
    path.write_bytes(data)
    return f"{path.parent.name}: {what}", out


def use_export(out: Path) -> None:
    """Continue the export. What is complete is not read again, so only the number of rows is known afterwards."""
    with without_root():
        export_parquet(ExportConfig(), out, 3)
    assert pq.read_metadata(out / "episodes" / "000000000.parquet").num_rows == 3


KINDS: dict[str, tuple[Make, Use]] = {
    "result": (make_result, use_result),
    "record": (make_record, use_record),
    "suites": (make_suites, use_suites),
    "study": (make_study, use_study),
    "export": (make_export, use_export),
}


def main() -> int:
    parser = arguments("Fuzz the readers of results.", 500)
    parser.add_argument("--kind", choices=KINDS, help="Only this kind of file.")
    options = parser.parse_args()
    chosen = KINDS if options.kind is None else {options.kind: KINDS[options.kind]}
    return max(run(f"{kind} files", options, *functions).show() for kind, functions in chosen.items())


if __name__ == "__main__":
    sys.exit(main())

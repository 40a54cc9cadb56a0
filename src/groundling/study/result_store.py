"""Storage of results and unfinished runs: a folder, or any path that fsspec supports, such as s3://."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from groundling.errors import InputError, cut, is_finite, quote
from groundling.read_json import from_plain, parse_json, read_json

FORMAT = "groundling-study-1"
"""Of result files; the first ones did not name it."""
RUN_FILES = ("state.safetensors", "metrics.jsonl", "config.json")
"""The files from which a run can be resumed elsewhere; the config comes last, because it marks a complete copy."""


class Store:
    """Files under a path; each is written atomically."""

    def __init__(self, path: str) -> None:
        try:
            self.files, self.root = fsspec.core.url_to_fs(path)
        except (ImportError, ValueError) as error:
            raise InputError(f"path {path!r} must be a folder or an fsspec path ({error})") from error
        self.root = self.root.rstrip("/")

    @property
    def local(self) -> bool:
        return isinstance(self.files, LocalFileSystem)

    def read(self, name: str) -> bytes | None:
        try:
            data: bytes = self.files.cat_file(f"{self.root}/{name}")
        except FileNotFoundError:
            return None
        return data

    def write(self, name: str, data: bytes) -> None:
        path = f"{self.root}/{name}"
        self.files.makedirs(path.rpartition("/")[0], exist_ok=True)
        self.files.pipe_file(f"{path}.part", data)
        self.files.mv(f"{path}.part", path)

    def results(self) -> dict[str, dict[str, Any]]:
        """All results by run name; of a run that was evaluated twice, the one with more episodes."""
        found: dict[str, dict[str, Any]] = {}
        for path in sorted(self.files.glob(f"{self.root}/*.json")):
            result = check_result(self._json(path), path)
            name = result["name"]
            other = found.get(name)
            if other is not None and not _evaluated_again(other, result):
                raise InputError(
                    f"{path}: there is another result of run {name} with another config; remove one of them"
                )
            if other is None or other["episodes"] < result["episodes"]:
                found[name] = result
        return found

    def _json(self, path: str) -> Any:
        if self.local:
            return read_json(Path(path), "result file")
        try:
            return parse_json(self.files.cat_file(path).decode(), path)
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: cannot be read ({error.reason})") from None

    @contextmanager
    def folder_of(self, name: str) -> Iterator[Path]:
        """A local folder to execute a run in; for a remote store, with the files to resume it from."""
        if self.local:
            yield Path(self.root) / name
            return
        with tempfile.TemporaryDirectory() as folder:
            for file in RUN_FILES:
                data = self.read(f"{name}/{file}")
                if data is not None:
                    (Path(folder) / file).write_bytes(data)
            yield Path(folder)

    def back_up(self, name: str, folder: Path) -> None:
        """Copy the files of a run to a remote store; its state is always complete, its metrics may be ahead of it."""
        for file in RUN_FILES:
            if not self.local and (folder / file).exists():
                self.write(f"{name}/{file}", (folder / file).read_bytes())


@dataclass(frozen=True)
class _Known:
    """The parts of a result that tables and figures always use."""

    name: str
    method: str
    seed: int
    split: str
    holdout: float
    minutes: float
    episodes: int
    leaks: dict[str, int]
    greedy: dict[str, dict[str, Any]]
    questions: dict[str, dict[str, Any]]
    curve: tuple[dict[str, float], ...]
    chance: dict[str, Any] = field(default_factory=dict)
    oracle: dict[str, Any] = field(default_factory=dict)
    frames: int = 0


def check_result(record: Any, path: str) -> dict[str, Any]:
    """A result of the study, if it has all parts that every result has; what else it has is kept."""
    if not isinstance(record, dict):
        raise InputError(f"{path}: a result of the study must be a JSON object, got {quote(record)}")
    if record.get("format", FORMAT) != FORMAT:
        raise InputError(f"{path}: format must be {FORMAT!r}, got {quote(record['format'])}")
    known = {field.name for field in fields(_Known)}
    result = from_plain(_Known, {name: value for name, value in record.items() if name in known}, path)
    for name, found, wanted in (
        ("greedy", result.greedy, ("natural", "commands")),
        ("leaks", result.leaks, ("leaked", "unknown")),
        *((name, record[name], ("success_rate",)) for name in ("chance", "oracle") if name in record),
    ):
        if not set(wanted) <= found.keys():
            raise InputError(f"{path}: {name} must have {' and '.join(wanted)}, got {quote([*found])}")
    parts = [("questions", result.questions), *((name, result.greedy[name]) for name in ("natural", "commands"))]
    for name, level in (("chance", result.chance), ("oracle", result.oracle)):
        parts += [(name, level[measure]) for measure in ("success_rate", "qa_accuracy") if measure in level]
    for name, part in parts:
        _check_estimates(part, f"{path}: {name}")
    return record


def _check_estimates(value: Any, what: str) -> None:
    """Raise unless a tree of named parts has an estimate at each leaf: mean, low and high, and perhaps n."""
    if not isinstance(value, dict):
        raise InputError(f"{what} must be named parts or an estimate, got {quote(value)}")
    if not value.keys() & {"mean", "low", "high", "n"}:
        for name, part in value.items():
            _check_estimates(part, f"{what}.{cut(name)}")
    elif not all(is_finite(value.get(name)) for name in ("mean", "low", "high")):
        raise InputError(f"{what} must have the numbers mean, low and high, got {quote(value)}")


def _evaluated_again(one: dict[str, Any], two: dict[str, Any]) -> bool:
    """Whether two results are of one training, evaluated with different numbers of episodes."""
    same_training = "command" in one and one["command"] == two.get("command")
    return same_training and one["episodes"] != two["episodes"]

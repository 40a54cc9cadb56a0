"""Storage of results and unfinished runs: a folder, or any path that fsspec supports, such as s3://."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from groundling.errors import InputError, quote

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
            try:
                result = json.loads(self.files.cat_file(path))
                name = result["name"]
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(f"{path}: not a result of the study ({error!r})") from error
            if result.get("format", FORMAT) != FORMAT:
                raise InputError(f"{path}: format must be {FORMAT!r}, got {quote(result['format'])}")
            other = found.get(name)
            if other is not None and not _evaluated_again(other, result):
                raise InputError(
                    f"{path}: there is another result of run {name} with another config; remove one of them"
                )
            if other is None or other["episodes"] < result["episodes"]:
                found[name] = result
        return found

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


def _evaluated_again(one: dict[str, Any], two: dict[str, Any]) -> bool:
    """Whether two results are of one training, evaluated with different numbers of episodes."""
    same_training = "command" in one and one["command"] == two.get("command")
    return same_training and one["episodes"] != two["episodes"]

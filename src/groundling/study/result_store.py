"""Where results are kept, and runs while they are made: a folder, or any path that fsspec knows, such as s3://."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from groundling.errors import InputError

TO_GO_ON = ("state.safetensors", "metrics.jsonl", "config.json")
"""What a run leaves behind to be gone on with elsewhere; the config last, because it says that there is a run."""


class Store:
    """Files under a path; each is whole or not there."""

    def __init__(self, path: str) -> None:
        try:
            self.files, self.root = fsspec.core.url_to_fs(path)
        except (ImportError, ValueError) as error:
            raise InputError(f"path {path!r}: {error}") from error
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
        """All results by the names of their runs."""
        found: dict[str, dict[str, Any]] = {}
        for path in sorted(self.files.glob(f"{self.root}/*.json")):
            try:
                result = json.loads(self.files.cat_file(path))
                name = result["name"]
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(f"{path}: not a result of the study ({error!r})") from error
            if name in found:
                raise InputError(f"{path}: there is another result of {name}, of a run with other numbers; keep one")
            found[name] = result
        return found

    @contextmanager
    def folder_of(self, name: str) -> Iterator[Path]:
        """A folder on this machine to make a run in; if the store is elsewhere, the run goes on from what it keeps."""
        if self.local:
            yield Path(self.root) / name
            return
        with tempfile.TemporaryDirectory() as folder:
            for file in TO_GO_ON:
                data = self.read(f"{name}/{file}")
                if data is not None:
                    (Path(folder) / file).write_bytes(data)
            yield Path(folder)

    def keep(self, name: str, folder: Path) -> None:
        """Copy here what a run needs to go on: its state is whole at any time, and its metrics may be ahead of it."""
        for file in TO_GO_ON:
            if not self.local and (folder / file).exists():
                self.write(f"{name}/{file}", (folder / file).read_bytes())

"""Snapshots of an agent at given times of its training, in half precision."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from groundling.agent.checkpoint import save
from groundling.errors import InputError

if TYPE_CHECKING:
    from groundling.learn.trainer import Trainer

FOLDER = "snapshots"


class Snapshots:
    """Writes the agent of a run to `FOLDER/age-SECONDS.safetensors` once its training has lasted that long."""

    def __init__(self, folder: Path, seconds: Sequence[float] = ()) -> None:
        if any(not 0 <= time < 1e8 for time in seconds):
            raise InputError(f"snapshots must be times of at least 0 s, got {', '.join(f'{s:g}' for s in seconds)}")
        self.folder, self.seconds = folder / FOLDER, sorted(seconds)

    def write_due(self, trainer: "Trainer") -> None:
        """Write the snapshots whose time has come and that are not there yet."""
        spent = trainer.progress.seconds
        for time in self.seconds:
            path = self.folder / f"age-{time:010.3f}.safetensors"
            if time <= spent and not path.exists():
                self.folder.mkdir(exist_ok=True)
                save(path, trainer.checkpoint(), half=True)


def snapshot_paths(folder: Path) -> list[tuple[float, Path]]:
    """(seconds of training, file) of each snapshot in a folder, in the order of their times."""
    return sorted((float(path.stem.removeprefix("age-")), path) for path in folder.glob("age-*.safetensors"))

"""Snapshots of one training run, which the page shows as ages of its agent."""

from pathlib import Path

from groundling.errors import InputError
from groundling.learn.snapshots import snapshot_paths
from groundling.learn.trained_agent import WEIGHTS, load_agent
from groundling.page.app_state import ServedAgent

PRETRAINED_AGES = WEIGHTS / "ages"
"""Snapshots of the run of the default agent, if the package has some."""


def load_ages(folder: Path, size: int | None = None) -> list[ServedAgent]:
    """The snapshots in a folder, youngest first; the folder of a run has them in `snapshots`. `size`: of the maps."""
    paths = snapshot_paths(folder) or snapshot_paths(folder / "snapshots")
    if not paths:
        raise InputError(f"folder {folder} must hold snapshots of a run; make them with `groundling train --snapshots`")
    agents = [ServedAgent(path.stem, load_agent(path).resized(size), seconds) for seconds, path in paths]
    return agents

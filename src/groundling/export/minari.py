"""Episodes as a Minari dataset: lossless, with the environment that recovers them, streamed from batches.

Each episode has its seed and, as reset options, its index: `env.reset(seed=..., options={"episode": index})` begins it,
and its actions replay it.

A batch of episodes is a file of its own, written whole or not at all; Minari's file only links to their episodes. So an
export that is killed at any moment continues with the first batch that is missing, and memory is that of one batch.
"""

import json
import os
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import groundling
from groundling.errors import InputError, check_int
from groundling.export.recording import BATCH, Episode, ExportConfig
from groundling.extras import needs

FILE = "main_data.hdf5"
"""Minari's file of all episodes: links to those of the batches."""
STEPS = "total_steps"
"""Attribute of an episode, and of the file of a batch."""


def export_minari(
    config: ExportConfig, dataset_id: str, episodes: int, progress: Callable[[int, int], None] | None = None
) -> None:
    """Write the episodes 0 .. `episodes` - 1 to a dataset; one that exists already is continued."""
    needs("offline")
    import minari

    check_int("episodes", episodes, 1)
    recording = config.recording()
    exists = dataset_id in minari.list_local_datasets()
    storage = (minari.load_dataset(dataset_id) if exists else _create(dataset_id, config)).storage
    if storage.metadata.get("description") != json.dumps(asdict(config)):
        raise InputError(f"dataset {dataset_id} must be an export with the same settings; choose another id")
    folder = Path(storage.data_path)
    total = max(episodes, int(storage.total_episodes))
    try:
        for first in range(0, total, BATCH):
            count = min(BATCH, total - first)
            if _count(_part(folder, first)) < count:
                (batch,) = recording.batches(first, first + count)
                _write(_part(folder, first), batch, config.questions)
            if progress is not None:
                progress(first + count, total)
    finally:
        _link(storage, folder)


def _create(dataset_id: str, config: ExportConfig) -> Any:
    """A dataset without episodes."""
    import minari

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about author, permalink and the like, which the user can add
        return minari.create_dataset_from_buffers(
            dataset_id,
            [],
            env=gym.make(config.env_id, observation="cells", texts=False, **config.options),
            algorithm_name=config.policy,
            description=json.dumps(asdict(config)),
            requirements=[f"groundling=={groundling.__version__}"],
            data_format="hdf5",
            jpeg_encoding=False,
        )


def _part(folder: Path, first: int) -> Path:
    """The file of the batch that begins with an episode."""
    return folder / f"episodes-{first:09d}.hdf5"


def _count(part: Path) -> int:
    """The number of episodes in the file of a batch."""
    import h5py

    if not part.is_file():
        return 0
    with h5py.File(part, "r") as file:
        return len(file)


def _write(path: Path, episodes: list[Episode], questions: bool) -> None:
    """Write a batch in Minari's layout.

    `update_dataset_from_buffer` makes every array resizable, which takes three times the space and, as it counts all
    episodes for each one, quadratic time.
    """
    import h5py

    part = path.with_suffix(".part")
    with h5py.File(part, "w", track_order=True) as file:
        for episode in episodes:
            group = file.create_group(f"episode_{episode.index}")
            steps = len(episode.rewards)
            group.attrs.update({"id": episode.index, "seed": episode.seed, "options/episode": episode.index})
            group.attrs[STEPS] = steps
            commands = np.broadcast_to(episode.command, (steps + 1, len(episode.command)))
            arrays = {
                "observations/cells": episode.cells,
                "observations/command": commands,
                "actions": episode.actions,
                "rewards": episode.rewards,
                "terminations": episode.terminated,
                "truncations": episode.truncated,
            }
            for name, array in (arrays | ({"observations/question": episode.question} if questions else {})).items():
                group.create_dataset(name, data=array)
        file.attrs[STEPS] = sum(len(episode.rewards) for episode in episodes)
    os.replace(part, path)


def _link(storage: Any, folder: Path) -> None:
    """Write Minari's file: links to the episodes of all batches from the first one to one that is missing."""
    import h5py

    steps = total = 0
    links = folder / f"{FILE}.part"
    with h5py.File(links, "w", libver="latest") as file:
        while (part := _part(folder, total)).is_file():
            with h5py.File(part, "r") as batch:
                count = len(batch)
                steps += int(batch.attrs[STEPS])
            for index in range(total, total + count):
                file[f"episode_{index}"] = h5py.ExternalLink(part.name, f"episode_{index}")
            total += count
            if count < BATCH:
                break
    os.replace(links, folder / FILE)
    storage.update_metadata({"total_steps": steps, "total_episodes": total, "dataset_size": storage.get_size()})

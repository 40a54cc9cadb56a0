"""Episodes as a Minari dataset: lossless, with the environment that recovers them, streamed from batches.

Each episode has its seed and, as reset options, its index: `env.reset(seed=..., options={"episode": index})` begins it,
and its actions replay it.
"""

import json
import warnings
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import gymnasium as gym
import numpy as np

import groundling
from groundling.errors import InputError, check_int
from groundling.export.recording import BATCH, Episode, ExportConfig
from groundling.extras import needs

FILE = "main_data.hdf5"
"""Minari's file of all episodes."""


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
    done = _resume(storage, config, dataset_id)
    for batch in recording.batches(done // BATCH * BATCH, episodes):
        _append(storage, [episode for episode in batch if episode.index >= done], config.questions)
        if progress is not None:
            progress(batch[-1].index + 1, episodes)


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


def _resume(storage: Any, config: ExportConfig, dataset_id: str) -> int:
    """The number of episodes in a dataset of the same config; what an interrupted write left is removed."""
    import h5py

    if storage.metadata.get("description") != json.dumps(asdict(config)):
        raise InputError(f"dataset {dataset_id} must be an export with the same settings; choose another id")
    done = int(storage.total_episodes)
    with h5py.File(storage.data_path / FILE, "a") as file:
        for number in range(done, len(file)):
            del file[f"episode_{number}"]
    return done


def _append(storage: Any, episodes: list[Episode], questions: bool) -> None:
    """Add episodes in Minari's layout.

    `update_dataset_from_buffer` makes every array resizable, which takes three times the space and, as it counts all
    episodes for each one, quadratic time.
    """
    import h5py

    with h5py.File(storage.data_path / FILE, "a", track_order=True) as file:
        for episode in episodes:
            group = file.create_group(f"episode_{episode.index}")
            steps = len(episode.rewards)
            group.attrs.update(
                {"id": episode.index, "seed": episode.seed, "options/episode": episode.index, "total_steps": steps}
            )
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
    steps = storage.total_steps + sum(len(episode.rewards) for episode in episodes)
    total = storage.total_episodes + len(episodes)
    storage.update_metadata({"total_steps": steps, "total_episodes": total, "dataset_size": storage.get_size()})

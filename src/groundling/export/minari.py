"""Episodes as a Minari dataset: lossless, with the environment that recovers them, streamed from batches.

Each episode has its seed and, as reset options, its index: `env.reset(seed=..., options={"episode": index})` begins it,
and its actions replay it.
"""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import gymnasium as gym
import numpy as np

import groundling
from groundling.errors import InputError, check_int
from groundling.export.recording import BATCH, Episode, ExportConfig
from groundling.extras import needs


def export_minari(
    config: ExportConfig, dataset_id: str, episodes: int, progress: Callable[[int, int], None] | None = None
) -> None:
    """Write the episodes 0 .. `episodes` - 1 to a dataset; one that exists already is continued."""
    needs("offline")
    import minari

    check_int("episodes", episodes, 1)
    recording, dataset, done = config.recording(), None, 0
    if dataset_id in minari.list_local_datasets():
        dataset = minari.load_dataset(dataset_id)
        done = _resume(dataset, config, dataset_id)
    for batch in recording.batches(done // BATCH * BATCH, episodes):
        buffers = [_buffer(episode, config.questions) for episode in batch if episode.index >= done]
        if dataset is not None and buffers:
            dataset.update_dataset_from_buffer(buffers)
        elif dataset is None:
            dataset = _create(dataset_id, buffers, config)
        if progress is not None:
            progress(batch[-1].index + 1, episodes)


def _create(dataset_id: str, buffers: list[Any], config: ExportConfig) -> Any:
    import minari

    return minari.create_dataset_from_buffers(
        dataset_id,
        buffers,
        env=gym.make(config.env_id, observation="cells", texts=False, **config.options),
        algorithm_name=config.policy,
        description=json.dumps(asdict(config)),
        requirements=[f"groundling=={groundling.__version__}"],
        data_format="hdf5",
        jpeg_encoding=False,
    )


def _resume(dataset: Any, config: ExportConfig, dataset_id: str) -> int:
    """The number of episodes in a dataset of the same config; what an interrupted write left is removed."""
    import h5py

    if dataset.storage.metadata.get("description") != json.dumps(asdict(config)):
        raise InputError(f"dataset {dataset_id} must be an export with the same settings; choose another id")
    done = int(dataset.storage.total_episodes)
    with h5py.File(dataset.storage.data_path / "main_data.hdf5", "a") as file:
        for number in range(done, len(file)):
            del file[f"episode_{number}"]
    return done


def _buffer(episode: Episode, questions: bool) -> Any:
    from minari.data_collector import EpisodeBuffer

    steps = len(episode.rewards)
    observations = {
        "cells": episode.cells,
        "command": np.broadcast_to(episode.command, (steps + 1, len(episode.command))),
    }
    if questions:
        observations["question"] = episode.question
    return EpisodeBuffer(
        seed=episode.seed,
        options={"episode": episode.index},
        observations=observations,
        actions=episode.actions,
        rewards=episode.rewards,
        terminations=episode.terminated,
        truncations=episode.truncated,
    )

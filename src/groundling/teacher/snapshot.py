"""Checks of snapshots of episodes. The kernels check no bounds, so nothing unchecked may reach them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundling.errors import InputError, cut, show
from groundling.teacher.language_file import OBJECT
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import MAX_INDEX, EpisodeBatch, SentenceBatch
from groundling.world.catalog import FIRST_ICON, FLOOR, WALL

Arrays = Mapping[str, NDArray[Any]]


def own_arrays(arrays: Any) -> dict[str, NDArray[Any]]:
    """The arrays of a snapshot as plain arrays, without masks; whatever else it holds is left out."""
    if not isinstance(arrays, Mapping):
        raise InputError(f"snapshot must be named arrays as save_state() returns them, got {show(arrays)}")
    try:
        return {name: np.asarray(array) for name, array in arrays.items() if isinstance(array, np.ndarray)}
    except Exception as error:  # a damaged file of `numpy.savez`, whose arrays are only read here
        raise InputError(f"snapshot: its arrays cannot be read ({cut(str(error))})") from None


def check_array(arrays: Arrays, name: str, like: NDArray[Any], low: int | None = None, high: int | None = None) -> None:
    """Raise unless the array has the type and shape of `like`, and values from `low` to `high`."""
    array = arrays.get(name)
    if not isinstance(array, np.ndarray):
        raise InputError(f"snapshot must have the array {name!r}; save it with save_state()")
    if array.dtype != like.dtype or array.shape != like.shape:
        raise InputError(
            f"snapshot: {name} must be {like.dtype} of shape {like.shape}, got {array.dtype} of shape {array.shape}; "
            "it is from an env with other options"
        )
    if low is not None and array.size and (array.min() < low or (high is not None and array.max() > high)):
        raise InputError(f"snapshot: {name} must be from {low} to {high}, got {array.min()} to {array.max()}")


def restore_episodes(teacher: Teacher, arrays: Arrays, count: int) -> EpisodeBatch:
    """The `count` episodes of a snapshot, if they are possible states of this teacher's world."""
    like = teacher.empty(count)
    cells, steps, words = teacher.world.size**2, teacher.world.step_limit, len(teacher.lexicon)
    bounds: dict[str, tuple[int, int | None]] = {
        "seed": (0, None),
        "index": (0, MAX_INDEX),
        "state.grid": (FLOOR, teacher.catalog.cells - 1),
        "state.objects": (-1, cells - 1),
        "state.agent": (0, cells - 1),
        "state.target": (0, cells - 1),
        "state.step": (0, steps),
    }
    for sentence in ("command", "question"):
        for part, high in (
            ("type", len(teacher.language.types) - 1),
            ("template", None),
            ("slots", None),
            ("answer", words - 1),
        ):
            bounds[f"{sentence}.{part}"] = (-1, high)
        bounds[f"{sentence}.tokens"] = (0, words)
    for name, array in like.arrays().items():
        check_array(arrays, name, array, *bounds[name])
    episode = EpisodeBatch.of(arrays)
    _check_objects(episode)
    for sentences in (episode.command, episode.question):
        _check_sentences(teacher, sentences)
    return episode


def _check_objects(episode: EpisodeBatch) -> None:
    """Raise unless objects are listed first and stand on their icons, and agent and target are not on walls."""
    grid, objects = episode.state.grid, episode.state.objects
    present = objects >= 0
    on_icon = np.take_along_axis(grid, np.maximum(objects, 0).astype(np.int64), axis=1) >= FIRST_ICON
    listed_first = (present[:, :-1] >= present[:, 1:]).all()
    other = (grid != FLOOR) & (grid != WALL) & (grid < FIRST_ICON)
    if not listed_first or not on_icon[present].all() or other.any():
        raise InputError("snapshot: state.objects must be the positions of the icons on state.grid")
    for position in (episode.state.agent, episode.state.target):
        if (np.take_along_axis(grid, position[:, None].astype(np.int64), axis=1) == WALL).any():
            raise InputError("snapshot: agent and target must not be on a wall")


def _check_sentences(teacher: Teacher, sentences: SentenceBatch) -> None:
    """Raise unless templates and slots exist."""
    sizes = {name: len(words) for name, words in teacher.language.word_classes.items()}
    sizes[OBJECT] = len(teacher.catalog.classes)
    limits = np.array([sizes[kind] for kind in teacher.language.slots.values()])
    counts = np.array([len(type_.templates) for type_ in teacher.language.types])
    present = sentences.type >= 0
    if (sentences.slots >= limits).any() or (sentences.template[present] >= counts[sentences.type[present]]).any():
        raise InputError("snapshot: templates and slots must be those of the teacher's language")

"""Foreign and damaged snapshots for `env.load_state`: each is refused with an InputError, or the env goes on with it.

    python fuzz/snapshots.py --count 400 --seed 0 --bounds-checked 100

After an accepted snapshot, the env takes 200 random steps. The kernels check no bounds; so the first inputs are
repeated in a process with NUMBA_BOUNDSCHECK=1 and its own cache, where an index out of bounds is an IndexError.
Compiling for it takes a minute. Bars: no exception other than InputError, no crash, and at most 60 s and 1 GB for each
snapshot.
"""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from common import Rng, arguments, mutate_bytes, run

from groundling.vector_env import NavQAVectorEnv, NavVectorEnv

STEPS = 200
OPTIONS: list[dict[str, Any]] = [
    {"size": 7},
    {"size": 12, "objects": (16, 16), "walls": (0, 0)},
    {"size": 12, "objects": (1, 1), "walls": (0, 0)},
    {"size": 3, "objects": (1, 3), "walls": (0, 2)},
    {"size": 7, "curriculum_episodes": 50},
    {"size": 7, "curriculum_episodes": 50, "max_steps": 1},
    {"size": 7, "max_steps": 32767},
    {"size": 7, "type_balanced_fraction": 1.0},
    {"size": 7, "split": "zs1", "holdout": 50, "phase": "test"},
    {"size": 7, "split": "zs2", "holdout": 50, "observation": "pixels"},
]
"""Envs of different shapes and rules; `cells` is observed where nothing else is said."""
DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint64", "float32", "float64", "bool", "complex64"]
DTYPES += ["object", ">i2", ">i8", "U3", "S2", "datetime64[s]", "V2"]

Snapshot = dict[str, Any]


def make_env(options: dict[str, Any], questions: bool, num_envs: int) -> NavVectorEnv:
    kind = NavQAVectorEnv if questions else NavVectorEnv
    every: dict[str, Any] = {"observation": "cells", "texts": False, **options}
    return kind(num_envs, **every)


def make(rng: Rng, folder: Path) -> tuple[str, tuple[NavVectorEnv, Any, int]]:
    """An env and a snapshot for it: of an env with the same or other options, whole or with one array changed."""
    number, other = rng.integers(len(OPTIONS), size=2)
    num_envs, questions = int(rng.choice([1, 4, 4, 64])), bool(rng.integers(2))
    env = make_env(OPTIONS[number], questions, num_envs)
    env.reset(seed=int(rng.integers(1000)))
    foreign = rng.integers(4) == 0
    source = make_env(OPTIONS[other if foreign else number], bool(rng.integers(2)), num_envs)
    source.reset(seed=int(rng.integers(1000)))
    source.action_space.seed(int(rng.integers(1000)))
    for _ in range(rng.integers(20)):
        source.step(source.action_space.sample())
    snapshot: Any = source.save_state()
    what = f"env {OPTIONS[number]}" + (f", snapshot of {OPTIONS[other]}" if foreign else "")
    if not foreign or rng.integers(2):
        changed, snapshot = damaged_file(rng, snapshot) if rng.integers(8) == 0 else change(rng, snapshot)
        what += f", {changed}"
    return what, (env, snapshot, int(rng.integers(1000)))


def damaged_file(rng: Rng, snapshot: Snapshot) -> tuple[str, Any]:
    """A snapshot as NumPy reads it from a damaged file, if it reads it at all."""
    file = io.BytesIO()
    np.savez_compressed(file, **snapshot)
    for _ in range(20):
        what, data = mutate_bytes(rng, file.getvalue())
        with contextlib.suppress(Exception):
            return f"file: {what}", np.load(io.BytesIO(data))
    return "no file", None


def change(rng: Rng, snapshot: Snapshot) -> tuple[str, Any]:
    """A snapshot with one or two changes."""
    names = sorted(snapshot)
    changed: Any = dict(snapshot)
    texts = []
    for _ in range(rng.integers(1, 3)):
        name = names[rng.integers(len(names))]
        kind = str(rng.choice(["value", "value", "value", "values", "dtype", "shape", "memory", "no array", "names"]))
        texts.append(f"{name}: {kind}")
        array = np.array(snapshot[name])
        if kind in ("value", "values"):
            changed[name], text = change_values(rng, array, kind == "values")
        elif kind == "dtype":
            text = DTYPES[rng.integers(len(DTYPES))]
            changed[name] = np.zeros(array.shape, text) if text[0] in "USdV" else array.astype(text)
        elif kind == "shape":
            changed[name], text = change_shape(rng, array)
        elif kind == "memory":
            changed[name], text = change_memory(rng, array)
        elif kind == "no array":
            values: list[Any] = [
                array.tolist(),
                None,
                0,
                "x",
                array.tobytes(),
                memoryview(array.tobytes()),
                {},
                [array],
            ]
            changed[name] = values[rng.integers(len(values))]
            text = type(changed[name]).__name__
        else:
            text = str(rng.choice(["missing", "renamed", "extra", "empty", "list", "None"]))
            if text in ("missing", "renamed"):
                changed.pop(name, None)
            if text in ("renamed", "extra"):
                changed[f"{name}_"] = array
            if text in ("empty", "list", "None"):
                return text, {"empty": {}, "list": list(snapshot.items()), "None": None}[text]
        texts[-1] += f" {text}"
    return "; ".join(texts), changed


def change_values(rng: Rng, array: Any, all_of_them: bool) -> tuple[Any, str]:
    """Put an extreme or a near value at one place or everywhere."""
    if array.dtype == np.bool_:
        return ~array, "inverted"
    limits = np.iinfo(array.dtype)
    near = int(array.flat[rng.integers(array.size)]) + int(rng.integers(-2, 3))
    values = [limits.min, limits.max, limits.max - 1, limits.max - 100, *range(-2, 6), 48, 49, 185, 186, near]
    value = np.clip(values[rng.integers(len(values))], limits.min, limits.max)
    array.flat[slice(None) if all_of_them else int(rng.integers(array.size))] = value
    return array, str(value)


def change_shape(rng: Rng, array: Any) -> tuple[Any, str]:
    shapes = {
        "flat": array.reshape(-1),
        "one more axis": array[None],
        "shorter": array[..., :-1],
        "one column": array[..., :1],
        "fewer envs": array[:-1],
        "more envs": np.concatenate([array, array]),
        "wider": np.concatenate([array, array], axis=-1),
        "transposed": array.T,
        "no axis": array.reshape(-1)[0].reshape(()),
        "nothing": array[:0],
    }
    text = str(rng.choice(list(shapes)))
    return shapes[text], text


def change_memory(rng: Rng, array: Any) -> tuple[Any, str]:
    """The same values in another layout or class; the masked arrays also hide a bad value."""
    doubled = np.repeat(array, 2, axis=0)
    read_only = array.copy()
    read_only.flags.writeable = False
    hidden = np.ma.masked_array(array.copy(), np.zeros(array.shape, bool))
    hidden[0] = 30_000 if array.dtype != np.bool_ else True
    hidden[0] = np.ma.masked
    layouts = {
        "not contiguous": doubled[::2],
        "reversed": array[::-1].copy()[::-1],
        "Fortran order": np.asfortranarray(array),
        "read-only": read_only,
        "broadcast": np.broadcast_to(array[:1], array.shape),
        "masked": hidden,
        "matrix": np.asmatrix(array),
        "record": array.view(np.recarray),
        "unaligned": np.frombuffer(b"x" + array.tobytes(), array.dtype, offset=1).reshape(array.shape),
    }
    text = str(rng.choice(list(layouts)))
    return layouts[text], text


def use(made: tuple[NavVectorEnv, Any, int]) -> None:
    """Load a snapshot; if it is accepted, take random steps, save, and load what was saved."""
    env, snapshot, seed = made
    env.load_state(snapshot)
    env.action_space.seed(seed)
    for _ in range(STEPS):
        env.step(env.action_space.sample())
    env.load_state(env.save_state())
    assert env.observation_space.contains(env.step(env.action_space.sample())[0]), "observation out of its space"


def with_bounds_checks(count: int, seed: int) -> int:
    """Repeat the first inputs in a process whose kernels check bounds; return its exit code."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, __file__, "--count", str(count), "--seed", str(seed), "--bounds-checked", "0"]
        return subprocess.run(command, env=environment, check=False).returncode


def main() -> int:
    parser = arguments("Fuzz env.load_state.", 400)
    parser.add_argument("--bounds-checked", type=int, default=100, help="Inputs repeated with bounds checks.")
    options = parser.parse_args()
    checked = "NUMBA_BOUNDSCHECK" in os.environ
    for number, questions in enumerate((True, False)):  # compile before the workers are forked
        env = make_env(OPTIONS[number], questions, 4)
        env.reset(seed=0)
        use((env, env.save_state(), 0))
    code = run("snapshots" + " with bounds checks" * checked, options, make, use).show()
    if options.bounds_checked and options.only is None:
        code = max(code, with_bounds_checks(options.bounds_checked, options.seed))
    return code


if __name__ == "__main__":
    sys.exit(main())

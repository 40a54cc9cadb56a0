"""`groundling bench scale`: how time and memory grow with map side, classes, batch size and episodes.

Of the world here, of the agent in `bench_scale_agent`.
"""

import importlib.util
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from groundling.cli.play_minigrid import player
from groundling.episodes import play_step
from groundling.extras import needs
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import EpisodeBatch
from groundling.world.catalog import CELL_PIXELS, Catalog
from groundling.world.rendering import draw, view_cells
from groundling.world.types import WorldConfig

SIDES = (7, 15, 31, 63)
CLASSES = (119, 1000, 5000)
BATCHES = (16, 64, 256, 1024, 4096)
EPISODES = (1_000, 10_000, 100_000)
PIXELS_AT_ONCE = 24_000_000
"""Pixels drawn in one call, so that maps of all sizes use the same memory."""
BATCH = 256
Row = dict[str, float]


def measure(seconds: float) -> dict[str, Any]:
    """Cost per step against each quantity, with fitted exponents; every time is CPU time of this process."""
    parts: dict[str, list[Row]] = {
        "side": [side_row(side, seconds) for side in SIDES],
        "classes": [classes_row(n, seconds) for n in CLASSES],
        "batch": [world_row({"batch": n}, Teacher(), n, seconds) for n in BATCHES],
        "episodes": [episodes_row(n) for n in EPISODES],
    }
    return {"parts": parts, "exponents": exponents(parts)}


def exponents(parts: dict[str, list[Row]]) -> dict[str, float]:
    """The exponent e of cost = c x^e for each cost of each part; x is the number of cells, classes and so on."""
    fitted = {}
    for part, rows in parts.items():
        x = np.log([row["cells" if part == "side" else part] for row in rows])
        for name in rows[0]:
            if name not in ("side", "cells", part):
                fitted[f"{name} against {'cells' if part == 'side' else part}"] = slope(x, [row[name] for row in rows])
    return fitted


def slope(x: Any, costs: list[float]) -> float:
    """The slope of log(cost) over x."""
    return float(np.polyfit(x, np.log(np.maximum(costs, 1e-12)), 1)[0])


def catalog_of(classes: int) -> Catalog:
    """The built-in catalog, or a generated one."""
    built_in = Catalog.default()
    return built_in if classes == len(built_in.classes) else Catalog.load(f"procedural:{classes}")


def side_row(side: int, seconds: float) -> Row:
    """Costs on maps of one size, beside those of an empty Minigrid room of that size where it is installed."""
    frame = ((2 * side - 1) * CELL_PIXELS) ** 2
    walls = (0, round(15 * side**2 / 49))  # the density of the paper's maps
    teacher = Teacher(WorldConfig(size=side, walls=walls))
    sizes: Row = {"side": side, "cells": side**2}
    batch = max(8, min(BATCH, PIXELS_AT_ONCE // frame))
    row = world_row(sizes, teacher, batch, seconds)
    # With as many objects per cell, too: the teacher compares objects with each other.
    row["dense_step_us"] = world_row(sizes, Teacher(WorldConfig().resized(side)), batch, seconds, images=False)[
        "step_us"
    ]
    row |= agent_costs(side, seconds)
    if importlib.util.find_spec("minigrid") is not None:
        row["minigrid_us"] = minigrid_us(side, seconds)
    return row


def classes_row(classes: int, seconds: float) -> Row:
    """Costs with some number of classes on maps of 7 x 7."""
    teacher = Teacher(catalog=catalog_of(classes))
    return world_row({"classes": classes}, teacher, BATCH, seconds) | agent_costs(teacher, seconds)


def agent_costs(of: int | Teacher, seconds: float) -> Row:
    """Costs of the agent with a map side or a teacher, where PyTorch is installed."""
    if importlib.util.find_spec("torch") is None:
        return {}
    from groundling.cli.bench_scale_agent import class_costs, side_costs

    return side_costs(of, seconds) if isinstance(of, int) else class_costs(of, seconds)


def world_row(sizes: Row, teacher: Teacher, batch: int, seconds: float, images: bool = True) -> Row:
    """Microseconds of CPU time for a step of one env, with and without images, and bytes of the state of one env."""
    actions = np.random.default_rng(0).integers(0, 4, (16, batch))
    pictures = teacher.catalog.pictures[CELL_PIXELS]
    episode: EpisodeBatch = teacher.begin(0, np.arange(batch))
    pixels = (2 * teacher.world.size - 1) * CELL_PIXELS
    frames = np.zeros((batch if images else 0, pixels, pixels, 3), np.uint8)

    def play(rendering: bool) -> int:
        nonlocal episode
        for action in actions:
            step = play_step(teacher, episode, action)
            episode = teacher.reset(step.after, step.ended, step.after.index + batch)
            if rendering:
                draw(view_cells(episode.state), pictures, frames)
        return actions.size

    return {
        **sizes,
        "step_us": cpu_us(lambda: play(False), seconds),
        **({"drawn_us": cpu_us(lambda: play(True), seconds)} if images else {}),
        "state_bytes": sum(array.nbytes for array in episode.arrays().values()) / batch,
    }


def episodes_row(count: int) -> Row:
    """Microseconds of CPU time to begin an episode, and the peak of memory, for episodes in batches."""
    teacher = Teacher()
    teacher.begin(0, np.arange(1000))
    tracemalloc.start()
    start = time.process_time()
    for first in range(0, count, 1000):
        teacher.begin(0, first + np.arange(1000))
    spent = time.process_time() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"episodes": count, "begin_us": 1e6 * spent / count, "peak_bytes": float(peak)}


def cpu_us(run: Callable[[], int], seconds: float) -> float:
    """Microseconds of CPU time per operation of `run`, which returns how many it did; the best of three."""
    run()
    best = np.inf
    for _ in range(3):
        done, start = 0, time.process_time()
        while time.process_time() - start < seconds / 3:
            done += run()
        best = min(best, (time.process_time() - start) / done)
    return float(1e6 * best)


def minigrid_us(side: int, seconds: float) -> float:
    """The same for a step of Minigrid, without images, in an empty room of the same size."""
    from minigrid.envs.empty import EmptyEnv

    env: Any = EmptyEnv(size=side + 2)  # it counts the walls around the room
    return cpu_us(player(env, 3, 64), seconds)


def plot(result: dict[str, Any], path: Path) -> None:
    """Draw costs against each quantity, on logarithmic axes, with their exponents."""
    needs("study")
    from matplotlib.figure import Figure

    parts, fitted = result["parts"], result["exponents"]
    figure = Figure(figsize=(4 * len(parts), 3.6), layout="constrained")
    for axes, (part, rows) in zip(figure.subplots(1, len(parts)), parts.items(), strict=True):
        label = "cells" if part == "side" else part
        for name in (name for name in rows[0] if name.endswith("_us")):
            exponent = fitted[f"{name} against {label}"]
            costs = [row[name] for row in rows]
            axes.loglog([row[label] for row in rows], costs, marker="o", label=f"{name[:-3]}: {exponent:.2f}")
        axes.set_xlabel(label)
        axes.set_ylabel("CPU time, µs")
        axes.legend(title="exponent")
    figure.savefig(path)

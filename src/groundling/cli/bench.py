"""`groundling bench ...`: rates of this machine and their ratios, measured in one run."""

import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from groundling.cli.output import Json, OptionalCheckpoint, Threads, print_json, print_table, set_threads
from groundling.cli.own_models import AllowImport
from groundling.cli.play_minigrid import player
from groundling.episodes import play_step
from groundling.errors import check_float, check_int
from groundling.extras import needs
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import EpisodeBatch
from groundling.world.catalog import CELL_PIXELS
from groundling.world.rendering import draw, view_cells

app = tyro.extras.SubcommandApp()
BATCH = 1024
BABYAI = "BabyAI-GoToLocal-v0"
BABYAI_TILE = 22


@app.command
def world(
    seconds: Annotated[float, tyro.conf.arg(help="Seconds of measurement for each rate.")] = 3.0, as_json: Json = False
) -> None:
    """Benchmark the simulator on one core, beside NumPy copies and BabyAI."""
    steps, rendered = _ours(seconds)
    result: dict[str, Any] = {"steps": steps, "steps_rendered": rendered, "frame_copies": _copies(seconds)}
    result["rendered_to_copies"] = rendered / result["frame_copies"]
    if importlib.util.find_spec("minigrid") is not None:
        result["babyai_steps_rendered"] = _babyai(seconds)
        result["rendered_to_babyai"] = rendered / result["babyai_steps_rendered"]
    if as_json:
        return print_json(result)
    names = {
        "steps": "steps/s with the teacher, without rendering",
        "steps_rendered": f"steps/s with the teacher, rendered in batches of {BATCH}",
        "frame_copies": f"frames/s copied by NumPy in batches of {BATCH}",
        "rendered_to_copies": "rendered steps / copied frames",
        "babyai_steps_rendered": f"steps/s of {BABYAI}, rendered with tiles of {BABYAI_TILE} px",
        "rendered_to_babyai": "rendered steps / BabyAI's",
    }
    print_table("One core", ("", "rate or ratio"), [(names[key], value) for key, value in result.items()])


@app.command
def agent(
    seconds: Annotated[float, tyro.conf.arg(help="Seconds of measurement for each part.")] = 3.0,
    planner: Annotated[str, tyro.conf.arg(help="Planner of the model: mlp or value_iteration.")] = "value_iteration",
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Benchmark a training update, beside the reference implementation."""
    needs("agent")
    from groundling.cli.bench_agent import measure

    set_threads(threads)
    result = measure(seconds, planner)
    if as_json:
        return print_json(result)
    print_table("One update of 256 frames", ("", "ms, GFLOP/s or ratio"), list(result.items()))


@app.command
def learn(
    iterations: Annotated[int, tyro.conf.arg(help="Number of PPO iterations to measure.")] = 5,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Benchmark training with the preset fast: updates/s, steps/s and time by part."""
    needs("agent")
    from groundling.cli.bench_learn import measure

    set_threads(threads)
    result = measure(iterations)
    if as_json:
        return print_json(result)
    print_table("The fast preset", ("", "rate, fraction, ms or ratio"), list(result.items()))


@app.command
def scale(
    seconds: Annotated[float, tyro.conf.arg(help="Seconds of CPU time for each measurement.")] = 1.0,
    plot: Annotated[
        Path | None,
        tyro.conf.arg(metavar="FILE", help="Picture of the costs.", help_behavior_hint="(default: none)"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Benchmark how time and memory grow with map side, classes, batch size and episodes."""
    from groundling.cli import bench_scale

    check_float("seconds", seconds, 0.01)
    result = bench_scale.measure(seconds)
    if plot is not None:
        bench_scale.plot(result, plot)
    if as_json:
        return print_json(result)
    for part, rows in result["parts"].items():
        print_table(f"Cost against {part}, CPU time", tuple(rows[0]), [tuple(row.values()) for row in rows])
    print_table("cost = c x^e", ("", "e"), list(result["exponents"].items()))


@app.command
def page(
    checkpoint: OptionalCheckpoint = "normal",
    clients: Annotated[int, tyro.conf.arg(help="Number of concurrent clients.")] = 50,
    steps: Annotated[int, tyro.conf.arg(help="Number of environment steps of each client.")] = 40,
    pause: Annotated[float, tyro.conf.arg(help="Seconds between the steps of a client.")] = 0.25,
    allow_import: AllowImport = False,
    as_json: Json = False,
) -> None:
    """Benchmark the latency of a step on the web page with many clients."""
    needs("agent")
    needs("page")
    from groundling.cli.bench_page import measure

    check_int("clients", clients, 1)
    check_int("steps", steps, 1)
    check_float("pause", pause, 0)
    result = measure(checkpoint, clients, steps, pause, allow_import)
    if as_json:
        return print_json(result)
    print_table(f"{clients} clients of the page", ("", "ms, count or rate"), list(result.items()))


def rate(run: Callable[[], int], seconds: float) -> float:
    """Operations per second of `run`, which returns how many it did. The best of three measurements."""
    run()
    rates = []
    for _ in range(3):
        done, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds / 3:
            done += run()
        rates.append(done / (time.perf_counter() - start))
    return max(rates)


def _ours(seconds: float) -> tuple[float, float]:
    teacher = Teacher()
    actions = np.random.default_rng(0).integers(0, 4, (64, BATCH))
    pictures = teacher.catalog.pictures[CELL_PIXELS]
    side = 13 * CELL_PIXELS
    frames = np.zeros((BATCH, side, side, 3), np.uint8)
    episode: EpisodeBatch = teacher.begin(0, np.arange(BATCH))

    def play(rendering: bool) -> int:
        nonlocal episode
        for action in actions:
            step = play_step(teacher, episode, action)
            episode = teacher.reset(step.after, step.ended, step.after.index + BATCH)
            if rendering:
                draw(view_cells(episode.state), pictures, frames)
        return actions.size

    return rate(lambda: play(False), seconds), rate(lambda: play(True), seconds)


def _copies(seconds: float) -> float:
    side = 13 * CELL_PIXELS
    frames = np.random.default_rng(0).integers(0, 256, (BATCH, side, side, 3), np.uint8)
    batch = np.zeros_like(frames)

    def copy() -> int:
        for k in range(BATCH):
            batch[k] = frames[k]
        return BATCH

    return rate(copy, seconds)


def _babyai(seconds: float) -> float:
    import gymnasium
    import minigrid.wrappers

    wrapper: Any = minigrid.wrappers.RGBImgPartialObsWrapper
    env = wrapper(gymnasium.make(BABYAI), tile_size=BABYAI_TILE)
    return rate(player(env, 7, 256), seconds)

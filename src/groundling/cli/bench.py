"""`groundling bench ...`: rates of this machine, and the ratios between them, all measured in one run."""

import contextlib
import importlib.util
import io
import time
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import tyro

from groundling.cli.output import Json, print_json, print_table
from groundling.errors import InputError
from groundling.extras import needs
from groundling.teacher.teacher import EpisodeBatch, Teacher
from groundling.world.catalog import CELL_PIXELS
from groundling.world.rendering import draw, view_cells

app = tyro.extras.SubcommandApp()
BATCH = 1024
BABYAI = "BabyAI-GoToLocal-v0"
BABYAI_TILE = 22


@app.command
def world(
    seconds: Annotated[float, tyro.conf.arg(help="How long to measure each rate.")] = 3.0, as_json: Json = False
) -> None:
    """Steps a second of one core with and without drawing, beside NumPy's copy of frames and BabyAI (if installed)."""
    steps, drawn = _ours(seconds)
    result: dict[str, Any] = {"steps": steps, "steps_drawn": drawn, "frame_copies": _copies(seconds)}
    result["drawn_to_copies"] = drawn / result["frame_copies"]
    if importlib.util.find_spec("minigrid") is not None:
        result["babyai_steps_drawn"] = _babyai(seconds)
        result["drawn_to_babyai"] = drawn / result["babyai_steps_drawn"]
    if as_json:
        return print_json(result)
    names = {
        "steps": "steps/s with the teacher, nothing drawn",
        "steps_drawn": f"steps/s with the teacher, drawn into a batch of {BATCH}",
        "frame_copies": f"frames/s that NumPy copies into a batch of {BATCH}",
        "drawn_to_copies": "drawn steps to copies",
        "babyai_steps_drawn": f"steps/s of {BABYAI}, drawn with tiles of {BABYAI_TILE} px",
        "drawn_to_babyai": "our drawn steps to BabyAI's",
    }
    print_table("One core", ("", "rate or ratio"), [(names[key], value) for key, value in result.items()])


@app.command
def agent(
    seconds: Annotated[float, tyro.conf.arg(help="How long to measure each part.")] = 3.0,
    planner: Annotated[str, tyro.conf.arg(help="mlp or value_iteration.")] = "value_iteration",
    as_json: Json = False,
) -> None:
    """A training update of 256 frames of real episodes: ours against the plain implementation and matrix products."""
    needs("agent")
    from groundling.cli.bench_agent import measure

    result = measure(seconds, planner)
    if as_json:
        return print_json(result)
    print_table("One update of 256 frames", ("", "ms, GFLOP/s or ratio"), list(result.items()))


@app.command
def learn(
    rounds: Annotated[int, tyro.conf.arg(help="Rounds of PPO to measure.")] = 5,
    as_json: Json = False,
) -> None:
    """The fast preset: updates and steps a second, the time spent by part, and an update done plainly."""
    needs("agent")
    from groundling.cli.bench_learn import measure

    result = measure(rounds)
    if as_json:
        return print_json(result)
    print_table("The fast preset", ("", "rate, share, ms or ratio"), list(result.items()))


@app.command
def page(
    checkpoint: Annotated[
        tyro.conf.Positional[str], tyro.conf.arg(help="A file, a run's folder or shipped weights.")
    ] = "normal",
    clients: Annotated[int, tyro.conf.arg(help="That walk at the same time.")] = 50,
    steps: Annotated[int, tyro.conf.arg(help="Of each client.")] = 40,
    pause: Annotated[float, tyro.conf.arg(help="Seconds between steps; the page's fastest if not given.")] = 0.25,
    as_json: Json = False,
) -> None:
    """How long clients of the real server wait for a step with its explanation, many at once."""
    needs("agent")
    needs("page")
    from groundling.cli.bench_page import measure

    if clients < 1 or steps < 1 or pause < 0:
        raise InputError(f"clients {clients}, steps {steps}, pause {pause:g}: 1 or more, and the pause 0 or more")
    result = measure(checkpoint, clients, steps, pause)
    if as_json:
        return print_json(result)
    print_table(f"{clients} clients of the page", ("", "ms, count or rate"), list(result.items()))


def rate(run: Callable[[], int], seconds: float) -> float:
    """How many things a second `run` does; it returns how many it did. The best of three spells."""
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

    def play(drawing: bool) -> int:
        nonlocal episode
        for action in actions:
            episode, outcome = teacher.step(episode, action)
            episode = teacher.reset(episode, outcome.terminated | outcome.truncated, episode.index + BATCH)
            if drawing:
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
    env.reset(seed=0)
    actions = np.random.default_rng(0).integers(0, 7, 256).tolist()

    def play() -> int:
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return len(actions)

    with contextlib.redirect_stdout(io.StringIO()):  # BabyAI prints every map that it rejects
        return rate(play, seconds)

"""Memory over many environment steps: a vector env with images, questions and texts, and one with cells, in turn.

    python fuzz/memory.py --steps 10000000

The steps are taken in ten equal parts; the memory in use after the last part is compared with that after the first.
Bar: it grows by at most 8 MB. Needs Linux.
"""

import argparse
import gc
import resource
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import groundling  # noqa: F401 - registers the envs

MAX_GROWTH_MB = 8.0
PARTS = 10
ENVS = 512
KINDS: tuple[dict[str, Any], ...] = (
    {"id": "groundling/NavQA-v0", "observation": "pixels"},
    {"id": "groundling/NavQA-v0", "observation": "cells", "split": "zs2", "holdout": 50},
)
"""The envs that are stepped, each for its part of the steps; images are one step in fifty."""
FRACTIONS = (0.02, 0.98)


def used_mb() -> float:
    """Memory of this process that is in use now."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / (1 << 20)


def play(env: Any, steps: int, rng: np.random.Generator) -> None:
    """Random moves and answers; every hundredth step, texts of infos are read and the state is saved and loaded."""
    for step in range(max(1, steps // ENVS)):
        actions = np.stack([rng.integers(0, 4, ENVS), rng.integers(0, 186, ENVS)], 1)
        *_, info = env.step(actions)
        if step % 100 == 0:
            _ = info["question"][0]
            env.unwrapped.load_state(env.unwrapped.save_state())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=10_000_000, help="Number of environment steps in all.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of episodes and actions.")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    envs = [gym.make_vec(num_envs=ENVS, **kind) for kind in KINDS]
    for env in envs:
        env.reset(seed=options.seed)
    start = time.process_time()
    memory = []
    for part in range(PARTS):
        for env, fraction in zip(envs, FRACTIONS, strict=True):
            play(env, round(options.steps * fraction / PARTS), rng)
        memory.append(used_mb())
        print(f"{(part + 1) * options.steps // PARTS:12,} steps: {memory[-1]:.1f} MB", flush=True)
    growth = memory[-1] - memory[0]
    print(f"growth {growth:+.1f} MB, {options.steps / (time.process_time() - start):,.0f} steps per CPU second")
    return int(growth > MAX_GROWTH_MB)


if __name__ == "__main__":
    sys.exit(main())

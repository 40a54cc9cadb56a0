"""Random options of the environments: refused at construction with an InputError, or no reset or step ever fails.

    python fuzz/env_options.py --count 200 --seed 0

Each accepted set of options is played for 5,000 random steps with 64 envs at a time. Bars: no exception other than an
InputError at construction, and at most 60 s and 1 GB for each set.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from common import Rng, arguments, run

from groundling.env import NavQAVectorEnv, NavVectorEnv
from groundling.errors import InputError
from groundling.teacher.grammar import TYPES

STEPS = 5120
NUM_ENVS = 64


def make(rng: Rng, _: Path) -> tuple[str, Any]:
    """A set of options: extreme holdouts, early curricula, balanced types, small and full maps."""
    size = int(rng.choice([3, 3, 4, 5, 7, 7, 12]))
    most = int(rng.integers(1, min(16, size * size - 1) + 1))
    walls = int(rng.integers(0, max(1, size * size - most)))
    options: dict[str, Any] = {
        "size": size,
        "objects": (int(rng.integers(1, most + 1)), most),
        "walls": (int(rng.integers(0, walls + 1)), walls),
        "max_steps": int(rng.choice([1, 5, 28, 100])),
        "split": str(rng.choice(["normal", "zs1", "zs2", "novel"])),
        "holdout": float(rng.choice([1, 5, 20, 50, 90, 95, 99, 99.5])),
        "split_seed": int(rng.integers(0, 5)),
        "phase": str(rng.choice(["train", "test"])),
        "curriculum_episodes": int(rng.choice([0, 0, 10, 1000])),
        "type_balanced_fraction": float(rng.choice([0, 0, 0.3, 1.0])),
        "observation": str(rng.choice(["cells", "pixels"], p=[0.9, 0.1])),
        "answer_reward": float(rng.choice([0, 0.5])),
        "texts": bool(rng.integers(2)),
    }
    if rng.random() < 0.3:
        options["types"] = tuple(rng.choice(TYPES, size=int(rng.integers(1, 4)), replace=False).tolist())
    questions = bool(rng.integers(2))
    return f"{'NavQA' if questions else 'Nav'} {options}", (options, questions, int(rng.integers(1 << 30)))


def use(made: tuple[dict[str, Any], bool, int]) -> str:
    """Construct the env, which may refuse the options, and play; an InputError in play is a failure."""
    options, questions, seed = made
    envs = (NavQAVectorEnv if questions else NavVectorEnv)(NUM_ENVS, **options)
    try:
        envs.reset(seed=seed)
        envs.action_space.seed(seed)
        for _ in range(STEPS // NUM_ENVS):
            envs.step(envs.action_space.sample())
    except InputError as error:
        raise RuntimeError(f"accepted options failed later: {error}") from error
    return f"{STEPS} steps"


def main() -> int:
    options = arguments("Fuzz the options of the environments.", 200).parse_args()
    for kind in (NavQAVectorEnv, NavVectorEnv):  # compile before the workers are forked
        envs = kind(2)
        envs.reset(seed=0)
        envs.step(np.zeros_like(envs.action_space.sample()))
    report = run("env options", options, make, use)
    code = report.show()
    print(f"{report.count('accepted') * STEPS:,} env steps; reasons of refusals:")
    report.show_reasons("refused", 5)
    return code


if __name__ == "__main__":
    sys.exit(main())

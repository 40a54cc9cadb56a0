"""Random options of the environments: refused at construction with an InputError, or no reset or step ever fails.

    python fuzz/env_options.py --count 200 --seed 0

Maps are small, large or almost full, holdouts extreme, curricula short, and one set in ten has an invalid option. Each
accepted set is played for 6,000 random steps, which is a million in total. Bars: no exception other than an InputError
at construction, at most 60 s for a reset or a step, and at most 1 GB.
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import MAX_SECONDS, Rng, arguments, run
from gymnasium.vector import AutoresetMode
from icon_folders import write_icons

from groundling.errors import InputError
from groundling.teacher.invented_words import LEXICONS
from groundling.teacher.language import Language
from groundling.teacher.splits import JOINT, KINDS
from groundling.vector_env import NavQAVectorEnv, NavVectorEnv
from groundling.world.map_generation import GENERATORS
from groundling.world.types import FREE_CELLS, MAX_OBJECTS

SET_SECONDS = 600.0
INVALID: tuple[Any, ...] = (None, -1, 0, 1.5, 1e308, float("nan"), 10**30, 10**5000, "x", "", (), (2, 1), [0], {}, True)

Made = tuple[type[NavVectorEnv], int, dict[str, Any], int, int]
"""The class, the number of envs, their options, a seed, and the number of steps to play."""


class Maker:
    """Makes sets of options; some use a folder of few icons."""

    def __init__(self, icons: Path, steps: int) -> None:
        self.icons, self.steps = icons, steps

    def __call__(self, rng: Rng, _: Path) -> tuple[str, Made]:
        size = int(rng.choice([3, 3, 4, 5, 7, 7, 7, 12, 30, 64]))
        objects = int(rng.integers(1, min(MAX_OBJECTS, size * size - 1 - FREE_CELLS) + 1))
        room = size * size - 1 - FREE_CELLS - objects
        walls = int(rng.choice([0, room // 4, room // 2, room, int(rng.integers(room + 1))]))
        options: dict[str, Any] = {
            "size": size,
            "objects": (int(rng.choice([1, objects])), objects),
            "walls": (int(rng.choice([0, walls])), walls),
            "max_steps": (None, 1, 5, 28, 100, 32767)[rng.integers(6)],
            "split": str(rng.choice(["zs1", *KINDS, JOINT])),
            "holdout": float(rng.choice([1, 5, 20, 50, 90, 99, 99.9])),
            "split_seed": int(rng.integers(100)),
            "phase": str(rng.choice(["train", "test"])),
            "curriculum_episodes": int(rng.choice([0, 0, 1, 10, 1000, 10**12])),
            "type_balanced_fraction": float(rng.choice([0, 0, 0.3, 1.0])),
            "observation": str(rng.choice(["cells", "pixels", "text"], p=[0.8, 0.1, 0.1])),
            "lexicon": str(rng.choice(LEXICONS, p=[0.8, 0.1, 0.1])),
            "lexicon_seed": int(rng.integers(100)),
            "mark_target": bool(rng.integers(2)),
            "maps": str(rng.choice(["open", "open", *GENERATORS])),
            "rewards": {"right_answer": float(rng.choice([0, 0.5]))},
            "texts": bool(rng.integers(2)),
        }
        if rng.integers(4) == 0:
            options["types"] = tuple(
                rng.choice(Language.paper().type_names, size=int(rng.integers(1, 4)), replace=False).tolist()
            )
        if rng.integers(10) == 0:
            options["icons"] = self.icons
        if rng.integers(10) == 0:
            options[str(rng.choice(list(options)))] = INVALID[rng.integers(len(INVALID))]
        kind = NavQAVectorEnv if rng.integers(2) else NavVectorEnv
        num_envs = int(rng.choice([1, 4] if size > 12 else [1, 8, 64]))
        shown = {name: type(value).__name__ if value == 10**5000 else value for name, value in options.items()}
        what = f"{num_envs} x {kind.__name__} {shown}"
        return what, (kind, num_envs, options, int(rng.integers(1 << 30)), self.steps)


def use(made: Made) -> str:
    """Construct the envs, which may refuse the options, and play; an InputError in play is a failure."""
    kind, num_envs, options, seed, steps = made
    modes = list(AutoresetMode)[:2]  # those without resets by hand
    envs = kind(num_envs, autoreset_mode=modes[seed % 2], **options)
    envs.action_space.seed(seed)
    slowest = 0.0
    try:
        for step in range(1 + steps // num_envs):
            start = time.monotonic()
            if step == 0:
                envs.reset(seed=seed)
            else:
                envs.step(envs.action_space.sample())
            slowest = max(slowest, time.monotonic() - start)
    except InputError as error:
        raise RuntimeError(f"accepted options failed in step {step}: {error}") from error
    assert slowest <= MAX_SECONDS, f"a step of {slowest:.0f} s"
    return f"{slowest:.3f}"


def main() -> int:
    parser = arguments("Fuzz the options of the environments.", 200)
    parser.add_argument("--steps", type=int, default=6000, help="Env steps of each accepted set of options.")
    parser.set_defaults(seconds=SET_SECONDS)
    options = parser.parse_args()
    for kind in (NavQAVectorEnv, NavVectorEnv):  # compile before the workers are forked
        envs = kind(2)
        envs.reset(seed=0)
        envs.step(envs.action_space.sample())
    with tempfile.TemporaryDirectory() as name:
        write_icons(np.random.default_rng(0), Path(name))
        report = run("env options", options, Maker(Path(name), options.steps), use)
    code = report.show()
    accepted = [result for result in report.results if result.outcome == "accepted"]
    if accepted:
        slowest = max(accepted, key=lambda result: float(result.text))
        print(f"{len(accepted) * options.steps:,} env steps; the slowest took {slowest.text} s: {slowest.what}")
    print("reasons of refusals:")
    report.show_reasons("refused", 8)
    return code


if __name__ == "__main__":
    sys.exit(main())

"""Random actions in an env of Minigrid, to compare its speed."""

import contextlib
import io
from collections.abc import Callable
from typing import Any

import numpy as np


def player(env: Any, actions: int, count: int) -> Callable[[], int]:
    """A function that takes `count` random ones of the first `actions` actions, resets where needed, and returns their
    number; nothing is printed (BabyAI prints every rejected map)."""
    chosen = np.random.default_rng(0).integers(0, actions, count).tolist()
    with contextlib.redirect_stdout(io.StringIO()):
        env.reset(seed=0)

    def play() -> int:
        with contextlib.redirect_stdout(io.StringIO()):
            for action in chosen:
                _, _, terminated, truncated, _ = env.step(action)
                if terminated or truncated:
                    env.reset()
        return count

    return play

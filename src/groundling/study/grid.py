"""The grid of runs: every method, split, share held out and seed of the study, as data."""

import fnmatch
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from groundling.errors import InputError
from groundling.learn.config import PRESETS, TrainConfig
from groundling.study.tables import METHODS

HOLDOUTS = (12.5, 20.0, 50.0, 66.7, 90.0)
UPDATES = {
    # SAN never reaches the accuracy that ends the first stage, and is level after 700 updates; ours needs 850.
    "ca": (1000, 100),
    "san": (1000, 100),
    # Their CNN looks at whole pictures, which takes ten times as long: a third of the rounds are an hour's work.
    "vl": (1000, 30),
    "ce": (1000, 30),
}
"""Of both stages, at the most; others have those of the preset."""


@dataclass(frozen=True)
class Run:
    """A training run of the study, and its test."""

    config: TrainConfig
    episodes: int = 5000
    """Of the test, as triggered."""
    episodes_per_type: int = 1000
    """Of each sentence type's own."""

    @property
    def name(self) -> str:
        config = self.config
        held = config.split if config.split == "normal" else f"{config.split}-{config.holdout:g}"
        return f"{config.agent.method}-{held}-{config.seed}"

    @property
    def key(self) -> str:
        """Of the content: runs with the same key are the same, and one that is finished is never redone."""
        content = [self.config.to_dict(), self.episodes, self.episodes_per_type]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:10]

    @property
    def folder(self) -> str:
        return f"{self.name}-{self.key}"

    @property
    def file(self) -> str:
        """Of the result."""
        return f"{self.folder}.json"


def run(method: str, split: str = "normal", holdout: float = 50.0, seed: int = 0) -> Run:
    """A run of the preset `fast` with any method."""
    fast = PRESETS["fast"]
    first, second = UPDATES.get(method, (fast.questions.updates, fast.ppo.updates))
    config = replace(
        fast,
        agent=replace(fast.agent, method=method),
        questions=replace(fast.questions, updates=first),
        ppo=replace(fast.ppo, updates=second),
        # To the others a misheard word is lost; NAVA, which has rewards alone to learn words from, learns none then.
        word_dropout=fast.word_dropout if method == "ours" else 0.0,
        split=split,
        holdout=holdout,
        seed=seed,
    )
    return Run(config)


GRID = (
    *(run(method, seed=seed) for method in METHODS for seed in range(4)),
    *(run(method, split, x) for method in ("ours", "ca", "san") for split in ("zs1", "zs2") for x in HOLDOUTS),
    *(run("ours", split, 90.0, seed=seed) for split in ("zs1", "zs2") for seed in range(1, 4)),
)
"""The paper's own grid, and three more seeds of ours where most is held out, and seeds differ most."""


def chosen(only: Sequence[str], grid: Sequence[Run] = GRID) -> list[Run]:
    """Those runs whose names match any of some patterns, such as `ours-zs2-*`; all, if there is none."""
    for pattern in only:
        if not any(fnmatch.fnmatch(run.name, pattern) for run in grid):
            raise InputError(f"--only {pattern!r}: no run has such a name; there are {', '.join(r.name for r in grid)}")
    return [run for run in grid if not only or any(fnmatch.fnmatch(run.name, pattern) for pattern in only)]

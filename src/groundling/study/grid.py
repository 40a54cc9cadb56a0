"""The grid of runs: every method, split, holdout percentage and seed of the study, as data."""

import fnmatch
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from groundling.agent import find_model
from groundling.errors import InputError
from groundling.learn.config import TrainConfig
from groundling.learn.presets import PRESETS
from groundling.study.tables import METHODS

HOLDOUTS = (12.5, 20.0, 50.0, 66.7, 90.0)
BUDGETS = {
    # SAN never reaches the accuracy that ends the first stage, and stops improving after 700 updates; ours needs 850.
    "ca": (1000, 100),
    "san": (1000, 100),
    # Their CNN processes whole images, which takes ten times as long: a third of the iterations take an hour.
    "vl": (1000, 30),
    "ce": (1000, 30),
}
"""Maximum updates of the first stage and iterations of the second; other methods use those of the preset."""


@dataclass(frozen=True)
class Run:
    """A training run of the study, and its evaluation."""

    config: TrainConfig
    episodes: int = 5000
    """Evaluation episodes of the natural distribution."""
    episodes_per_type: int = 1000
    """Evaluation episodes for each sentence type."""

    @property
    def name(self) -> str:
        config = self.config
        split = config.split if config.split == "normal" else f"{config.split}-{config.holdout:g}"
        method = config.agent.method.replace(":", ".")  # a colon is not allowed in all file names
        return f"{method}-{split}-{config.seed}"

    @property
    def key(self) -> str:
        """A hash of the config: runs with the same key are the same, and a finished one is never repeated."""
        content = [self.config.to_dict(), self.episodes, self.episodes_per_type]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:10]

    @property
    def folder(self) -> str:
        return f"{self.name}-{self.key}"

    @property
    def file(self) -> str:
        """Name of the result file."""
        return f"{self.folder}.json"


def run(method: str, split: str = "normal", holdout: float = 50.0, seed: int = 0) -> Run:
    """A run of the preset `fast` with any method; a model of your own must be imported."""
    fast = PRESETS["fast"]
    first, second = BUDGETS.get(method, (fast.qa_pretraining.updates, fast.ppo.iterations))
    config = replace(
        fast,
        agent=find_model(method).Config.like(fast.agent, method),
        qa_pretraining=replace(fast.qa_pretraining, updates=first),
        ppo=replace(fast.ppo, iterations=second),
        # Others encode a sentence as one vector, from which a dropped word is lost; NAVA learns words from rewards
        # alone, and learns none with word dropout.
        word_dropout=fast.word_dropout if method == "ours" else 0.0,
        split=split,
        holdout=holdout,
        split_seed=seed,  # so that scores over seeds are also scores over what is held out
        seed=seed,
    )
    return Run(config)


def normal_runs(method: str, seeds: int = 4) -> list[Run]:
    """Seeds 0 .. `seeds` - 1 on normal sentences."""
    return [run(method, seed=seed) for seed in range(seeds)]


def zero_shot_runs(method: str) -> list[Run]:
    """Both kinds of zero-shot sentences with all holdout percentages."""
    return [run(method, split, x) for split in ("zs1", "zs2") for x in HOLDOUTS]


GRID = (
    *normal_runs("ours", 20),
    *(run for method in METHODS if method != "ours" for run in normal_runs(method)),
    *(run for method in ("ours", "ca", "san") for run in zero_shot_runs(method)),
    *(run("ours", split, 90.0, seed=seed) for split in ("zs1", "zs2") for seed in range(1, 5)),
)
"""The paper's grid, with more seeds of ours: twenty on normal sentences, five where most is held out."""


def select_runs(
    only: Sequence[str], grid: Sequence[Run] = GRID, language: str = "paper", icons: str | None = None
) -> list[Run]:
    """The runs whose names match any of the patterns, such as `ours-zs2-*`; all runs of the grid without a pattern.

    A whole name, METHOD-SPLIT-HOLDOUT-SEED, may also be a run outside the grid, such as `ours-category-50-0`.
    """
    named = [run for pattern in only if (run := _run_of_name(pattern)) is not None]
    names = {run.name for run in grid}
    grid = [*grid, *(run for run in named if run.name not in names)]
    for pattern in only:
        if not any(fnmatch.fnmatch(run.name, pattern) for run in grid):
            raise InputError(
                f"--only must match a run name, or be METHOD-SPLIT-HOLDOUT-SEED, got {pattern!r}; the runs are "
                f"{', '.join(sorted(names))}"
            )
    chosen = [run for run in grid if not only or any(fnmatch.fnmatch(run.name, pattern) for pattern in only)]
    return [replace(run, config=replace(run.config, language=language, icons=icons)) for run in chosen]


def _run_of_name(name: str) -> Run | None:
    """The run of a whole name; None for a pattern or another text."""
    match = re.fullmatch(r"(?P<method>[^-*?]+)-(?:normal|(?P<split>[^-*?]+)-(?P<holdout>[\d.]+))-(?P<seed>\d+)", name)
    if match is None:
        return None
    return run(match["method"], match["split"] or "normal", float(match["holdout"] or 50), int(match["seed"]))

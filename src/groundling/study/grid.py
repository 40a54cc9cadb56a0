"""The grid of runs: every method, split, holdout percentage and seed of the study, as data."""

import fnmatch
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from groundling.agent import find_model
from groundling.errors import InputError
from groundling.learn.config import TrainConfig
from groundling.learn.presets import PRESETS
from groundling.learn.stage_config import ActorCriticConfig
from groundling.study.tables import METHODS

HOLDOUTS = (12.5, 20.0, 50.0, 66.7, 90.0)
COMPARISON_SPLITS = (("normal", 50.0), ("zs1", 50.0), ("zs2", 50.0), ("zs2", 90.0))
"""Split and holdout percentage of the runs with two seeds of each method that ours is compared with."""
PATIENCE, MAX_FRAMES, VALIDATION_EPISODES = 10, 3_200_000, 1000
"""The rule that ends the training of the methods that ours is compared with: 10 evaluations, one every 10 iterations,
bring no better score on 1,000 validation episodes; or the paper's number of frames is reached. The best agent on these
episodes is tested."""
MAX_ITERATIONS = 1500
"""More than MAX_FRAMES allows, and the horizon over which learning rates decay."""
LR_SCALES = (1 / 3, 1.0, 3.0)
"""The declared search: all learning rates of a method are multiplied by one of these."""
CHOSEN_LR_SCALE = {"ca": 1.0, "san": 1.0, "vl": 1.0, "ce": 1.0, "nava": 1.0, "ours": 1.0}
"""The scale with the best validation score in the search of each method; see `groundling study search`."""


@dataclass(frozen=True)
class Run:
    """A training run of the study, and its evaluation."""

    config: TrainConfig
    episodes: int = 5000
    """Evaluation episodes of the natural distribution."""
    episodes_per_type: int = 1000
    """Evaluation episodes for each sentence type."""
    label: str = ""
    """Name of the recipe in tables and figures, if it is not the method's own; the config determines everything."""

    @property
    def method(self) -> str:
        """The recipe's name in tables and figures."""
        return self.label or self.config.agent.method

    @property
    def name(self) -> str:
        config = self.config
        split = config.split if config.split == "normal" else f"{config.split}-{config.holdout:g}"
        method = self.method.replace(":", ".")  # a colon is not allowed in all file names
        return f"{method}-{split}-{config.seed}"

    @property
    def key(self) -> str:
        """A hash of the config: runs with the same key are the same, and a finished one is never repeated."""
        content = [hashed_config(self.config), self.episodes, self.episodes_per_type]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:10]

    @property
    def folder(self) -> str:
        """Folder of the training, which does not depend on the number of evaluation episodes."""
        return f"{self.name}-{Run(self.config).key}"

    @property
    def file(self) -> str:
        """Name of the result file."""
        return f"{self.name}-{self.key}.json"


def hashed_config(config: TrainConfig) -> dict[str, Any]:
    """A config as it is hashed: fields that were added after the first results are left out at their defaults.

    Those defaults do what was done before the fields existed, so the keys of results stay the same.
    """
    record = config.to_dict()
    defaults = {"": TrainConfig(actor_critic=ActorCriticConfig(updates=1)), "actor_critic": ActorCriticConfig()}
    for part, names in LATER_FIELDS.items():
        fields = record[part] if part else record
        for name in names:
            if fields[name] == getattr(defaults[part], name):
                del fields[name]
    return record


LATER_FIELDS = {
    "": ("patience", "max_frames"),
    "actor_critic": (
        "acting_interval",
        "optimizer",
        "epsilon",
        "initial_accumulator",
        "accumulator_decay",
        "momentum",
        "loss_reduction",
        "max_grad_norm",
    ),
}
"""Fields of the config, and of its parts, that were added after the first results."""


def run(method: str, split: str = "normal", holdout: float = 50.0, seed: int = 0, lr_scale: float | None = None) -> Run:
    """A run of the preset `fast` with any method; a model of your own must be imported.

    Methods other than ours are trained until they stop improving, with the learning rate of their search.
    """
    fast = PRESETS["fast"]
    config = replace(
        fast,
        agent=find_model(method).Config.like(fast.agent, method),
        # Others encode a sentence as one vector, from which a dropped word is lost; NAVA learns words from rewards
        # alone, and learns none with word dropout.
        word_dropout=fast.word_dropout if method == "ours" else 0.0,
        split=split,
        holdout=holdout,
        split_seed=seed,  # so that scores over seeds are also scores over what is held out
        seed=seed,
    )
    if method != "ours":
        config = until_plateau(config)
    return Run(scale_lrs(config, CHOSEN_LR_SCALE.get(method, 1.0) if lr_scale is None else lr_scale))


def until_plateau(config: TrainConfig) -> TrainConfig:
    """The same training, ended by the rule of the comparisons."""
    ppo = replace(config.ppo, iterations=MAX_ITERATIONS)
    return replace(config, ppo=ppo, eval_episodes=VALIDATION_EPISODES, patience=PATIENCE, max_frames=MAX_FRAMES)


def scale_lrs(config: TrainConfig, scale: float) -> TrainConfig:
    """The same training with all learning rates multiplied by a number."""
    if scale == 1:
        return config
    ppo = {name: scale * getattr(config.ppo, name) for name in ("lr", "planner_lr", "sharpness_lr")}
    return replace(
        config,
        qa_pretraining=replace(config.qa_pretraining, lr=scale * config.qa_pretraining.lr),
        ppo=replace(config.ppo, **ppo),
    )


def preset_run(preset: str, split: str = "normal", holdout: float = 50.0, seed: int = 0) -> Run:
    """A run of a preset of the paper's recipe."""
    config = replace(PRESETS[preset], split=split, holdout=holdout, split_seed=seed, seed=seed)
    return Run(config, label=preset.replace("-", "_"))


def normal_runs(method: str, seeds: int = 4) -> list[Run]:
    """Seeds 0 .. `seeds` - 1 on normal sentences."""
    return [run(method, seed=seed) for seed in range(seeds)]


def zero_shot_runs(method: str, seeds: int = 1) -> list[Run]:
    """Both kinds of zero-shot sentences with all holdout percentages."""
    return [run(method, split, x, seed) for split in ("zs1", "zs2") for x in HOLDOUTS for seed in range(seeds)]


def comparison_runs(method: str) -> list[Run]:
    """Two seeds of a method that ours is compared with."""
    return [run(method, *split, seed=seed) for split in COMPARISON_SPLITS for seed in range(2)]


def search_runs(method: str) -> list[Run]:
    """The search for the learning rate of a method: one run on normal sentences for each scale, with its own seed."""
    found = [run(method, seed=SEARCH_SEED, lr_scale=scale) for scale in LR_SCALES]
    return [replace(one, label=f"{method}.lr{scale:.2g}") for one, scale in zip(found, LR_SCALES, strict=True)]


SEARCH_SEED = 100
"""Not a seed of the study, so that no reported run has chosen its own learning rate."""
GRID = (
    *normal_runs("ours", 20),
    *zero_shot_runs("ours", 4),
    *(run("ours", split, 90.0, seed=4) for split in ("zs1", "zs2")),
    *(run for method in METHODS if method != "ours" for run in comparison_runs(method)),
    *(run(method, "zs2", x) for method in ("ca", "san") for x in HOLDOUTS if x not in (50.0, 90.0)),
    *(preset_run("paper", seed=seed) for seed in range(2)),
    preset_run("paper-literal"),
)
"""The runs of the study: ours with four seeds in every cell of the paper's grid, twenty on normal sentences and five
where most is held out; the methods it is compared with; and the paper's recipe."""


def select_runs(
    only: Sequence[str], grid: Sequence[Run] = GRID, language: str = "paper", icons: str | None = None
) -> list[Run]:
    """The runs whose names match any of the patterns, such as `ours-zs2-*`; all runs of the grid without a pattern.

    A whole name, METHOD-SPLIT-HOLDOUT-SEED, may also be a run outside the grid, such as `ours-category-50-0`.
    """
    names = {run.name for run in grid}
    grid = [*grid, *(run for name in only if name not in names and (run := _run_of_name(name)) is not None)]
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
    cell = match["split"] or "normal", float(match["holdout"] or 50), int(match["seed"])
    preset = match["method"].replace("_", "-")
    return preset_run(preset, *cell) if preset in ("paper", "paper-literal") else run(match["method"], *cell)

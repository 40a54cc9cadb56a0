"""Trained agents by name: weights that come with the package, a file, or the folder of a run."""

from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from pathlib import Path

import torch

from groundling.agent.checkpoint import Checkpoint, load
from groundling.agent.model import Model
from groundling.errors import InputError, nearest
from groundling.learn.config import TrainConfig
from groundling.teacher.splits import Split
from groundling.teacher.teacher import Teacher

WEIGHTS = Path(str(resources.files("groundling"))) / "weights"


@dataclass(frozen=True)
class TrainedAgent:
    """A checkpoint of a training run, with what the run says of it."""

    checkpoint: Checkpoint
    config: TrainConfig

    @property
    def model(self) -> Model:
        return self.checkpoint.model

    @cached_property
    def split(self) -> Split:
        """What training held out."""
        return Split.of(self.checkpoint.split)

    def held_out(self, split: Split) -> bool:
        """Whether training held out all that a split tests."""
        return set(split.held_out) <= set(self.split.held_out)

    def teacher(self, kind: str | None = None, holdout: float | None = None, phase: str | None = None) -> Teacher:
        """One who gives the episodes of this agent's world, by default to test what its training held out."""
        config = self.config
        same = kind in (None, self.config.split) and holdout in (None, config.holdout)
        if same or (config.split == "joined" and kind in ("zs1", "zs2")):
            split = config.split_for(kind or config.split)
        elif kind == "normal" or kind is None:
            split = replace(config, split="normal").split_for("normal")
        else:
            split = replace(config, split=kind, holdout=config.holdout if holdout is None else holdout).split_for(kind)
        return Teacher(replace(config.lessons, balanced=0.0, types=None), split, phase or "test", config.catalog())


def load_agent(name: str, device: str | torch.device = "cpu") -> TrainedAgent:
    """An agent by the name of its file, of its run's folder, or of weights that come with the package."""
    path = Path(name)
    if path.is_dir():
        path = path / "best.safetensors"
    elif not path.suffix and not path.exists():
        shipped = {file.stem: file for file in sorted(WEIGHTS.glob("*.safetensors"))}
        if name not in shipped:
            raise InputError(
                f"checkpoint {name!r}: no such file, and no such shipped weights{nearest(name, shipped)}; "
                f"there are {', '.join(shipped)}"
            )
        path = shipped[name]
    checkpoint = load(path, device)
    try:
        config = TrainConfig.of(checkpoint.provenance["config"])
    except (KeyError, TypeError) as error:
        raise InputError(f"checkpoint {path}: it does not say how it was trained ({error!r})") from error
    if config.catalog().hash != checkpoint.icons:
        raise InputError(f"checkpoint {path}: trained on other icons than this version's")
    return TrainedAgent(checkpoint, config)

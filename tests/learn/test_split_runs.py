"""A training run with each built-in split, and what the leak check says about it."""

from dataclasses import replace
from pathlib import Path

import pytest

from groundling.agent import AgentConfig
from groundling.learn.config import TrainConfig
from groundling.learn.presets import PRESETS
from groundling.learn.stage_config import PPOConfig, QAPretrainingConfig
from groundling.learn.trainer import Trainer, check_run
from groundling.teacher.splits import JOINT, KINDS
from groundling.world.types import WorldConfig

TINY = replace(
    PRESETS["smoke"],
    agent=replace(AgentConfig.like(PRESETS["smoke"].agent, "ours"), channels=8, hidden_units=8),
    world=WorldConfig(5, (1, 4), (0, 3)),
    qa_pretraining=QAPretrainingConfig(updates=3, batch_size=32, curriculum_episodes=0, type_balanced_fraction=0.5),
    ppo=PPOConfig(iterations=1, num_envs=16, num_steps=4),
    eval_episodes=4,
    holdout=40.0,
)


@pytest.mark.parametrize("kind", [*KINDS, JOINT])
def test_run_of_each_split_passes_the_leak_check(kind: str, tmp_path: Path) -> None:
    config: TrainConfig = replace(TINY, split=kind)
    Trainer(config, tmp_path, device="cpu").train()
    found = check_run(tmp_path, config)
    assert found.clean
    assert found.sentences > 50
    assert (found.held_out > 0) == (kind not in ("normal", "icon"))


@pytest.mark.parametrize(("kind", "leak"), [("paraphrase", "sentence"), ("length", "sentence"), ("icon", "icon")])
def test_leak_is_found(kind: str, leak: str, tmp_path: Path) -> None:
    """A run without a split contains what these splits hold out."""
    Trainer(replace(TINY, split="normal"), tmp_path, device="cpu").train()
    found = check_run(tmp_path, replace(TINY, split=kind))
    assert not found.clean
    assert any(text.startswith("icon ") for text in found.leaked) == (leak == "icon")

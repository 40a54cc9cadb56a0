"""Readings of the paper's recipe where its text is open or may be misread: a small declared grid of short runs."""

from dataclasses import replace
from typing import Any

from groundling.agent import AgentConfig
from groundling.learn.presets import PRESETS
from groundling.study.grid import Run

UPDATES = 20_000
"""A tenth of the paper's minibatches: the curriculum ends after about as many."""
READINGS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # Initialization and pixels, with the optimizer of `paper`.
    "chosen": ({}, {}),
    "init_literal": ({"init": "paper"}, {}),
    "init_literal_raw_pixels": ({"init": "paper", "pixel_offset": 0.0, "pixel_scale": 1.0}, {}),
    "init_inputs": ({"init": "inputs"}, {}),
    "pixels_0_to_1": ({"pixel_offset": 0.0, "pixel_scale": 255.0}, {}),
    # Optimizer, with the model of `paper`.
    "rmsprop_lr_1e-5": ({}, {"lr": 1e-5}),
    "rmsprop_lr_1e-4": ({}, {"lr": 1e-4}),
    "rmsprop_lr_1e-3": ({}, {"lr": 1e-3}),
    "adagrad_lr_1e-3": ({}, {"optimizer": "adagrad", "lr": 1e-3, "epsilon": 1e-10}),
    "adagrad_lr_3e-3": ({}, {"optimizer": "adagrad", "lr": 3e-3, "epsilon": 1e-10}),
    "adagrad_lr_1e-2": ({}, {"optimizer": "adagrad", "lr": 1e-2, "epsilon": 1e-10}),
    "adagrad_accumulator_1": ({}, {"optimizer": "adagrad", "lr": 1e-2, "initial_accumulator": 1.0}),
    "adam_lr_3e-4": ({}, {"optimizer": "adam", "accumulator_decay": 0.999}),
    "weight_decay": ({}, {"weight_decay": 16e-4}),
    "mean_loss": ({}, {"loss_reduction": "mean"}),
    "clipped": ({}, {"max_grad_norm": 10.0}),
    # Target network and curriculum.
    "target_100": ({}, {"target_update_interval": 100}),
    "no_curriculum": ({}, {"curriculum_episodes": 0}),
    "slow_curriculum": ({}, {"curriculum_episodes": 100_000}),
}
"""The changes of model and algorithm, by name; `chosen` is the preset `paper`."""


def reading_runs() -> list[Run]:
    """One short run of each reading on normal sentences."""
    return [_run(name, agent, settings) for name, (agent, settings) in READINGS.items()]


def _run(name: str, agent: dict[str, Any], settings: dict[str, Any]) -> Run:
    paper = PRESETS["paper"]
    assert isinstance(paper.agent, AgentConfig)
    config = replace(
        paper,
        agent=replace(paper.agent, **agent),
        actor_critic=replace(paper.actor_critic, **{"updates": UPDATES, **settings}),
        eval_interval=8,  # every 2,000 updates
    )
    return Run(config, episodes=2000, episodes_per_type=200, label=f"reading.{name}")

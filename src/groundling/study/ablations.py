"""The ablations: which of the changes between the paper's recipe and ours matters, and on which sentences."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from groundling.agent import AgentConfig
from groundling.learn.config import TrainConfig
from groundling.learn.presets import PRESETS
from groundling.learn.stage_config import ActorCriticConfig
from groundling.study.ablation_tables import LADDER, LEAVE_ONE_OUT, SEEDS, SPLITS
from groundling.study.grid import Run

OURS = PRESETS["fast"]
Change = Callable[[TrainConfig], TrainConfig]


def _agent(**options: Any) -> Change:
    """Set options of the model."""

    def change(config: TrainConfig) -> TrainConfig:
        assert isinstance(config.agent, AgentConfig)
        return replace(config, agent=replace(config.agent, **options))

    return change


def _agent_of_ours(*names: str) -> Change:
    """Take options of the model from ours."""
    return _agent(**{name: getattr(OURS.agent, name) for name in names})


def _ppo(**options: Any) -> Change:
    return lambda config: replace(config, ppo=replace(config.ppo, **options))


def _train(**options: Any) -> Change:
    return lambda config: replace(config, **options)


def _stages(config: TrainConfig) -> TrainConfig:
    """QA pretraining and PPO instead of actor-critic from replay, with the paper's losses: answers and rewards."""
    qa = replace(OURS.qa_pretraining, gate_coef=0.0, reading_coef=0.0)
    ppo = replace(OURS.ppo, hindsight_coef=0.0, naming_coef=0.0, reading_coef=0.0, terrain_coef=0.0)
    interval = OURS.eval_interval
    return replace(config, qa_pretraining=qa, ppo=ppo, actor_critic=ActorCriticConfig(), eval_interval=interval)


def _planner(config: TrainConfig) -> TrainConfig:
    """Our planner, whose terrain is supervised by experienced obstacles."""
    names = ("planner", "planner_sweeps", "planner_discount", "obstacle_contrast", "supervised_terrain")
    return _ppo(terrain_coef=OURS.ppo.terrain_coef)(_agent_of_ours(*names)(config))


def _losses(config: TrainConfig) -> TrainConfig:
    """Our losses on the attention to words and positions."""
    names = ("hindsight_coef", "naming_coef", "reading_coef")
    ppo = replace(config.ppo, **{name: getattr(OURS.ppo, name) for name in names})
    return replace(config, qa_pretraining=OURS.qa_pretraining, ppo=ppo)


def _word_dropout(config: TrainConfig) -> TrainConfig:
    names = ("word_dropout", "word_dropout_words", "word_weight_decay", "reader_weight_decay")
    return replace(config, **{name: getattr(OURS, name) for name in names})


def _rewarded_terrain(config: TrainConfig) -> TrainConfig:
    return _ppo(terrain_coef=0.0)(_agent(supervised_terrain=False)(config))


CHANGES: dict[str, Change] = {
    "stages": _stages,
    "temperature": _agent_of_ours("temperature"),
    "gate_bound": _agent_of_ours("gate_bound"),
    "per_word": _agent_of_ours("word_detection", "detection_bound"),
    "sharpness": _agent_of_ours("sharpness"),
    "planner": _planner,
    "losses": _losses,
    "salience": _agent_of_ours("salience", "coverage"),
    "word_dropout": _word_dropout,
    "no_pretraining": _train(qa_pretraining=replace(OURS.qa_pretraining, updates=0)),
    "no_temperature": _agent(temperature=None),
    "no_gate_bound": _agent(gate_bound=None),
    "mixture": _agent(word_detection="mixture", detection_bound=None),
    "no_detection_bound": _agent(detection_bound=None),
    "no_sharpness": _agent(sharpness=None),
    "mlp_planner": _agent(planner="mlp", supervised_terrain=False),
    "no_salience": _agent(salience=None),
    "no_coverage": _agent(coverage=False),
    "no_hindsight": _ppo(hindsight_coef=0.0),
    "no_naming": _ppo(naming_coef=0.0),
    "rewarded_terrain": _rewarded_terrain,
    "no_word_dropout": _train(word_dropout=0.0),
    "no_weight_decay": _train(word_weight_decay=0.0, reader_weight_decay=0.0),
    "paper_init": _agent(init="paper"),
    "raw_pixels": _agent(pixel_offset=0.0, pixel_scale=255.0),
}
"""What each ablation changes, by its name in `ablation_tables`."""


def ladder_configs() -> dict[str, TrainConfig]:
    """The config of each step of the ladder, by its label; the last one is ours."""
    configs, config = {}, PRESETS["paper"]
    for label in LADDER:
        config = CHANGES[label.partition(".")[2]](config)
        configs[label] = config
    return configs


def ablation_runs() -> list[Run]:
    """All ablations, except the ends of the ladder, which are runs of the study: the preset `paper`, and ours."""
    ladder = ladder_configs()
    ladder.popitem()
    without = {label: CHANGES[label.partition(".")[2]](OURS) for label in LEAVE_ONE_OUT}
    return [
        Run(replace(config, split=split, holdout=holdout, split_seed=seed, seed=seed), label=label)
        for label, config in {**ladder, **without}.items()
        for split, holdout in SPLITS
        for seed in range(SEEDS)
    ]

"""The presets of `groundling train`."""

from dataclasses import replace

from groundling.agent import AgentConfig
from groundling.learn.config import TrainConfig
from groundling.learn.stage_config import ActorCriticConfig, PPOConfig, QAPretrainingConfig
from groundling.teacher.splits import JOINT
from groundling.world.types import WorldConfig

_OURS = AgentConfig(
    planner="value_iteration",
    temperature=5.0,
    word_detection="per_word",
    sharpness=2.0,
    gate_bound=8.0,
    planner_sweeps=20,
    planner_discount=0.7,
    obstacle_contrast=4.0,
    supervised_terrain=True,
    detection_bound=8.0,
    salience=4.0,
    coverage=True,
    init="he",
    pixel_offset=240.0,
    pixel_scale=64.0,
)
_PPO = PPOConfig(sharpness_lr=0.01, naming_coef=0.1, reading_coef=0.1, terrain_coef=0.3)
PRESETS = {
    "fast": TrainConfig(
        agent=_OURS,
        qa_pretraining=QAPretrainingConfig(updates=4000, gate_coef=0.03, reading_coef=0.1),
        ppo=replace(_PPO, iterations=40),
        word_weight_decay=0.5,
        reader_weight_decay=1.0,
        word_dropout=0.5,
        word_dropout_words="answers",
    ),
    "paper": TrainConfig(actor_critic=ActorCriticConfig(updates=200_000)),
    "smoke": TrainConfig(
        agent=_OURS,
        world=WorldConfig(size=5, objects=(1, 4), walls=(0, 5)),
        num_classes=20,
        split=JOINT,
        holdout=20.0,
        qa_pretraining=QAPretrainingConfig(updates=1000, curriculum_episodes=3000, gate_coef=0.03, reading_coef=0.1),
        ppo=replace(_PPO, iterations=40),
        word_weight_decay=0.5,
        reader_weight_decay=1.0,
        word_dropout=0.5,
        word_dropout_words="answers",
    ),
}
"""`fast` is ours, `paper` the paper's recipe, and `smoke` a small world for a first try."""

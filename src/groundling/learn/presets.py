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
# The paper's model: plain softmax attention, detection of a mixture of words, MLP planner. What differs from its text:
# - 1 / sqrt(parameters) shrinks signals to a ten-thousandth within the CNN; variance is preserved instead.
# - The text does not say how pixels are scaled; the value of the floor is subtracted, so that objects stand out.
_PAPER = AgentConfig(init="he", pixel_offset=240.0, pixel_scale=64.0)
# The paper's algorithm: actor-critic from rank-based replay, target network, exploration, curriculum. What differs from
# its text:
# - Adagrad at 1e-5 moves no weight by more than 0.01 in 200,000 minibatches (2 lr sqrt(updates)), while embeddings have
#   unit deviation. Squared gradients are forgotten instead (RMSprop; the paper's framework has it as decayed Adagrad),
#   and the learning rate is 3e-4.
# - Weight decay is 0: as a term of the gradient, 16e-4 is scaled up by adaptive optimizers, and erases all weights that
#   have small gradients otherwise.
# - 128 environments act every 8 updates, instead of 16 before each one: the same number of steps, in less time.
_READING = ActorCriticConfig(
    updates=200_000,
    acting_interval=8,
    optimizer="rmsprop",
    lr=3e-4,
    weight_decay=0.0,
    epsilon=1e-8,
    accumulator_decay=0.99,
)
_QA = QAPretrainingConfig(type_balanced_fraction=0.3, gate_coef=0.03, reading_coef=1.0)
_PPO = PPOConfig(sharpness_lr=0.01, naming_coef=0.1, reading_coef=0.1, terrain_coef=0.3)
PRESETS = {
    "fast": TrainConfig(
        agent=_OURS,
        qa_pretraining=replace(_QA, updates=6000),
        ppo=replace(_PPO, iterations=60),
        word_weight_decay=0.5,
        reader_weight_decay=1.0,
        word_dropout=0.5,
        word_dropout_words="answers",
    ),
    "paper": TrainConfig(agent=_PAPER, actor_critic=_READING, eval_interval=20),
    "paper-literal": TrainConfig(actor_critic=ActorCriticConfig(updates=200_000, acting_interval=8), eval_interval=20),
    "smoke": TrainConfig(
        agent=_OURS,
        world=WorldConfig(size=5, objects=(1, 4), walls=(0, 5)),
        num_classes=20,
        split=JOINT,
        holdout=20.0,
        qa_pretraining=replace(_QA, updates=1000, curriculum_episodes=3000),
        ppo=replace(_PPO, iterations=40),
        word_weight_decay=0.5,
        reader_weight_decay=1.0,
        word_dropout=0.5,
        word_dropout_words="answers",
    ),
}
"""`fast` is ours, `paper` a reading of the paper's recipe, `paper-literal` its text, and `smoke` a small
world for a first try."""

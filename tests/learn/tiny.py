"""Training runs so small that a test can execute them many times."""

from groundling.agent import AgentConfig
from groundling.learn.config import TrainConfig
from groundling.learn.stage_config import ActorCriticConfig, PPOConfig, QAPretrainingConfig
from groundling.world.types import WorldConfig

WORLD = WorldConfig(size=3, objects=(1, 2), walls=(0, 1))
AGENT = AgentConfig(channels=8, hidden_units=8, planner="value_iteration", planner_sweeps=4, temperature=5.0, init="he")
FAST = TrainConfig(
    world=WORLD,
    agent=AGENT,
    num_classes=6,
    qa_pretraining=QAPretrainingConfig(updates=30, batch_size=8, curriculum_episodes=100, target_accuracy=1.0),
    ppo=PPOConfig(
        iterations=6, num_envs=8, num_steps=4, envs_per_minibatch=4, balanced_types=("nav_obj", "rec_obj2col")
    ),
    word_dropout=0.1,
    eval_interval=3,
    eval_episodes=20,
)
PAPER = TrainConfig(
    world=WORLD,
    agent=AGENT,
    num_classes=6,
    actor_critic=ActorCriticConfig(
        updates=300, batch_size=4, acting_interval=2, replay_size=100, target_update_interval=50, exploration_steps=1000
    ),
    eval_interval=1,
    eval_episodes=20,
)
SPEC = FAST.spec()

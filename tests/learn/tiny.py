"""A run so small that a test can make it many times."""

from groundling.agent import AgentConfig
from groundling.learn.config import ActorCriticConfig, PPOConfig, QAPretrainingConfig, TrainConfig
from groundling.teacher.teacher import Lessons

LESSONS = Lessons(size=3, objects=(1, 2), walls=(0, 1))
AGENT = AgentConfig(view=5, channels=8, units=8, planner="value_iteration", sweeps=4, temperature=5.0, init="he")
FAST = TrainConfig(
    lessons=LESSONS,
    agent=AGENT,
    classes=6,
    questions=QAPretrainingConfig(updates=30, batch=8, curriculum=100, target=1.0),
    ppo=PPOConfig(updates=6, envs=8, steps=4, group=4, types=("nav_obj", "rec_obj2col")),
    word_dropout=0.1,
    eval_interval=3,
    eval_episodes=20,
)
PAPER = TrainConfig(
    lessons=LESSONS,
    agent=AGENT,
    classes=6,
    actor_critic=ActorCriticConfig(updates=300, batch=4, replay=100, target_update_interval=50, exploration_steps=1000),
    eval_interval=1,
    eval_episodes=20,
)

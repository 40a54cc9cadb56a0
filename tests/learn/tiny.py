"""A run so small that a test can make it many times."""

from groundling.agent import AgentConfig
from groundling.learn.config import ActorCriticConfig, PPOConfig, QuestionsConfig, TrainConfig
from groundling.teacher.session import Lessons

LESSONS = Lessons(size=3, objects=(1, 2), walls=(0, 1))
AGENT = AgentConfig(view=5, channels=8, units=8, planner="value_iteration", sweeps=4, temperature=5.0, init="he")
FAST = TrainConfig(
    lessons=LESSONS,
    agent=AGENT,
    classes=6,
    questions=QuestionsConfig(updates=30, batch=8, curriculum=100, target=1.0),
    ppo=PPOConfig(updates=6, envs=8, steps=4, group=4, types=("nav_obj", "rec_obj2col")),
    mishearing=0.1,
    evaluate_every=3,
    evaluate_sessions=20,
)
PAPER = TrainConfig(
    lessons=LESSONS,
    agent=AGENT,
    classes=6,
    actor_critic=ActorCriticConfig(updates=300, batch=4, replay=100, target_delay=50, exploration_steps=1000),
    evaluate_every=1,
    evaluate_sessions=20,
)

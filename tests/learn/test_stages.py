"""What stages change while they run: learning rate, weight of the entropy, exploration; and their metrics."""

import math

import numpy as np
import pytest
import torch

from groundling.agent import build
from groundling.evaluation.leak_check import SentenceLog
from groundling.learn.actor_critic import ActorCritic
from groundling.learn.ppo import PPO
from groundling.learn.stage import RunningMeans
from tests.learn.tiny import AGENT, FAST, PAPER, SPEC


def new_log() -> SentenceLog:
    return SentenceLog(SPEC.words, len(FAST.catalog().icon_class))


@pytest.mark.parametrize("updates", [0, 3, 5])
def test_learning_rate_and_weight_of_the_entropy_of_ppo_fall_linearly(updates: int) -> None:
    torch.manual_seed(0)
    stage = PPO(build(AGENT, SPEC), FAST, new_log())
    stage.updates = updates
    metrics = RunningMeans(types=stage.envs.teacher.language.type_names)
    stage.learn(np.random.default_rng(0), metrics)
    left = 1 - updates / FAST.ppo.iterations
    rates = {group["lr"] for group in stage.optimizer.param_groups}
    assert rates == {left * FAST.ppo.lr, left * FAST.ppo.planner_lr, left * FAST.ppo.sharpness_lr}
    entropy = math.log(4)  # the first policy is nearly uniform
    assert metrics.means()["entropy_loss"] == pytest.approx(-FAST.ppo.entropy_coef * left * entropy, rel=0.05)


def test_exploration_falls_linearly_from_1_to_its_final_value() -> None:
    settings = PAPER.actor_critic
    stage = ActorCritic(build(AGENT, SPEC), PAPER, new_log())
    explored = []
    for fraction in (0, 0.5, 1, 2):
        stage.updates = round(fraction * settings.exploration_steps / settings.batch_size)
        explored.append(stage.exploration)
    last = settings.final_exploration
    assert explored == pytest.approx([1, (1 + last) / 2, last, last])


def test_running_means_weight_values_by_their_count() -> None:
    metrics = RunningMeans()
    metrics.add("loss", 2.0)
    metrics.add("loss", 4.0)
    metrics.add("accuracy", 3.0, 4)
    metrics.add("accuracy", 0.0, 2)
    metrics.add("nothing", 0.0, 0)
    assert metrics.means() == {"accuracy": 0.5, "loss": 3.0}
    assert RunningMeans(metrics.pairs()).means() == metrics.means()

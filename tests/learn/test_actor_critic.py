"""The paper's algorithm: when it acts, what it stores, and the readings of its optimizer."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from groundling.agent import View, build
from groundling.errors import InputError
from groundling.evaluation.leak_check import SentenceLog
from groundling.learn.actor_critic import ActorCritic
from groundling.learn.optimizers import make_optimizer
from groundling.learn.stage_config import ActorCriticConfig
from tests.learn.tiny import AGENT, PAPER, SPEC


def stage(**settings: Any) -> ActorCritic:
    torch.manual_seed(0)
    config = replace(PAPER, actor_critic=replace(PAPER.actor_critic, **settings))
    return ActorCritic(build(AGENT, SPEC), config, SentenceLog(SPEC.words, len(PAPER.catalog().icon_class)))


@pytest.mark.parametrize("updates", [3, 10, 13])
def test_stored_next_values_are_those_of_the_target_network(updates: int) -> None:
    """Before and after the target network changes, at update 10, and when old steps were replaced."""
    learner = stage(target_update_interval=10, replay_size=30, lr=0.1)
    for _ in range(updates):
        learner.update()
    rows, count = learner.replay.rows, len(learner.replay)
    view = View.of_cells(rows["next_cells"][:count], learner.pictures)
    with torch.no_grad():
        values = learner.target(view, rows["commands"][:count]).value
    torch.testing.assert_close(rows["next_values"][:count], values)
    assert values.abs().max() > 0


def test_number_of_steps_does_not_depend_on_the_acting_interval() -> None:
    for interval in (1, 4):
        learner = stage(acting_interval=interval)
        totals = [learner.update().total for _ in range(8)]
        assert sum(total["env_steps"] for total in totals) == sum(total["frames"] for total in totals) == 8 * 4
        assert learner.replay.written == 8 * 4


def test_more_environments_than_the_buffer_holds_leave_the_last_ones() -> None:
    learner = stage(acting_interval=4, replay_size=10)
    learner.update()
    assert len(learner.replay) == 10
    assert np.isfinite(learner.update().total["answer_loss"])


def first_step(**settings: Any) -> float:
    """How far the first step of an optimizer moves a weight of 1 with gradient 2."""
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = make_optimizer([weight], ActorCriticConfig(lr=0.1, **{"weight_decay": 0.0, **settings}))
    weight.grad = torch.full((1,), 2.0)
    optimizer.step()
    return 1 - weight.item()


@pytest.mark.parametrize(
    ("settings", "moved"),
    [
        ({}, 0.1),  # Adagrad: lr g / sqrt(g^2)
        ({"initial_accumulator": 5.0}, 0.1 * 2 / 3),  # lr g / sqrt(5 + g^2)
        ({"epsilon": 2.0}, 0.1 * 2 / 4),  # lr g / (sqrt(g^2) + eps)
        ({"weight_decay": 2.0, "initial_accumulator": 9.0}, 0.1 * 4 / 5),  # the gradient is 2 + 2 * 1
        ({"optimizer": "rmsprop"}, 0.1),
        ({"optimizer": "adam"}, 0.1),
    ],
)
def test_first_step_of_each_optimizer(settings: dict[str, Any], moved: float) -> None:
    assert first_step(**settings) == pytest.approx(moved, rel=1e-5)


def test_adagrad_slows_down_and_rmsprop_does_not() -> None:
    """After n equal gradients, a step of Adagrad is lr / sqrt(n); one of RMSprop stays lr."""
    for name, expected in (("adagrad", 0.1 / 10), ("rmsprop", 0.1)):
        weight = torch.nn.Parameter(torch.ones(1))
        optimizer = make_optimizer([weight], ActorCriticConfig(lr=0.1, weight_decay=0.0, optimizer=name))
        for _ in range(100):
            before = weight.item()
            weight.grad = torch.ones(1)
            optimizer.step()
        assert before - weight.item() == pytest.approx(expected, rel=1e-3)


def test_gradient_of_the_mean_is_that_of_the_sum_divided_by_the_batch_size() -> None:
    norms = [stage(loss_reduction=reduction).update().total["grad_norm"] for reduction in ("sum", "mean")]
    assert norms[0] == pytest.approx(PAPER.actor_critic.batch_size * norms[1], rel=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"optimizer": "sgd"}, r"actor_critic\.optimizer must be one of adagrad, rmsprop, adam, got 'sgd'"),
        ({"loss_reduction": "max"}, r"actor_critic\.loss_reduction must be one of sum, mean, got 'max'"),
        ({"acting_interval": 0}, r"actor_critic\.acting_interval must be an integer from 1 to \d+, got 0"),
        ({"max_grad_norm": 0.0}, r"actor_critic\.max_grad_norm must be a finite number above 0, got 0"),
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        stage(**settings)

"""Returns and losses by hand."""

import math

import numpy as np
import pytest
import torch

from groundling.learn.losses import advantages, answer_loss, attention_loss, entropy, ppo_loss
from groundling.learn.ppo import hindsight_positions


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)[:, None]


def flags(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.bool)[:, None]


def test_advantages_by_hand() -> None:
    """Two steps of one episode that goes on: delta = r + 0.5 v' - v, and the trace halves twice."""
    result = advantages(column(1, 2), column(3, 4), column(4, 6), flags(0, 0), flags(0, 0), 0.5, 0.5)
    last = 2 + 0.5 * 6 - 4  # 1
    first = 1 + 0.5 * 4 - 3  # 0
    torch.testing.assert_close(result, column(first + 0.25 * last, last))


def test_terminated_is_not_truncated() -> None:
    """A episode that reached its target has no future; one whose time was up has, and its value is bootstrapped."""
    terminated = advantages(column(1), column(0.5), column(8), flags(1), flags(1), 0.9, 0.95)
    truncated = advantages(column(1), column(0.5), column(8), flags(0), flags(1), 0.9, 0.95)
    torch.testing.assert_close(terminated, column(1 - 0.5))
    torch.testing.assert_close(truncated, column(1 + 0.9 * 8 - 0.5))


def test_the_trace_stops_where_a_session_ends() -> None:
    for terminated in (flags(1, 0), flags(0, 0)):
        result = advantages(column(0, 100), column(0, 0), column(0, 0), terminated, flags(1, 0), 1.0, 1.0)
        torch.testing.assert_close(result, column(0, 100))


def test_ppo_loss() -> None:
    """The gain from a likelier good action is capped; the harm of a likelier bad one is not."""
    old = torch.zeros(1)
    twice = torch.tensor([math.log(2)])
    assert ppo_loss(twice, old, torch.ones(1), 0.2).item() == pytest.approx(-1.2)
    assert ppo_loss(twice, old, -torch.ones(1), 0.2).item() == pytest.approx(2.0)
    assert ppo_loss(old, old, torch.tensor([3.0]), 0.2).item() == pytest.approx(-3.0)


def test_entropy() -> None:
    assert entropy(torch.zeros(3, 4)).item() == pytest.approx(math.log(4))
    assert entropy(torch.tensor([[100.0, 0, 0, 0]])).item() == pytest.approx(0, abs=1e-6)


def test_answer_loss() -> None:
    scores = torch.tensor([[0.0, 0.0], [5.0, -5.0]])
    assert answer_loss(scores, torch.tensor([1, -1])).item() == pytest.approx(math.log(2))
    silent = answer_loss(scores.requires_grad_(), torch.tensor([-1, -1]))
    assert silent.item() == 0
    silent.backward()
    assert scores.grad is not None
    assert not scores.grad.any()


def test_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match="shapes differ"):
        ppo_loss(torch.zeros(2), torch.zeros(3), torch.zeros(2), 0.2)
    with pytest.raises(ValueError, match="2 scores for 3 answers"):
        answer_loss(torch.zeros(2, 5), torch.zeros(3, dtype=torch.int64))


def test_attention_loss() -> None:
    x_loc = torch.tensor([[0.25, 0.75], [1.0, 0.0]])
    assert attention_loss(x_loc, torch.tensor([0, -1])).item() == pytest.approx(math.log(4))
    assert attention_loss(x_loc, torch.tensor([-1, -1])).item() == 0


def test_arrivals_by_hand() -> None:
    """On a map of 3 x 3, seen as 5 x 5 around the agent: right, right (the target), then a new episode that goes on;
    and beside it one that is cut short after a step down."""
    agents = np.array([[0, 1], [1, 4], [8, 3]], np.int16)
    actions = np.array([[1, 3], [1, 0], [0, 0]])
    reached = np.array([[0, 0], [1, 0], [0, 0]], np.bool_)
    ended = np.array([[0, 1], [1, 0], [0, 0]], np.bool_)
    center = 12
    assert hindsight_positions(agents, actions, reached, ended, size=3).tolist() == [
        [center + 2, -1],
        [center + 1, -1],
        [-1, -1],
    ]

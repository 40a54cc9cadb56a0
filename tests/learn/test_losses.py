"""Returns and losses by hand."""

import math

import pytest
import torch

from groundling.learn.losses import advantages, answer_loss, entropy, ppo_loss


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)[:, None]


def flags(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.bool)[:, None]


def test_advantages_by_hand() -> None:
    """Two steps of one session that goes on: delta = r + 0.5 v' - v, and the trace halves twice."""
    result = advantages(column(1, 2), column(3, 4), column(4, 6), flags(0, 0), flags(0, 0), 0.5, 0.5)
    last = 2 + 0.5 * 6 - 4  # 1
    first = 1 + 0.5 * 4 - 3  # 0
    torch.testing.assert_close(result, column(first + 0.25 * last, last))


def test_terminated_is_not_truncated() -> None:
    """A session that reached its target has no future; one whose time was up has, and its value is bootstrapped."""
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

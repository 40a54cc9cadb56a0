"""The paper's actor-critic loss, by hand: its value, its gradients and its TD errors."""

import math

import torch

from groundling.learn.losses import actor_critic_loss

LOGITS = [[0.0, math.log(3.0)], [0.0, 0.0]]
VALUE = [0.5, -1.0]
ACTIONS = torch.tensor([1, 0])
REWARDS = torch.tensor([1.0, -0.1])
NEXT_VALUE = torch.tensor([2.0, 4.0])
TERMINATED = torch.tensor([True, False])
GAMMA = 0.9
ERRORS = [1.0 - 0.5, -0.1 + 0.9 * 4.0 + 1.0]
"""r + gamma v^- - v; the first step terminated, so its next value is 0."""


def loss_of(logits: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return actor_critic_loss(logits, value, ACTIONS, REWARDS, NEXT_VALUE, TERMINATED, GAMMA)


def test_errors_are_one_step_td_errors() -> None:
    _, error = loss_of(torch.tensor(LOGITS), torch.tensor(VALUE))
    torch.testing.assert_close(error, torch.tensor(ERRORS))


def test_gradient_is_that_of_the_paper() -> None:
    """-(grad log pi(a) + grad v) * error, summed over the batch; errors are constants."""
    logits, value = torch.tensor(LOGITS, requires_grad=True), torch.tensor(VALUE, requires_grad=True)
    loss, error = loss_of(logits, value)
    loss.backward()
    assert not error.requires_grad
    torch.testing.assert_close(value.grad, -torch.tensor(ERRORS))
    # grad log softmax(a) = one-hot(a) - pi, with pi = (1/4, 3/4) and (1/2, 1/2)
    grad_log_pi = torch.tensor([[-0.25, 1 - 0.75], [1 - 0.5, -0.5]])
    torch.testing.assert_close(logits.grad, -grad_log_pi * torch.tensor(ERRORS)[:, None])


def test_loss_is_a_sum_over_the_batch() -> None:
    loss, _ = loss_of(torch.tensor(LOGITS), torch.tensor(VALUE))
    expected = -((math.log(0.75) + 0.5) * ERRORS[0] + (math.log(0.5) - 1.0) * ERRORS[1])
    torch.testing.assert_close(loss, torch.tensor(expected))

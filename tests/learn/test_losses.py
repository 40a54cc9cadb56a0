"""Returns and losses equal values computed by hand."""

import math

import numpy as np
import pytest
import torch

from groundling.agent.language import reading_loss
from groundling.learn.losses import (
    advantages,
    answer_loss,
    entropy,
    hindsight_loss,
    naming_loss,
    ppo_loss,
    terrain_loss,
)
from groundling.learn.ppo import hindsight_positions, tried_positions


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)[:, None]


def flags(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.bool)[:, None]


def test_advantages_of_two_steps_equal_hand_computed_values() -> None:
    """Both of one episode that continues: delta = r + 0.5 v' - v, and gamma * gae_lambda = 0.25."""
    result = advantages(column(1, 2), column(3, 4), column(4, 6), flags(0, 0), flags(0, 0), 0.5, 0.5)
    last = 2 + 0.5 * 6 - 4  # 1
    first = 1 + 0.5 * 4 - 3  # 0
    torch.testing.assert_close(result, column(first + 0.25 * last, last))


def test_truncated_episode_bootstraps_the_next_value_and_terminated_episode_does_not() -> None:
    terminated = advantages(column(1), column(0.5), column(8), flags(1), flags(1), 0.9, 0.95)
    truncated = advantages(column(1), column(0.5), column(8), flags(0), flags(1), 0.9, 0.95)
    torch.testing.assert_close(terminated, column(1 - 0.5))
    torch.testing.assert_close(truncated, column(1 + 0.9 * 8 - 0.5))


def test_advantages_do_not_cross_the_end_of_an_episode() -> None:
    for terminated in (flags(1, 0), flags(0, 0)):
        result = advantages(column(0, 100), column(0, 0), column(0, 0), terminated, flags(1, 0), 1.0, 1.0)
        torch.testing.assert_close(result, column(0, 100))


def test_ppo_loss_clips_the_gain_of_good_actions_but_not_the_loss_of_bad_ones() -> None:
    old = torch.zeros(1)
    twice = torch.tensor([math.log(2)])
    assert ppo_loss(twice, old, torch.ones(1), 0.2).item() == pytest.approx(-1.2)
    assert ppo_loss(twice, old, -torch.ones(1), 0.2).item() == pytest.approx(2.0)
    assert ppo_loss(old, old, torch.tensor([3.0]), 0.2).item() == pytest.approx(-3.0)


def test_entropy_of_uniform_and_deterministic_policies() -> None:
    assert entropy(torch.zeros(3, 4)).item() == pytest.approx(math.log(4))
    assert entropy(torch.tensor([[100.0, 0, 0, 0]])).item() == pytest.approx(0, abs=1e-6)


def test_answer_loss_ignores_rows_without_a_question() -> None:
    scores = torch.tensor([[0.0, 0.0], [5.0, -5.0]])
    assert answer_loss(scores, torch.tensor([1, -1])).item() == pytest.approx(math.log(2))
    no_question = answer_loss(scores.requires_grad_(), torch.tensor([-1, -1]))
    assert no_question.item() == 0
    no_question.backward()
    assert scores.grad is not None
    assert not scores.grad.any()


def test_unequal_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shapes must be equal, got \[\(2,\), \(3,\)\]"):
        ppo_loss(torch.zeros(2), torch.zeros(3), torch.zeros(2), 0.2)
    with pytest.raises(ValueError, match="scores and answers must have the same length, got 2 and 3"):
        answer_loss(torch.zeros(2, 5), torch.zeros(3, dtype=torch.int64))
    with pytest.raises(ValueError, match="maps and positions must have the same length, got 2 and 3"):
        hindsight_loss(torch.zeros(2, 5), torch.zeros(3, dtype=torch.int64))


def test_hindsight_loss_ignores_unknown_positions() -> None:
    x_loc = torch.tensor([[0.25, 0.75], [1.0, 0.0]])
    assert hindsight_loss(x_loc, torch.tensor([0, -1])).item() == pytest.approx(math.log(4))
    assert hindsight_loss(x_loc, torch.tensor([-1, -1])).item() == 0


def test_hindsight_positions_equal_hand_computed_values() -> None:
    """On a 3 x 3 map with a 5 x 5 view. Env 0: two steps right to the target, then a new episode that continues.
    Env 1: an episode that is truncated after one step, then a new one that continues."""
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


def test_terrain_loss_equals_hand_computed_values() -> None:
    x_terr = torch.tensor([[0.5, 0.2, 0.9], [0.1, 0.25, 0.3], [0.4, 0.4, 0.4]])
    positions, punished = torch.tensor([2, 1, -1]), torch.tensor([True, False, True])
    loss = terrain_loss(x_terr, positions, punished)
    assert loss.item() == pytest.approx(-(math.log(0.9) + math.log(0.75)) / 2)
    assert terrain_loss(x_terr, torch.full((3,), -1), punished).item() == 0


def test_terrain_loss_has_a_gradient_where_a_wall_is_marked_as_floor() -> None:
    """Also if its terrain value is nearly zero: -1 for the logit, the largest that cross entropy has."""
    logit = torch.full((1, 1), -20.0, requires_grad=True)
    terrain_loss(torch.sigmoid(logit), torch.tensor([0]), torch.tensor([True])).backward()
    assert logit.grad is not None
    assert logit.grad.item() == pytest.approx(-1, rel=1e-3)


def test_tried_positions_are_the_cells_beside_the_agent_unless_they_were_rewarded() -> None:
    """On a 3 x 3 map with a 5 x 5 view; the actions are left, right, up and down."""
    center = 12
    actions, reached = np.array([[0, 1], [2, 3]]), np.array([[0, 0], [0, 1]], np.bool_)
    assert tried_positions(actions, reached, size=3).tolist() == [[center - 1, center + 1], [center - 5, -1]]


def test_naming_loss_equals_hand_computed_values() -> None:
    """-(0.75 log p_0 + 0.25 log p_1) with p = (0.8, 0.2), and -log 0.5; the attention gets no gradient."""
    scores = torch.tensor([[math.log(4.0), 0.0], [1.0, 1.0]])
    x_loc = torch.tensor([[0.75, 0.25], [0.0, 1.0]], requires_grad=True)
    loss = naming_loss(scores.requires_grad_(), x_loc)
    expected = -(0.75 * math.log(0.8) + 0.25 * math.log(0.2)) + math.log(2)
    assert loss.item() == pytest.approx(expected / 2)
    loss.backward()
    assert x_loc.grad is None
    assert scores.grad is not None


def test_reading_loss_is_the_mean_frequency_of_attended_words() -> None:
    """Word 0 is in all three sentences, word 1 in two, word 2 in one; 9 is padding. Repetitions count once."""
    tokens = torch.tensor([[0, 1, 0], [0, 1, 9], [2, 0, 9]])
    attention = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0.5, 0.5, 0.0]] * 2, [[1.0, 0.0, 0.0]] * 2])
    expected = (1 + 2 / 3 + 2 * (0.5 + 0.5 * 2 / 3) + 2 * 1 / 3) / 6
    assert reading_loss(attention, tokens, pad=9).item() == pytest.approx(expected)
    nothing_said = torch.full((1, 3), 9)
    more = reading_loss(torch.cat([attention, attention[:1]]), torch.cat([tokens, nothing_said]), pad=9)
    assert more.item() == pytest.approx(expected)
    assert reading_loss(attention[:1], nothing_said, pad=9).item() == 0

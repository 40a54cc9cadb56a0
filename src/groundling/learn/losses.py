"""Returns and losses as pure functions; each starts with a check of its shapes."""

import torch
import torch.nn.functional as F
from torch import Tensor


def advantages(
    rewards: Tensor,
    values: Tensor,
    next_values: Tensor,
    terminated: Tensor,
    ended: Tensor,
    gamma: float,
    gae_lambda: float,
) -> Tensor:
    """Generalized advantage estimation (Schulman et al., 2016), all arguments and the result [T, B].

    `next_values` are the values of the next states, also at the end of an episode: only `terminated` zeroes them,
    because a truncated episode still had a future. `ended` (terminated or truncated) stops the recursion, because what
    follows is another episode.
    """
    _same_shape(rewards, values, next_values, terminated, ended)
    deltas = rewards + gamma * next_values * ~terminated - values
    result = torch.zeros_like(rewards)
    running = torch.zeros_like(rewards[0])
    for t in reversed(range(len(rewards))):
        running = deltas[t] + gamma * gae_lambda * running * ~ended[t]
        result[t] = running
    return result


def ppo_loss(log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, clip_range: float) -> Tensor:
    """The clipped surrogate loss (Schulman et al., 2017) of [B] actions."""
    _same_shape(log_prob, old_log_prob, advantage)
    ratio = (log_prob - old_log_prob).exp()
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip_range, 1 + clip_range) * advantage).mean()


def actor_critic_loss(
    logits: Tensor,
    value: Tensor,
    actions: Tensor,
    rewards: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    gamma: float,
) -> tuple[Tensor, Tensor]:
    """The paper's one-step actor-critic, summed over [B] steps: its gradient is
    -(grad log pi(a) + grad v) (r + gamma v^-(next) - v). Also returns the TD errors [B].
    """
    _same_shape(value, actions, rewards, next_value, terminated)
    error = rewards + gamma * next_value * ~terminated - value
    log_prob = F.log_softmax(logits, dim=1).gather(1, actions[:, None])[:, 0]
    fixed = error.detach()
    return -((log_prob + value) * fixed).sum(), fixed


def entropy(logits: Tensor) -> Tensor:
    """Mean entropy of the softmax of [B, actions]."""
    log_prob = F.log_softmax(logits, dim=1)
    return -(log_prob.exp() * log_prob).sum(1).mean()


def answer_loss(scores: Tensor, answers: Tensor) -> Tensor:
    """Cross entropy of scores [B, words] with the true answers [B]; -1 (no question) is ignored."""
    if scores.shape[0] != answers.shape[0]:
        raise ValueError(f"scores and answers must have the same length, got {scores.shape[0]} and {answers.shape[0]}")
    asked = answers >= 0
    # A batch without a question has loss 0, not 0 / 0.
    return F.cross_entropy(scores[asked], answers[asked], reduction="sum") / asked.sum().clamp(min=1)


def hindsight_loss(x_loc: Tensor, positions: Tensor) -> Tensor:
    """Cross entropy of attention maps [B, N] with the rewarded positions [B]; -1 (unknown) is ignored."""
    if x_loc.shape[0] != positions.shape[0]:
        raise ValueError(f"maps and positions must have the same length, got {x_loc.shape[0]} and {positions.shape[0]}")
    known = positions >= 0
    probability = x_loc[known].gather(1, positions[known, None]).clamp(min=1e-6)
    return -probability.log().sum() / known.sum().clamp(min=1)


def naming_loss(scores: Tensor, x_loc: Tensor) -> Tensor:
    """Cross entropy of the softmax of true answers' detection scores [B, N] with their questions' attention [B, N].

    The answer names what the question refers to, so it should be detected there.
    """
    _same_shape(scores, x_loc)
    return F.cross_entropy(scores, x_loc.detach(), reduction="sum") / max(1, len(x_loc))


def terrain_loss(x_terr: Tensor, positions: Tensor, is_obstacle: Tensor) -> Tensor:
    """Cross entropy of terrain maps [B, N] at positions [B] with whether an obstacle is there [B].

    A position of -1 (the move told nothing about the terrain) is ignored.
    """
    _same_shape(positions, is_obstacle)
    if x_terr.shape[0] != positions.shape[0]:
        raise ValueError(
            f"maps and positions must have the same length, got {x_terr.shape[0]} and {positions.shape[0]}"
        )
    known = positions >= 0
    tried = x_terr[known].gather(1, positions[known, None])[:, 0]
    loss = F.binary_cross_entropy(tried, is_obstacle[known].to(tried.dtype), reduction="sum")
    return loss / known.sum().clamp(min=1)


def _same_shape(*tensors: Tensor) -> None:
    shapes = {tuple(tensor.shape) for tensor in tensors}
    if len(shapes) != 1:
        raise ValueError(f"shapes must be equal, got {sorted(shapes)}")

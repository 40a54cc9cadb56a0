"""Navigation by proximal policy optimization (Schulman et al., 2017), with the answers' loss on every frame."""

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from groundling.agent import Model
from groundling.learn.config import TrainConfig
from groundling.learn.losses import advantages, answer_loss, attention_loss, entropy, ppo_loss
from groundling.learn.stage import RunningMeans, Stage, draw_actions
from groundling.rollout import Frames
from groundling.world.simulation import MOVES, Bools, Int16s


class Rollout(NamedTuple):
    """What was lived through in a round; all [T, B]."""

    frames: Frames
    actions: Tensor
    log_prob: Tensor
    """Of the actions, when they were chosen."""
    advantage: Tensor
    returns: Tensor
    hindsight_positions: Tensor
    """Where in each view the episode was rewarded in the end, see `arrivals`."""


class PPO(Stage):
    """The second stage of `fast`."""

    name, number = "ppo", 1

    def __init__(self, model: Model, config: TrainConfig) -> None:
        self.settings = config.ppo
        self.max_grad_norm = self.settings.max_grad_norm
        super().__init__(model, config, self.settings.envs)

    def make_optimizer(self) -> torch.optim.Optimizer:
        def rate_of(name: str) -> float:
            quick = name.startswith(("planner.", "terrain.")) or name.endswith("log_sharpness")
            return self.settings.planner_lr if quick else self.settings.rate

        return self.adam(rate_of)

    def learn(self, rng: np.random.Generator, sums: RunningMeans) -> None:
        self.scale_lr(1 - self.progress)
        rollout = self.act(rng, sums)
        with self.word_dropout(rng):
            for _ in range(self.settings.epochs):
                order = torch.from_numpy(rng.permutation(self.settings.envs)).to(self.device)
                for envs in order.split(self.settings.group):
                    self.learn_from(rollout, envs, sums)

    @torch.no_grad()
    def act(self, rng: np.random.Generator, sums: RunningMeans) -> Rollout:
        """Live through a round of steps in all worlds by the policy as it is."""
        frames, actions, log_probs, rewards, values, terminated, ended = [], [], [], [], [], [], []
        agents = []
        bootstrap = []  # the value of what a truncated episode would have gone on from
        for _ in range(self.settings.steps):
            now = self.observe()
            agents.append(self.envs.episode.state.agent)
            output = self.model(now.view(self.pictures), now.commands)
            chosen = draw_actions(output.action_logits, rng)
            outcome, over, after = self.envs.step(chosen)
            sums.add_sessions(over)
            action = torch.from_numpy(chosen).to(self.device)
            truncated = torch.from_numpy(outcome.truncated).to(self.device)
            ahead = torch.zeros_like(output.value)
            if truncated.any():
                final = after.to(self.device).select(truncated)
                ahead[truncated] = self.model(final.view(self.pictures), final.commands).value
            frames.append(now)
            actions.append(action)
            log_probs.append(_log_prob(output.action_logits, action))
            rewards.append(torch.from_numpy(outcome.reward).float().to(self.device))
            values.append(output.value)
            terminated.append(torch.from_numpy(outcome.terminated).to(self.device))
            ended.append(terminated[-1] | truncated)
            bootstrap.append(ahead)
        now = Frames.of(self.envs.episode).to(self.device)
        values.append(self.model(now.view(self.pictures), now.commands).value)

        value, over_here = torch.stack(values), torch.stack(ended)
        next_value = torch.where(over_here, torch.stack(bootstrap), value[1:])
        advantage = advantages(
            torch.stack(rewards),
            value[:-1],
            next_value,
            torch.stack(terminated),
            over_here,
            self.settings.gamma,
            self.settings.gae_lambda,
        )
        sums.add("frames", advantage.numel())
        sums.add("steps", advantage.numel())
        return Rollout(
            Frames(*map(torch.stack, zip(*frames, strict=True))),
            torch.stack(actions),
            torch.stack(log_probs),
            (advantage - advantage.mean()) / (advantage.std() + 1e-8),
            advantage + value[:-1],
            torch.from_numpy(
                hindsight_positions(
                    np.stack(agents),
                    torch.stack(actions).cpu().numpy(),
                    torch.stack(terminated).cpu().numpy(),
                    over_here.cpu().numpy(),
                    self.envs.episode.state.size,
                )
            ).to(self.device),
        )

    def learn_from(self, rollout: Rollout, envs: Tensor, sums: RunningMeans) -> None:
        """One minibatch: some worlds, with all their steps."""

        def flat(part: Tensor) -> Tensor:
            return part[:, envs].flatten(0, 1)

        settings = self.settings
        frames = Frames(*map(flat, rollout.frames))
        output = self.model(frames.view(self.pictures), frames.commands, frames.questions)
        log_prob = _log_prob(output.action_logits, flat(rollout.actions))
        losses = {
            "policy_loss": ppo_loss(log_prob, flat(rollout.log_prob), flat(rollout.advantage), settings.clip),
            "value_loss": settings.value * F.mse_loss(output.value, flat(rollout.returns)),
            "entropy_loss": -settings.entropy * (1 - self.progress) * entropy(output.action_logits),
        }
        if output.answer_scores is not None:
            losses["answer_loss"] = settings.answers * answer_loss(output.answer_scores, frames.answers)
            sums.add_answers(frames, output.answer_scores)
        if output.x_loc is not None:
            losses["attention_loss"] = settings.hindsight * attention_loss(
                output.x_loc, flat(rollout.hindsight_positions)
            )
        sums.add("gradient", self.descend(torch.stack([*losses.values()]).sum()))
        for name, loss in losses.items():
            sums.add(name, loss.item())


def hindsight_positions(
    agents: Int16s, actions: NDArray[np.int64], reached: Bools, ended: Bools, size: int
) -> NDArray[np.int64]:
    """[T, B]: the place in the agent's view where its episode came to be rewarded, -1 if it was not, or not yet.

    It takes nothing that the agent does not live through: its way, and that the last step of it was rewarded. All
    arguments are [T, B]; `agents` are its places on the map before its actions.
    """
    positions = np.full(agents.shape, -1)
    known = np.zeros(agents.shape[1], np.bool_)
    goal = np.zeros((agents.shape[1], 2), np.int64)
    for t in reversed(range(len(agents))):
        at = np.stack(np.divmod(agents[t], size), 1)
        known = np.where(ended[t], reached[t], known)
        goal[reached[t]] = (at + MOVES[actions[t]])[reached[t]]
        row, column = (goal - at + size - 1).T  # the agent is in the center of a view of 2 size - 1 places a side
        positions[t, known] = (row * (2 * size - 1) + column)[known]
    return positions


def _log_prob(logits: Tensor, actions: Tensor) -> Tensor:
    """[B, actions], [B] -> [B]"""
    return F.log_softmax(logits, dim=1).gather(1, actions[:, None])[:, 0]

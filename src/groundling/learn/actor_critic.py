"""The paper's algorithm: actor-critic with replay, without importance ratios, and questions on the same steps."""

import copy

import numpy as np
import torch
from torch import Tensor

from groundling.agent import Model, View
from groundling.agent.language import RecurrentReader
from groundling.evaluation.leak_check import SentenceLog
from groundling.learn.config import TrainConfig
from groundling.learn.losses import actor_critic_loss, answer_loss
from groundling.learn.optimizers import make_optimizer
from groundling.learn.replay_buffer import ReplayBuffer
from groundling.learn.stage import RunningMeans, Stage, auxiliary_losses
from groundling.rollout import Frames, sample_actions

REFRESH_BATCH = 512
"""Steps of the replay buffer whose next values are computed at a time."""


class ActorCritic(Stage):
    """The only stage of `paper`. Every `acting_interval` updates, every environment takes one step.

    The target network changes only every `target_update_interval` updates. So v^-(next state) is computed once for each
    step when it is stored, again when the target network changes, and never when the step is sampled.
    """

    name, number, log_interval = "actor_critic", 2, 250

    def __init__(self, model: Model, config: TrainConfig, log: SentenceLog) -> None:
        self.settings = settings = config.actor_critic
        optimizer = make_optimizer(model.parameters(), settings)
        max_grad_norm = float("inf") if settings.max_grad_norm is None else settings.max_grad_norm
        super().__init__(model, config, log, settings.num_envs, optimizer, max_grad_norm)
        for module in model.modules():
            if isinstance(module, RecurrentReader):
                module.skips_padding = True
        self.target = copy.deepcopy(model)
        """theta^-: the target network."""
        self.replay = ReplayBuffer(settings.replay_size, settings.priority_exponent)

    @property
    def exploration(self) -> float:
        """lambda: the probability of a random action, which falls linearly from 1 with the environment steps."""
        fraction = min(1.0, self.updates * self.settings.batch_size / self.settings.exploration_steps)
        return 1 + fraction * (self.settings.final_exploration - 1)

    def learn(self, rng: np.random.Generator, metrics: RunningMeans) -> None:
        settings = self.settings
        if self.updates % settings.target_update_interval == 0:
            self.update_target()
        if self.updates % settings.acting_interval == 0:
            self.act(rng, metrics)
        where = self.replay.sample(settings.batch_size, rng)
        rows = {name: values.to(self.device) for name, values in self.replay.get(where).items()}
        now = Frames(*(rows[name] for name in Frames._fields))
        output = self.model(now.view(self.pictures), now.commands, now.questions)
        policy_loss, error = actor_critic_loss(
            output.action_logits,
            output.value,
            rows["actions"],
            rows["rewards"],
            rows["next_values"],
            rows["terminated"],
            settings.gamma,
        )
        losses = {"actor_critic_loss": policy_loss}
        if output.answer_scores is not None:
            # A sum, as in the paper.
            losses["answer_loss"] = answer_loss(output.answer_scores, now.answers) * settings.batch_size
            metrics.add_answers(now, output.answer_scores)
        losses |= auxiliary_losses(self.model, output, now.answers, gate_loss=0, reading_loss=0)
        self.replay.error[where] = error.abs().cpu().numpy()
        scale = 1 / settings.batch_size if settings.loss_reduction == "mean" else 1.0
        metrics.add("grad_norm", self.descend(scale * torch.stack([*losses.values()]).sum()))
        metrics.add("exploration", self.exploration)
        metrics.add("frames", settings.batch_size)
        for name, own in losses.items():
            metrics.add(name, own.item())

    @torch.no_grad()
    def act(self, rng: np.random.Generator, metrics: RunningMeans) -> None:
        """Take one step in every environment and store it in the replay buffer."""
        now = self.observe()
        output = self.model(now.view(self.pictures), now.commands)
        actions = sample_actions(output.action_logits, rng, self.exploration)
        step, finished = self.envs.step(actions)
        metrics.add_episodes(finished)
        metrics.add("env_steps", len(actions))
        next_cells = Frames.of(step.after).cells
        rows = {
            **{name: part.cpu() for name, part in now._asdict().items()},
            "actions": torch.from_numpy(actions),
            "rewards": torch.from_numpy(step.reward).float(),
            "terminated": torch.from_numpy(step.terminated),
            "next_cells": next_cells,
            "next_values": self.next_values(next_cells, now.commands),
        }
        self.replay.store({name: values[-self.settings.replay_size :] for name, values in rows.items()})

    @torch.no_grad()
    def update_target(self) -> None:
        """Copy the parameters to the target network, and compute the next values of all stored steps with it."""
        self.target.load_state_dict(self.model.state_dict())
        rows = self.replay.rows
        for start in range(0, len(self.replay), REFRESH_BATCH):
            part = slice(start, min(start + REFRESH_BATCH, len(self.replay)))
            rows["next_values"][part] = self.next_values(rows["next_cells"][part], rows["commands"][part])

    def next_values(self, cells: Tensor, commands: Tensor) -> Tensor:
        """v^- [B] of next states, given by their cells [B, side, side] and commands [B, L]"""
        view = View.of_cells(cells.to(self.device), self.pictures)
        values: Tensor = self.target(view, commands.to(self.device)).value
        return values.cpu()

    def tensors(self) -> dict[str, Tensor]:
        target = {f"target.{name}": tensor for name, tensor in self.target.state_dict().items()}
        return {**super().tensors(), **target, **{f"replay.{k}": v for k, v in self.replay.tensors().items()}}

    def restore(self, tensors: dict[str, Tensor], updates: int) -> None:
        super().restore(tensors, updates)
        self.target.load_state_dict({k[7:]: v for k, v in tensors.items() if k.startswith("target.")})
        self.replay.restore({k[7:]: v for k, v in tensors.items() if k.startswith("replay.")})

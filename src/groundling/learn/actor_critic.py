"""The paper's algorithm: actor-critic with replay, without importance ratios, and questions on the same steps."""

import copy

import numpy as np
import torch
from torch import Tensor

from groundling.agent import Model
from groundling.evaluation.leak_check import SentenceLog
from groundling.learn.config import TrainConfig
from groundling.learn.losses import actor_critic_loss, answer_loss
from groundling.learn.replay_buffer import ReplayBuffer
from groundling.learn.stage import RunningMeans, Stage
from groundling.rollout import Frames, sample_actions


class ActorCritic(Stage):
    """The only stage of `paper`. Before each update, every environment takes one step."""

    name, number, log_interval = "actor_critic", 2, 250

    def __init__(self, model: Model, config: TrainConfig, log: SentenceLog) -> None:
        self.settings = config.actor_critic
        optimizer = torch.optim.Adagrad(
            model.parameters(), self.settings.lr, weight_decay=self.settings.weight_decay, foreach=True
        )
        super().__init__(model, config, log, self.settings.batch_size, optimizer)
        self.target = copy.deepcopy(model)
        """theta^-: the target network."""
        self.replay = ReplayBuffer(self.settings.replay_size, self.settings.priority_exponent)

    @property
    def exploration(self) -> float:
        """lambda: the probability of a random action, which falls linearly from 1 with the environment steps."""
        fraction = min(1.0, self.updates * self.settings.batch_size / self.settings.exploration_steps)
        return 1 + fraction * (self.settings.final_exploration - 1)

    def learn(self, rng: np.random.Generator, metrics: RunningMeans) -> None:
        settings = self.settings
        if self.updates % settings.target_update_interval == 0:
            self.target.load_state_dict(self.model.state_dict())
        self.act(rng, metrics)
        where = self.replay.sample(settings.batch_size, rng)
        rows = {name: values.to(self.device) for name, values in self.replay.get(where).items()}
        now = Frames(*(rows[name] for name in Frames._fields))
        after = now._replace(cells=rows["next_cells"])
        with torch.no_grad():
            next_value = self.target(after.view(self.pictures), after.commands).value
        output = self.model(now.view(self.pictures), now.commands, now.questions)
        policy_loss, error = actor_critic_loss(
            output.action_logits,
            output.value,
            rows["actions"],
            rows["rewards"],
            next_value,
            rows["terminated"],
            settings.gamma,
        )
        loss = policy_loss
        metrics.add("actor_critic_loss", policy_loss.item())
        if output.answer_scores is not None:
            qa_loss = answer_loss(output.answer_scores, now.answers) * settings.batch_size  # a sum, as in the paper
            loss = loss + qa_loss
            metrics.add("answer_loss", qa_loss.item())
            metrics.add_answers(now, output.answer_scores)
        for name, own in self.auxiliary_losses(output, now.answers, gate_loss=0, reading_loss=0).items():
            loss = loss + own
            metrics.add(name, own.item())
        self.replay.error[where] = error.abs().cpu().numpy()
        metrics.add("grad_norm", self.descend(loss))
        metrics.add("exploration", self.exploration)

    @torch.no_grad()
    def act(self, rng: np.random.Generator, metrics: RunningMeans) -> None:
        """Take one step in every environment and store it in the replay buffer."""
        now = self.observe()
        output = self.model(now.view(self.pictures), now.commands)
        actions = sample_actions(output.action_logits, rng, self.exploration)
        step, finished = self.envs.step(actions)
        metrics.add_episodes(finished)
        metrics.add("frames", len(actions))
        metrics.add("env_steps", len(actions))
        self.replay.store(
            {
                **{name: part.cpu() for name, part in now._asdict().items()},
                "actions": torch.from_numpy(actions),
                "rewards": torch.from_numpy(step.reward).float(),
                "terminated": torch.from_numpy(step.terminated),
                "next_cells": Frames.of(step.after).cells,
            }
        )

    def tensors(self) -> dict[str, Tensor]:
        target = {f"target.{name}": tensor for name, tensor in self.target.state_dict().items()}
        return {**super().tensors(), **target, **{f"replay.{k}": v for k, v in self.replay.tensors().items()}}

    def restore(self, tensors: dict[str, Tensor], updates: int) -> None:
        super().restore(tensors, updates)
        self.target.load_state_dict({k[7:]: v for k, v in tensors.items() if k.startswith("target.")})
        self.replay.restore({k[7:]: v for k, v in tensors.items() if k.startswith("replay.")})

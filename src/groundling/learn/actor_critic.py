"""The paper's way to learn: actor-critic from replay, without importance ratios, and questions on the same steps."""

import copy

import numpy as np
import torch
from torch import Tensor

from groundling.agent import Model
from groundling.learn.config import TrainConfig
from groundling.learn.losses import actor_critic_loss, answer_loss
from groundling.learn.replay_buffer import Replay
from groundling.learn.stage import RunningMeans, Stage, draw_actions
from groundling.rollout import Frames


class ActorCritic(Stage):
    """The only stage of `paper`. Each update follows one step in every world."""

    name, number = "actor_critic", 2

    def __init__(self, model: Model, config: TrainConfig) -> None:
        self.settings = config.actor_critic
        super().__init__(model, config, self.settings.batch)
        self.target = copy.deepcopy(model)
        """theta^-: the parameters as they were some updates ago."""
        self.replay = Replay(self.settings.replay, self.settings.priority)

    def make_optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.Adagrad(
            self.model.parameters(), self.settings.rate, weight_decay=self.settings.weight_decay, foreach=True
        )

    @property
    def exploration(self) -> float:
        """lambda: it falls linearly from 1, with the steps made."""
        share = min(1.0, self.updates * self.settings.batch / self.settings.exploration_steps)
        return 1 + share * (self.settings.final_exploration - 1)

    def learn(self, rng: np.random.Generator, sums: RunningMeans) -> None:
        settings = self.settings
        if self.updates % settings.target_update_interval == 0:
            self.target.load_state_dict(self.model.state_dict())
        self.act(rng, sums)
        where = self.replay.draw(settings.batch, rng)
        rows = {name: values.to(self.device) for name, values in self.replay.get(where).items()}
        now = Frames(*(rows[name] for name in Frames._fields))
        after = now._replace(cells=rows["next_cells"])
        with torch.no_grad():
            next_value = self.target(after.view(self.pictures), after.commands).value
        output = self.model(now.view(self.pictures), now.commands, now.questions)
        walking, error = actor_critic_loss(
            output.action_logits,
            output.value,
            rows["actions"],
            rows["rewards"],
            next_value,
            rows["terminated"],
            settings.gamma,
        )
        loss = walking
        sums.add("actor_critic_loss", walking.item())
        if output.answer_scores is not None:
            answering = answer_loss(output.answer_scores, now.answers) * settings.batch  # a sum, as the paper's are
            loss = loss + answering
            sums.add("answer_loss", answering.item())
            sums.add_answers(now, output.answer_scores)
        self.replay.error[where] = error.abs().cpu().numpy()
        sums.add("gradient", self.descend(loss))
        sums.add("exploration", self.exploration)

    @torch.no_grad()
    def act(self, rng: np.random.Generator, sums: RunningMeans) -> None:
        """One step in every world, into the replay."""
        now = self.observe()
        output = self.model(now.view(self.pictures), now.commands)
        actions = draw_actions(output.action_logits, rng, self.exploration)
        outcome, ended, after = self.envs.step(actions)
        sums.add_sessions(ended)
        sums.add("frames", len(actions))
        sums.add("steps", len(actions))
        self.replay.store(
            {
                **{name: part.cpu() for name, part in now._asdict().items()},
                "actions": torch.from_numpy(actions),
                "rewards": torch.from_numpy(outcome.reward).float(),
                "terminated": torch.from_numpy(outcome.terminated),
                "next_cells": after.cells,
            }
        )

    def tensors(self) -> dict[str, Tensor]:
        target = {f"target.{name}": tensor for name, tensor in self.target.state_dict().items()}
        return {**super().tensors(), **target, **{f"replay.{k}": v for k, v in self.replay.tensors().items()}}

    def restore(self, tensors: dict[str, Tensor], updates: int) -> None:
        super().restore(tensors, updates)
        self.target.load_state_dict({k[7:]: v for k, v in tensors.items() if k.startswith("target.")})
        self.replay.restore({k[7:]: v for k, v in tensors.items() if k.startswith("replay.")})

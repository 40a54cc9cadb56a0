"""Navigation by proximal policy optimization (Schulman et al., 2017), with the answer loss on every observation."""

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from groundling.agent import Model
from groundling.agent.language import WordDropout
from groundling.evaluation.leak_check import SentenceLog
from groundling.learn.config import TrainConfig
from groundling.learn.losses import (
    advantages,
    answer_loss,
    entropy,
    hindsight_loss,
    naming_loss,
    ppo_loss,
    terrain_loss,
)
from groundling.learn.stage import RunningMeans, Stage, adamw, auxiliary_losses
from groundling.learn.workers import Part
from groundling.rollout import Frames, sample_actions
from groundling.world.simulation import MOVES
from groundling.world.types import REWARD_UNIT, Bools, Int16s


class Transition(NamedTuple):
    """One step of all environments, [B]; stacked, those of a rollout, [T, B]."""

    cells: Tensor
    commands: Tensor
    questions: Tensor
    answers: Tensor
    types: Tensor
    agent: Tensor
    """The agent's position on the map before the action."""
    action: Tensor
    log_prob: Tensor
    """Log probability of the action when it was sampled."""
    reward: Tensor
    is_obstacle: Tensor
    """Whether the action was blocked, or rewarded less than other steps."""
    value: Tensor
    terminated: Tensor
    ended: Tensor
    """Terminated or truncated."""
    bootstrap: Tensor
    """Value of the next state of a truncated episode, otherwise 0."""


class Rollout(NamedTuple):
    """The data of an iteration, all [T, B], or of a minibatch, all [B]."""

    frames: Frames
    actions: Tensor
    log_prob: Tensor
    """Log probability of the actions when they were sampled."""
    advantage: Tensor
    returns: Tensor
    hindsight: Tensor
    """The position in each view where the episode was rewarded in the end, see `hindsight_positions`."""
    tried: Tensor
    """The position in each view that the action moves to, -1 if the episode was rewarded there."""
    is_obstacle: Tensor
    """Whether the action was blocked or punished: a wall, the edge of the map or a wrong object is there."""

    def select(self, envs: Tensor) -> "Rollout":
        """All steps of some environments, [T * B']."""
        frames, *rest = self
        columns = [part[:, envs].flatten(0, 1) for part in (*frames, *rest)]
        return Rollout(Frames(*columns[: len(frames)]), *columns[len(frames) :])


class PPO(Stage):
    """Second stage of `fast`."""

    name, number, log_interval = "ppo", 1, 1

    def __init__(self, model: Model, config: TrainConfig, log: SentenceLog) -> None:
        self.settings = config.ppo
        optimizer = adamw(
            model,
            config,
            self.settings.lr,
            {"planner": self.settings.planner_lr, "sharpness": self.settings.sharpness_lr},
        )
        super().__init__(model, config, log, self.settings.num_envs, optimizer, self.settings.max_grad_norm)

    def learn(self, rng: np.random.Generator, metrics: RunningMeans) -> None:
        self.scale_lr(1 - self.progress)
        rollout = self.collect(rng, metrics)
        word_dropout = self.word_dropout(rng) if self.workers is None else None
        for _ in range(self.settings.epochs):
            order = torch.from_numpy(rng.permutation(self.settings.num_envs)).to(self.device)
            for envs in order.split(self.settings.envs_per_minibatch):
                self.learn_from(rollout, envs, rng, metrics, word_dropout)

    @torch.no_grad()
    def collect(self, rng: np.random.Generator, metrics: RunningMeans) -> Rollout:
        """Act in all environments with the current policy; compute advantages and returns."""
        transitions = [self.act(rng, metrics) for _ in range(self.settings.num_steps)]
        steps = Transition(*map(torch.stack, zip(*transitions, strict=True)))
        last = Frames.of(self.envs.episode).to(self.device)
        last_value = self.model(last.view(self.pictures), last.commands).value
        next_value = torch.where(steps.ended, steps.bootstrap, torch.cat([steps.value[1:], last_value[None]]))
        advantage = advantages(
            steps.reward,
            steps.value,
            next_value,
            steps.terminated,
            steps.ended,
            self.settings.gamma,
            self.settings.gae_lambda,
        )
        metrics.add("frames", advantage.numel())
        metrics.add("env_steps", advantage.numel())
        agents, actions, reached, ended = (
            part.cpu().numpy() for part in (steps.agent, steps.action, steps.terminated, steps.ended)
        )
        positions = hindsight_positions(agents, actions, reached, ended, self.envs.teacher.world.size)
        return Rollout(
            Frames(*steps[: len(Frames._fields)]),
            steps.action,
            steps.log_prob,
            (advantage - advantage.mean()) / (advantage.std() + 1e-8),
            advantage + steps.value,
            torch.from_numpy(positions).to(self.device),
            torch.from_numpy(tried_positions(actions, reached, self.envs.teacher.world.size)).to(self.device),
            steps.is_obstacle,
        )

    def act(self, rng: np.random.Generator, metrics: RunningMeans) -> Transition:
        """Sample and take one action in every environment."""
        frames, agent = self.observe(), torch.from_numpy(self.envs.episode.state.agent)
        output = self.model(frames.view(self.pictures), frames.commands)
        chosen = sample_actions(output.action_logits, rng)
        step, finished = self.envs.step(chosen)
        metrics.add_episodes(finished)
        action = torch.from_numpy(chosen).to(self.device)
        terminated = torch.from_numpy(step.terminated).to(self.device)
        truncated = torch.from_numpy(step.truncated).to(self.device)
        bootstrap = torch.zeros_like(output.value)
        if truncated.any():
            final = Frames.of(step.after).to(self.device).select(truncated)
            bootstrap[truncated] = self.model(final.view(self.pictures), final.commands).value
        punished = step.reward < self.envs.teacher.world.rewards.step - 0.5 / REWARD_UNIT
        is_obstacle = punished | (step.after.state.agent == agent.numpy())
        return Transition(
            *frames,
            agent=agent,
            action=action,
            log_prob=_log_prob(output.action_logits, action),
            reward=torch.from_numpy(step.reward).float().to(self.device),
            is_obstacle=torch.from_numpy(is_obstacle).to(self.device),
            value=output.value,
            terminated=terminated,
            ended=terminated | truncated,
            bootstrap=bootstrap,
        )

    def learn_from(
        self,
        rollout: Rollout,
        envs: Tensor,
        rng: np.random.Generator,
        metrics: RunningMeans,
        word_dropout: WordDropout | None = None,
    ) -> None:
        """Make one update with a minibatch: some environments, with all their steps."""
        parts = [envs] if self.workers is None else envs.chunk(self.workers.count)
        self.minimize(ppo_losses, [rollout.select(part) for part in parts], rng, metrics, word_dropout)


def ppo_losses(
    model: Model,
    config: TrainConfig,
    pictures: Tensor,
    part: Part,
    word_dropout: WordDropout | None,
    metrics: RunningMeans,
) -> dict[str, Tensor]:
    """The losses of steps (a Rollout, all [B])."""
    batch, settings = part.batch, config.ppo
    frames = batch.frames
    output = model(frames.view(pictures), frames.commands, frames.questions, word_dropout)
    log_prob = _log_prob(output.action_logits, batch.actions)
    losses = {
        "policy_loss": ppo_loss(log_prob, batch.log_prob, batch.advantage, settings.clip_range),
        "value_loss": settings.value_coef * F.mse_loss(output.value, batch.returns),
        "entropy_loss": -settings.entropy_coef * (1 - part.progress) * entropy(output.action_logits),
    }
    if output.answer_scores is not None:
        losses["answer_loss"] = settings.answer_coef * answer_loss(output.answer_scores, frames.answers)
        metrics.add_answers(frames, output.answer_scores)
    losses |= auxiliary_losses(model, output, frames.answers, gate_loss=0, reading_loss=settings.reading_coef)
    if output.x_loc is not None:
        losses["hindsight_loss"] = settings.hindsight_coef * hindsight_loss(output.x_loc, batch.hindsight)
    if output.x_loc_question is not None and settings.naming_coef:
        asked = frames.answers >= 0
        answered = frames.select(asked)
        scores = model.detect_words(answered.view(pictures), answered.answers)
        if scores is not None:
            losses["naming_loss"] = settings.naming_coef * naming_loss(scores, output.x_loc_question[asked])
    if output.x_terr is not None and settings.terrain_coef:
        loss = terrain_loss(output.x_terr, batch.tried, batch.is_obstacle)
        losses["terrain_loss"] = settings.terrain_coef * loss
    return losses


def hindsight_positions(
    agents: Int16s, actions: NDArray[np.int64], reached: Bools, ended: Bools, size: int
) -> NDArray[np.int64]:
    """[T, B]: the position in the agent's view where its episode was rewarded, -1 if it was not, or not yet.

    Computed only from what the agent experiences: its path, and that its last step was rewarded. All arguments are
    [T, B]; `agents` are its positions on the map before its actions.
    """
    positions = np.full(agents.shape, -1)
    known = np.zeros(agents.shape[1], np.bool_)
    goal = np.zeros((agents.shape[1], 2), np.int64)
    for t in reversed(range(len(agents))):
        at = np.stack(np.divmod(agents[t], size), 1)
        known = np.where(ended[t], reached[t], known)
        goal[reached[t]] = (at + MOVES[actions[t]])[reached[t]]
        row, column = (goal - at + size - 1).T  # the agent is in the center of a view of side 2 size - 1
        positions[t, known] = (row * (2 * size - 1) + column)[known]
    return positions


def tried_positions(actions: NDArray[np.int64], reached: Bools, size: int) -> NDArray[np.int64]:
    """[T, B]: the position in the agent's view that its action moves to, -1 if the episode was rewarded there.

    A rewarded object is an obstacle for every other command, so reaching it says nothing about obstacles.
    """
    row, column = (MOVES[actions] + size - 1).transpose(2, 0, 1)  # the agent is in the center of its view
    return np.where(reached, -1, row * (2 * size - 1) + column)


def _log_prob(logits: Tensor, actions: Tensor) -> Tensor:
    """[B, actions], [B] -> [B]"""
    return F.log_softmax(logits, dim=1).gather(1, actions[:, None])[:, 0]

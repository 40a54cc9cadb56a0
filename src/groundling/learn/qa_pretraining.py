"""Question answering on the observations of a random walk: words are grounded before any command is given."""

import numpy as np
import torch
from torch import Tensor

from groundling.agent import Model
from groundling.evaluation.leak_check import SentenceLog
from groundling.learn.config import TrainConfig
from groundling.learn.losses import answer_loss
from groundling.learn.stage import RunningMeans, Stage, adamw
from groundling.world.simulation import ACTIONS

RECENT_DECAY = 0.99
"""Weight of earlier updates in the recent accuracy that ends the stage: a window of about 100 updates."""


class QAPretraining(Stage):
    """First stage of `fast`."""

    name, number, log_interval = "qa_pretraining", 0, 25

    def __init__(self, model: Model, config: TrainConfig, log: SentenceLog) -> None:
        self.settings = config.qa_pretraining
        optimizer = adamw(model, config, self.settings.lr)
        super().__init__(model, config, log, self.settings.batch_size, optimizer, self.settings.max_grad_norm)
        self.recent = torch.zeros(2)
        """Decayed numbers of right answers and of questions."""

    @property
    def finished(self) -> bool:
        correct, asked = self.recent.tolist()
        full_difficulty = self.envs.episode.index.min() >= self.settings.curriculum_episodes
        return bool(full_difficulty and correct >= self.settings.target_accuracy * asked) or super().finished

    def learn(self, rng: np.random.Generator, metrics: RunningMeans) -> None:
        settings = self.settings
        self.scale_lr(min(1, (self.updates + 1) / settings.warmup_updates))
        frames = self.observe()
        frames = frames.select(frames.answers >= 0)
        seen = self.model.perceive(frames.view(self.pictures))
        answer = self.model.answer(seen, frames.questions, self.word_dropout(rng))
        losses = {"answer_loss": answer_loss(answer.scores, frames.answers)}
        losses |= self.auxiliary_losses(
            answer, frames.answers, gate_loss=settings.gate_coef, reading_loss=settings.reading_coef
        )
        metrics.add("grad_norm", self.descend(torch.stack([*losses.values()]).sum()))
        for name, loss in losses.items():
            metrics.add(name, loss.item())
        metrics.add("frames", len(frames.answers))
        metrics.add_answers(frames, answer.scores)
        counts = torch.tensor([metrics.total["qa_accuracy"], metrics.count["qa_accuracy"]])
        self.recent = RECENT_DECAY * self.recent + counts
        actions = rng.integers(0, len(ACTIONS), settings.batch_size)
        self.envs.step(actions, rng.random(settings.batch_size) < settings.reset_prob)

    def tensors(self) -> dict[str, Tensor]:
        return {**super().tensors(), "recent": self.recent}

    def restore(self, tensors: dict[str, Tensor], updates: int) -> None:
        super().restore(tensors, updates)
        self.recent = tensors["recent"].clone()

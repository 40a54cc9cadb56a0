"""Question answering on the observations of a random walk: words are grounded before any command is given."""

import numpy as np
import torch
from torch import Tensor

from groundling.agent import Model
from groundling.agent.language import WordDropout
from groundling.evaluation.leak_check import SentenceLog
from groundling.learn.config import TrainConfig
from groundling.learn.losses import answer_loss
from groundling.learn.stage import RunningMeans, Stage, adamw, auxiliary_losses
from groundling.learn.workers import Part
from groundling.rollout import Frames
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
        reached = asked > 0 and correct >= self.settings.target_accuracy * asked
        return bool(full_difficulty and reached) or super().finished

    def learn(self, rng: np.random.Generator, metrics: RunningMeans) -> None:
        settings = self.settings
        self.scale_lr(min(1, (self.updates + 1) / settings.warmup_updates))
        frames = self.observe()
        frames = frames.select(frames.answers >= 0)
        if self.workers is None:
            self.minimize(qa_losses, [frames], rng, metrics, self.word_dropout(rng))
        else:
            parts = [Frames(*part) for part in zip(*(rows.chunk(self.workers.count) for rows in frames), strict=True)]
            self.minimize(qa_losses, parts, rng, metrics, None)
        metrics.add("frames", len(frames.answers))
        counts = torch.tensor([metrics.total["qa_accuracy"], metrics.count["qa_accuracy"]])
        self.recent = RECENT_DECAY * self.recent + counts
        actions = rng.integers(0, len(ACTIONS), settings.batch_size)
        self.envs.step(actions, rng.random(settings.batch_size) < settings.reset_prob)

    def tensors(self) -> dict[str, Tensor]:
        return {**super().tensors(), "recent": self.recent}

    def restore(self, tensors: dict[str, Tensor], updates: int) -> None:
        super().restore(tensors, updates)
        self.recent = tensors["recent"].clone()


def qa_losses(
    model: Model,
    config: TrainConfig,
    pictures: Tensor,
    part: Part,
    word_dropout: WordDropout | None,
    metrics: RunningMeans,
) -> dict[str, Tensor]:
    """The losses of observations (Frames), each with a question."""
    frames, settings = part.batch, config.qa_pretraining
    answer = model.answer(model.perceive(frames.view(pictures)), frames.questions, word_dropout)
    metrics.add_answers(frames, answer.scores)
    losses = {"answer_loss": answer_loss(answer.scores, frames.answers)}
    return losses | auxiliary_losses(
        model, answer, frames.answers, gate_loss=settings.gate_coef, reading_loss=settings.reading_coef
    )

"""Questions alone, on the frames of a random walk: the words come to mean something before anything is commanded."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from groundling.agent import Model
from groundling.agent.grounding import Program
from groundling.agent.language import Interpreter
from groundling.learn.config import TrainConfig
from groundling.learn.losses import answer_loss
from groundling.learn.stage import RunningMeans, Stage

_MEMORY = 0.99
"""How much of the latest accuracy is kept from one update to the next."""


class QAPretraining(Stage):
    """The first stage of `fast`."""

    name, number = "questions", 0

    def __init__(self, model: Model, config: TrainConfig) -> None:
        self.settings = config.questions
        self.max_grad_norm = self.settings.max_grad_norm
        super().__init__(model, config, self.settings.batch)
        self.recent = torch.zeros(2)
        """Questions answered right, and all: of the latest updates."""

    def make_optimizer(self) -> torch.optim.Optimizer:
        return self.adam(lambda _: self.settings.rate)

    @property
    def finished(self) -> bool:
        right, asked = self.recent.tolist()
        learnt = self.envs.episode.index.min() >= self.settings.curriculum and right >= self.settings.target * asked
        return bool(learnt) or super().finished

    def learn(self, rng: np.random.Generator, sums: RunningMeans) -> None:
        settings = self.settings
        self.scale_lr(min(1, (self.updates + 1) / settings.warmup_updates))
        frames = self.observe()
        frames = frames.select(frames.answers >= 0)
        with self.word_dropout(rng), _gates(self.model) as gates:
            scores = self.model.answer(self.model.perceive(frames.view(self.pictures)), frames.questions)
        losses = {"answer_loss": answer_loss(scores, frames.answers)}
        if gates:
            losses["effort_loss"] = settings.gate_coef * torch.cat(gates).mean()
        sums.add("gradient", self.descend(torch.stack([*losses.values()]).sum()))
        for name, loss in losses.items():
            sums.add(name, loss.item())
        sums.add("frames", len(frames.answers))
        sums.add_answers(frames, scores)
        self.recent = _MEMORY * self.recent + torch.tensor([sums.total["accuracy"], sums.count["accuracy"]])
        self.envs.step(rng.integers(0, 4, settings.batch), rng.random(settings.batch) < settings.reset_prob)

    def tensors(self) -> dict[str, Tensor]:
        return {**super().tensors(), "lately": self.recent}

    def restore(self, tensors: dict[str, Tensor], updates: int) -> None:
        super().restore(tensors, updates)
        self.recent = tensors["lately"].clone()


@contextmanager
def _gates(model: Model) -> Iterator[list[Tensor]]:
    """The gates of all sentences that a model reads meanwhile; none, if it has no interpreter."""
    read: list[Tensor] = []

    def note(_: nn.Module, __: object, program: Program) -> None:
        read.append(program.gates)

    with ExitStack() as hooks:
        for part in model.modules():
            if isinstance(part, Interpreter):
                hooks.enter_context(part.register_forward_hook(note))
        yield read

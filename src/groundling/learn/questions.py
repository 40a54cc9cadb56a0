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
from groundling.learn.stage import Stage, Sums

_MEMORY = 0.99
"""How much of the latest accuracy is kept from one update to the next."""


class Questions(Stage):
    """The first stage of `fast`."""

    name, number = "questions", 0

    def __init__(self, model: Model, config: TrainConfig) -> None:
        self.settings = config.questions
        self.gradient_clip = self.settings.gradient_clip
        super().__init__(model, config, self.settings.batch)
        self.lately = torch.zeros(2)
        """Questions answered right, and all: of the latest updates."""

    def make_optimiser(self) -> torch.optim.Optimizer:
        return self.adam(lambda _: self.settings.rate)

    @property
    def finished(self) -> bool:
        right, asked = self.lately.tolist()
        learnt = self.worlds.session.index.min() >= self.settings.curriculum and right >= self.settings.target * asked
        return bool(learnt) or super().finished

    def learn(self, chance: np.random.Generator, sums: Sums) -> None:
        settings = self.settings
        self.scale_rates(min(1, (self.updates + 1) / settings.warm_up))
        frames = self.look()
        frames = frames.select(frames.answers >= 0)
        with self.mishearing(chance), _gates(self.model) as gates:
            scores = self.model.answer(self.model.perceive(frames.view(self.pictures)), frames.questions)
        losses = {"answer_loss": answer_loss(scores, frames.answers)}
        if gates:
            losses["effort_loss"] = settings.effort * torch.cat(gates).mean()
        sums.add("gradient", self.descend(torch.stack([*losses.values()]).sum()))
        for name, loss in losses.items():
            sums.add(name, loss.item())
        sums.add("frames", len(frames.answers))
        sums.add_answers(frames, scores)
        self.lately = _MEMORY * self.lately + torch.tensor([sums.total["accuracy"], sums.count["accuracy"]])
        self.worlds.step(chance.integers(0, 4, settings.batch), chance.random(settings.batch) < settings.renewed)

    def tensors(self) -> dict[str, Tensor]:
        return {**super().tensors(), "lately": self.lately}

    def restore(self, tensors: dict[str, Tensor], updates: int) -> None:
        super().restore(tensors, updates)
        self.lately = tensors["lately"].clone()


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

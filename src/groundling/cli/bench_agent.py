"""`groundling bench agent`: the model against the reference implementation, in one run."""

import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from groundling.agent import AgentConfig, Output, View, build
from groundling.agent.model import InterpreterModel
from groundling.agent.reference import ReferenceModel
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import EpisodeBatch
from groundling.world.catalog import CELL_PIXELS
from groundling.world.rendering import draw, view_cells

ENVS, STEPS = 16, 16
"""A minibatch consists of whole rollouts, so that commands repeat as they do in training."""


class Minibatch:
    """Observations of real episodes, as pixels and as cell ids, with their sentences."""

    def __init__(self, seed: int = 0, teacher: Teacher | None = None, envs: int = ENVS, steps: int = STEPS) -> None:
        teacher, rng = teacher or Teacher(), np.random.default_rng(seed)
        episode: EpisodeBatch = teacher.begin(seed, np.arange(envs))
        cells, commands, questions, answers = [], [], [], []
        for _ in range(steps):
            cells.append(view_cells(episode.state))
            commands.append(episode.command.tokens)
            questions.append(episode.question.tokens)
            answers.append(episode.question.answer)
            episode, outcome = teacher.step(episode, rng.integers(0, 4, envs))
            episode = teacher.reset(episode, outcome.terminated | outcome.truncated, episode.index + envs)
        pictures = teacher.catalog.pictures[CELL_PIXELS]
        every = np.concatenate(cells)
        self.table = torch.from_numpy(pictures)
        self.cells = torch.from_numpy(every)
        self.commands, self.questions = (
            torch.from_numpy(np.concatenate(part)).long() for part in (commands, questions)
        )
        self.answers = torch.from_numpy(np.concatenate(answers)).long()
        self.actions = torch.from_numpy(rng.integers(0, 4, envs * steps))
        self.returns = torch.from_numpy(rng.normal(size=envs * steps)).float()

    @cached_property
    def images(self) -> Tensor:
        """[B, H, W, 3]"""
        return torch.from_numpy(draw(self.cells.numpy(), self.table.numpy()))

    def loss(self, output: Output) -> Tensor:
        """Policy gradient, value and question answering, as a training update has them."""
        assert output.answer_scores is not None
        log_prob = F.log_softmax(output.action_logits, dim=1).gather(1, self.actions[:, None])[:, 0]
        asked = self.answers >= 0
        qa_loss = F.cross_entropy(output.answer_scores[asked], self.answers[asked])
        return -(log_prob * self.returns).mean() + F.mse_loss(output.value, self.returns) + qa_loss


def measure(seconds: float, planner: str) -> dict[str, Any]:
    """Times of parts and their ratios, ours and the reference implementation with the same weights."""
    batch = Minibatch()
    len(batch.images)  # drawn here, so that this is not measured
    model = build(AgentConfig(planner=planner, temperature=5.0, init="he"))
    assert isinstance(model, InterpreterModel)
    reference = ReferenceModel(model)
    optimizer = torch.optim.Adam(model.parameters())

    def update(output: Callable[[], Output]) -> None:
        optimizer.zero_grad()
        batch.loss(output()).backward()
        optimizer.step()

    def ours() -> None:
        update(lambda: model(View.of_cells(batch.cells, batch.table), batch.commands, batch.questions))

    def ours_from_images() -> None:
        update(lambda: model(View.of_images(batch.images), batch.commands, batch.questions))

    def with_reference() -> None:
        update(lambda: Output(*reference(batch.images, batch.commands, batch.questions)))

    def perceive() -> None:
        cube = model.perceive(View.of_cells(batch.cells, batch.table))
        model.zero_grad()
        (cube.features.sum() + cube.positions.sum()).backward()

    def perceive_with_reference() -> None:
        model.zero_grad()
        reference.cube(batch.images).sum().backward()

    parts = {
        "perception": perceive,
        "perception_reference": perceive_with_reference,
        "update": ours,
        "update_from_images": ours_from_images,
        "update_reference": with_reference,
    }
    result: dict[str, Any] = {f"{name}_ms": 1000 * best_time(run, seconds) for name, run in parts.items()}
    result["perception_speedup"] = result["perception_reference_ms"] / result["perception_ms"]
    result["update_speedup"] = result["update_reference_ms"] / result["update_ms"]
    with FlopCounterMode(display=False) as counter:
        ours()
    result["update_gflops"] = counter.get_total_flops() / result["update_ms"] / 1e6
    result["matmul_gflops"] = _matmul_gflops(seconds)
    result["update_to_matmul"] = result["update_gflops"] / result["matmul_gflops"]
    result["threads"] = torch.get_num_threads()
    return result


def best_time(run: Callable[[], None], seconds: float) -> float:
    """The shortest of several runs, in seconds, after one to warm up."""
    run()
    times: list[float] = []
    start = time.perf_counter()
    while len(times) < 3 or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        run()
        times.append(time.perf_counter() - before)
    return min(times)


def _matmul_gflops(seconds: float, side: int = 2048) -> float:
    a, b = torch.randn(side, side), torch.randn(side, side)
    return 2 * side**3 / best_time(lambda: torch.mm(a, b), seconds) / 1e9  # type: ignore[arg-type]

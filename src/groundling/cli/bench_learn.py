"""`groundling bench learn`: where an iteration of the preset `fast` spends its time, in one run."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from groundling.agent import Output, build
from groundling.agent.model import InterpreterModel
from groundling.agent.reference import ReferenceModel
from groundling.cli.bench_agent import best_time
from groundling.evaluation.leak_check import SentenceLog
from groundling.learn.ppo import PPO, Rollout
from groundling.learn.presets import PRESETS
from groundling.learn.qa_pretraining import QAPretraining
from groundling.learn.stage import RunningMeans
from groundling.world.rendering import draw


class Stopwatch:
    """Adds up the time spent in some functions."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*arguments)
            finally:
                self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

        return run


def measure(iterations: int) -> dict[str, Any]:
    """Rates of both stages, the time fraction of each part of a PPO iteration, and the reference implementation."""
    config = PRESETS["fast"]
    torch.manual_seed(0)
    model = build(config.agent, config.spec())
    assert isinstance(model, InterpreterModel)
    log = SentenceLog(model.spec.words, len(config.catalog().icon_class))
    pretraining = QAPretraining(model, config, log)

    def update() -> None:
        pretraining.update()

    update_seconds = best_time(update, seconds=iterations)

    stage = PPO(model, config, log)
    stage.update()  # warm-up
    watch = Stopwatch()
    envs = stage.envs
    envs.step = watch.timed("env", envs.step)  # type: ignore[method-assign]
    stage.observe = watch.timed("env", stage.observe)  # type: ignore[method-assign]
    stage.collect = watch.timed("act", stage.collect)  # type: ignore[method-assign]
    stage.learn_from = watch.timed("update", stage.learn_from)  # type: ignore[method-assign]
    start = time.perf_counter()
    for _ in range(iterations):
        stage.update()
    total = time.perf_counter() - start

    settings = config.ppo
    steps = iterations * settings.num_envs * settings.num_steps
    updates = iterations * settings.epochs * settings.num_envs // settings.envs_per_minibatch
    seconds = {**watch.seconds, "act": watch.seconds["act"] - watch.seconds["env"]}
    result: dict[str, Any] = {
        "qa_updates_per_second": 1 / update_seconds,
        "ppo_updates_per_second": updates / total,
        "env_steps_per_second": steps / total,
        **{f"fraction_{name}": value / total for name, value in sorted(seconds.items())},
        "update_ms": 1000 * seconds["update"] / updates,
        "reference_update_ms": 1000 * _reference_update(model, stage),
        "threads": torch.get_num_threads(),
    }
    result["update_speedup"] = result["reference_update_ms"] / result["update_ms"]
    return result


def _reference_update(model: InterpreterModel, stage: PPO) -> float:
    """Seconds of one update of the same minibatch with the reference implementation."""
    types = stage.envs.teacher.language.type_names
    rollout: Rollout = stage.collect(np.random.default_rng(0), RunningMeans(types=types))
    reference = ReferenceModel(model)
    pictures = stage.pictures.numpy()
    envs = torch.arange(stage.settings.envs_per_minibatch)
    frames = rollout.frames.cells[:, envs].flatten(0, 1)
    images = torch.from_numpy(draw(frames.numpy(), pictures))

    class WithReference(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.reference = reference

        def auxiliary_losses(self, output: Output, answers: torch.Tensor) -> dict[str, torch.Tensor]:
            return {}

        def forward(self, view: object, commands: torch.Tensor, questions: torch.Tensor, _: object = None) -> Output:
            return Output(*self.reference(images, commands, questions))

    learner, rng = PPO(model, stage.config, stage.log), np.random.default_rng(0)
    learner.model = WithReference()  # type: ignore[assignment]
    learner.optimizer = stage.optimizer
    return best_time(lambda: learner.learn_from(rollout, envs, rng, RunningMeans(types=types)), seconds=0)

"""What `groundling bench learn` measures: where a round of the fast preset spends its time, in one run."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from groundling.agent import Output, build
from groundling.agent.model import Agent
from groundling.agent.reference import ReferenceModel
from groundling.cli.bench_agent import best_time
from groundling.learn.config import PRESETS
from groundling.learn.ppo import PPO, Rollout
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


def measure(rounds: int) -> dict[str, Any]:
    """Rates of both stages, the share of each part of a PPO round, and the same update done plainly."""
    config = PRESETS["fast"]
    torch.manual_seed(0)
    model = build(config.agent)
    assert isinstance(model, Agent)
    questions = QAPretraining(model, config)

    def update_questions() -> None:
        questions.update()

    question_seconds = best_time(update_questions, seconds=rounds)

    stage = PPO(model, config)
    stage.update()  # warms up
    watch = Stopwatch()
    envs = stage.envs
    envs.step = watch.timed("env", envs.step)  # type: ignore[method-assign]
    envs.observe = watch.timed("env", envs.observe)  # type: ignore[method-assign]
    stage.act = watch.timed("act", stage.act)  # type: ignore[method-assign]
    stage.learn_from = watch.timed("update", stage.learn_from)  # type: ignore[method-assign]
    start = time.perf_counter()
    for _ in range(rounds):
        stage.update()
    total = time.perf_counter() - start

    settings = config.ppo
    steps = rounds * settings.envs * settings.steps
    updates = rounds * settings.epochs * settings.envs // settings.group
    seconds = {**watch.seconds, "act": watch.seconds["act"] - watch.seconds["env"]}
    result: dict[str, Any] = {
        "question_updates_per_second": 1 / question_seconds,
        "ppo_updates_per_second": updates / total,
        "env_steps_per_second": steps / total,
        **{f"share_{name}": value / total for name, value in sorted(seconds.items())},
        "update_ms": 1000 * seconds["update"] / updates,
        "plain_update_ms": 1000 * _plain_update(model, stage),
        "threads": torch.get_num_threads(),
    }
    result["update_speedup"] = result["plain_update_ms"] / result["update_ms"]
    return result


def _plain_update(model: Agent, stage: PPO) -> float:
    """Seconds of one update of the same minibatch, with every picture and every sentence gone through."""
    rollout: Rollout = stage.act(np.random.default_rng(0), RunningMeans())
    plain = ReferenceModel(model)
    pictures = stage.pictures.numpy()
    envs = torch.arange(stage.settings.group)
    frames = rollout.frames.cells[:, envs].flatten(0, 1)
    images = torch.from_numpy(draw(frames.numpy(), pictures))

    class Plainly(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.plain = plain

        def forward(self, view: object, commands: torch.Tensor, questions: torch.Tensor) -> Output:
            return Output(*self.plain(images, commands, questions))

    learner = PPO(model, stage.config)
    learner.model = Plainly()  # type: ignore[assignment]
    learner.optimizer = stage.optimizer
    return best_time(lambda: learner.learn_from(rollout, envs, RunningMeans()), seconds=0)

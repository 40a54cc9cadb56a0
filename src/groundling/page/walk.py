"""Recorded walks: an agent follows a path, or walks by itself, and every step is explained."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from groundling.page.batched_inference import BatchedInference
from groundling.page.client_agent import ClientAgent
from groundling.page.limits import Limits
from groundling.page.scene import Scene, with_agent_at
from groundling.page.sentence_check import SentenceCheck


@dataclass(frozen=True)
class WalkRecording:
    """A recorded walk: one scene and one step (explanation and move) per frame."""

    agent: str
    scenes: list[Scene]
    check: SentenceCheck
    steps: list[dict[str, Any]]
    verdict: str = ""


@dataclass(frozen=True)
class Runner:
    """An agent and what it needs to run; `before_step` may raise to cancel a recording."""

    agent: ClientAgent
    inference: BatchedInference
    limits: Limits
    before_step: Callable[[], None] = lambda: None


def record_walk(runner: Runner, scene: Scene, sentence: str, path: list[Any], verdict: str = "") -> WalkRecording:
    """The walk along a path of unchecked positions; a single position is a question or a walk that has not begun.

    On arrival the agent computes nothing: the last step has the explanation of the move that led there.
    """
    scenes = [with_agent_at(scene, "path", at) for at in path] or [scene]
    check = runner.agent.check(sentence, scenes[0], runner.limits)
    steps = []
    for current in scenes:
        runner.before_step()
        steps.append(runner.agent.step(current, check, runner.inference))
    if len(scenes) > 1:  # at the last position of a walk, the agent does not act
        move = steps[-2]["move"]
        terminated = move is not None and move["terminated"] and move["to"] == path[-1]
        last = steps[-2] if terminated else steps[-1]
        steps[-1] = {**last, "move": None, "end": "terminated" if terminated else "truncated"}
    return WalkRecording(runner.agent.served.name, scenes, check, steps, verdict)


def walk_path(runner: Runner, scene: Scene, sentence: str) -> tuple[list[list[int]], bool]:
    """The positions of an agent that walks by itself, and whether it reached the target."""
    check = runner.agent.check(sentence, scene, runner.limits)
    path = [scene.scenario.at(scene.scenario.agent)]
    for _ in range(scene.teacher.world.step_limit):
        move = runner.agent.step(with_agent_at(scene, "path", path[-1]), check, runner.inference)["move"]
        if move is None:
            break
        path.append(move["to"])
        if move["terminated"]:
            return path, True
    return path, False

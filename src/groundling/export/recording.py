"""Episodes recorded under a policy, batch by batch. (seed, index, actions) replays any of them exactly."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from groundling.env_options import EnvOptions
from groundling.episodes import play_step
from groundling.errors import InputError, check_choice
from groundling.extras import needs
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import EpisodeBatch
from groundling.world.rendering import view_cells
from groundling.world.shortest_path import best_actions
from groundling.world.simulation import ACTIONS

if TYPE_CHECKING:
    from groundling.learn.trained_agent import TrainedAgent

BATCH = 1000
"""Episodes recorded at once; what is recorded does not depend on how many are asked for."""

POLICIES = ("oracle", "random", "agent")
"""Shortest paths and true answers; random moves and answers; the greedy policy of a trained agent."""
Policy = Callable[[EpisodeBatch, np.random.Generator], tuple[NDArray[np.int64], NDArray[np.int64]]]
"""Moves and answers (tokens) for a batch of episodes."""


@dataclass(frozen=True)
class Recording:
    """How episodes are recorded."""

    teacher: Teacher
    policy: Policy
    seed: int
    questions: bool = True
    """Whether questions are asked and answered, as in `groundling/NavQA-v0`."""

    def batches(self, start: int, end: int) -> Iterator[list["Episode"]]:
        """The episodes start .. end - 1 of the seed, BATCH at a time; `start` is a multiple of BATCH."""
        if start % BATCH:
            raise InputError(f"start must be a multiple of {BATCH}, got {start}")
        for first in range(start, end, BATCH):
            yield self._batch(first)[: end - first]

    def _batch(self, first: int) -> list["Episode"]:
        rng = np.random.Generator(np.random.Philox(key=np.array([self.seed, first], np.uint64)))
        pad = self.teacher.lexicon.pad
        episode = begun = self.teacher.begin(self.seed, first + np.arange(BATCH), self.questions)
        running = np.arange(BATCH)
        seen: list[dict[str, NDArray[Any]]] = []
        done: list[dict[str, NDArray[Any]]] = []
        while len(running):
            moves, answers = self.policy(episode, rng)
            answers = np.where(episode.question.type >= 0, answers, pad)
            step = play_step(self.teacher, episode, moves, answers if self.questions else None, self.questions)
            seen.append({"of": running, **_observe(episode)})
            seen.append({"of": running[step.ended], **_observe(step.after.select(step.ended))})
            done.append(
                {
                    "of": running,
                    "actions": np.stack([moves, answers], 1) if self.questions else moves,
                    "rewards": step.reward,
                    "terminated": step.terminated,
                    "truncated": step.truncated,
                }
            )
            running, episode = running[~step.ended], step.after.select(~step.ended)
        observed, acted = _by_episode(seen), _by_episode(done)
        types, commands = begun.command.type.tolist(), begun.command.tokens.astype(np.int64)
        return [
            Episode(
                self.seed,
                first + b,
                self.teacher.language.type_names[types[b]],
                commands[b],
                **{name: parts[b] for name, parts in (observed | acted).items()},
            )
            for b in range(BATCH)
        ]


@dataclass(frozen=True)
class Episode:
    """A recorded episode of T steps."""

    seed: int
    index: int
    type: str
    """Of the command."""
    command: NDArray[np.int64]
    """[L]"""
    cells: NDArray[np.int16]
    """[T + 1, side, side]"""
    question: NDArray[np.int64]
    """[T + 1, L]: tokens; a row of padding is no question"""
    true_answer: NDArray[np.int64]
    """[T + 1]: tokens; -1 without a question"""
    actions: NDArray[np.int64]
    """[T] moves, or [T, 2] moves and answers"""
    rewards: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]


def _observe(episode: EpisodeBatch) -> dict[str, NDArray[Any]]:
    question = episode.question
    return {
        "cells": view_cells(episode.state),
        "question": question.tokens.astype(np.int64),
        "true_answer": question.answer.astype(np.int64),
    }


def _by_episode(parts: list[dict[str, NDArray[Any]]]) -> dict[str, list[NDArray[Any]]]:
    """The rows of all steps, grouped by episode in the order of time."""
    of = np.concatenate([part["of"] for part in parts])
    order = np.argsort(of, kind="stable")
    ends = np.cumsum(np.bincount(of, minlength=BATCH))[:-1]
    names = [name for name in parts[0] if name != "of"]
    return {name: np.split(np.concatenate([part[name] for part in parts])[order], ends) for name in names}


def oracle_policy(episode: EpisodeBatch, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Shortest paths and true answers."""
    return best_actions(episode.state)[0], episode.question.answer.astype(np.int64)


def random_policy(teacher: Teacher) -> Policy:
    """Random moves and random answers."""
    tokens = teacher.lexicon.tokens_of(teacher.lexicon.answers).astype(np.int64)

    def act(episode: EpisodeBatch, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        count = len(episode.index)
        return rng.integers(0, len(ACTIONS), count), tokens[rng.integers(0, len(tokens), count)]

    return act


def agent_policy(agent: "TrainedAgent") -> Policy:
    """The greedy policy of a trained agent."""

    def act(episode: EpisodeBatch, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        sentences = {"command": episode.command, "question": episode.question}
        tokens = {name: batch.tokens.astype(np.int64) for name, batch in sentences.items()}
        chosen = agent.act({"cells": view_cells(episode.state), **tokens})
        return chosen[:, 0].astype(np.int64), chosen[:, 1].astype(np.int64)

    return act


def make_policy(name: str, agent: str | None, teacher: Teacher) -> Policy:
    """One of POLICIES; `agent` is a checkpoint or the name of pretrained weights."""
    if name == "oracle":
        return oracle_policy
    if name == "random":
        return random_policy(teacher)
    needs("agent")
    from groundling.learn.trained_agent import load_agent

    assert agent is not None
    trained = load_agent(agent)
    if trained.words[: len(teacher.lexicon)] != teacher.lexicon.words:
        raise InputError(f"agent {agent!r} must know the words of the episodes, got other words")
    return agent_policy(trained)


@dataclass(frozen=True)
class ExportConfig:
    """What an export contains; two exports with the same config continue each other."""

    policy: str = "oracle"
    """One of POLICIES."""
    seed: int = 0
    questions: bool = True
    split: str = "normal"
    holdout: float = 50.0
    phase: str = "train"
    lexicon: str = "plain"
    lexicon_seed: int = 0
    agent: str | None = None
    """Checkpoint or name of pretrained weights, for the policy `agent`."""

    def __post_init__(self) -> None:
        check_choice("policy", self.policy, POLICIES)
        if (self.policy == "agent") != (self.agent is not None):
            raise InputError(
                f"agent must be given for the policy agent and no other, got {self.agent!r} for {self.policy}; "
                "name pretrained weights or a checkpoint"
            )

    @property
    def options(self) -> dict[str, Any]:
        """The options of the environment."""
        names = ("split", "holdout", "phase", "lexicon", "lexicon_seed")
        return {name: getattr(self, name) for name in names if getattr(self, name) != getattr(EnvOptions, name)}

    @property
    def env_id(self) -> str:
        return "groundling/NavQA-v0" if self.questions else "groundling/Nav-v0"

    def recording(self) -> Recording:
        """The recording of this export."""
        teacher = EnvOptions.of(self.options).teacher()
        return Recording(teacher, make_policy(self.policy, self.agent, teacher), self.seed, self.questions)

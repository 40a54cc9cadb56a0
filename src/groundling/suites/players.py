"""Players of text episodes: any callable that replies to one. The reference players set ceiling and floor."""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from groundling.errors import InputError
from groundling.text import TextEpisode
from groundling.world.rendering import view_cells
from groundling.world.shortest_path import best_actions
from groundling.world.simulation import ACTIONS

if TYPE_CHECKING:
    from groundling.learn.trained_agent import TrainedAgent
    from groundling.suites.suite import Suite

Player = Callable[[TextEpisode], str]
"""Replies to an episode; a language model reads `messages` and nothing else."""


def oracle(game: TextEpisode) -> str:
    """The true answer, or the first move of a shortest path."""
    if game.task == "qa":
        return str(game.teacher.lexicon.words[game.episode.question.answer[0]])
    return ACTIONS[best_actions(game.episode.state)[0][0]]


class RandomPlayer:
    """Random moves and random answers; a function of the episode, whatever was played before."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.rng = np.random.default_rng(seed)

    def __call__(self, game: TextEpisode) -> str:
        if game.replies == 0:
            self.rng = np.random.default_rng([self.seed, int(game.episode.seed[0]), int(game.episode.index[0])])
        words = game.teacher.lexicon.answers if game.task == "qa" else ACTIONS
        return words[self.rng.integers(len(words))]


class MostFrequentAnswer(RandomPlayer):
    """Random moves, and always the answer that is the most frequent one in a suite."""

    def __init__(self, suite: "Suite", seed: int = 0) -> None:
        super().__init__(seed)
        games = (suite.begin(i) for i in range(len(suite)) if suite[i].task == "qa")
        self.answer = Counter(map(oracle, games)).most_common(1)[0][0]

    def __call__(self, game: TextEpisode) -> str:
        return self.answer if game.task == "qa" else super().__call__(game)


class AgentPlayer:
    """A trained agent; it sees the map, not the text."""

    def __init__(self, agent: "TrainedAgent") -> None:
        self.agent = agent

    def __call__(self, game: TextEpisode) -> str:
        episode, lexicon = game.episode, game.teacher.lexicon
        if self.agent.words[: len(lexicon)] != lexicon.words:
            raise InputError("agent must know the words of the suite, got other words; choose another suite")
        observation = {"cells": view_cells(episode.state)[0], "command": episode.command.tokens[0].astype(np.int64)}
        if game.task == "nav":
            return ACTIONS[self.agent.act(observation)]
        observation["question"] = episode.question.tokens[0].astype(np.int64)
        return str(lexicon.words[self.agent.act(observation)[1]])

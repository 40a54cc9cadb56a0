"""The chance level of an evaluation: a random walk, and always giving the most frequent answer."""

from typing import Any

import numpy as np

from groundling import seeds
from groundling.evaluation.estimates import Estimate
from groundling.teacher.teacher import Teacher
from groundling.world.simulation import ACTIONS


def chance_level(teacher: Teacher, episodes: int, seed: int = seeds.EVALUATION) -> dict[str, Any]:
    """Success rate and reward of random actions, and the accuracy of the most frequent answer, as plain data."""
    rng = np.random.default_rng(seed)
    episode = teacher.begin(seed, np.arange(episodes))
    success, reward = np.zeros((2, episodes))
    answers, answered_in = [], []
    alive = np.arange(episodes)
    while len(alive):
        asked = episode.question.answer >= 0
        answers.append(episode.question.answer[asked])
        answered_in.append(alive[asked])
        episode, outcome = teacher.step(episode, rng.integers(0, len(ACTIONS), len(alive)))
        success[alive] = outcome.terminated
        reward[alive] += outcome.reward
        running = ~(outcome.terminated | outcome.truncated)
        alive, episode = alive[running], episode.select(running)
    every = np.concatenate(answers).astype(np.int64)
    counts = np.bincount(every, minlength=len(teacher.lexicon))
    correct = (every == counts.argmax()).astype(np.float64)
    estimates = {
        "success_rate": Estimate.of_proportion(success),
        "reward": Estimate.of_mean(reward),
        "qa_accuracy": Estimate.of_proportion(correct, np.concatenate(answered_in)),
    }
    found = {name: estimate.to_dict() for name, estimate in estimates.items() if estimate is not None}
    return {**found, "answer": teacher.lexicon.words[int(counts.argmax())]}

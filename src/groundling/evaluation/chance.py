"""The chance level of an evaluation: a random walk, and always giving the most frequent answer."""

from typing import Any

import numpy as np

from groundling import seeds
from groundling.episodes import play_to_end
from groundling.evaluation.estimates import Estimate
from groundling.teacher.teacher import Teacher
from groundling.world.simulation import ACTIONS


def chance_level(teacher: Teacher, episodes: int, seed: int = seeds.EVALUATION) -> dict[str, Any]:
    """Success rate and reward of random actions, and the accuracy of the most frequent answer, as plain data."""
    rng = np.random.default_rng(seed)
    episode = teacher.begin(seed, np.arange(episodes))
    success, reward = np.zeros((2, episodes))
    answers, answered_in = [], []
    for running, step in play_to_end(teacher, episode, lambda _, running: rng.integers(0, len(ACTIONS), len(running))):
        answers.append(step.before.question.answer[step.asked])
        answered_in.append(running[step.asked])
        success[running] = step.terminated
        reward[running] += step.reward
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

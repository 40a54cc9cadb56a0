"""The chance level of an evaluation."""

import numpy as np

from groundling.evaluation.chance import chance_level, oracle_level
from groundling.teacher.language import Language
from groundling.teacher.teacher import Teacher
from groundling.world.types import WorldConfig


def test_random_walk_and_most_frequent_answer() -> None:
    """On maps of one cell per side more than the agent and its target need, a random walk nearly always succeeds."""
    teacher = Teacher(WorldConfig(size=3, objects=(1, 1), walls=(0, 0), max_steps=200))
    found = chance_level(teacher, 200)
    assert found["success_rate"]["mean"] > 0.99
    assert found["success_rate"]["n"] == 200
    assert found["reward"]["low"] <= found["reward"]["mean"] <= found["reward"]["high"]


def test_most_frequent_answer_is_counted_over_the_questions_asked() -> None:
    teacher = Teacher()
    found = chance_level(teacher, 300, seed=5)
    assert found["answer"] in teacher.lexicon.answers
    first = teacher.begin(5, np.arange(300)).question.answer
    fraction = float((first[first >= 0] == teacher.lexicon.token[found["answer"]]).mean())
    assert abs(found["qa_accuracy"]["mean"] - fraction) < 0.1
    assert 0.2 < found["success_rate"]["mean"] < 0.34  # 0.266 over 5,000 episodes


def test_oracle_reaches_every_target_and_gives_every_answer() -> None:
    found = oracle_level(Teacher(), 200)
    assert found["success_rate"]["mean"] == found["qa_accuracy"]["mean"] == 1.0
    assert found["success_rate"]["n"] == 200
    chance = chance_level(Teacher(), 200)
    assert found["reward"]["low"] > chance["reward"]["high"]
    assert found["commands"].keys() == chance["commands"].keys() <= set(Language.paper().commands)
    assert sum(scores["success_rate"]["n"] for scores in chance["commands"].values()) == 200

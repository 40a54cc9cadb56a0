"""All that is true of a world: what the teacher says is in it, and nothing that a second judge denies."""

import numpy as np

from groundling.teacher.grammar import COMMANDS
from groundling.teacher.teacher import EpisodeBatch, Teacher
from groundling.teacher.valid_sentences import valid_sentences, verbalize
from groundling.world.types import State


def world(episode: EpisodeBatch, b: int) -> State:
    return State(*(array[b : b + 1] for array in episode.state))


def test_what_the_teacher_says_is_true() -> None:
    teacher = Teacher()
    episode = teacher.begin(11, np.arange(100))
    for b in range(100):
        found = valid_sentences(teacher, world(episode, b))
        for sentences, outcome in (
            (episode.command, episode.state.target[b]),
            (episode.question, episode.question.answer[b]),
        ):
            meaning = teacher.meaning(sentences, b)
            if meaning is not None:
                assert [truth.outcome for truth in found if truth.of(meaning)] == [outcome]


def test_every_truth_can_be_said() -> None:
    teacher = Teacher()
    episode = teacher.begin(12, np.arange(5))
    rng = np.random.default_rng(0)
    for b in range(5):
        for truth in valid_sentences(teacher, world(episode, b)):
            meaning = teacher.grammar.parse(teacher.lexicon.encode(verbalize(teacher, truth, rng)))
            assert truth.of(meaning)
            if truth.type in COMMANDS:
                assert 0 <= truth.outcome < 49

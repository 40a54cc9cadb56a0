"""All that is true of a world: what the teacher says is in it, and nothing that a second judge denies."""

import numpy as np

from groundling.teacher.grammar import COMMANDS
from groundling.teacher.session import Session, Teacher
from groundling.teacher.truth import put_into_words, truths
from groundling.world.simulation import State


def world(session: Session, b: int) -> State:
    return State(*(array[b : b + 1] for array in session.state))


def test_what_the_teacher_says_is_true() -> None:
    teacher = Teacher()
    session = teacher.begin(11, np.arange(100))
    for b in range(100):
        found = truths(teacher, world(session, b))
        for speech, outcome in (
            (session.command, session.state.target[b]),
            (session.question, session.question.answer[b]),
        ):
            meaning = teacher.meaning(speech, b)
            if meaning is not None:
                assert [truth.outcome for truth in found if truth.of(meaning)] == [outcome]


def test_every_truth_can_be_said() -> None:
    teacher = Teacher()
    session = teacher.begin(12, np.arange(5))
    rng = np.random.default_rng(0)
    for b in range(5):
        for truth in truths(teacher, world(session, b)):
            meaning = teacher.grammar.parse(teacher.lexicon.tokens(put_into_words(teacher, truth, rng)))
            assert truth.of(meaning)
            if truth.type in COMMANDS:
                assert 0 <= truth.outcome < 49

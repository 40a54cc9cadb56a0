"""Attention targets: a command's is its target; a question's are cells for which the true answer holds."""

import numpy as np
import pytest

from groundling.evaluation.attention_targets import attention_targets
from groundling.teacher.language import Language
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import SamplingConfig, no_sentences
from groundling.world.types import State


@pytest.mark.parametrize("type_", Language.paper().type_names)
def test_attention_targets(type_: str) -> None:
    teacher = Teacher(sampling=SamplingConfig(type_balanced_fraction=1.0, types=(type_,)))
    episode = teacher.begin(3, np.arange(200))
    is_command = type_.startswith("nav")
    cells = attention_targets(teacher, episode, episode.command if is_command else episode.question)
    assert (cells.sum(1) >= 1).all()
    if is_command:
        assert (cells.sum(1) == 1).all()
        assert np.array_equal(cells.argmax(1), in_view(episode.state, episode.state.target))
        return
    for b in range(200):
        words = {describe(teacher, episode.state, b, position, type_) for position in np.flatnonzero(cells[b]).tolist()}
        assert words == {teacher.lexicon.words[episode.question.answer[b]]}


def test_no_sentence_has_no_target() -> None:
    teacher = Teacher()
    episode = teacher.begin(0, [0])
    silent = no_sentences(1, len(teacher.language.slots), teacher.language.max_words, teacher.lexicon.pad)
    assert not attention_targets(teacher, episode, silent).any()


def in_view(state: State, positions: np.ndarray) -> np.ndarray:
    """The indices, in the agent's view of 13 x 13 cells, of positions on a map of 7 x 7 cells."""
    rows, columns = (divmod(positions, 7)[k] - divmod(state.agent, 7)[k] + 6 for k in (0, 1))
    return np.asarray(rows * 13 + columns)


def describe(teacher: Teacher, state: State, b: int, seen: int, type_: str) -> str:
    """The word that answers a question about a cell of the view."""
    row, column = (int(state.agent[b]) // 7 + seen // 13 - 6, int(state.agent[b]) % 7 + seen % 13 - 6)
    if type_.endswith("2loc"):
        down = {-1: "north", 0: "", 1: "south"}[seen // 13 - 6]
        return down + {-1: "west", 0: "", 1: "east"}[seen % 13 - 6]
    description = teacher.catalog.describe(int(state.grid[b, 7 * row + column])).split()
    if description[-1] not in teacher.catalog.classes:
        return "nothing"
    return description[-1] if type_.endswith("2obj") else description[0]

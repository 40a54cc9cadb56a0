"""The example of a sentence-embedding model, with word counts for the model: it goes to what a sentence names."""

import re
import zlib
from typing import Any

import numpy as np
import pytest

from groundling.env_options import EnvOptions
from groundling.suites.score import play
from groundling.text import TextEpisode
from tests.load_example import load_example


def word_counts(text: str) -> Any:
    """How often each word occurs, as a vector of length 1."""
    counts = np.zeros(1 << 14)
    for word in re.findall(r"\w+", text.lower()):
        counts[zlib.crc32(word.encode()) % len(counts)] += 1
    return counts / np.linalg.norm(counts)


@pytest.fixture(scope="module")
def player() -> Any:
    return load_example("embedding_player").EmbeddingPlayer(word_counts)


def games(player: Any, type_: str, task: str) -> list[TextEpisode]:
    teacher = EnvOptions(walls=(0, 0), types=(type_,), type_balanced_fraction=1.0).teacher()
    return [play(player, TextEpisode(teacher, 0, index, task)) for index in range(20)]


def test_player_goes_to_the_object_that_a_command_names(player: Any) -> None:
    assert all(game.success for game in games(player, "nav_obj", "nav"))


def test_player_answers_with_a_word_about_the_object_that_a_question_names(player: Any) -> None:
    for game in games(player, "rec_obj2col", "qa"):
        meaning = game.teacher.meaning(game.episode.question, 0)
        assert meaning is not None
        descriptions = re.split("[;:]", game.messages[0]["content"].rpartition("The map now:")[2])
        described = next(text for text in descriptions if f" {meaning.content[0]} " in text)
        assert game.messages[1]["content"] in re.findall(r"\w+", described)

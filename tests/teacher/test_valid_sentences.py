"""`valid_sentences` lists exactly the sentences that a map triggers, each with its target or answer."""

import itertools
from collections import Counter

import numpy as np

from groundling.teacher.language import Language
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import EpisodeBatch, SamplingConfig
from groundling.teacher.valid_sentences import valid_sentences, verbalize
from groundling.world.catalog import WALL
from groundling.world.types import State
from tests.independent_judge import InvalidSentence, World, answer, target
from tests.teacher.test_teacher import map_objects

PAPER = Language.paper()


def state_of(episode: EpisodeBatch, b: int) -> State:
    return State(*(array[b : b + 1] for array in episode.state))


def test_sampled_sentences_are_listed_with_their_outcome() -> None:
    teacher = Teacher()
    episode = teacher.begin(11, np.arange(100))
    for b in range(100):
        found = valid_sentences(teacher, state_of(episode, b))
        for sentences, outcome in (
            (episode.command, episode.state.target[b]),
            (episode.question, episode.question.answer[b]),
        ):
            meaning = teacher.meaning(sentences, b)
            if meaning is not None:
                assert [valid.outcome for valid in found if valid.matches(meaning)] == [outcome]


def test_every_listed_sentence_can_be_verbalized() -> None:
    teacher = Teacher()
    episode = teacher.begin(12, np.arange(5))
    rng = np.random.default_rng(0)
    for b in range(5):
        for valid in valid_sentences(teacher, state_of(episode, b)):
            meaning = teacher.grammar.parse(teacher.lexicon.encode(verbalize(teacher, valid, rng)))
            assert valid.matches(meaning)
            if valid.type in PAPER.commands:
                assert 0 <= valid.outcome < 49


def test_independent_judge_lists_the_same_sentences() -> None:
    """It tries every filling with the names of the map's objects and any colors and directions."""
    teacher = Teacher(sampling=SamplingConfig(type_balanced_fraction=1.0))
    episode = teacher.begin(13, np.arange(200))
    types = Counter[str]()
    for b in range(200):
        state = state_of(episode, b)
        grid = state.grid[0].tolist()
        objects = map_objects(teacher.catalog, grid, state.objects[0].tolist(), 7)
        walls = {divmod(position, 7) for position, cell in enumerate(grid) if cell == WALL}
        world = World(7, objects, walls, divmod(int(state.agent[0]), 7))
        names = sorted({item.name for item in objects})
        vocabulary = {
            "obj": names,
            "obj2": names,
            "col": PAPER.word_classes["color"],
            "loc": PAPER.word_classes["direction"],
        }
        expected = set()
        for type_ in PAPER.type_names:
            slots = PAPER.type(type_).reference.slots
            for words in itertools.product(*(vocabulary[slot] for slot in slots)):
                filling = dict(zip(slots, words, strict=True))
                try:
                    if type_ in PAPER.commands:
                        row, column = target(world, type_, filling)
                        outcome = 7 * row + column
                    else:
                        outcome = teacher.lexicon.token[answer(world, type_, filling)]
                except InvalidSentence:
                    continue
                expected.add((type_, tuple(sorted(filling.items())), outcome))
        found = [
            (valid.type, tuple(sorted(valid.slots.items())), valid.outcome) for valid in valid_sentences(teacher, state)
        ]
        assert len(found) == len(set(found))
        assert set(found) == expected
        types.update(type_ for type_, _, _ in found)
    assert set(types) == set(PAPER.type_names)
    assert min(types.values()) > 10

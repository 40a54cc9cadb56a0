"""The text is enough: a player that reads nothing but the last message, and knows the language, solves everything."""

import re
from functools import cache

import numpy as np
import pytest

from groundling.suites.score import score
from groundling.suites.suite import Suite
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import Meaning
from groundling.teacher.valid_sentences import ValidSentence, valid_sentences
from groundling.text import TextEpisode, message_text
from groundling.world.catalog import FIRST_ICON, Catalog
from groundling.world.scenario import Scenario
from groundling.world.shortest_path import best_actions
from groundling.world.simulation import ACTIONS
from groundling.world.types import State

OFFSET = re.compile(
    r"(?:(?P<rows>\d+) steps? (?P<down>north|south))?(?:, )?(?:(?P<columns>\d+) steps? (?P<right>west|east))?$"
)
EXAMPLE = re.compile(r"(Objects: .*\nWalls: .*\nCells .*)\n\nTeacher: (.*)\nAnswer: (\w+)")
OBJECT = re.compile(r"an? (?P<name>[a-z ]+?) (?P<where>\d.*)$")


@cache
def icons() -> dict[str, int]:
    catalog = Catalog.default()
    return {catalog.describe(FIRST_ICON + icon): icon for icon in range(len(catalog.icon_class))}


def read_map(text: str) -> State:
    """The map that a message describes."""
    listed = {
        name: [] if what == "none" else what.split("; ")
        for name, what in re.findall(r"^(Objects|Walls): (.*)\.$", text, re.M)
    }
    edges = re.findall(r"(\d+) (?:north|south|west|east)[,.]", text.rpartition("edge of the map: ")[2])
    north, south, west = map(int, edges[:3])
    size = north + south + 1

    def position(where: str) -> int:
        found = OFFSET.match(where)
        assert found is not None
        rows = int(found["rows"] or 0) * (1 if found["down"] == "south" else -1)
        columns = int(found["columns"] or 0) * (1 if found["right"] == "east" else -1)
        return (north + rows) * size + west + columns

    objects = []
    for listed_object in listed["Objects"]:
        found = OBJECT.match(listed_object)
        assert found is not None
        objects.append((position(found["where"]), icons()[found["name"]]))
    return Scenario(size, tuple(objects), tuple(map(position, listed["Walls"])), north * size + west).state()


def reader(game: TextEpisode) -> str:
    """A reply from the last message alone."""
    teacher = whole_language()
    state = read_map(game.text)
    sentence = game.text.rpartition("Teacher: ")[2].splitlines()[0]
    meaning = teacher.grammar.parse(teacher.lexicon.encode(sentence))
    outcome = next(valid.outcome for valid in valid_sentences(teacher, state) if valid.matches(meaning))
    if game.task == "qa":
        return str(teacher.lexicon.words[outcome])
    return ACTIONS[best_actions(state._replace(target=np.array([outcome], np.int16)))[0][0]]


def learner(game: TextEpisode) -> str:
    """A reply from the chat and the grammar: what words mean is inferred from the examples of the first message."""
    plain, own = whole_language(), game.teacher
    known = learn_words(game)
    sentence = game.text.rpartition("Teacher: ")[2].splitlines()[0]
    meaning = own.grammar.parse(own.lexicon.encode(sentence))
    state = read_map("Objects:" + game.text.rpartition("Objects:")[2])
    valid = next(valid for valid in valid_sentences(plain, state) if fits(valid, meaning, known))
    if game.task == "nav":
        return ACTIONS[best_actions(state._replace(target=np.array([valid.outcome], np.int16)))[0][0]]
    if valid.is_empty:
        return own.language.nothing
    return min(
        (word for word in known if plain.lexicon.words[valid.outcome] in known[word]), key=lambda w: len(known[w])
    )


def learn_words(game: TextEpisode) -> dict[str, set[str]]:
    """What each word of the examples can mean."""
    plain, own = whole_language(), game.teacher
    known: dict[str, set[str]] = {}
    for _ in range(3):
        for view, question, answer in EXAMPLE.findall(message_text(game.messages[0])):
            meaning = own.grammar.parse(own.lexicon.encode(question))
            is_nothing = answer == own.language.nothing
            possible = [
                valid
                for valid in valid_sentences(plain, read_map(view))
                if valid.is_empty == is_nothing and fits(valid, meaning, known)
            ]
            meant = [(meaning.slots[slot], {valid.slots[slot] for valid in possible}) for slot in possible[0].slots]
            if not is_nothing:
                meant.append((answer, {plain.lexicon.words[valid.outcome] for valid in possible}))
            for word, concepts in meant:
                known[word] = known.get(word, concepts) & concepts
    return known


def fits(valid: ValidSentence, meaning: Meaning, known: dict[str, set[str]]) -> bool:
    """Whether a sentence can have this meaning."""
    if valid.type != meaning.type:
        return False
    return all(concept in known.get(meaning.slots[slot], {concept}) for slot, concept in valid.slots.items())


@cache
def whole_language() -> Teacher:
    return Teacher()


@pytest.mark.parametrize("name", ["normal", "zs1", "zs2", "paraphrase"])
def test_reader_solves_the_suite(name: str) -> None:
    result = score(reader, Suite.load(name), "reader")
    assert result.outcomes == "1" * 200
    assert result.invalid == 0


def test_learner_solves_the_invented_words() -> None:
    """Twelve examples are enough to learn the words of every episode."""
    assert score(learner, Suite.load("invented"), "learner").outcomes == "1" * 200

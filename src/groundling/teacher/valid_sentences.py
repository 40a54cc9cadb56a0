"""Every command and question that is valid for one map, with its target or answer."""

from dataclasses import dataclass, field, replace

import numpy as np

from groundling.teacher.grammar import TYPES
from groundling.teacher.lexicon import COLORS, DIRECTIONS, PREPOSITIONS
from groundling.teacher.sentence_types import (
    EMPTY,
    REC_BW_OBJ2OBJ,
    REC_LOC2OBJ,
    REC_LOC_OBJ2OBJ,
    describe_objects,
    find_commands,
    find_empty,
    find_questions,
    make_scratch,
)
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import Meaning
from groundling.world.shortest_path import distances
from groundling.world.types import State


@dataclass(frozen=True)
class ValidSentence:
    """A sentence's type and content words, without its wording, and the right outcome on this map."""

    type: str
    slots: dict[str, str] = field(hash=False)
    """The words in the slots, except the preposition, which does not change the meaning."""
    outcome: int
    """The target position, or the token of the answer."""
    is_empty: bool = False
    """Whether it is a question about an empty cell, with the answer `nothing`."""

    def matches(self, meaning: Meaning) -> bool:
        """Whether a sentence with this meaning is this one."""
        content = {slot: word for slot, word in meaning.slots.items() if slot != "prep"}
        return self.type == meaning.type and self.slots == content


def valid_sentences(teacher: Teacher, state: State) -> list[ValidSentence]:
    """What the teacher may say about the first map of a batch."""
    grid, objects, agent = state.grid[0], state.objects[0], int(state.agent[0])
    rules, size = teacher.rules, state.size
    scratch = make_scratch(len(objects))
    count = describe_objects(grid, size, objects, agent, rules.icon_class, rules.icon_color, scratch, rules.words)
    distance, queue = np.empty((2, size * size), np.int16)
    distances(grid, size, agent, distance, queue)
    find_commands(grid, size, distance, count, scratch, rules.words)
    find_questions(agent, count, scratch, rules.words)
    found = [
        _sentence(teacher, t, row)
        for t in range(len(TYPES))
        for row in scratch.fillings[t, : scratch.found[t]].tolist()
    ]
    for t in (REC_LOC2OBJ, REC_LOC_OBJ2OBJ, REC_BW_OBJ2OBJ):
        find_empty(grid, size, agent, count, t, scratch, rules.words)
        empty = [_sentence(teacher, t, row) for row in scratch.fillings[EMPTY, : scratch.found[EMPTY]].tolist()]
        found += [replace(sentence, is_empty=True) for sentence in empty]
    return found


def _sentence(teacher: Teacher, type_: int, filling: list[int]) -> ValidSentence:
    classes = teacher.catalog.classes
    vocabularies = {"obj": classes, "obj2": classes, "col": COLORS, "loc": DIRECTIONS}
    slots = {slot: words[k] for (slot, words), k in zip(vocabularies.items(), filling, strict=False) if k >= 0}
    return ValidSentence(TYPES[type_], slots, filling[-1])


def verbalize(teacher: Teacher, sentence: ValidSentence, rng: np.random.Generator) -> str:
    """The text of a sentence in a random template."""
    grammar = teacher.grammar
    template = int(rng.integers(len(grammar.templates[sentence.type])))
    slots = {**sentence.slots, "prep": str(rng.choice(PREPOSITIONS))}
    return teacher.lexicon.decode(grammar.tokens(Meaning(sentence.type, template, slots)))

"""All that is true of one world: every command and question that may be said of it, with its target or answer."""

from dataclasses import dataclass, field, replace

import numpy as np

from groundling.teacher.grammar import TYPES, Meaning
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
    findings,
)
from groundling.teacher.teacher import Teacher
from groundling.world.shortest_path import distances
from groundling.world.simulation import State


@dataclass(frozen=True)
class ValidSentence:
    """A sentence's type and content words, without its wording, and what is right in this world."""

    type: str
    slots: dict[str, str] = field(hash=False)
    """What fills the slots, but for the preposition, which means nothing."""
    outcome: int
    """The place to go to, or the number of the word to answer."""
    is_empty: bool = False
    """Whether it is a question about an empty cell, whose answer is `nothing`."""

    def of(self, meaning: Meaning) -> bool:
        """Whether it is the truth about a sentence."""
        said = {slot: word for slot, word in meaning.slots.items() if slot != "prep"}
        return self.type == meaning.type and self.slots == said


def valid_sentences(teacher: Teacher, state: State) -> list[ValidSentence]:
    """What the teacher may say of the first world of a batch."""
    grid, objects, agent = state.grid[0], state.objects[0], int(state.agent[0])
    rules, size = teacher.rules, state.size
    f = findings(len(objects))
    n = describe_objects(grid, size, objects, agent, rules.icon_class, rules.icon_color, f, rules.words)
    distance, queue = np.empty((2, size * size), np.int16)
    distances(grid, size, agent, distance, queue)
    find_commands(grid, size, distance, n, f, rules.words)
    find_questions(agent, n, f, rules.words)
    found = [_truth(teacher, t, row) for t in range(len(TYPES)) for row in f.fillings[t, : f.found[t]].tolist()]
    for t in (REC_LOC2OBJ, REC_LOC_OBJ2OBJ, REC_BW_OBJ2OBJ):
        find_empty(grid, size, agent, n, t, f, rules.words)
        empty = [_truth(teacher, t, row) for row in f.fillings[EMPTY, : f.found[EMPTY]].tolist()]
        found += [replace(truth, is_empty=True) for truth in empty]
    return found


def _truth(teacher: Teacher, type_: int, filling: list[int]) -> ValidSentence:
    classes = teacher.catalog.classes
    vocabularies = {"obj": classes, "obj2": classes, "col": COLORS, "loc": DIRECTIONS}
    slots = {slot: words[k] for (slot, words), k in zip(vocabularies.items(), filling, strict=False) if k >= 0}
    return ValidSentence(TYPES[type_], slots, filling[-1])


def verbalize(teacher: Teacher, truth: ValidSentence, rng: np.random.Generator) -> str:
    """A sentence about it, of a random template."""
    grammar = teacher.grammar
    template = int(rng.integers(len(grammar.templates[truth.type])))
    slots = {**truth.slots, "prep": str(rng.choice(PREPOSITIONS))}
    return teacher.lexicon.text(grammar.tokens(Meaning(truth.type, template, slots)))

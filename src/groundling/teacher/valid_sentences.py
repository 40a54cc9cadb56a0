"""Every command and question that is valid for one map, with its target or answer."""

from dataclasses import dataclass, field

import numpy as np

from groundling.jit import uncached
from groundling.teacher.language_tables import EMPTY_SCAN, SCAN
from groundling.teacher.references import describe_objects, make_scratch, scan_references
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import Meaning
from groundling.world.shortest_path import distances
from groundling.world.types import State


@dataclass(frozen=True)
class ValidSentence:
    """A sentence's type and content words, without its wording, and the right outcome on this map."""

    type: str
    slots: dict[str, str] = field(hash=False)
    """The words in the slots, except those that do not change the meaning."""
    outcome: int
    """The target position, or the token of the answer."""
    is_empty: bool = False
    """Whether it is a question about an empty cell, with the answer `nothing`."""

    def matches(self, meaning: Meaning) -> bool:
        """Whether a sentence with this meaning is this one."""
        return self.type == meaning.type and self.slots.items() <= meaning.slots.items()


def valid_sentences(teacher: Teacher, state: State) -> list[ValidSentence]:
    """What the teacher may say about the first map of a batch."""
    grid, objects, agent = state.grid[0], state.objects[0], int(state.agent[0])
    language, tables, size = teacher.language, teacher.rules.language, state.size
    scratch = make_scratch(tables, len(language.slots), len(objects))
    describe = describe_objects if teacher.map_rule is None else uncached(describe_objects)
    count = describe(grid, size, objects, agent, scratch, tables, teacher.map_rule)
    distances(grid, size, agent, scratch.distance, scratch.queue)
    found = []
    for t, type_ in enumerate(language.types):
        for scan in (tables.types[t, SCAN], tables.types[t, EMPTY_SCAN]):
            if scan < 0:
                continue
            scan_references(scan, scan + 1, -1, 0, grid, size, agent, count, scratch, tables)
            for k in range(int(scratch.found[t])):
                scan_references(scan, scan + 1, t, k, grid, size, agent, count, scratch, tables)
                *filling, _, outcome = scratch.filling.tolist()
                is_empty = not type_.is_command and scan == tables.types[t, EMPTY_SCAN]
                found.append(ValidSentence(type_.name, teacher.slot_words(filling), outcome, is_empty))
    return found


def verbalize(teacher: Teacher, sentence: ValidSentence, rng: np.random.Generator) -> str:
    """The text of a sentence in a random template."""
    grammar, language = teacher.grammar, teacher.language
    template = int(rng.integers(len(grammar.templates[sentence.type])))
    free = [slot for slot in language.type(sentence.type).slots if slot not in sentence.slots]
    words = {slot: str(rng.choice(grammar.vocabulary[language.slots[slot]])) for slot in free}
    return teacher.lexicon.decode(grammar.tokens(grammar.meaning(sentence.type, template, sentence.slots | words)))

"""A lesson for an episode: questions with their true answers, from which the words of the episode can be learned.

Each example is about a map with one object (three for a word such as `between`), so its meaning is clear. The words are
chosen by the sentence and the map of the episode, never by its target or answer.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundling import seeds
from groundling.errors import InputError
from groundling.teacher.language import Language
from groundling.teacher.language_file import OBJECT
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import EpisodeBatch, SamplingConfig, SentenceBatch
from groundling.world.catalog import FIRST_ICON, Catalog
from groundling.world.types import State, WorldConfig

POOL = 8192
"""Questions to choose examples from."""


class Example(NamedTuple):
    """A map, as a batch of one, with a question about it and the answer."""

    state: State
    question: str
    answer: str


def lesson(teacher: Teacher, episode: EpisodeBatch, sentences: SentenceBatch, count: int) -> list[Example]:
    """Examples for the first sentence of a batch: its words first, then what could be answered, then any others."""
    if not count:
        return []
    pools = _pools(teacher.language, _Icons(teacher.catalog.hash, teacher.catalog), teacher.world.size)
    rng = np.random.Generator(np.random.Philox(key=np.array([episode.seed[0], episode.index[0]], np.uint64)))
    found = []
    for word in dict.fromkeys(_relevant(teacher, episode, sentences)):
        pool = next((pool for pool in pools if word in pool.rows), None)
        if pool is not None:
            found.append(pool.example(int(rng.choice(pool.rows[word]))))
    while len(found) < count:
        found.append(pools[0].example(int(rng.integers(POOL))))
    return [found[k] for k in rng.permutation(count)]


def _relevant(teacher: Teacher, episode: EpisodeBatch, sentences: SentenceBatch) -> Iterator[str]:
    """The content words of a sentence, then all words that could answer it on this map."""
    meaning = teacher.meaning(sentences, 0)
    assert meaning is not None
    yield from meaning.content
    asked = teacher.language.type(meaning.type).asked
    if asked == OBJECT:
        cells = episode.state.grid[0]
        classes = teacher.catalog.icon_class[cells[cells >= FIRST_ICON] - FIRST_ICON]
        yield from (teacher.grammar.slot_vocabulary(OBJECT)[c] for c in classes)
    elif asked in teacher.language.word_classes:
        yield from teacher.language.word_classes[asked]


class _Pool:
    """Questions about simple maps."""

    def __init__(self, teacher: Teacher, relations: bool) -> None:
        self.teacher = teacher
        self.episode = teacher.begin(seeds.LESSON, np.arange(POOL))
        self.rows: dict[str, NDArray[np.intp]] = {}
        """The questions that teach a word: with this answer, or, for a relation, with the word in the question."""
        question, token = self.episode.question, teacher.lexicon.token
        of_type = {name: k for k, name in enumerate(teacher.language.type_names)}
        if relations:
            for word in {word for name in teacher.types for word in teacher.language.relation_words[name]}:
                types = [of_type[name] for name in teacher.types if word in teacher.language.relation_words[name]]
                self._add(word, np.isin(question.type, types))
        else:
            for word in teacher.lexicon.answers:
                self._add(word, question.answer == token[word])

    def _add(self, word: str, which: NDArray[np.bool_]) -> None:
        if which.any():
            self.rows[word] = np.flatnonzero(which)

    def example(self, row: int) -> Example:
        question = self.episode.question
        state = State(*(array[row : row + 1] for array in self.episode.state))
        return Example(state, self.teacher.text(question, row), self.teacher.lexicon.words[question.answer[row]])


@dataclass(frozen=True)
class _Icons:
    """A catalog as a key: equal if its hash is."""

    hash: str
    catalog: Catalog = field(compare=False)


@lru_cache(maxsize=8)
def _pools(language: Language, icons: _Icons, size: int) -> tuple[_Pool, ...]:
    """Questions about one object, then those with relations."""
    related = {name for name in language.questions if language.relation_words[name]}
    pools = []
    for relations in (False, True):
        types = [name for name in language.questions if (name in related) == relations]
        fewest = min((language.type(name).fewest_objects for name in types), default=0)
        simplest = tuple(name for name in types if language.type(name).fewest_objects == fewest)
        if not simplest:
            continue
        world = WorldConfig(size=size, objects=(fewest, fewest), walls=(0, 0))
        sampling = SamplingConfig(type_balanced_fraction=1.0, types=simplest)
        pools.append(_Pool(Teacher(world, catalog=icons.catalog, sampling=sampling, language=language), relations))
    if not pools or not pools[0].rows:
        raise InputError(f"{language.name}: examples need a language with questions, got none")
    return tuple(pools)

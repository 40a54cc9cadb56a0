"""The kernels behind a episode: draw a map and a command for it, ask a question, put it into words."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundling.jit import kernel
from groundling.teacher.curriculum import Difficulty, difficulty
from groundling.teacher.grammar import MAX_WORDS, SLOTS
from groundling.teacher.lexicon import PREPOSITIONS
from groundling.teacher.sentence_types import (
    COLOR,
    COMMAND_COUNT,
    DIRECTION,
    EMPTY,
    NAV_BW_OBJ,
    OBJECT,
    PREPOSITION,
    REC_BW_OBJ2COL,
    REC_BW_OBJ2LOC,
    REC_BW_OBJ2OBJ,
    Findings,
    WordTables,
    describe_objects,
    find_commands,
    find_empty,
    find_questions,
)
from groundling.world.map_generation import draw_map
from groundling.world.rng import below, derive
from groundling.world.shortest_path import distances
from groundling.world.simulation import Bools, Int16s, State

PREPOSITION_COUNT = len(PREPOSITIONS)
EMPTY_CELL_ODDS = 10
"""One object question in so many is asked of an empty cell."""
MOST_ATTEMPTS = 1 << 20
"""So many maps are drawn for one episode before it is called impossible."""
CHANCES = 1 << 30
_MAP, _COMMAND, _QUESTION = range(3)
"""The parts of a episode that have random numbers of their own."""


class SentenceBatch(NamedTuple):
    """A batch of sentences, or silences."""

    type: Int16s
    """[B]: index into TYPES, -1 for silence"""
    template: Int16s
    """[B]"""
    slots: Int16s
    """[B, slot]: class, class, color, direction, preposition; -1 for none"""
    tokens: Int16s
    """[B, MAX_WORDS]: word numbers, then padding"""
    answer: Int16s
    """[B]: the word number of the true answer, -1 for a command"""


class Rules(NamedTuple):
    """Everything that is the same for all episodes, for the kernels."""

    size: int
    objects: tuple[int, int]
    walls: tuple[int, int]
    curriculum: int
    type_first: int
    """Out of CHANCES."""
    types: Int16s
    min_objects: Int16s
    classes: Int16s
    """In the order in which the curriculum lets them in."""
    icon_class: Int16s
    icon_color: Int16s
    first_icon: Int16s
    templates: Int16s
    first_template: Int16s
    shorter: Int16s
    pad: int
    words: WordTables


def no_sentences(batch: int, pad: int) -> SentenceBatch:
    return SentenceBatch(
        type=np.full(batch, -1, np.int16),
        template=np.full(batch, -1, np.int16),
        slots=np.full((batch, len(SLOTS)), -1, np.int16),
        tokens=np.full((batch, MAX_WORDS), pad, np.int16),
        answer=np.full(batch, -1, np.int16),
    )


@kernel
def begin_episodes(
    seed: NDArray[np.int64],
    index: NDArray[np.int64],
    where: NDArray[np.intp],
    state: State,
    command: SentenceBatch,
    question: SentenceBatch,
    f: Findings,
    r: Rules,
) -> int:
    """Begin episode `index[b]` for each b in `where`, into the arrays given. Return one that is impossible, or -1."""
    positions = np.empty(r.size * r.size, np.int64)
    distance = np.empty(r.size * r.size, np.int16)
    queue = np.empty(r.size * r.size, np.int16)
    for b in where:
        key = derive(np.uint64(seed[b]), index[b])
        level = difficulty(index[b], r.curriculum, r.size, r.objects[1], r.walls[1], len(r.classes))
        walls_range = (min(r.walls[0], level.walls), level.walls)
        classes = r.classes[: level.classes]
        first = draw_type_first(key, level, r)
        least = r.min_objects[first] if first >= 0 else 1
        objects_range = (min(max(r.objects[0], least), level.objects), level.objects)
        in_line = 2 if first == NAV_BW_OBJ else 3 if first in (REC_BW_OBJ2OBJ, REC_BW_OBJ2LOC, REC_BW_OBJ2COL) else 0
        grid, objects = state.grid[b], state.objects[b]
        type_ = -1
        for attempt in range(MOST_ATTEMPTS):
            map_key = derive(derive(key, _MAP), attempt)
            agent = draw_map(
                map_key,
                r.size,
                level.open_size,
                objects_range,
                walls_range,
                in_line,
                classes,
                r.first_icon,
                grid,
                objects,
                positions,
            )
            n = describe_objects(grid, r.size, objects, agent, r.icon_class, r.icon_color, f, r.words)
            if first >= COMMAND_COUNT:
                find_questions(agent, n, f, r.words)
                if f.found[first] == 0:
                    continue
            distances(grid, r.size, agent, distance, queue)
            find_commands(grid, r.size, distance, n, f, r.words)
            command_key = derive(key, _COMMAND)
            type_ = draw_type(command_key, level.words, 0, COMMAND_COUNT, first, f, r)
            if type_ >= 0:
                state.agent[b], state.step[b] = agent, 0
                state.target[b] = say(command_key, level.words, type_, type_, command, b, f, r)
                ask(key, level.words, n, first, state, question, b, f, r)
                break
        if type_ < 0:
            return int(index[b])
    return -1


@kernel
def draw_type_first(key: np.uint64, level: Difficulty, r: Rules) -> int:
    """The type that this episode's map must trigger, or -1 if any will do."""
    if below(key, 0, CHANCES) >= r.type_first:
        return -1
    possible = 0
    for t in r.types:
        possible += r.min_objects[t] <= level.objects and r.shorter[t, level.words] > 0
    k = below(key, 1, possible)
    for t in r.types:
        if r.min_objects[t] <= level.objects and r.shorter[t, level.words] > 0:
            if k == 0:
                return int(t)
            k -= 1
    return -1


@kernel
def draw_type(key: np.uint64, words: int, low: int, high: int, first: int, f: Findings, r: Rules) -> int:
    """`first` if it is one of the types low .. high-1, else any of those; -1 if it has no filling, or none has."""
    if low <= first < high:
        low, high = first, first + 1
    possible = 0
    for t in range(low, high):
        possible += f.found[t] > 0 and r.shorter[t, words] > 0
    k = below(key, 0, possible)
    for t in range(low, high):
        if f.found[t] > 0 and r.shorter[t, words] > 0:
            if k == 0:
                return int(t)
            k -= 1
    return -1


@kernel
def say(
    key: np.uint64, words: int, type_: int, kind: int, sentences: SentenceBatch, b: int, f: Findings, r: Rules
) -> int:
    """Put a random filling of `kind` into a random template of at most so many words; return its outcome."""
    filling = f.fillings[kind, below(key, 1, f.found[kind])]
    template = below(key, 2, r.shorter[type_, words])
    preposition = below(key, 3, PREPOSITION_COUNT)
    sentences.type[b], sentences.template[b] = type_, template
    slots, tokens = sentences.slots[b], sentences.tokens[b]
    slots[:4] = filling[:4]
    slots[4] = -1
    for i, token in enumerate(r.templates[r.first_template[type_] + template]):
        if token >= 0:
            tokens[i] = token
        elif token >= -2:
            tokens[i] = r.words.numbers[OBJECT, filling[-1 - token]]
        elif token == -3:
            tokens[i] = r.words.numbers[COLOR, filling[2]]
        elif token == -4:
            tokens[i] = r.words.numbers[DIRECTION, filling[3]]
        else:
            slots[4] = preposition
            tokens[i] = r.words.numbers[PREPOSITION, preposition]
    return int(filling[4])


@kernel
def ask(
    key: np.uint64, words: int, n: int, first: int, state: State, question: SentenceBatch, b: int, f: Findings, r: Rules
) -> None:
    """Ask a question of world b, whose `n` objects are in `f`; of type `first` if that is one that can be asked."""
    find_questions(state.agent[b], n, f, r.words)
    if first >= COMMAND_COUNT and f.found[first] == 0:
        first = -1
    question_key = derive(derive(key, _QUESTION), state.step[b])
    type_ = draw_type(question_key, words, COMMAND_COUNT, EMPTY, first, f, r)
    if type_ < 0:
        question.type[b] = question.template[b] = question.answer[b] = -1
        question.slots[b] = -1
        question.tokens[b] = r.pad
        return
    kind = type_
    if below(question_key, 4, EMPTY_CELL_ODDS) == 0:
        find_empty(state.grid[b], r.size, state.agent[b], n, type_, f, r.words)
        kind = EMPTY if f.found[EMPTY] > 0 else type_
    question.answer[b] = say(question_key, words, type_, kind, question, b, f, r)


@kernel
def ask_questions(
    seed: NDArray[np.int64],
    index: NDArray[np.int64],
    goes_on: Bools,
    state: State,
    question: SentenceBatch,
    f: Findings,
    r: Rules,
) -> None:
    """Ask in every episode that goes on, into the arrays of `question`."""
    for b in range(len(index)):
        if goes_on[b]:
            level = difficulty(index[b], r.curriculum, r.size, r.objects[1], r.walls[1], len(r.classes))
            n = describe_objects(
                state.grid[b], r.size, state.objects[b], state.agent[b], r.icon_class, r.icon_color, f, r.words
            )
            key = derive(np.uint64(seed[b]), index[b])
            ask(key, level.words, n, draw_type_first(key, level, r), state, question, b, f, r)

"""The kernels that sample episodes: a map and a command for it, then a question at each step, as tokens."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundling.jit import constant, kernel
from groundling.teacher.curriculum import Difficulty, difficulty
from groundling.teacher.lexicon import PREPOSITIONS
from groundling.teacher.sentence_types import (
    COLOR,
    COMMAND_COUNT,
    DIRECTION,
    EMPTY,
    NAV_OBJ,
    OBJECT,
    PREPOSITION,
    Scratch,
    WordTables,
    describe_objects,
    find_commands,
    find_empty,
    find_questions,
)
from groundling.teacher.types import SLOTS, SentenceBatch
from groundling.world.map_generation import draw_map
from groundling.world.rng import below, derive
from groundling.world.shortest_path import distances
from groundling.world.types import FREE_CELLS, Bools, Int16s, State

PREPOSITION_COUNT = constant(len(PREPOSITIONS))
SLOT_VOCABULARY = np.array([OBJECT, OBJECT, COLOR, DIRECTION, PREPOSITION], np.int64)
"""[slot]: the row of `WordTables.token` that its words come from"""
PREPOSITION_SLOT = SLOTS.index("prep")
EMPTY_CELL_ODDS = constant(10)
"""One object question in ten is about an empty cell."""
MAX_ATTEMPTS = 1 << 20
"""Maps sampled for one episode before it is declared impossible."""
TRIAL_ATTEMPTS = 1 << 13
"""The same in `Teacher.check_episodes`: far fewer, so that an episode that follows is never impossible."""
TYPED_ATTEMPTS = 1 << 17
"""Maps sampled for the type that an episode was to have, before it becomes one of the natural distribution."""
NEEDED_OBJECTS, NEEDED_CLASSES, IN_LINE = range(3)
"""Columns of `Rules.needs`."""
PROBABILITY_UNIT = constant(1 << 30)
"""Probabilities are integers out of this number, so that sampling is exact."""
_MAP, _COMMAND, _QUESTION = map(constant, range(3))
"""The parts of an episode that have random numbers of their own."""
_IS_BALANCED, _FIRST_TYPE = map(constant, range(2))
"""The draws under an episode's key."""
_TYPE, _FILLING, _TEMPLATE, _PREPOSITION, _IS_EMPTY = map(constant, range(5))
"""The draws under the key of a sentence."""


class Rules(NamedTuple):
    """Everything that is the same for all episodes, as arrays and numbers for the kernels."""

    size: int
    objects: tuple[int, int]
    walls: tuple[int, int]
    curriculum_episodes: int
    type_balanced: int
    """Probability that an episode's sentence type is sampled first, out of PROBABILITY_UNIT."""
    types: Int16s
    """The types sampled first."""
    needs: Int16s
    """[type, (NEEDED_OBJECTS, NEEDED_CLASSES, IN_LINE)]: fewest objects on a map that triggers it; how many of
    `classes` are needed for a sentence that the split allows; objects in line on a map for it, see `draw_map`"""
    easiest_classes: int
    """Number of classes at the beginning of the curriculum."""
    classes: Int16s
    """In the order in which the curriculum introduces them."""
    icon_class: Int16s
    icon_color: Int16s
    first_icon: Int16s
    templates: Int16s
    """[template, MAX_WORDS]: tokens; -1 - s is slot s"""
    first_template: Int16s
    """[type]: its first template"""
    templates_up_to: Int16s
    """[type, length]: number of templates with at most that many words"""
    pad: int
    max_attempts: int
    """Maps sampled for one episode."""
    words: WordTables


@kernel
def begin_episodes(
    seed: NDArray[np.int64],
    index: NDArray[np.int64],
    where: NDArray[np.intp],
    state: State,
    command: SentenceBatch,
    question: SentenceBatch | None,
    scratch: Scratch,
    rules: Rules,
) -> int:
    """Begin episode `index[b]` for each b in `where`, in place. Return the index of an impossible one, or -1.

    Without `question`, nothing is asked, and the code for questions is not even compiled.
    """
    positions = np.empty(rules.size * rules.size, np.int64)
    distance = np.empty(rules.size * rules.size, np.int16)
    queue = np.empty(rules.size * rules.size, np.int16)
    for b in where:
        key = derive(np.uint64(seed[b]), index[b])
        level = episode_difficulty(index[b], rules)
        # The open space of an early curriculum is small: two cells stay free, or no command may be possible.
        max_walls = min(level.walls, max(0, level.open_size * level.open_size - level.objects - 1 - FREE_CELLS))
        walls_range = (min(rules.walls[0], max_walls), max_walls)
        classes = rules.classes[: level.classes]
        first = draw_type_first(key, level, rules)
        grid, objects = state.grid[b], state.objects[b]
        type_ = -1
        for attempt in range(rules.max_attempts):
            if attempt == TYPED_ATTEMPTS:
                first = -1
            fewest = rules.needs[first, NEEDED_OBJECTS] if first >= 0 else 1
            in_line = rules.needs[first, IN_LINE] if first >= 0 else 0
            objects_range = (min(max(rules.objects[0], fewest), level.objects), level.objects)
            map_key = derive(derive(key, _MAP), attempt)
            agent = draw_map(
                map_key,
                rules.size,
                level.open_size,
                objects_range,
                walls_range,
                in_line,
                classes,
                rules.first_icon,
                grid,
                objects,
                positions,
            )
            count = describe_objects(
                grid, rules.size, objects, agent, rules.icon_class, rules.icon_color, scratch, rules.words
            )
            if question is not None:  # noqa: SIM102 - Numba leaves out what follows if this is None, and only then
                if first >= COMMAND_COUNT:
                    find_questions(agent, count, scratch, rules.words)
                    if scratch.found[first] == 0:
                        continue
            distances(grid, rules.size, agent, distance, queue)
            find_commands(grid, rules.size, distance, count, scratch, rules.words)
            command_key = derive(key, _COMMAND)
            type_ = draw_type(command_key, level.words, NAV_OBJ, COMMAND_COUNT, first, scratch, rules)
            if type_ >= 0:
                state.agent[b], state.step[b] = agent, 0
                state.target[b] = write_sentence(command_key, level.words, type_, type_, command, b, scratch, rules)
                if question is not None:
                    ask(key, level.words, count, first, state, question, b, scratch, rules)
                break
        if type_ < 0:
            return int(index[b])
    return -1


@kernel
def episode_difficulty(index: int, rules: Rules) -> Difficulty:
    """The curriculum's limits for an episode."""
    return difficulty(
        index,
        rules.curriculum_episodes,
        rules.size,
        rules.objects[1],
        rules.walls[1],
        len(rules.classes),
        rules.easiest_classes,
    )


@kernel
def possible_at(level: Difficulty, t: int, rules: Rules) -> bool:
    """Whether a type can occur at a level of difficulty."""
    enough_objects = rules.needs[t, NEEDED_OBJECTS] <= level.objects
    enough_classes = rules.needs[t, NEEDED_CLASSES] <= level.classes
    return bool(enough_objects and enough_classes and rules.templates_up_to[t, level.words] > 0)


@kernel
def draw_type_first(key: np.uint64, level: Difficulty, rules: Rules) -> int:
    """The type that this episode's map must trigger, or -1 for any."""
    if below(key, _IS_BALANCED, PROBABILITY_UNIT) >= rules.type_balanced:
        return -1
    possible = 0
    for t in rules.types:
        possible += possible_at(level, t, rules)
    k = below(key, _FIRST_TYPE, possible)
    for t in rules.types:
        if possible_at(level, t, rules):
            if k == 0:
                return int(t)
            k -= 1
    return -1


@kernel
def draw_type(key: np.uint64, max_words: int, low: int, high: int, first: int, scratch: Scratch, rules: Rules) -> int:
    """`first` if it is one of the types low .. high-1, otherwise any of those; -1 if there is no filling for it."""
    if low <= first < high:
        low, high = first, first + 1
    possible = 0
    for t in range(low, high):
        possible += scratch.found[t] > 0 and rules.templates_up_to[t, max_words] > 0
    k = below(key, _TYPE, possible)
    for t in range(low, high):
        if scratch.found[t] > 0 and rules.templates_up_to[t, max_words] > 0:
            if k == 0:
                return int(t)
            k -= 1
    return -1


@kernel
def write_sentence(
    key: np.uint64,
    max_words: int,
    type_: int,
    kind: int,
    sentences: SentenceBatch,
    b: int,
    scratch: Scratch,
    rules: Rules,
) -> int:
    """Put a random filling of `kind` into a random template of at most `max_words` words; return its outcome."""
    filling = scratch.fillings[kind, below(key, _FILLING, scratch.found[kind])]
    template = below(key, _TEMPLATE, int(rules.templates_up_to[type_, max_words]))
    preposition = below(key, _PREPOSITION, PREPOSITION_COUNT)
    sentences.type[b], sentences.template[b] = type_, template
    slots, tokens = sentences.slots[b], sentences.tokens[b]
    for slot in range(PREPOSITION_SLOT):  # a loop compiles faster than slices do
        slots[slot] = filling[slot]
    slots[PREPOSITION_SLOT] = -1
    for i, token in enumerate(rules.templates[rules.first_template[type_] + template]):
        if token >= 0:
            tokens[i] = token
        else:
            slot = -1 - token
            if slot == PREPOSITION_SLOT:
                slots[slot] = preposition
            tokens[i] = rules.words.token[SLOT_VOCABULARY[slot], slots[slot]]
    return int(filling[4])


@kernel
def ask(
    key: np.uint64,
    max_words: int,
    count: int,
    first: int,
    state: State,
    question: SentenceBatch,
    b: int,
    scratch: Scratch,
    rules: Rules,
) -> None:
    """Ask a question about map b, whose `count` objects are in `scratch`; of type `first` where that is possible."""
    find_questions(int(state.agent[b]), count, scratch, rules.words)
    if first >= COMMAND_COUNT and scratch.found[first] == 0:
        first = -1
    question_key = derive(derive(key, _QUESTION), int(state.step[b]))
    type_ = draw_type(question_key, max_words, COMMAND_COUNT, EMPTY, first, scratch, rules)
    if type_ < 0:
        question.type[b] = question.template[b] = question.answer[b] = -1
        question.slots[b] = -1
        question.tokens[b] = rules.pad
        return
    kind = type_
    if below(question_key, _IS_EMPTY, EMPTY_CELL_ODDS) == 0:
        find_empty(state.grid[b], rules.size, int(state.agent[b]), count, type_, scratch, rules.words)
        kind = EMPTY if scratch.found[EMPTY] > 0 else type_
    question.answer[b] = write_sentence(question_key, max_words, type_, kind, question, b, scratch, rules)


@kernel
def ask_questions(
    seed: NDArray[np.int64],
    index: NDArray[np.int64],
    running: Bools,
    state: State,
    question: SentenceBatch,
    scratch: Scratch,
    rules: Rules,
) -> None:
    """Ask a question in every running episode, into the arrays of `question`."""
    for b in range(len(index)):
        if running[b]:
            level = episode_difficulty(index[b], rules)
            count = describe_objects(
                state.grid[b],
                rules.size,
                state.objects[b],
                int(state.agent[b]),
                rules.icon_class,
                rules.icon_color,
                scratch,
                rules.words,
            )
            key = derive(np.uint64(seed[b]), index[b])
            ask(key, level.words, count, draw_type_first(key, level, rules), state, question, b, scratch, rules)

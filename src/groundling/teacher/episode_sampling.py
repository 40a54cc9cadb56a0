"""The kernels that sample episodes: a map and a command for it, then a question at each step, as tokens."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundling.jit import constant, kernel
from groundling.teacher.curriculum import Difficulty, difficulty
from groundling.teacher.language_tables import EMPTY_SCAN, SCAN, LanguageTables
from groundling.teacher.references import Scratch, describe_objects, scan_references
from groundling.teacher.types import SentenceBatch
from groundling.world.map_generation import draw_map
from groundling.world.rng import below, derive
from groundling.world.shortest_path import distances
from groundling.world.types import FREE_CELLS, Bools, Int16s, State

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
_MAP, _COMMAND, _QUESTION, _TRIAL = map(constant, range(4))
"""The parts of an episode; all but a trial have random numbers of their own."""
_NONE = constant(-1)
_COUNT, _COUNT_EMPTY, _PICK = range(3)
"""The work of `say`, in this order."""
_IS_BALANCED, _FIRST_TYPE = map(constant, range(2))
"""The draws under an episode's key."""
_TYPE, _FILLING, _TEMPLATE, _FREE_SLOT, _IS_EMPTY = map(constant, range(5))
_NEXT_FREE_SLOT = constant(8)
"""The draws under the key of a sentence; a second slot whose word does not change the meaning draws from here on."""
CLASS_ROW, FREE_WORDS = range(2)
"""Columns of `Rules.slots`."""


class Rules(NamedTuple):
    """Everything that is the same for all episodes, as arrays and numbers for the kernels."""

    size: int
    objects: tuple[int, int]
    walls: tuple[int, int]
    curriculum_episodes: int
    commands: int
    """Number of command types, which come first."""
    type_balanced: int
    """Probability that an episode's sentence type is sampled first, out of PROBABILITY_UNIT."""
    types: Int16s
    """The types sampled first."""
    needs: Int16s
    """[type, (NEEDED_OBJECTS, NEEDED_CLASSES, IN_LINE)]: fewest objects on a map that triggers it; how many of
    `classes` are needed for a sentence that the split allows; objects in line on a map for it, see `draw_map`"""
    easiest_classes: int
    """Number of classes at the beginning of the curriculum."""
    easiest_words: int
    """Length of sentences at the beginning of the curriculum."""
    classes: Int16s
    """In the order in which the curriculum introduces them."""
    generator: int
    """Of maps, see `map_generation`."""
    first_icon: Int16s
    """[class]: its first entry in `icons`"""
    icons: Int16s
    """The icons that the split allows, class by class."""
    slots: Int16s
    """[slot, (CLASS_ROW, FREE_WORDS)]: row of its word class in `LanguageTables.token`; number of words to choose from
    if the word does not change the meaning, otherwise 0"""
    templates: Int16s
    """[template, max words]: tokens; -1 - s is slot s"""
    first_template: Int16s
    """[type]: its first template"""
    template_number: Int16s
    """[template]: its index within the type; splits can leave some out"""
    templates_up_to: Int16s
    """[type, length]: number of templates with at most that many words"""
    pad: int
    max_attempts: int
    """Maps sampled for one episode."""
    language: LanguageTables


@kernel
def begin_episodes(
    seed: NDArray[np.int64],
    index: NDArray[np.int64],
    where: NDArray[np.intp],
    state: State,
    command: SentenceBatch,
    scratch: Scratch,
    rules: Rules,
    own_generator: Any,
    own_rule: Any,
) -> int:
    """Begin episode `index[b]` for each b in `where`, in place. Return the index of an impossible one, or -1."""
    positions, distance, queue = scratch.positions, scratch.distance, scratch.queue
    for b in where:
        key = derive(np.uint64(seed[b]), index[b])
        level = episode_difficulty(index[b], rules)
        # The open space of an early curriculum is small: two cells stay free, or no command may be possible.
        max_walls = min(level.walls, max(0, level.open_size * level.open_size - level.objects - 1 - FREE_CELLS))
        walls_range = (min(rules.walls[0], max_walls), max_walls)
        classes = rules.classes[: level.classes]
        first = draw_type_first(key, level, rules)
        grid, objects = state.grid[b], state.objects[b]
        state.target[b] = -1
        for attempt in range(rules.max_attempts):
            if attempt == TYPED_ATTEMPTS:
                first = -1
            fewest = rules.needs[first, NEEDED_OBJECTS] if first >= 0 else 1
            in_line = rules.needs[first, IN_LINE] if first >= 0 else 0
            objects_range = (min(max(rules.objects[0], fewest), level.objects), level.objects)
            agent = draw_map(
                derive(derive(key, _MAP), attempt),
                rules.size,
                level.open_size,
                objects_range,
                walls_range,
                in_line,
                classes,
                rules.first_icon,
                rules.icons,
                rules.generator,
                own_generator,
                grid,
                objects,
                positions,
            )
            state.agent[b], state.step[b] = agent, 0
            count = describe_objects(grid, rules.size, objects, agent, scratch, rules.language, own_rule)
            distances(grid, rules.size, agent, distance, queue)
            # First a trial of the question type that the map must trigger, then the command.
            for is_command in range(0 if first >= rules.commands else 1, 2):
                part = _COMMAND if is_command else _TRIAL
                outcome = say(part, key, level.words, first, count, state, command, b, scratch, rules)
                if outcome < 0:
                    break
                state.target[b] = outcome
            if outcome >= 0:
                break
        if outcome < 0:
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
        rules.templates.shape[1],
        rules.easiest_classes,
        rules.easiest_words,
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
def draw_type(
    key: np.uint64, max_words: int, low: int, high: int, first: int, found: NDArray[np.int64], templates_up_to: Int16s
) -> int:
    """`first` if it is one of the types low .. high-1, otherwise any of those; -1 if there is no filling for it."""
    if low <= first < high:
        low, high = first, first + 1
    possible = 0
    for t in range(low, high):
        possible += found[t] > 0 and templates_up_to[t, max_words] > 0
    k = below(key, _TYPE, possible)
    for t in range(low, high):
        if found[t] > 0 and templates_up_to[t, max_words] > 0:
            if k == 0:
                return int(t)
            k -= 1
    return -1


@kernel
def say(
    part: int,
    key: np.uint64,
    max_words: int,
    first: int,
    count: int,
    state: State,
    sentences: SentenceBatch,
    b: int,
    scratch: Scratch,
    rules: Rules,
) -> int:
    """Say a command or a question about map b, whose `count` objects are in `scratch`; return its target or answer.

    It is of type `first` where that is possible. Returns -1 if nothing can be said; a trial only finds that out.
    """
    tables, grid, agent = rules.language, state.grid[b], int(np.int64(state.agent[b]))
    low, high, types, end_types = 0, tables.commands, 0, rules.commands
    sentence_key = derive(key, _COMMAND)
    if part != _COMMAND:
        low, high, types, end_types = tables.commands, tables.questions, rules.commands, len(tables.types)
        sentence_key = derive(derive(key, _QUESTION), int(state.step[b]))
    type_ = picked = k = _NONE
    # Count the fillings of all types, draw a type, perhaps count those about empty cells, and pick a filling.
    for work in range(_PICK + 1):
        if work == _COUNT_EMPTY:
            if tables.types[type_, EMPTY_SCAN] < 0 or below(sentence_key, _IS_EMPTY, EMPTY_CELL_ODDS) > 0:
                continue
            low, found = tables.types[type_, EMPTY_SCAN], scratch.found[type_]
            high = low + 1
        if work == _PICK:
            picked, k = type_, below(sentence_key, _FILLING, scratch.found[type_])
        scan_references(low, high, picked, k, grid, rules.size, agent, count, scratch, tables)
        if work == _COUNT:
            if part == _TRIAL:
                return int(scratch.found[first]) - 1
            if part == _QUESTION and first >= types and scratch.found[first] == 0:
                first = -1
            type_ = draw_type(sentence_key, max_words, types, end_types, first, scratch.found, rules.templates_up_to)
            if type_ < 0:
                return -1
            low = tables.types[type_, SCAN]
            high = low + 1
        if work == _COUNT_EMPTY and scratch.found[type_] == 0:
            low, scratch.found[type_] = tables.types[type_, SCAN], found
            high = low + 1
    template = rules.first_template[type_] + below(
        sentence_key, _TEMPLATE, int(rules.templates_up_to[type_, max_words])
    )
    sentences.type[b], sentences.template[b] = type_, rules.template_number[template]
    for slot in range(len(scratch.slots)):  # a loop compiles faster than slices do
        sentences.slots[b, slot] = scratch.filling[slot]
    draw = _FREE_SLOT
    for i in range(rules.templates.shape[1]):
        token = rules.templates[template, i]
        if token < 0:
            slot = -1 - token
            if rules.slots[slot, FREE_WORDS] > 0:
                sentences.slots[b, slot] = below(sentence_key, draw, int(rules.slots[slot, FREE_WORDS]))
                draw = _NEXT_FREE_SLOT if draw == _FREE_SLOT else draw + 1
            token = tables.token[rules.slots[slot, CLASS_ROW], sentences.slots[b, slot]]
        sentences.tokens[b, i] = token
    return int(scratch.filling[len(scratch.slots) + 1])


@kernel
def ask_questions(
    seed: NDArray[np.int64],
    index: NDArray[np.int64],
    which: Bools,
    state: State,
    question: SentenceBatch,
    scratch: Scratch,
    rules: Rules,
    own_rule: Any,
) -> None:
    """Ask a question in some episodes, into the arrays of `question`."""
    for b in range(len(index)):
        if which[b]:
            level = episode_difficulty(index[b], rules)
            agent = int(np.int64(state.agent[b]))
            count = describe_objects(
                state.grid[b], rules.size, state.objects[b], agent, scratch, rules.language, own_rule
            )
            key = derive(np.uint64(seed[b]), index[b])
            first = draw_type_first(key, level, rules)
            answer = say(_QUESTION, key, level.words, first, count, state, question, b, scratch, rules)
            question.answer[b] = answer
            if answer < 0:
                question.type[b] = question.template[b] = -1
                question.slots[b] = -1
                question.tokens[b] = rules.pad

"""Episodes with a map or a command that a user gives, instead of random ones."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundling.errors import InputError, cut
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import EpisodeBatch, Meaning, SamplingConfig, SentenceBatch
from groundling.teacher.valid_sentences import valid_sentences, verbalize
from groundling.world.scenario import Scenario
from groundling.world.types import State

BATCH = 256
BATCHES = 400
"""Random maps sampled for a command before it is called impossible: about a hundred thousand."""


def begin_given(
    teacher: Teacher, seed: int, index: int, scenario: Any | None, command: str | None, ask: bool
) -> EpisodeBatch:
    """Begin an episode, as a batch of one, on the map of a scenario (plain data) or a random one, with a command or a
    random one. Every sentence of the language may be given, whatever the split holds out."""
    if command is not None and not isinstance(command, str):
        raise InputError(f"command must be a sentence as text, got {command!r:.80}")
    whole = teacher if teacher.split.kind == "normal" else teacher.without_split
    if scenario is not None:
        state = _state(teacher, scenario)
        if command is None:
            command = _random_command(teacher, state, seed, index)
    if command is None:
        raise InputError("a given episode must have a scenario or a command, got neither")
    meaning = whole.grammar.parse(whole.lexicon.encode(command))
    if not whole.language.type(meaning.type).is_command:
        raise InputError(f"command must be a command of the language, got the question {cut(command)!r}")
    if scenario is None:
        state = _random_map(whole, meaning, command, seed, index)
    target = next((valid.outcome for valid in valid_sentences(whole, state) if valid.matches(meaning)), None)
    if target is None:
        raise InputError(
            f"command {cut(command)!r} is not possible on this map: what it refers to must be there, be unique, and be "
            "reachable without crossing objects"
        )
    empty = teacher.empty(1)
    command_batch = _sentence(teacher, empty.command, meaning)
    episode = EpisodeBatch(
        np.array([seed], np.int64),
        np.array([index], np.int64),
        state._replace(target=np.array([target], np.int16)),
        command_batch,
        empty.question,
    )
    return teacher.ask(episode) if ask else episode


def _state(teacher: Teacher, record: Any) -> State:
    """The map of a scenario, with the array sizes of the teacher."""
    if not isinstance(record, dict):
        raise InputError(f'scenario must be {{"objects": [...], "walls": [...], "agent": [...]}}, got {record!r:.80}')
    scenario = Scenario.of(record, teacher.catalog, teacher.world.size)
    limit = teacher.world.objects[1]
    if len(scenario.objects) > limit:
        raise InputError(f"scenario must have at most {limit} objects, got {len(scenario.objects)}; raise `objects`")
    state = scenario.state()
    return state._replace(objects=state.objects[:, :limit])


def _random_command(teacher: Teacher, state: State, seed: int, index: int) -> str:
    """A command that the teacher may give on a map: a random type, then one of its sentences."""
    rng = np.random.Generator(np.random.Philox(key=np.array([seed, index], np.uint64)))
    valid = [s for s in valid_sentences(teacher, state) if teacher.language.type(s.type).is_command]
    if not valid:
        raise InputError(
            "scenario must allow a command, got a map without one; add a reachable object, or remove walls"
        )
    types = sorted({sentence.type for sentence in valid})
    type_ = types[rng.integers(len(types))]
    of_type = [sentence for sentence in valid if sentence.type == type_]
    return verbalize(teacher, of_type[rng.integers(len(of_type))], rng)


def _random_map(teacher: Teacher, meaning: Meaning, command: str, seed: int, index: int) -> State:
    """A random map on which a command is possible."""
    of_type = teacher.with_sampling(SamplingConfig(type_balanced_fraction=1.0, types=(meaning.type,)))
    used = [slot in teacher.language.type(meaning.type).reference.slots for slot in teacher.language.slots]
    wanted = np.array(_slot_indices(teacher, meaning))[used]
    first = np.random.Generator(np.random.Philox(key=np.array([seed, index], np.uint64))).integers(1 << 40)
    for batch in range(BATCHES):
        found = of_type.begin(seed, first + np.arange(batch * BATCH, (batch + 1) * BATCH), ask=False)
        matches = np.flatnonzero((found.command.slots[:, used] == wanted).all(axis=1))
        if len(matches):
            return State(*(array[matches[:1]].copy() for array in found.state))
    raise InputError(
        f"command {cut(command)!r} was possible on none of {BATCH * BATCHES:,} random maps; give a scenario"
    )


def _slot_indices(teacher: Teacher, meaning: Meaning) -> list[int]:
    """The index of each slot's word within its class, -1 for an unused slot."""
    return [
        teacher.grammar.slot_vocabulary(kind).index(meaning.slots[slot]) if slot in meaning.slots else -1
        for slot, kind in teacher.language.slots.items()
    ]


def _sentence(teacher: Teacher, empty: SentenceBatch, meaning: Meaning) -> SentenceBatch:
    """A sentence as a batch of one."""
    tokens = teacher.grammar.tokens(meaning)
    padded: NDArray[np.int16] = empty.tokens.copy()
    padded[0, : len(tokens)] = tokens
    return empty._replace(
        type=np.array([teacher.language.type_names.index(meaning.type)], np.int16),
        template=np.array([meaning.template], np.int16),
        slots=np.array([_slot_indices(teacher, meaning)], np.int16),
        tokens=padded,
    )


def put_episode(batch: EpisodeBatch, where: int, episode: EpisodeBatch) -> EpisodeBatch:
    """The batch with a batch of one put at an index."""
    arrays, given = batch.arrays(), episode.arrays()
    for name, array in arrays.items():
        array[where] = given[name][0]
    return EpisodeBatch.of(arrays)

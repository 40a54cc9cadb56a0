"""References and what is asked of them, implemented a second time: slowly, simply, from objects."""

import itertools
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from groundling.teacher.teacher import Teacher
from groundling.teacher.valid_sentences import valid_sentences
from groundling.world.catalog import WALL
from groundling.world.types import State
from tests.independent_judge import DIRECTIONS, Cell, MapObject, World, is_empty, next_to, reachable
from tests.teacher.test_teacher import map_objects


class Spec(NamedTuple):
    """A sentence type as the second implementation reads it: the slots that describe an object (none: the agent), the
    slots of the steps from there, and what is asked."""

    described: tuple[str, ...]
    steps: tuple[str, ...]
    asked: str


Words = Callable[[World, MapObject], dict[str, str | None]]
"""The word of each slot for an object."""


def expected_sentences(world: World, words: Words, specs: dict[str, Spec]) -> set[tuple[str, tuple[str, ...], str]]:
    """(type, words in the slots, target or answer): all fillings are tried."""
    described = {item: words(world, item) for item in world.objects}
    found = set()
    for type_, spec in specs.items():
        choices = [sorted({w for of_item in described.values() if (w := of_item[slot])}) for slot in spec.described]
        for filling in itertools.product(*choices, *([DIRECTIONS] * len(spec.steps))):
            named, steps = filling[: len(spec.described)], filling[len(spec.described) :]
            cell = referred(world, described, dict(zip(spec.described, named, strict=True)), steps)
            outcome = cell and judged(world, described, cell, spec)
            if outcome is not None:
                found.add((type_, tuple(filling), outcome))
    return found


def referred(
    world: World, described: dict[MapObject, dict[str, str | None]], wanted: dict[str, str], steps: tuple[str, ...]
) -> Cell | None:
    """The cell that words refer to, or None."""
    cell, start = world.agent, None
    if wanted:
        fits = [item for item, words in described.items() if all(words[slot] == w for slot, w in wanted.items())]
        if len(fits) != 1 or fits[0].at == world.agent:
            return None
        others = [words for item, words in described.items() if item != fits[0]]
        if len(wanted) > 1 and not any(words[slot] == w for words in others for slot, w in wanted.items()):
            return None
        cell = start = fits[0].at
    for k, step in enumerate(steps):
        cell = next_to(cell, step)
        if cell == start:  # a way back to what the sentence names
            return None
        if k < len(steps) - 1 and (cell == world.agent or all(item.at != cell for item in world.objects)):
            return None
    return cell


def judged(world: World, described: dict[MapObject, dict[str, str | None]], cell: Cell, spec: Spec) -> str | None:
    """The target or answer, or None if the sentence is not possible."""
    there = [words for item, words in described.items() if item.at == cell != world.agent]
    if not there:
        return "nothing" if spec.asked == "obj" and spec.steps and is_empty(world, cell) else None
    if spec.asked == "go":
        return str(cell) if reachable(world, cell) else None
    if spec.asked == "loc":
        near = [name for name in DIRECTIONS if next_to(world.agent, name) == cell]
        return near[0] if near else None
    return there[0][spec.asked]


def compare(teacher: Teacher, words: Words, specs: dict[str, Spec], maps: int, most: int = 10) -> None:
    """On random maps, after up to three random moves, the teacher may say exactly what the second implementation says;
    each type occurs more often than `most`, and what it says in the episodes themselves is among it."""
    size, rng = teacher.world.size, np.random.default_rng(1)
    episode = teacher.begin(5, np.arange(maps))
    types = Counter[str]()
    for step in range(4):
        referred_to = teacher.referred_positions(episode, episode.question)
        for b in range(maps):
            state = State(*(array[b : b + 1] for array in episode.state))
            grid = state.grid[0].tolist()
            objects = map_objects(teacher.catalog, grid, state.objects[0].tolist(), size)
            walls = {divmod(position, size) for position, cell in enumerate(grid) if cell == WALL}
            world = World(size, objects, walls, divmod(int(state.agent[0]), size))
            found, exact = set(), {}
            for valid in valid_sentences(teacher, state):
                if valid.type not in specs:
                    continue
                spec = specs[valid.type]
                slots = tuple(valid.slots[slot] for slot in (*spec.described, *spec.steps))
                word = teacher.lexicon.words[valid.outcome]
                outcome = str(divmod(valid.outcome, size)) if spec.asked == "go" else word
                found.add((valid.type, slots, outcome))
                exact[valid.type, slots] = valid
            assert found == expected_sentences(world, words, specs), (step, b)
            types.update(type_ for type_, _, _ in found)
            question = teacher.meaning(episode.question, b)
            if question is not None and question.type in specs:
                spec = specs[question.type]
                slots = tuple(question.slots[slot] for slot in (*spec.described, *spec.steps))
                assert exact[question.type, slots].outcome == episode.question.answer[b]
                described = {item: words(world, item) for item in world.objects}
                wanted = {slot: question.slots[slot] for slot in spec.described}
                cell = referred(world, described, wanted, slots[len(spec.described) :])
                assert divmod(int(referred_to[b]), size) == cell
        episode, outcome_of_step = teacher.step(episode, rng.integers(0, 4, maps))
        running = ~(outcome_of_step.terminated | outcome_of_step.truncated)
        episode, maps = episode.select(running), int(running.sum())
    assert set(types) == set(specs)
    assert min(types.values()) > most, types

"""Episodes: a world, a command, and a question at each step. Batched, pure, and a function of (seed, index).

teacher = Teacher()
episode = teacher.begin(seed=0, index=np.arange(256))
episode, outcome = teacher.step(episode, actions)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groundling.errors import InputError
from groundling.teacher.episode_sampling import (
    CHANCES,
    Rules,
    SentenceBatch,
    ask_questions,
    begin_episodes,
    no_sentences,
)
from groundling.teacher.grammar import SLOTS, TYPES, Grammar, Meaning, min_objects, type_index
from groundling.teacher.lexicon import COLORS, DIRECTIONS, NOTHING, OBJECTS, PREPOSITIONS, Lexicon
from groundling.teacher.sentence_types import (
    ANY,
    HELD_OUT_PAIR,
    HELD_OUT_WORD,
    NOTHING_HELD_OUT,
    Findings,
    WordTables,
    findings,
)
from groundling.teacher.splits import PHASES, Split
from groundling.world import simulation
from groundling.world.catalog import Catalog
from groundling.world.simulation import Bools, Outcome, State


@dataclass(frozen=True)
class Lessons:
    """What episodes are like. The defaults are the paper's test conditions."""

    size: int = 7
    """Side of the map."""
    objects: tuple[int, int] = (1, 5)
    """Fewest and most objects on a map."""
    walls: tuple[int, int] = (0, 15)
    """Fewest and most wall blocks in the open space."""
    max_steps: int | None = None
    """Steps until a episode is truncated; None: four times the size."""
    curriculum: int = 0
    """G: over so many episodes the difficulty grows to the full one; 0: full from the start."""
    balanced: float = 0.0
    """Share of the episodes for which the sentence type is drawn first, then a map that triggers it. If that type is
    a question, it is asked at every step at which it can be."""
    types: tuple[str, ...] | None = None
    """The sentence types that are drawn first, for that share; None: all that the split can say."""

    def __post_init__(self) -> None:
        if not 3 <= self.size <= 64:
            raise InputError(f"map size {self.size}: it is from 3 to 64")
        for what, (low, high), least in (("objects", self.objects, 1), ("walls", self.walls, 0)):
            if not least <= low <= high:
                raise InputError(f"{what} {low}..{high}: they go from {least} or more up to as many or more")
        if self.objects[1] > 16:
            raise InputError(f"objects {self.objects[0]}..{self.objects[1]}: a map holds 16 at the most")
        most = 1 + self.objects[1] + self.walls[1]
        if most > self.size**2:
            raise InputError(
                f"objects, walls and the agent take up to {most} cells: too many for {self.size} x {self.size}"
            )
        if self.max_steps is not None and not 1 <= self.max_steps < 1 << 15:
            raise InputError(f"max_steps {self.max_steps}: it is 1 or more, and below 32,768")
        if self.curriculum < 0:
            raise InputError(f"curriculum {self.curriculum}: it is a number of episodes, 0 or more")
        if not 0 <= self.balanced <= 1:
            raise InputError(f"balanced {self.balanced}: it is a share from 0 to 1")
        if self.types == ():
            raise InputError("types: at least one sentence type is needed")
        for name in self.types or ():
            type_index(name)

    @property
    def step_limit(self) -> int:
        return self.max_steps or 4 * self.size


@dataclass(frozen=True)
class EpisodeBatch:
    """A batch of episodes as they stand now."""

    seed: NDArray[np.int64]
    index: NDArray[np.int64]
    """Which episode under the seed: the two determine all but the agent's actions."""
    state: State
    command: SentenceBatch
    question: SentenceBatch

    def arrays(self) -> dict[str, NDArray[Any]]:
        """A snapshot as named arrays, for `numpy.savez` or a checkpoint."""
        parts: dict[str, State | SentenceBatch] = {
            "state": self.state,
            "command": self.command,
            "question": self.question,
        }
        flat = {f"{name}.{field}": array for name, part in parts.items() for field, array in part._asdict().items()}
        return {name: array.copy() for name, array in ({"seed": self.seed, "index": self.index} | flat).items()}

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> "Episode":
        """The episode that a snapshot was taken of."""

        def part(name: str, fields: tuple[str, ...]) -> Iterator[NDArray[Any]]:
            return (arrays[f"{name}.{field}"].copy() for field in fields)

        try:
            return cls(
                arrays["seed"].copy(),
                arrays["index"].copy(),
                State(*part("state", State._fields)),
                SentenceBatch(*part("command", SentenceBatch._fields)),
                SentenceBatch(*part("question", SentenceBatch._fields)),
            )
        except KeyError as error:
            raise InputError(f"snapshot: it has no array {error}") from None


class Teacher:
    """Gives episodes: begins them, asks at every step, renews those that ended."""

    def __init__(
        self,
        lessons: Lessons | None = None,
        split: Split | None = None,
        phase: str = "train",
        catalog: Catalog | None = None,
    ) -> None:
        self.lessons = lessons or Lessons()
        self.catalog = catalog or Catalog.default()
        self.lexicon = Lexicon(name for name in self.catalog.classes if name not in OBJECTS)
        self.grammar = Grammar(self.lexicon, self.catalog.pairs)
        self.split = split or Split.draw("normal", 0, 0, (), ())
        if phase not in PHASES:
            raise InputError(f"phase {phase!r}: it is train or test")
        self.phase = phase

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The sentence types that are drawn first: those asked for, or all that the split and the maps allow."""
        most = self.lessons.objects[1]
        needed = dict(zip(TYPES, min_objects().tolist(), strict=True))
        if self.lessons.types is None:
            return tuple(name for name in TYPES if needed[name] <= most and self._says(name))
        for name in self.lessons.types:
            if needed[name] > most:
                raise InputError(f"types: {name} needs {needed[name]} objects, and maps have {most} at the most")
            if not self._says(name):
                raise InputError(f"types: split {self.split.kind} ({self.phase}) has no sentence of type {name}")
        return self.lessons.types

    def _says(self, type_: str) -> bool:
        meanings = (Meaning(type_, 0, slots) for slots in self.grammar.fillings(type_))
        answers = self.catalog.classes if type_.endswith("2obj") else (NOTHING,)
        return any(self.split.allows(meaning, self.phase, word) for meaning in meanings for word in answers)

    @cached_property
    def rules(self) -> Rules:
        """What the kernels need to know."""
        lessons, catalog, grammar, lexicon = self.lessons, self.catalog, self.grammar, self.lexicon
        vocabularies = (catalog.classes, COLORS, DIRECTIONS, PREPOSITIONS)
        numbers = np.full((len(vocabularies), max(map(len, vocabularies))), -1, np.int16)
        for row, vocabulary in zip(numbers, vocabularies, strict=True):
            row[: len(vocabulary)] = lexicon.numbers(vocabulary)
        words = WordTables(
            numbers=numbers,
            between=lexicon.number["between"],
            nothing=lexicon.number[NOTHING],
            held=self.split.table(lexicon),
            wanted=self._wanted,
            with_answers=self.split.kind == "novel",
        )
        lengths = [len(grammar.templates[name]) for name in TYPES]
        return Rules(
            size=lessons.size,
            objects=lessons.objects,
            walls=lessons.walls,
            curriculum=lessons.curriculum,
            type_first=round(lessons.balanced * CHANCES),
            types=np.array([type_index(name) for name in self.types], np.int16),
            min_objects=min_objects(),
            classes=self._class_order(),
            icon_class=catalog.icon_class,
            icon_color=catalog.icon_color,
            first_icon=catalog.first_icon,
            templates=grammar.table,
            first_template=np.cumsum([0, *lengths[:-1]]).astype(np.int16),
            shorter=grammar.shorter,
            pad=lexicon.pad,
            words=words,
        )

    def _class_order(self) -> NDArray[np.int16]:
        """In which the curriculum lets classes in: those that may be named first, or there would be nothing to say."""
        order = np.random.Generator(np.random.Philox(0)).permutation(len(self.catalog.classes))
        held = self.split.table(self.lexicon)[self.lexicon.numbers(self.catalog.classes), -1]
        return order[np.argsort(held[order], kind="stable")].astype(np.int16)

    @property
    def _wanted(self) -> int:
        if self.split.kind == "normal":
            return ANY
        if self.phase == "train":
            return NOTHING_HELD_OUT
        return HELD_OUT_PAIR if self.split.kind == "zs1" else HELD_OUT_WORD

    def begin(self, seed: ArrayLike, index: ArrayLike) -> EpisodeBatch:
        """Episodes at their beginning: `index` [B] of them, under one seed or one each."""
        indices = _naturals("episode index", index)
        seeds = np.broadcast_to(_naturals("seed", seed), indices.shape).copy()
        batch, positions = len(indices), self.lessons.size**2
        state = State(
            grid=np.empty((batch, positions), np.int16),
            objects=np.empty((batch, self.lessons.objects[1]), np.int16),
            agent=np.empty(batch, np.int16),
            target=np.empty(batch, np.int16),
            step=np.zeros(batch, np.int16),
        )
        episode = EpisodeBatch(
            seeds, indices, state, no_sentences(batch, self.lexicon.pad), no_sentences(batch, self.lexicon.pad)
        )
        self._begin(episode, np.arange(batch))
        return episode

    def step(
        self, episode: EpisodeBatch, actions: NDArray[np.integer], ask: bool = True
    ) -> tuple[EpisodeBatch, Outcome]:
        """Every agent acts and is judged; where the episode goes on, the teacher asks (`ask=False`: it never does)."""
        state, outcome = simulation.step(episode.state, actions, self.lessons.step_limit)
        question = no_sentences(len(actions), self.lexicon.pad)
        if ask:
            goes_on = ~(outcome.terminated | outcome.truncated)
            ask_questions(episode.seed, episode.index, goes_on, state, question, self._findings(), self.rules)
        return replace(episode, state=state, question=question), outcome

    def reset(self, episode: EpisodeBatch, which: Bools, index: NDArray[np.integer]) -> EpisodeBatch:
        """Put new episodes, at their beginning, in the place of some: `index[b]` where `which[b]`."""
        if not which.any():
            return episode
        new = EpisodeBatch(
            episode.seed,
            np.where(which, index, episode.index),
            State(*(array.copy() for array in episode.state)),
            SentenceBatch(*(array.copy() for array in episode.command)),
            SentenceBatch(*(array.copy() for array in episode.question)),
        )
        self._begin(new, np.flatnonzero(which))
        return new

    def _begin(self, episode: EpisodeBatch, where: NDArray[np.intp]) -> None:
        arrays = episode.state, episode.command, episode.question
        failed = begin_episodes(episode.seed, episode.index, where, *arrays, self._findings(), self.rules)
        if failed >= 0:
            raise InputError(
                f"episode {failed} of split {self.split.kind} {self.split.holdout:g} ({self.phase}): no map "
                "triggers a sentence that may be said; hold out less, or allow more objects"
            )

    def _findings(self) -> Findings:
        return findings(self.lessons.objects[1])

    def meaning(self, sentences: SentenceBatch, b: int) -> Meaning | None:
        """What sentence `b` of a batch says, or None for silence."""
        if sentences.type[b] < 0:
            return None
        vocabularies = (self.catalog.classes, self.catalog.classes, COLORS, DIRECTIONS, PREPOSITIONS)
        slots = {
            slot: vocabulary[k]
            for slot, vocabulary, k in zip(SLOTS, vocabularies, sentences.slots[b].tolist(), strict=True)
            if k >= 0
        }
        return Meaning(TYPES[sentences.type[b]], int(sentences.template[b]), slots)

    def text(self, sentences: SentenceBatch, b: int) -> str:
        """Sentence `b` of a batch as people write it; empty for silence."""
        return self.lexicon.text(sentences.tokens[b].tolist())


def _naturals(what: str, numbers: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(numbers)
    if array.dtype.kind not in "iu" or (array < 0).any() or (array > np.iinfo(np.int64).max).any():
        raise InputError(f"{what} {numbers!r}: it is a whole number, 0 or more and below 2**63")
    return array.astype(np.int64)

"""The teacher: batched episodes, each a map, a command and a question at each step. A function of (seed, index).

teacher = Teacher()
episode = teacher.begin(seed=0, index=np.arange(256))
episode, outcome = teacher.step(episode, actions)
"""

from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groundling.errors import InputError, check_choice, nearest, show
from groundling.teacher.curriculum import EASIEST_CLASSES, EASIEST_OBJECTS, EASIEST_WORDS, Difficulty
from groundling.teacher.episode_sampling import (
    MAX_ATTEMPTS,
    PROBABILITY_UNIT,
    TRIAL_ATTEMPTS,
    Rules,
    ask_questions,
    begin_episodes,
)
from groundling.teacher.grammar import COMMANDS, TYPES, Grammar, min_objects, objects_in_line, type_index
from groundling.teacher.lexicon import COLORS, DIRECTIONS, NOTHING, OBJECTS, PREPOSITIONS, Lexicon
from groundling.teacher.sentence_types import COMMAND_COUNT, Scratch, WordTables, make_scratch
from groundling.teacher.splits import JOINT, KINDS, PHASES, AllowedTable, Split, allowed_table
from groundling.teacher.types import (
    MAX_INDEX,
    MAX_WORDS,
    SLOTS,
    EpisodeBatch,
    Meaning,
    SamplingConfig,
    SentenceBatch,
    no_sentences,
)
from groundling.world import simulation
from groundling.world.catalog import Catalog
from groundling.world.types import Bools, Outcome, State, WorldConfig

TRIAL_EPISODES = 128
"""Of `Teacher.check_episodes`: at all stages of the curriculum."""


class Teacher:
    """Begins episodes, asks a question at every step, and replaces episodes that ended."""

    def __init__(
        self,
        world: WorldConfig | None = None,
        split: Split | None = None,
        phase: str = "train",
        catalog: Catalog | None = None,
        sampling: SamplingConfig | None = None,
    ) -> None:
        self.world = world or WorldConfig()
        self.sampling = sampling or SamplingConfig()
        self.catalog = catalog or Catalog.default()
        self.lexicon = Lexicon(name for name in self.catalog.classes if name not in OBJECTS)
        self.grammar = Grammar(self.lexicon, self.catalog.pairs)
        self.split = split or Split.draw("normal", 0, 0, (), ())
        self.phase = check_choice("phase", phase, PHASES)
        for word in {word for group in self.split.held_out for word in group}:
            if word not in self.lexicon.token:
                hint = nearest(word[:40], self.lexicon.words)
                raise InputError(f"split must hold out words of the lexicon, got {show(word)}{hint}")
        for name in self.sampling.types or ():
            type_index(name)
        _ = self.rules  # what cannot be sampled is refused here, not in the middle of an episode

    def with_sampling(self, sampling: SamplingConfig) -> "Teacher":
        """The same teacher with another way to sample episodes."""
        return Teacher(self.world, self.split, self.phase, self.catalog, sampling)

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The sentence types to sample first: those of the sampling config, or all that split and maps allow."""
        limit = self.world.objects[1]
        needed = dict(zip(TYPES, min_objects().tolist(), strict=True))
        if self.sampling.types is None:
            return tuple(name for name in TYPES if needed[name] <= limit and self._classes_needed[name] is not None)
        for name in self.sampling.types:
            if needed[name] > limit:
                raise InputError(
                    f"types: {name} needs maps with {needed[name]} objects, got at most {limit}; allow more objects"
                )
            if self._classes_needed[name] is None:
                raise InputError(
                    f"types: {name} has no sentence in the {self.phase} phase of split {self.split.kind}; leave it out"
                )
        return self.sampling.types

    @cached_property
    def _classes_needed(self) -> dict[str, int | None]:
        """Per type: how many classes, in the order of the curriculum, are needed for an allowed sentence; None: no
        number is enough."""
        rank = np.argsort(self._class_order)
        answers = {"2obj": self.catalog.classes, "2col": COLORS}  # `orange` is a color, too
        held_out = {kind: any(map(self.split.holds_out_answer, words)) for kind, words in answers.items()}
        return {
            name: self._allowed.classes_needed(t, rank, held_out.get(name[-4:], False)) for t, name in enumerate(TYPES)
        }

    @cached_property
    def _easiest_classes(self) -> int:
        """The number of classes at the beginning of the curriculum; raises if no episode can begin then."""
        world, sampling = self.world, self.sampling
        level = Difficulty(world.size, world.objects[1], world.walls[1], len(self.catalog.classes), MAX_WORDS)
        if sampling.curriculum_episodes:
            level = level._replace(objects=EASIEST_OBJECTS, words=EASIEST_WORDS)
        needed = [
            classes
            for name, fewest in zip(COMMANDS, min_objects().tolist(), strict=False)
            if fewest <= level.objects
            and self.grammar.templates_up_to[TYPES.index(name), level.words]
            and (classes := self._classes_needed[name]) is not None
        ]
        if needed:
            return max(EASIEST_CLASSES, min(needed))
        what = f"split {self.split.kind} {self.split.holdout:g} ({self.phase} phase)"
        if sampling.curriculum_episodes:
            raise InputError(f"{what} allows no command at the beginning of a curriculum; set curriculum_episodes to 0")
        amount = "less" if self.phase == "train" else "more"
        raise InputError(f"{what} allows no command on these maps; hold out {amount}, or allow more objects")

    @cached_property
    def _allowed(self) -> AllowedTable:
        return allowed_table(self.split, self.phase, self.grammar, self.catalog.classes)

    @cached_property
    def rules(self) -> Rules:
        """World, sampling, language and split as arrays for the kernels."""
        world, catalog, grammar, lexicon = self.world, self.catalog, self.grammar, self.lexicon
        rows = [lexicon.tokens_of(words) for words in (catalog.classes, COLORS, DIRECTIONS, PREPOSITIONS)]
        rows.append(np.array([self.split.holds_out_answer(word) for word in lexicon.words], np.int16))
        token = np.full((len(rows), len(lexicon)), -1, np.int16)
        for k, row in enumerate(rows):
            token[k, : len(row)] = row
        words = WordTables(
            token=token,
            nothing=lexicon.token[NOTHING],
            restricted=self.split.kind != "normal",
            allowed=self._allowed.allowed,
            filling_row=self._allowed.filling_row,
        )
        lengths = [len(grammar.templates[name]) for name in TYPES]
        classes_needed = [self._classes_needed[name] or 0 for name in TYPES]
        return Rules(
            size=world.size,
            objects=world.objects,
            walls=world.walls,
            curriculum_episodes=self.sampling.curriculum_episodes,
            type_balanced=round(self.sampling.type_balanced_fraction * PROBABILITY_UNIT),
            types=np.array([type_index(name) for name in self.types], np.int16),
            needs=np.stack([min_objects(), classes_needed, objects_in_line()], axis=1).astype(np.int16),
            easiest_classes=self._easiest_classes,
            classes=self._class_order,
            icon_class=catalog.icon_class,
            icon_color=catalog.icon_color,
            first_icon=catalog.first_icon,
            templates=grammar.table,
            first_template=np.cumsum([0, *lengths[:-1]]).astype(np.int16),
            templates_up_to=grammar.templates_up_to,
            pad=lexicon.pad,
            max_attempts=MAX_ATTEMPTS,
            words=words,
        )

    @cached_property
    def _class_order(self) -> NDArray[np.int16]:
        """The order in which the curriculum introduces classes: first those that the phase can speak about."""
        order = np.random.Generator(np.random.Philox(0)).permutation(len(self.catalog.classes))
        held_words = set(self.split.held_out_words)
        last = np.array([name in held_words for name in self.catalog.classes])
        if self.phase == "test" and self.sampling.curriculum_episodes:
            last = ~last
        return order[np.argsort(last[order], kind="stable")].astype(np.int16)

    def begin(self, seed: ArrayLike, index: ArrayLike, ask: bool = True) -> EpisodeBatch:
        """Begin the episodes `index` [B] of one seed, or of one seed each; with `ask=False`, without questions."""
        indices = _check_indices("episode index", index, MAX_INDEX)
        seeds = np.broadcast_to(_check_indices("seed", seed, np.iinfo(np.int64).max), indices.shape).copy()
        episode = replace(self.empty(len(indices)), seed=seeds, index=indices)
        self._begin(episode, np.arange(len(indices)), ask)
        return episode

    def empty(self, count: int) -> EpisodeBatch:
        """Arrays of the right types and shapes for `count` episodes, without content."""
        state = State(
            grid=np.zeros((count, self.world.size**2), np.int16),
            objects=np.zeros((count, self.world.objects[1]), np.int16),
            agent=np.zeros(count, np.int16),
            target=np.zeros(count, np.int16),
            step=np.zeros(count, np.int16),
        )
        seed, index = np.zeros((2, count), np.int64)
        return EpisodeBatch(seed, index, state, *(no_sentences(count, self.lexicon.pad) for _ in range(2)))

    def step(
        self, episode: EpisodeBatch, actions: NDArray[np.integer], ask: bool = True
    ) -> tuple[EpisodeBatch, Outcome]:
        """Act and judge; where the episode continues, the teacher asks a question (never with `ask=False`)."""
        state, outcome = simulation.step(episode.state, actions, self.world.step_limit)
        question = no_sentences(len(actions), self.lexicon.pad)
        if ask:
            running = ~(outcome.terminated | outcome.truncated)
            ask_questions(episode.seed, episode.index, running, state, question, self._scratch(), self.rules)
        return replace(episode, state=state, question=question), outcome

    def reset(self, episode: EpisodeBatch, which: Bools, index: NDArray[np.integer], ask: bool = True) -> EpisodeBatch:
        """Replace some episodes of a batch by new ones at their first step: `index[b]` where `which[b]`."""
        if not which.any():
            return episode
        new = EpisodeBatch(
            episode.seed,
            np.where(which, index, episode.index),
            State(*(array.copy() for array in episode.state)),
            SentenceBatch(*(array.copy() for array in episode.command)),
            SentenceBatch(*(array.copy() for array in episode.question)),
        )
        self._begin(new, np.flatnonzero(which), ask)
        return new

    def check_episodes(self, ask: bool = True) -> None:
        """Raise if random maps trigger commands so rarely that an episode could be impossible; `ask` as in `begin`."""
        indices = np.linspace(0, self.sampling.curriculum_episodes, TRIAL_EPISODES).astype(np.int64)
        episode = replace(self.empty(TRIAL_EPISODES), seed=np.arange(TRIAL_EPISODES), index=indices)
        rules = self.rules._replace(type_balanced=0, max_attempts=TRIAL_ATTEMPTS)
        self._begin(episode, np.arange(TRIAL_EPISODES), ask, rules)

    def _begin(
        self, episode: EpisodeBatch, where: NDArray[np.intp], ask: bool, sampled_by: Rules | None = None
    ) -> None:
        rules = self.rules
        # A map can be sampled for a question type even if nothing is asked.
        for_question = rules.type_balanced > 0 and bool((rules.types >= COMMAND_COUNT).any())
        arrays = episode.state, episode.command, episode.question if ask or for_question else None
        failed = begin_episodes(episode.seed, episode.index, where, *arrays, self._scratch(), sampled_by or rules)
        if failed >= 0:
            amount = "less" if self.phase == "train" else "more"
            raise InputError(
                f"episode {failed} of split {self.split.kind} {self.split.holdout:g} ({self.phase}): hardly any map "
                f"triggers a sentence that the split allows; hold out {amount}, or allow more objects or fewer walls"
            )

    def _scratch(self) -> Scratch:
        return make_scratch(self.world.objects[1])

    def meaning(self, sentences: SentenceBatch, b: int) -> Meaning | None:
        """The meaning of sentence `b` of a batch; None where there is no sentence."""
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
        """The text of sentence `b` of a batch; empty where there is no sentence."""
        return self.lexicon.decode(sentences.tokens[b].tolist())


def make_split(split: str | Path | Split, holdout: float, seed: int, catalog: Catalog, tested: str = "zs2") -> Split:
    """A split from its name, a split file or a Split. Of `zs1+zs2`, `tested` is what the test phase contains."""
    if isinstance(split, Split):
        return split
    if str(split) == JOINT:
        pairs, words = (Split.draw(kind, holdout, seed, catalog.classes, catalog.pairs) for kind in ("zs1", "zs2"))
        return pairs.joined(words) if tested == "zs1" else words.joined(pairs)
    if str(split) in KINDS:
        return Split.draw(str(split), holdout, seed, catalog.classes, catalog.pairs)
    if isinstance(split, str | Path) and Path(split).is_file():
        return Split.load(split)
    known = (*KINDS, JOINT)
    raise InputError(
        f"split must be one of {', '.join(known)} or a split file, got {str(split)!r}{nearest(str(split), known)}"
    )


def make_teacher(
    world: WorldConfig,
    split: str | Path | Split,
    holdout: float = 50.0,
    split_seed: int = 0,
    phase: str = "train",
    catalog: Catalog | None = None,
    sampling: SamplingConfig | None = None,
    tested: str = "zs2",
) -> Teacher:
    """The one way from settings to a teacher, for environments, training and evaluation alike."""
    catalog = catalog or Catalog.default()
    return Teacher(world, make_split(split, holdout, split_seed, catalog, tested), phase, catalog, sampling)


def _check_indices(name: str, numbers: ArrayLike, high: int) -> NDArray[np.int64]:
    array = np.asarray(numbers)
    if array.dtype.kind not in "iu" or (array < 0).any() or (array > high).any():
        raise InputError(f"{name} must be integers from 0 to {high}, got {show(numbers)}")
    return array.astype(np.int64)

"""The teacher: batched episodes, each a map, a command and a question at each step. A function of (seed, index).

teacher = Teacher()
episode = teacher.begin(seed=0, index=np.arange(256))
episode, outcome = teacher.step(episode, actions)
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groundling.errors import InputError, check_choice, nearest, show
from groundling.imports import names_code
from groundling.jit import uncached
from groundling.teacher.allowed_table import allowed_table, classes_needed
from groundling.teacher.curriculum import EASIEST_CLASSES, EASIEST_OBJECTS, EASIEST_WORDS, Difficulty
from groundling.teacher.episode_sampling import (
    MAX_ATTEMPTS,
    PROBABILITY_UNIT,
    TRIAL_ATTEMPTS,
    Rules,
    ask_questions,
    begin_episodes,
)
from groundling.teacher.grammar import Grammar
from groundling.teacher.language import Language
from groundling.teacher.language_file import OBJECT
from groundling.teacher.references import AllowedTable, Scratch, find_referred, make_scratch, make_tables, map_rule
from groundling.teacher.splits import JOINT, KINDS, PHASES, Split
from groundling.teacher.types import (
    MAX_INDEX,
    EpisodeBatch,
    Meaning,
    SamplingConfig,
    SentenceBatch,
    no_sentences,
)
from groundling.world import simulation
from groundling.world.catalog import Catalog
from groundling.world.map_generation import find_generator
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
        language: Language | None = None,
    ) -> None:
        self.world = world or WorldConfig()
        self.sampling = sampling or SamplingConfig()
        self.catalog = catalog or Catalog.default()
        self.language = language or Language.paper()
        self.grammar = Grammar(self.language, self.catalog)
        self.lexicon = self.grammar.lexicon
        self.split = split or Split()
        self.phase = check_choice("phase", phase, PHASES)
        if self.split.kind in KINDS and self.split.restricts_content:
            for word in {word for group in self.split.held_out for word in group}:
                if word not in self.lexicon.token:
                    hint = nearest(word[:40], self.lexicon.words)
                    raise InputError(f"split must hold out words of the lexicon, got {show(word)}{hint}")
        for name in self.sampling.types or ():
            self.language.type(name)
        self._generator = find_generator(self.world.maps)
        _ = self.rules  # what cannot be sampled is refused here, not in the middle of an episode

    def with_sampling(self, sampling: SamplingConfig) -> "Teacher":
        """The same teacher with another way to sample episodes."""
        return Teacher(self.world, self.split, self.phase, self.catalog, sampling, self.language)

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The sentence types to sample first: those of the sampling config, or all that split and maps allow."""
        limit = self.world.objects[1]
        needed = {type_.name: type_.fewest_objects for type_ in self.language.types}
        if self.sampling.types is None:
            return tuple(name for name in needed if needed[name] <= limit and self._classes_needed[name] is not None)
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
    def _templates(self) -> dict[str, list[int]]:
        """Per type: the indices of the wordings that belong to the phase."""
        return {
            name: [k for k, t in enumerate(templates) if self.split.allows_wording(name, t, self.phase)]
            for name, templates in self.grammar.templates.items()
        }

    @cached_property
    def _classes_needed(self) -> dict[str, int | None]:
        """Per type: how many classes, in the order of the curriculum, are needed for an allowed sentence; None: no
        number is enough."""
        needed = {}
        for t, type_ in enumerate(self.language.types):
            needed[type_.name] = self._fillings_needed(t) if self._templates[type_.name] else None
        return needed

    def _fillings_needed(self, t: int) -> int | None:
        table, type_ = self._allowed, self.language.types[t]
        if table is None:
            return 1
        rank = np.full(len(self.catalog.classes), len(self.catalog.classes))
        rank[self._class_order] = np.arange(len(self._class_order))
        answers = () if type_.is_command else self.slot_vocabulary(type_.asked)
        any_answer = any(map(self.split.holds_out_answer, answers))
        slots = [slot for slot, kind in self.language.slots.items() if kind == OBJECT and slot in type_.reference.slots]
        return classes_needed(table, t, [list(self.language.slots).index(slot) for slot in slots], rank, any_answer)

    @cached_property
    def _easiest_words(self) -> int:
        """Length of sentences at the beginning of the curriculum: enough for some command."""
        shortest = [
            len(self.grammar.templates[name][self._templates[name][0]])
            for name in self.language.commands
            if self._templates[name] and self.language.type(name).fewest_objects <= EASIEST_OBJECTS
        ]
        return max(EASIEST_WORDS, min(shortest, default=0))

    @cached_property
    def _easiest_classes(self) -> int:
        """The number of classes at the beginning of the curriculum; raises if no episode can begin then."""
        world, sampling = self.world, self.sampling
        max_words = self.language.max_words
        level = Difficulty(world.size, world.objects[1], world.walls[1], len(self.catalog.classes), max_words)
        if sampling.curriculum_episodes:
            level = level._replace(objects=EASIEST_OBJECTS, words=self._easiest_words)
        needed = [
            classes
            for t, name in enumerate(self.language.commands)
            if self.language.types[t].fewest_objects <= level.objects
            and self._templates_up_to[t, level.words]
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
    def _allowed(self) -> AllowedTable | None:
        return allowed_table(self.split, self.phase, self.grammar)

    @cached_property
    def _templates_up_to(self) -> NDArray[np.int16]:
        """[type, n]: number of templates of the phase with at most n words (they come first)."""
        lengths = [[len(self.grammar.templates[name][k]) for k in ks] for name, ks in self._templates.items()]
        max_words = self.language.max_words
        return np.array([[sum(k <= n for k in ks) for n in range(max_words + 1)] for ks in lengths], np.int16)

    @cached_property
    def rules(self) -> Rules:
        """World, sampling, language and split as arrays for the kernels."""
        world, language, lexicon = self.world, self.language, self.lexicon
        held_out = np.array([self.split.holds_out_answer(word) for word in lexicon.words])
        types = {name: t for t, name in enumerate(language.type_names)}
        needs = [
            (type_.fewest_objects, self._classes_needed[type_.name] or 0, type_.in_line) for type_ in language.types
        ]
        slots, classes = list(language.slots), list(language.word_classes)
        bound = {slot for type_ in language.types for slot in type_.reference.slots}
        numbers = list(self._templates.values())
        templates = np.full((sum(map(len, numbers)), language.max_words), lexicon.pad, np.int16)
        chosen = (self.grammar.templates[name][k] for name, ks in self._templates.items() for k in ks)
        for row, template in zip(templates, chosen, strict=True):
            row[: len(template)] = [
                -1 - slots.index(word[1:-1]) if word[0] == "{" else lexicon.token[word] for word in template
            ]
        first_icon, icons = self._icons
        return Rules(
            size=world.size,
            objects=world.objects,
            walls=world.walls,
            curriculum_episodes=self.sampling.curriculum_episodes,
            commands=len(language.commands),
            type_balanced=round(self.sampling.type_balanced_fraction * PROBABILITY_UNIT),
            types=np.array([types[name] for name in self.types], np.int16),
            needs=np.array(needs, np.int16),
            easiest_classes=self._easiest_classes,
            easiest_words=self._easiest_words,
            classes=self._class_order,
            generator=self._generator[0],
            first_icon=first_icon,
            icons=icons,
            slots=np.array(
                [
                    (classes.index(kind), 0 if slot in bound else len(self.grammar.vocabulary[kind]))
                    for slot, kind in language.slots.items()
                ],
                np.int16,
            ),
            templates=templates,
            first_template=np.cumsum([0, *map(len, numbers[:-1])]).astype(np.int16),
            template_number=np.array([k for ks in numbers for k in ks], np.int16),
            templates_up_to=self._templates_up_to,
            pad=lexicon.pad,
            max_attempts=MAX_ATTEMPTS,
            language=make_tables(self.grammar, world.size, self._allowed, held_out),
        )

    @cached_property
    def _icons(self) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """[class + 1] and [icon]: the icons of the phase, class by class, and where those of each class begin."""
        first, icons, split = [0], [], self.split
        for c, name in enumerate(self.catalog.classes):
            own = range(int(self.catalog.first_icon[c]), int(self.catalog.first_icon[c + 1]))
            if split.restricts_icons:
                own_icons = [k for k in own if split.holds_out_icon(name, k - own[0]) == (self.phase == "test")]
            else:
                own_icons = list(own)
            icons += own_icons
            first.append(len(icons))
        if not icons:
            raise InputError(f"split {split.kind} ({self.phase} phase) must allow an icon, got none; hold out less")
        return np.array(first, np.int16), np.array(icons, np.int16)

    @cached_property
    def _class_order(self) -> NDArray[np.int16]:
        """The order in which the curriculum introduces classes: first those that the phase can speak about."""
        order = np.random.Generator(np.random.Philox(0)).permutation(len(self.catalog.classes))
        held_words = set(self.split.held_out_words)
        last = np.array([word in held_words for word in self.lexicon.class_words(self.catalog.classes)])
        if self.phase == "test" and self.sampling.curriculum_episodes:
            last = ~last
        order = order[np.argsort(last[order], kind="stable")]
        shown = np.diff(self._icons[0])[order] > 0
        return order[shown].astype(np.int16)

    @cached_property
    def _kernels(self) -> tuple[Callable[..., int], Callable[..., None], Any, Any]:
        """The kernels that begin episodes and ask, and a user's map generator and attribute rule (or None).

        Kernels with a user's functions are compiled in every process: Numba cannot cache them.
        """
        generator, rule = self._generator[1], map_rule(self.grammar)
        if generator is None and rule is None:
            return begin_episodes, ask_questions, None, None
        return uncached(begin_episodes), uncached(ask_questions), generator, rule

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
        return EpisodeBatch(seed, index, state, *(self._no_sentences(count) for _ in range(2)))

    def _no_sentences(self, count: int) -> SentenceBatch:
        return no_sentences(count, len(self.language.slots), self.language.max_words, self.lexicon.pad)

    def step(
        self, episode: EpisodeBatch, actions: NDArray[np.integer], ask: bool = True
    ) -> tuple[EpisodeBatch, Outcome]:
        """Act and judge; where the episode continues, the teacher asks a question (never with `ask=False`)."""
        state, outcome = simulation.step(episode.state, actions, self.world.step_limit, self.world.rewards)
        question = self._no_sentences(len(actions))
        if ask:
            running = ~(outcome.terminated | outcome.truncated)
            _, ask_questions, _, rule = self._kernels
            ask_questions(episode.seed, episode.index, running, state, question, self._scratch(), self.rules, rule)
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

    def ask(self, episode: EpisodeBatch) -> EpisodeBatch:
        """Ask a question in every episode of a batch."""
        question = self._no_sentences(len(episode.index))
        everywhere = np.ones(len(episode.index), np.bool_)
        _, ask_questions, _, rule = self._kernels
        arrays = episode.seed, episode.index, everywhere, episode.state, question
        ask_questions(*arrays, self._scratch(), self.rules, rule)
        return replace(episode, question=question)

    @cached_property
    def without_split(self) -> "Teacher":
        """The teacher of the same world that may use every sentence."""
        return Teacher(self.world, catalog=self.catalog, language=self.language)

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
        begin, ask_questions, generator, rule = self._kernels
        scratch = self._scratch()
        failed = begin(
            episode.seed,
            episode.index,
            where,
            episode.state,
            episode.command,
            scratch,
            sampled_by or rules,
            generator,
            rule,
        )
        if failed >= 0:
            amount = "less" if self.phase == "train" else "more"
            raise InputError(
                f"episode {failed} of split {self.split.kind} {self.split.holdout:g} ({self.phase}): hardly any map "
                f"triggers a sentence that the split allows; hold out {amount}, or allow more objects or fewer walls"
            )
        if ask:
            which = np.zeros(len(episode.index), np.bool_)
            which[where] = True
            ask_questions(episode.seed, episode.index, which, episode.state, episode.question, scratch, rules, rule)

    def _scratch(self) -> Scratch:
        return make_scratch(self.rules.language, len(self.language.slots), self.world.objects[1])

    def meaning(self, sentences: SentenceBatch, b: int) -> Meaning | None:
        """The meaning of sentence `b` of a batch; None where there is no sentence."""
        if sentences.type[b] < 0:
            return None
        return self.grammar.meaning(
            self.language.type_names[sentences.type[b]],
            int(sentences.template[b]),
            self.slot_words(sentences.slots[b].tolist()),
        )

    def slot_words(self, slots: Sequence[int]) -> dict[str, str]:
        """The words in slots, given their indices within their classes; -1 for an unused slot."""
        return {
            slot: self.slot_vocabulary(kind)[k]
            for (slot, kind), k in zip(self.language.slots.items(), slots, strict=True)
            if k >= 0
        }

    def slot_vocabulary(self, kind: str) -> tuple[str, ...]:
        """The words of a class in the order of the kernels: objects in that of the catalog."""
        return self._object_words if kind == OBJECT else self.language.word_classes[kind]

    @cached_property
    def _object_words(self) -> tuple[str, ...]:
        return self.lexicon.class_words(self.catalog.classes)

    def referred_positions(self, episode: EpisodeBatch, sentences: SentenceBatch) -> NDArray[np.int16]:
        """[B]: the positions that sentences refer to; -1 without a sentence."""
        positions = np.full(len(sentences.type), -1, np.int16)
        _, _, _, rule = self._kernels
        find = find_referred if rule is None else uncached(find_referred)
        find(episode.state, sentences, self.world.size, positions, self._scratch(), self.rules.language, rule)
        return positions

    @property
    def map_rule(self) -> Any:
        """The compiled rule of a user's attributes, or None."""
        return self._kernels[3]

    def text(self, sentences: SentenceBatch, b: int) -> str:
        """The text of sentence `b` of a batch; empty where there is no sentence."""
        return self.lexicon.decode(sentences.tokens[b].tolist())


def make_split(split: str | Path | Split, holdout: float, seed: int, grammar: Grammar, tested: str = "zs2") -> Split:
    """A split from its name, `module:Class`, a split file or a Split. Of `zs1+zs2`, `tested` is what is tested."""
    if isinstance(split, Split):
        return split
    if str(split) == JOINT:
        pairs, words = (Split.draw(kind, holdout, seed, grammar) for kind in ("zs1", "zs2"))
        return pairs.joined(words) if tested == "zs1" else words.joined(pairs)
    if str(split) in KINDS or (isinstance(split, str) and names_code(split)):
        return Split.draw(str(split), holdout, seed, grammar)
    if isinstance(split, str | Path) and Path(split).is_file():
        return Split.load(split)
    known = (*KINDS, JOINT)
    raise InputError(
        f"split must be one of {', '.join(known)}, module:Class or a split file, got {str(split)!r:.80}"
        f"{nearest(str(split)[:40], known)}"
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
    language: Language | None = None,
) -> Teacher:
    """The one way from settings to a teacher, for environments, training and evaluation alike."""
    catalog, language = catalog or Catalog.default(), language or Language.paper()
    drawn = make_split(split, holdout, split_seed, Grammar(language, catalog), tested)
    return Teacher(world, drawn, phase, catalog, sampling, language)


def _check_indices(name: str, numbers: ArrayLike, high: int) -> NDArray[np.int64]:
    array = np.asarray(numbers)
    if array.dtype.kind not in "iu" or (array < 0).any() or (array > high).any():
        raise InputError(f"{name} must be integers from 0 to {high}, got {show(numbers)}")
    return array.astype(np.int64)

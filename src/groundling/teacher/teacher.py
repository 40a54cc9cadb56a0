"""The teacher: batched episodes, each a map, a command and a question at each step. A function of (seed, index).

teacher = Teacher()
episode = teacher.begin(seed=0, index=np.arange(256))
episode, outcome = teacher.step(episode, actions)
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groundling.errors import InputError, check_choice, nearest, show
from groundling.jit import uncached
from groundling.teacher.attribute_rules import map_rule
from groundling.teacher.episode_sampling import (
    TRIAL_ATTEMPTS,
    Rules,
    ask_questions,
    begin_episodes,
)
from groundling.teacher.grammar import Grammar
from groundling.teacher.language import Language
from groundling.teacher.references import Scratch, find_referred, make_scratch
from groundling.teacher.sampling_rules import SamplingRules
from groundling.teacher.splits import KINDS, PHASES, Split
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
        self._sampling_rules = SamplingRules(
            self.world, self.sampling, self.grammar, self.split, self.phase, self._generator[0]
        )
        self.rules = self._sampling_rules.arrays
        """World, sampling, language and split as arrays for the kernels; what cannot be sampled is refused here."""

    def with_sampling(self, sampling: SamplingConfig) -> "Teacher":
        """The same teacher with another way to sample episodes."""
        return Teacher(self.world, self.split, self.phase, self.catalog, sampling, self.language)

    @property
    def types(self) -> tuple[str, ...]:
        """The sentence types to sample first: those of the sampling config, or all that split and maps allow."""
        return self._sampling_rules.types

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
            slot: self.grammar.slot_vocabulary(kind)[k]
            for (slot, kind), k in zip(self.language.slots.items(), slots, strict=True)
            if k >= 0
        }

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


def _check_indices(name: str, numbers: ArrayLike, high: int) -> NDArray[np.int64]:
    array = np.asarray(numbers)
    if array.dtype.kind not in "iu" or (array < 0).any() or (array > high).any():
        raise InputError(f"{name} must be integers from 0 to {high}, got {show(numbers)}")
    return array.astype(np.int64)

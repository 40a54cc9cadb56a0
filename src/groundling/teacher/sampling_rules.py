"""What can be sampled: the types, wordings, classes and icons that split, maps and curriculum allow, and the arrays of
it for the kernels."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from groundling.errors import InputError
from groundling.teacher.allowed_table import AllowedTable, allowed_table, classes_needed
from groundling.teacher.curriculum import EASIEST_CLASSES, EASIEST_OBJECTS, EASIEST_WORDS, Difficulty
from groundling.teacher.episode_sampling import MAX_ATTEMPTS, PROBABILITY_UNIT, Rules
from groundling.teacher.grammar import Grammar
from groundling.teacher.language_file import OBJECT
from groundling.teacher.language_tables import make_tables
from groundling.teacher.splits import Split
from groundling.teacher.types import SamplingConfig
from groundling.world.types import WorldConfig


class SamplingRules:
    """The episodes of one phase of a split; raises where none can be sampled."""

    def __init__(
        self, world: WorldConfig, sampling: SamplingConfig, grammar: Grammar, split: Split, phase: str, generator: int
    ) -> None:
        self.world, self.sampling, self.split, self.phase = world, sampling, split, phase
        self.grammar, self.generator = grammar, generator
        self.language, self.lexicon, self.catalog = grammar.language, grammar.lexicon, grammar.catalog

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The sentence types to sample first: those of the sampling config, or all that split and maps allow."""
        limit = self.world.objects[1]
        needed = {type_.name: type_.fewest_objects for type_ in self.language.types}
        if self.sampling.types is None:
            return tuple(name for name in needed if needed[name] <= limit and self.classes_needed[name] is not None)
        for name in self.sampling.types:
            if needed[name] > limit:
                raise InputError(
                    f"types: {name} needs maps with {needed[name]} objects, got at most {limit}; allow more objects"
                )
            if self.classes_needed[name] is None:
                raise InputError(
                    f"types: {name} has no sentence in the {self.phase} phase of split {self.split.kind}; leave it out"
                )
        return self.sampling.types

    @cached_property
    def templates(self) -> dict[str, list[int]]:
        """Per type: the indices of the wordings that belong to the phase."""
        return {
            name: [k for k, t in enumerate(templates) if self.split.allows_wording(name, t, self.phase)]
            for name, templates in self.grammar.templates.items()
        }

    @cached_property
    def classes_needed(self) -> dict[str, int | None]:
        """Per type: how many classes, in the order of the curriculum, are needed for an allowed sentence; None: no
        number is enough."""
        needed = {}
        for t, type_ in enumerate(self.language.types):
            needed[type_.name] = self._fillings_needed(t) if self.templates[type_.name] else None
        return needed

    def _fillings_needed(self, t: int) -> int | None:
        table, type_ = self.allowed, self.language.types[t]
        if table is None:
            return 1
        rank = np.full(len(self.catalog.classes), len(self.catalog.classes))
        rank[self.class_order] = np.arange(len(self.class_order))
        answers = () if type_.is_command else self.grammar.slot_vocabulary(type_.asked)
        any_answer = any(map(self.split.holds_out_answer, answers))
        slots = [slot for slot, kind in self.language.slots.items() if kind == OBJECT and slot in type_.reference.slots]
        return classes_needed(table, t, [list(self.language.slots).index(slot) for slot in slots], rank, any_answer)

    @cached_property
    def easiest_words(self) -> int:
        """Length of sentences at the beginning of the curriculum: enough for some command."""
        shortest = [
            len(self.grammar.templates[name][self.templates[name][0]])
            for name in self.language.commands
            if self.templates[name] and self.language.type(name).fewest_objects <= EASIEST_OBJECTS
        ]
        return max(EASIEST_WORDS, min(shortest, default=0))

    @cached_property
    def easiest_classes(self) -> int:
        """The number of classes at the beginning of the curriculum; raises if no episode can begin then."""
        world, sampling = self.world, self.sampling
        max_words = self.language.max_words
        level = Difficulty(world.size, world.objects[1], world.walls[1], len(self.catalog.classes), max_words)
        if sampling.curriculum_episodes:
            level = level._replace(objects=EASIEST_OBJECTS, words=self.easiest_words)
        needed = [
            classes
            for t, name in enumerate(self.language.commands)
            if self.language.types[t].fewest_objects <= level.objects
            and self.templates_up_to[t, level.words]
            and (classes := self.classes_needed[name]) is not None
        ]
        if needed:
            return max(EASIEST_CLASSES, min(needed))
        what = f"split {self.split.kind} {self.split.holdout:g} ({self.phase} phase)"
        if sampling.curriculum_episodes:
            raise InputError(f"{what} allows no command at the beginning of a curriculum; set curriculum_episodes to 0")
        amount = "less" if self.phase == "train" else "more"
        raise InputError(f"{what} allows no command on these maps; hold out {amount}, or allow more objects")

    @cached_property
    def allowed(self) -> AllowedTable | None:
        return allowed_table(self.split, self.phase, self.grammar)

    @cached_property
    def templates_up_to(self) -> NDArray[np.int16]:
        """[type, n]: number of templates of the phase with at most n words (they come first)."""
        lengths = [[len(self.grammar.templates[name][k]) for k in ks] for name, ks in self.templates.items()]
        max_words = self.language.max_words
        return np.array([[sum(k <= n for k in ks) for n in range(max_words + 1)] for ks in lengths], np.int16)

    @cached_property
    def arrays(self) -> Rules:
        """Everything for the kernels."""
        world, language, lexicon = self.world, self.language, self.lexicon
        held_out = np.array([self.split.holds_out_answer(word) for word in lexicon.words])
        types = {name: t for t, name in enumerate(language.type_names)}
        needs = [
            (type_.fewest_objects, self.classes_needed[type_.name] or 0, type_.in_line) for type_ in language.types
        ]
        slots, classes = list(language.slots), list(language.word_classes)
        bound = {slot for type_ in language.types for slot in type_.reference.slots}
        numbers = list(self.templates.values())
        templates = np.full((sum(map(len, numbers)), language.max_words), lexicon.pad, np.int16)
        chosen = (self.grammar.templates[name][k] for name, ks in self.templates.items() for k in ks)
        for row, template in zip(templates, chosen, strict=True):
            row[: len(template)] = [
                -1 - slots.index(word[1:-1]) if word[0] == "{" else lexicon.token[word] for word in template
            ]
        first_icon, icons = self.icons
        return Rules(
            size=world.size,
            objects=world.objects,
            walls=world.walls,
            curriculum_episodes=self.sampling.curriculum_episodes,
            commands=len(language.commands),
            type_balanced=round(self.sampling.type_balanced_fraction * PROBABILITY_UNIT),
            types=np.array([types[name] for name in self.types], np.int16),
            needs=np.array(needs, np.int16),
            easiest_classes=self.easiest_classes,
            easiest_words=self.easiest_words,
            classes=self.class_order,
            generator=self.generator,
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
            templates_up_to=self.templates_up_to,
            pad=lexicon.pad,
            max_attempts=MAX_ATTEMPTS,
            language=make_tables(self.grammar, world.size, self.allowed, held_out),
        )

    @cached_property
    def icons(self) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
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
    def class_order(self) -> NDArray[np.int16]:
        """The order in which the curriculum introduces classes: first those that the phase can speak about."""
        order = np.random.Generator(np.random.Philox(0)).permutation(len(self.catalog.classes))
        held_words = set(self.split.held_out_words)
        last = np.array([word in held_words for word in self.lexicon.class_words(self.catalog.classes)])
        if self.phase == "test" and self.sampling.curriculum_episodes:
            last = ~last
        order = order[np.argsort(last[order], kind="stable")]
        shown = np.diff(self.icons[0])[order] > 0
        return order[shown].astype(np.int16)

"""The types that other packages use of the teacher: sentence types, meanings, sentences, episodes, sampling."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundling.errors import InputError, check_float, check_int
from groundling.world.types import Int16s, State

GO = "go"
"""What a command asks."""
MAX_CURRICULUM = 10**12
MAX_INDEX = 1 << 62
"""Of an episode. Both leave room for the kernels' 64-bit arithmetic: an overflow would be an index out of bounds."""


@dataclass(frozen=True)
class SamplingConfig:
    """How episodes are sampled. The default is the natural distribution at full difficulty, as in the paper's tests."""

    curriculum_episodes: int = 0
    """G: number of episodes over which the difficulty grows to its maximum; 0: full difficulty from the start."""
    type_balanced_fraction: float = 0.0
    """Fraction of the episodes for which a sentence type is sampled first, then a map that triggers it. If that type is
    a question, it is asked at every step at which it is possible."""
    types: tuple[str, ...] | None = None
    """Sentence types sampled first for that fraction; None: all that the split allows."""

    def __post_init__(self) -> None:
        check_int("curriculum_episodes", self.curriculum_episodes, 0, MAX_CURRICULUM)
        check_float("type_balanced_fraction", self.type_balanced_fraction, 0, 1)
        if self.types is None:
            return
        is_sequence = isinstance(self.types, Sequence) and not isinstance(self.types, str)
        if not is_sequence or not all(isinstance(name, str) for name in self.types):
            raise InputError(f'types must be a sequence of sentence types such as ("nav_obj",), got {self.types!r}')
        if not self.types:
            raise InputError("types must name at least one sentence type, got none")
        object.__setattr__(self, "types", tuple(self.types))


@dataclass(frozen=True)
class Reference:
    """What words refer to: an object, a cell between two objects, or a cell some steps away from these or the agent."""

    described: tuple[tuple[str, ...], ...]
    """The slots that describe each object: none for the agent, one object, or the two on either side of a cell."""
    steps: tuple[str, ...] = ()
    """The direction slots, from there outwards."""

    @property
    def slots(self) -> tuple[str, ...]:
        return (*itertools.chain.from_iterable(self.described), *self.steps)

    @property
    def is_place(self) -> bool:
        """Whether it refers to a cell, which may be empty."""
        return bool(self.steps) or len(self.described) == 2


@dataclass(frozen=True)
class SentenceType:
    """What is referred to, what is asked of it, and the wordings."""

    name: str
    reference: Reference
    asked: str
    """`go` for a command; otherwise the word class of the answer."""
    empty: bool
    """Whether the reference is to an empty cell."""
    templates: tuple[tuple[str, ...], ...]
    """Words and slots such as `{obj}`; shortest first."""

    @property
    def is_command(self) -> bool:
        return self.asked == GO

    @property
    def slots(self) -> tuple[str, ...]:
        """All slots, in the order of the first template."""
        return tuple(word[1:-1] for word in self.templates[0] if word[0] == "{")

    @property
    def fewest_objects(self) -> int:
        """Fewest objects on a map that triggers it."""
        described, steps = self.reference.described, self.reference.steps
        contrast = any(len(slots) > 1 for slots in described)
        return max(1, len(described) + len(steps) + (len(described) == 2) - self.empty + contrast)

    @property
    def in_line(self) -> int:
        """Objects to put in line on a map for it, see `draw_map`: a cell between two objects is rare at random."""
        if len(self.reference.described) < 2:
            return 0
        return 2 if self.empty and not self.reference.steps else 3


@dataclass(frozen=True)
class Attribute:
    """A property of objects that a word class names."""

    name: str
    source: str
    """One of SOURCES."""
    rule: Callable[..., Any] | None = None
    """For `place`: (row, column, size) -> word or None. For `map`: see `references.attribute_rule`."""


@dataclass(frozen=True)
class Meaning:
    """A sentence's type, the index of its template within the type, and the word in each slot."""

    type: str
    template: int
    slots: dict[str, str] = field(hash=False)
    content: tuple[str, ...] = field(compare=False)
    """The words that name objects, attributes, directions and relations; what a split holds out."""


class SentenceBatch(NamedTuple):
    """A batch of sentences; an entry can be empty (no question at this step)."""

    type: Int16s
    """[B]: index into `Language.types`, -1 for no sentence"""
    template: Int16s
    """[B]: index of the template within the type"""
    slots: Int16s
    """[B, slot]: index of the word in its class, in the order of `Language.slots`; -1 for an unused slot"""
    tokens: Int16s
    """[B, max words]: tokens, then padding"""
    answer: Int16s
    """[B]: token of the true answer, -1 for a command or no sentence"""


def no_sentences(batch: int, slots: int, max_words: int, pad: int) -> SentenceBatch:
    """A batch without sentences."""
    return SentenceBatch(
        type=np.full(batch, -1, np.int16),
        template=np.full(batch, -1, np.int16),
        slots=np.full((batch, slots), -1, np.int16),
        tokens=np.full((batch, max_words), pad, np.int16),
        answer=np.full(batch, -1, np.int16),
    )


@dataclass(frozen=True)
class EpisodeBatch:
    """The current step of a batch of episodes."""

    seed: NDArray[np.int64]
    index: NDArray[np.int64]
    """[B]: the episode's index under its seed; the two determine everything except the agent's actions"""
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
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> "EpisodeBatch":
        """The episodes of a snapshot."""

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
            raise InputError(f"snapshot must have the array {error}, got none; save it with save_state()") from None

    def select(self, rows: NDArray[np.bool_]) -> "EpisodeBatch":
        """Some episodes of the batch."""
        return EpisodeBatch.of({name: array[rows] for name, array in self.arrays().items()})

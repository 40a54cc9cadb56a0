"""The types that other packages use of the teacher: how episodes are sampled, episodes, sentences and meanings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundling.errors import InputError, check_float, check_int
from groundling.world.types import Int16s, State

MAX_WORDS = 13
"""Length of the longest sentence; the final `.` or `?` counts as a word."""
MAX_CURRICULUM = 10**12
MAX_INDEX = 1 << 62
"""Of an episode. Both leave room for the kernels' 64-bit arithmetic: an overflow would be an index out of bounds."""
SLOTS = ("obj", "obj2", "col", "loc", "prep")
"""The content slots of sentences, in the order of `SentenceBatch.slots`."""


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
class Meaning:
    """A sentence's type, the index of its template within the type, and the word in each content slot."""

    type: str
    template: int
    slots: dict[str, str] = field(hash=False)


class SentenceBatch(NamedTuple):
    """A batch of sentences; an entry can be empty (no question at this step)."""

    type: Int16s
    """[B]: index into TYPES, -1 for no sentence"""
    template: Int16s
    """[B]: index of the template within the type"""
    slots: Int16s
    """[B, slot]: class, class, color, direction, preposition; -1 for an unused slot"""
    tokens: Int16s
    """[B, MAX_WORDS]: tokens, then padding"""
    answer: Int16s
    """[B]: token of the true answer, -1 for a command or no sentence"""


def no_sentences(batch: int, pad: int) -> SentenceBatch:
    """A batch without sentences."""
    return SentenceBatch(
        type=np.full(batch, -1, np.int16),
        template=np.full(batch, -1, np.int16),
        slots=np.full((batch, len(SLOTS)), -1, np.int16),
        tokens=np.full((batch, MAX_WORDS), pad, np.int16),
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

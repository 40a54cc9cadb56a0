"""Proof that nothing held out was trained on: every sentence heard leaves its hash, and the whole language has few."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundling.errors import InputError
from groundling.teacher.grammar import MAX_WORDS, TYPES, Grammar, Meaning
from groundling.teacher.splits import Split

_WEIGHTS = np.random.Generator(np.random.Philox(0)).integers(-(1 << 63), (1 << 63) - 1, MAX_WORDS)


class LeakCheck(NamedTuple):
    """What was found in a training log."""

    sentences: int
    """Distinct sentences heard."""
    held_out: int
    """How many sentences of the language hold something that is held out."""
    leaked: tuple[str, ...]
    """Sentences and answers of those that were heard all the same; empty, or the run is worthless."""
    unknown: int
    """Hashes that no sentence of the language has."""

    @property
    def clean(self) -> bool:
        return not self.leaked and not self.unknown


def sentence_hashes(tokens: NDArray[np.int16]) -> NDArray[np.int64]:
    """[B, L] -> [B]: of the words as the agent gets them; distinct over the whole language."""
    return np.asarray((tokens.astype(np.int64) * _WEIGHTS).sum(1))


def check(heard: NDArray[np.int64], answered: NDArray[np.int64], split: Split, grammar: Grammar) -> LeakCheck:
    """Look up every sentence of the language, and every held-out answer, among what was heard."""
    if len(answered) != len(grammar.lexicon):
        raise InputError(f"a log of {len(answered)} words: this language has {len(grammar.lexicon)}")
    heard = np.unique(heard)
    known, held_out = 0, 0
    leaked: list[str] = []
    for held, tokens in _language(split, grammar):
        hashes = sentence_hashes(tokens)
        found = heard[np.minimum(np.searchsorted(heard, hashes), len(heard) - 1)] == hashes
        known += int(found.sum())
        held_out += int(held.sum())
        leaked += [grammar.lexicon.text(row) for row in tokens[found & held].tolist()]
    if split.kind == "novel":
        words = [word for group in split.held_out for word in group]
        leaked += [word for word in words if answered[grammar.lexicon.number[word]]]
    return LeakCheck(len(heard), held_out, tuple(leaked), len(heard) - known)


def _language(split: Split, grammar: Grammar) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.int16]]]:
    """All sentences as tokens [P, MAX_WORDS], one template after another, and which hold something held out [P]."""
    number, pad = grammar.lexicon.number, grammar.lexicon.pad
    for type_ in TYPES:
        fillings = [*grammar.fillings(type_)]
        held = np.array([split.says_held_out(Meaning(type_, 0, slots)) for slots in fillings])
        column = {slot: np.array([number[slots[slot]] for slots in fillings]) for slot in fillings[0]}
        for template in grammar.templates[type_]:
            tokens = np.full((len(fillings), MAX_WORDS), pad, np.int16)
            for k, word in enumerate(template):
                tokens[:, k] = column[word[1:-1]] if word[0] == "{" else number[word]
            yield held, tokens

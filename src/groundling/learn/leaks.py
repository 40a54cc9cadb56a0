"""Proof that nothing held out was trained on: every sentence heard leaves its hash, and the whole language has few."""

from collections.abc import Iterable, Iterator
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
    known, held_out = 0, 0
    leaked: list[str] = []
    for held, tokens in _language(split, grammar):
        found = np.isin(sentence_hashes(tokens), heard)
        known += int(found.sum())
        if held:
            held_out += len(tokens)
            leaked += [grammar.lexicon.text(row) for row in tokens[found].tolist()]
    if split.kind == "novel":
        words = [word for group in split.held_out for word in group]
        leaked += [word for word in words if answered[grammar.lexicon.number[word]]]
    return LeakCheck(len(heard), held_out, tuple(leaked), len(heard) - known)


def _language(split: Split, grammar: Grammar) -> Iterator[tuple[bool, NDArray[np.int16]]]:
    """All sentences as tokens [., MAX_WORDS], a few thousand at once: those with something held out, and the others."""
    for type_ in TYPES:
        by_held: dict[bool, list[dict[str, str]]] = {True: [], False: []}
        for slots in grammar.fillings(type_):
            by_held[split.says_held_out(Meaning(type_, 0, slots))].append(slots)
        for template in range(len(grammar.templates[type_])):
            for held, fillings in by_held.items():
                yield held, _tokens(grammar, (Meaning(type_, template, slots) for slots in fillings))


def _tokens(grammar: Grammar, meanings: Iterable[Meaning]) -> NDArray[np.int16]:
    pad = grammar.lexicon.pad
    rows = [grammar.tokens(meaning) for meaning in meanings]
    return np.array([row + [pad] * (MAX_WORDS - len(row)) for row in rows], np.int16).reshape(-1, MAX_WORDS)

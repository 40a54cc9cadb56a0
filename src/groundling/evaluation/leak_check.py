"""Proof that nothing held out was trained on: training logs sentence hashes, and the language is enumerated."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundling.errors import InputError
from groundling.teacher.grammar import TYPES, Grammar
from groundling.teacher.splits import Split
from groundling.teacher.types import MAX_WORDS, EpisodeBatch, Meaning

_HASH_WEIGHTS = np.random.Generator(np.random.Philox(0)).integers(-(1 << 63), (1 << 63) - 1, MAX_WORDS)


class SentenceLog:
    """The sentences seen in training, as hashes, and the number of times each word was the true answer."""

    def __init__(self, words: int) -> None:
        self.hashes: set[int] = set()
        self.answers = np.zeros(words, np.int64)

    def add(self, episode: EpisodeBatch) -> None:
        """Log the current sentences and answers of a batch of episodes."""
        for sentences in (episode.command, episode.question):
            self.hashes.update(sentence_hashes(sentences.tokens[sentences.type >= 0]).tolist())
        answers = episode.question.answer
        np.add.at(self.answers, answers[answers >= 0], 1)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The log as named arrays: sorted hashes, and answer counts."""
        hashes = np.fromiter(self.hashes, np.int64, len(self.hashes))
        hashes.sort()
        return {"hashes": hashes, "answers": self.answers.copy()}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Continue from a snapshot."""
        self.hashes, self.answers = set(arrays["hashes"].tolist()), arrays["answers"].copy()


class LeakCheck(NamedTuple):
    """What was found in a training log."""

    sentences: int
    """Distinct sentences seen in training."""
    held_out: int
    """Sentences of the language that contain something held out."""
    leaked: tuple[str, ...]
    """Held-out sentences and answers that were seen in training; if there are any, the run is invalid."""
    unknown: int
    """Hashes of no sentence of the language."""

    @property
    def clean(self) -> bool:
        return not self.leaked and not self.unknown


def sentence_hashes(tokens: NDArray[np.int16]) -> NDArray[np.int64]:
    """[B, L] -> [B]: hashes of tokens as the agent reads them; distinct over the whole language."""
    return np.asarray((tokens.astype(np.int64) * _HASH_WEIGHTS).sum(1))


def check_leaks(hashes: NDArray[np.int64], answers: NDArray[np.int64], split: Split, grammar: Grammar) -> LeakCheck:
    """Look up every sentence of the language, and every held-out answer, in a training log."""
    if len(answers) != len(grammar.lexicon):
        raise InputError(f"training log must be of {len(grammar.lexicon)} words, got {len(answers)}")
    if not len(hashes):
        raise InputError("training log must contain sentences, got none; train the run first")
    hashes = np.unique(hashes)
    known, held_out = 0, 0
    leaked: list[str] = []
    for held, tokens in _language(split, grammar):
        looked_up = sentence_hashes(tokens)
        found = hashes[np.minimum(np.searchsorted(hashes, looked_up), len(hashes) - 1)] == looked_up
        known += int(found.sum())
        held_out += int(held.sum())
        leaked += [grammar.lexicon.decode(row) for row in tokens[found & held].tolist()]
    held_out_answers = [word for word in grammar.lexicon.words if split.holds_out_answer(word)]
    leaked += [word for word in held_out_answers if answers[grammar.lexicon.token[word]]]
    return LeakCheck(len(hashes), held_out, tuple(leaked), len(hashes) - known)


def _language(split: Split, grammar: Grammar) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.int16]]]:
    """All sentences as tokens [P, MAX_WORDS], template by template, and which contain something held out [P]."""
    token, pad = grammar.lexicon.token, grammar.lexicon.pad
    for type_ in TYPES:
        fillings = [*grammar.fillings(type_)]
        held = np.array([split.contains_held_out(Meaning(type_, 0, slots)) for slots in fillings])
        column = {slot: np.array([token[slots[slot]] for slots in fillings]) for slot in fillings[0]}
        for template in grammar.templates[type_]:
            tokens = np.full((len(fillings), MAX_WORDS), pad, np.int16)
            for k, word in enumerate(template):
                tokens[:, k] = column[word[1:-1]] if word[0] == "{" else token[word]
            yield held, tokens

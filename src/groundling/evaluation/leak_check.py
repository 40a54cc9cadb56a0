"""Proof that nothing held out was trained on: training logs sentence hashes, and the language is enumerated."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundling.errors import InputError
from groundling.teacher.grammar import Grammar
from groundling.teacher.language_file import MAX_WORDS
from groundling.teacher.splits import Split
from groundling.teacher.types import EpisodeBatch
from groundling.world.catalog import FIRST_ICON

_HASH_WEIGHTS = np.random.Generator(np.random.Philox(0)).integers(-(1 << 63), (1 << 63) - 1, MAX_WORDS)


class SentenceLog:
    """The sentences seen in training, as hashes, how often each word was the true answer, and the icons seen."""

    def __init__(self, words: int, icons: int) -> None:
        self.hashes: set[int] = set()
        self.answers = np.zeros(words, np.int64)
        self.icons = np.zeros(icons, np.bool_)

    def add(self, episode: EpisodeBatch) -> None:
        """Log the current sentences and answers of a batch of episodes."""
        for sentences in (episode.command, episode.question):
            self.hashes.update(sentence_hashes(sentences.tokens[sentences.type >= 0]).tolist())
        answers = episode.question.answer
        np.add.at(self.answers, answers[answers >= 0], 1)
        cells = episode.state.grid
        self.icons[cells[cells >= FIRST_ICON] - FIRST_ICON] = True

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The log as named arrays: sorted hashes, answer counts, and whether each icon was seen."""
        hashes = np.fromiter(self.hashes, np.int64, len(self.hashes))
        hashes.sort()
        return {"hashes": hashes, "answers": self.answers.copy(), "icons": self.icons.astype(np.int64)}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Continue from a snapshot."""
        self.hashes, self.answers = set(arrays["hashes"].tolist()), arrays["answers"].copy()
        self.icons = arrays["icons"] > 0


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
    return np.asarray((tokens.astype(np.int64) * _HASH_WEIGHTS[: tokens.shape[1]]).sum(1))


def check_leaks(log: Mapping[str, NDArray[Any]], split: Split, grammar: Grammar) -> LeakCheck:
    """Look up every sentence of the language, and everything else that is held out, in a training log's arrays."""
    hashes, answers = np.unique(log["hashes"]), log["answers"]
    if len(answers) != len(grammar.lexicon):
        raise InputError(f"training log must be of {len(grammar.lexicon)} words, got {len(answers)}")
    if not len(hashes):
        raise InputError("training log must contain sentences, got none; train the run first")
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
    if split.restricts_icons:
        catalog = grammar.catalog
        for icon in np.flatnonzero(log["icons"]).tolist():
            c = int(catalog.icon_class[icon])
            number = icon - int(catalog.first_icon[c])
            if split.holds_out_icon(catalog.classes[c], number):
                leaked.append(f"icon {number} of {catalog.classes[c]}")
    return LeakCheck(len(hashes), held_out, tuple(leaked), len(hashes) - known)


def _language(split: Split, grammar: Grammar) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.int16]]]:
    """All sentences as tokens [P, words], template by template, and which are not for training [P]."""
    token, pad = grammar.lexicon.token, grammar.lexicon.pad
    for type_, templates in grammar.templates.items():
        fillings = [*grammar.fillings(type_)]
        held = np.array([not split.allows(grammar.meaning(type_, 0, slots), "train") for slots in fillings])
        column = {slot: np.array([token[slots[slot]] for slots in fillings]) for slot in fillings[0]}
        for template in templates:
            tokens = np.full((len(fillings), grammar.language.max_words), pad, np.int16)
            for k, word in enumerate(template):
                tokens[:, k] = column[word[1:-1]] if word[0] == "{" else token[word]
            yield held | (not split.allows_wording(type_, template, "train")), tokens

"""The leak check finds what it must, and nothing else."""

import numpy as np
import pytest

from groundling.evaluation.leak_check import _language, check, sentence_hashes
from groundling.rollout import RolloutEnv
from groundling.teacher.grammar import MAX_WORDS, Grammar, Meaning
from groundling.teacher.splits import Split
from groundling.teacher.teacher import Lessons, Teacher
from groundling.world.catalog import Catalog


def rows(grammar: Grammar, meanings: list[Meaning]) -> np.ndarray:
    pad = grammar.lexicon.pad
    return np.array([(grammar.tokens(m) + [pad] * MAX_WORDS)[:MAX_WORDS] for m in meanings], np.int16)


@pytest.mark.slow
def test_hashes_are_distinct_over_the_whole_language(grammar: Grammar) -> None:
    everything = Split("zs2", 0, 0, ())
    hashes = np.concatenate([sentence_hashes(tokens) for _, tokens in _language(everything, grammar)])
    assert len(np.unique(hashes)) == 1_639_015


def test_the_language_is_the_grammars(grammar: Grammar) -> None:
    """The fast enumeration says what the grammar says, sentence by sentence."""
    first = [tokens for _, tokens in _language(Split("zs2", 0, 0, ()), grammar)][: len(grammar.templates["nav_obj"])]
    wanted = rows(grammar, [*grammar.meanings("nav_obj")])
    assert {*map(tuple, np.concatenate(first).tolist())} == {*map(tuple, wanted.tolist())}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["zs1", "zs2", "novel"])
def test_training_is_clean_and_a_planted_sentence_is_found(catalog: Catalog, grammar: Grammar, kind: str) -> None:
    split = Split.draw(kind, 50, 0, catalog.classes, catalog.pairs)
    worlds = RolloutEnv(Teacher(Lessons(balanced=0.5), split), 0, 64)
    for _ in range(30):
        worlds.look()
        worlds.step(np.random.default_rng(0).integers(0, 4, 64))
    heard = np.fromiter(worlds.heard, np.int64)
    found = check(heard, worlds.answered, split, grammar)
    assert found.clean
    assert found.sentences == len(heard) > 1000
    assert found.held_out > 100_000

    held = next(m for m in grammar.meanings("nav_nr_obj") if not split.allows(m, "train"))
    planted = np.append(heard, sentence_hashes(rows(grammar, [held])))
    leaked = check(planted, worlds.answered, split, grammar)
    assert leaked.leaked == (grammar.lexicon.decode(grammar.tokens(held)),)
    assert not leaked.clean
    assert check(np.append(heard, 12345), worlds.answered, split, grammar).unknown == 1
    if kind == "novel":
        word = split.held_out[0][0]
        answered = worlds.answered.copy()
        answered[grammar.lexicon.token[word]] += 1
        assert check(heard, answered, split, grammar).leaked == (word,)

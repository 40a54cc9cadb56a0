"""The leak check finds every held-out sentence or answer in a training log, and nothing else."""

import numpy as np
import pytest

from groundling.errors import InputError
from groundling.evaluation.leak_check import SentenceLog, _language, check_leaks, sentence_hashes
from groundling.rollout import RolloutEnv
from groundling.teacher.grammar import Grammar
from groundling.teacher.splits import Split
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import MAX_WORDS, Meaning, SamplingConfig
from groundling.world.catalog import Catalog


def rows(grammar: Grammar, meanings: list[Meaning]) -> np.ndarray:
    pad = grammar.lexicon.pad
    return np.array([(grammar.tokens(m) + [pad] * MAX_WORDS)[:MAX_WORDS] for m in meanings], np.int16)


@pytest.mark.slow
def test_hashes_are_distinct_over_the_whole_language(grammar: Grammar) -> None:
    everything = Split("zs2", 0, 0, ())
    hashes = np.concatenate([sentence_hashes(tokens) for _, tokens in _language(everything, grammar)])
    assert len(np.unique(hashes)) == 1_639_015


def test_enumeration_equals_the_grammar(grammar: Grammar) -> None:
    """The fast enumeration of the sentences of a type gives those of `Grammar.meanings`."""
    first = [tokens for _, tokens in _language(Split("zs2", 0, 0, ()), grammar)][: len(grammar.templates["nav_obj"])]
    wanted = rows(grammar, [*grammar.meanings("nav_obj")])
    assert {*map(tuple, np.concatenate(first).tolist())} == {*map(tuple, wanted.tolist())}


def training_log(split: Split, words: int, steps: int = 30) -> SentenceLog:
    """The log of a random walk in 64 training environments."""
    envs = RolloutEnv(Teacher(split=split, sampling=SamplingConfig(type_balanced_fraction=0.5)), 0, 64)
    log, rng = SentenceLog(words), np.random.default_rng(0)
    for _ in range(steps):
        log.add(envs.episode)
        envs.step(rng.integers(0, 4, 64))
    return log


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["zs1", "zs2", "novel"])
def test_training_is_clean_and_a_planted_sentence_is_found(catalog: Catalog, grammar: Grammar, kind: str) -> None:
    split = Split.draw(kind, 50, 0, catalog.classes, catalog.pairs)
    hashes, answers = training_log(split, len(grammar.lexicon)).arrays().values()
    found = check_leaks(hashes, answers, split, grammar)
    assert found.clean
    assert found.sentences == len(hashes) > 1000
    assert found.held_out > 100_000

    held = next(m for m in grammar.meanings("nav_nr_obj") if not split.allows(m, "train"))
    planted = np.append(hashes, sentence_hashes(rows(grammar, [held])))
    leaked = check_leaks(planted, answers, split, grammar)
    assert leaked.leaked == (grammar.lexicon.decode(grammar.tokens(held)),)
    assert not leaked.clean
    unknown = check_leaks(np.append(hashes, 12345), answers, split, grammar)
    assert unknown.unknown == 1
    assert not unknown.clean
    if kind == "novel":
        word = split.held_out[0][0]
        more_answers = answers.copy()
        more_answers[grammar.lexicon.token[word]] += 1
        assert check_leaks(hashes, more_answers, split, grammar).leaked == (word,)


def test_log_contains_the_sentences_and_answers_of_all_steps(grammar: Grammar) -> None:
    teacher = Teacher()
    episode = teacher.begin(0, np.arange(50))
    log = SentenceLog(len(grammar.lexicon))
    log.add(episode)
    log.add(episode)
    meanings = [teacher.meaning(sentences, b) for sentences in (episode.command, episode.question) for b in range(50)]
    expected = sentence_hashes(rows(grammar, [meaning for meaning in meanings if meaning is not None]))
    assert log.arrays()["hashes"].tolist() == sorted({*expected.tolist()})
    answers = episode.question.answer[episode.question.answer >= 0]
    assert log.arrays()["answers"].tolist() == (2 * np.bincount(answers, minlength=185)).tolist()
    restored = SentenceLog(len(grammar.lexicon))
    restored.restore(log.arrays())
    assert (restored.hashes, restored.answers.tolist()) == (log.hashes, log.answers.tolist())


def test_unusable_logs_are_rejected(grammar: Grammar, splits: dict[str, Split]) -> None:
    hashes, answers = np.array([1]), np.zeros(185, np.int64)
    with pytest.raises(InputError, match="training log must be of 185 words, got 3"):
        check_leaks(hashes, answers[:3], splits["zs1"], grammar)
    with pytest.raises(InputError, match="training log must contain sentences, got none; train the run first"):
        check_leaks(hashes[:0], answers, splits["zs1"], grammar)

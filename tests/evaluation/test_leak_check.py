"""The leak check finds every held-out sentence or answer in a training log, and nothing else."""

import numpy as np
import pytest

from groundling.errors import InputError
from groundling.evaluation.leak_check import SentenceLog, _language, check_leaks, sentence_hashes
from groundling.rollout import RolloutEnv
from groundling.teacher.grammar import Grammar
from groundling.teacher.splits import Split
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import Meaning, SamplingConfig
from groundling.world.catalog import FIRST_ICON


def rows(grammar: Grammar, meanings: list[Meaning]) -> np.ndarray:
    pad, longest = grammar.lexicon.pad, grammar.language.max_words
    return np.array([(grammar.tokens(m) + [pad] * longest)[:longest] for m in meanings], np.int16)


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


def new_log(grammar: Grammar) -> SentenceLog:
    return SentenceLog(len(grammar.lexicon), len(grammar.catalog.icon_class))


def training_log(split: Split, grammar: Grammar, steps: int = 30) -> SentenceLog:
    """The log of a random walk in 64 training environments."""
    envs = RolloutEnv(Teacher(split=split, sampling=SamplingConfig(type_balanced_fraction=0.5)), 0, 64)
    log, rng = new_log(grammar), np.random.default_rng(0)
    for _ in range(steps):
        log.add(envs.episode)
        envs.step(rng.integers(0, 4, 64))
    return log


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["zs1", "zs2", "novel", "category", "paraphrase", "length"])
def test_training_is_clean_and_a_planted_sentence_is_found(grammar: Grammar, kind: str) -> None:
    split = Split.draw(kind, 50, 0, grammar)
    log = training_log(split, grammar).arrays()
    found = check_leaks(log, split, grammar)
    assert found.clean
    assert found.sentences == len(log["hashes"]) > 1000
    assert found.held_out > 100_000

    templates = grammar.templates["nav_nr_obj"]
    held = next(
        meaning
        for meaning in grammar.meanings("nav_nr_obj")
        if not split.allows(meaning, "train")
        or not split.allows_wording("nav_nr_obj", templates[meaning.template], "train")
    )
    planted = np.append(log["hashes"], sentence_hashes(rows(grammar, [held])))
    leaked = check_leaks({**log, "hashes": planted}, split, grammar)
    assert leaked.leaked == (grammar.lexicon.decode(grammar.tokens(held)),)
    assert not leaked.clean
    unknown = check_leaks({**log, "hashes": np.append(log["hashes"], 12345)}, split, grammar)
    assert unknown.unknown == 1
    assert not unknown.clean
    if kind == "novel":
        word = split.held_out[0][0]
        more_answers = log["answers"].copy()
        more_answers[grammar.lexicon.token[word]] += 1
        assert check_leaks({**log, "answers": more_answers}, split, grammar).leaked == (word,)


@pytest.mark.slow
def test_icon_that_training_must_not_show_is_found(grammar: Grammar) -> None:
    split = Split.draw("icon", 50, 0, grammar)
    log = training_log(split, grammar, steps=60).arrays()
    assert check_leaks(log, split, grammar).clean
    catalog = grammar.catalog
    allowed = np.array(
        [
            not split.holds_out_icon(catalog.classes[c], icon - int(catalog.first_icon[c]))
            for icon, c in enumerate(catalog.icon_class.tolist())
        ]
    )
    assert allowed.sum() == 119  # of the three icons of each class, round(1.5) = 2 are held out
    assert log["icons"][allowed].mean() > 0.9
    assert not log["icons"][~allowed].any()
    name, number = split.held_out[0]
    shown = log["icons"].copy()
    shown[int(catalog.first_icon[catalog.classes.index(name)]) + int(number)] = 1
    leaked = check_leaks({**log, "icons": shown}, split, grammar)
    assert leaked.leaked == (f"icon {number} of {name}",)
    assert not leaked.clean


def test_log_contains_the_sentences_and_answers_of_all_steps(grammar: Grammar) -> None:
    teacher = Teacher()
    episode = teacher.begin(0, np.arange(50))
    log = new_log(grammar)
    log.add(episode)
    log.add(episode)
    meanings = [teacher.meaning(sentences, b) for sentences in (episode.command, episode.question) for b in range(50)]
    expected = sentence_hashes(rows(grammar, [meaning for meaning in meanings if meaning is not None]))
    assert log.arrays()["hashes"].tolist() == sorted({*expected.tolist()})
    answers = episode.question.answer[episode.question.answer >= 0]
    assert log.arrays()["answers"].tolist() == (2 * np.bincount(answers, minlength=185)).tolist()
    restored = new_log(grammar)
    restored.restore(log.arrays())
    assert (restored.hashes, restored.answers.tolist()) == (log.hashes, log.answers.tolist())
    assert restored.icons.tolist() == log.icons.tolist()
    grid = episode.state.grid
    assert np.flatnonzero(log.arrays()["icons"]).tolist() == np.unique(grid[grid >= FIRST_ICON] - FIRST_ICON).tolist()


def test_unusable_logs_are_rejected(grammar: Grammar, splits: dict[str, Split]) -> None:
    log = new_log(grammar).arrays()
    with pytest.raises(InputError, match="training log must be of 185 words, got 3"):
        check_leaks({**log, "hashes": np.array([1]), "answers": log["answers"][:3]}, splits["zs1"], grammar)
    with pytest.raises(InputError, match="training log must contain sentences, got none; train the run first"):
        check_leaks(log, splits["zs1"], grammar)

"""Splits: exact portions, disjoint over the whole language, the same for everybody."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from groundling.errors import InputError
from groundling.teacher.episode_sampling import SentenceBatch
from groundling.teacher.grammar import TYPES, Grammar, Meaning
from groundling.teacher.splits import Split, content_words
from groundling.teacher.teacher import Lessons, Teacher
from groundling.world.catalog import FIRST_ICON, Catalog


def draw(catalog: Catalog, kind: str, holdout: float, seed: int = 0) -> Split:
    return Split.draw(kind, holdout, seed, catalog.classes, catalog.pairs)


@pytest.mark.parametrize("holdout", [12.5, 20.0, 50.0, 66.7, 90.0])
def test_portions(catalog: Catalog, holdout: float) -> None:
    assert len(draw(catalog, "zs2", holdout).held_out) == round(119 * holdout / 100)
    pairs = draw(catalog, "zs1", holdout).held_out
    assert len(set(pairs)) == len(pairs)
    with_orange_colour = sum(color == "orange" for color, _ in catalog.pairs)
    sorts = (119 * 9, 221, 119 * 120 // 2 - with_orange_colour)
    assert len(pairs) == sum(round(n * holdout / 100) for n in sorts)


def test_seed_decides(catalog: Catalog) -> None:
    assert draw(catalog, "zs1", 50, 1) == draw(catalog, "zs1", 50, 1)
    assert draw(catalog, "zs1", 50, 1).hash != draw(catalog, "zs1", 50, 2).hash


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["zs1", "zs2"])
def test_disjoint_over_the_whole_language(grammar: Grammar, splits: dict[str, Split], kind: str) -> None:
    """Each sentence is for training or for testing; training ones hold nothing held out, testing ones do."""
    split = splits[kind]
    held = set(split.held_out)
    counts = {"train": 0, "test": 0}
    for name in TYPES:
        for slots in grammar.fillings(name):
            meaning = Meaning(name, 0, slots)
            words = [word for slot, word in slots.items() if slot != "prep"]
            if name.startswith(("nav_bw", "rec_bw")):
                words.append("between")
            groups = {tuple(sorted(group)) for group in itertools.combinations(words, 2 if kind == "zs1" else 1)}
            phases = [phase for phase in counts if split.allows(meaning, phase)]
            assert phases == ["test" if groups & held else "train"]
            counts[phases[0]] += len(grammar.templates[name])
    assert sum(counts.values()) == 1_639_015
    assert min(counts.values()) > 100_000


def test_orange_is_one_word(catalog: Catalog) -> None:
    """Holding out a pair with `orange` holds it out whether orange is said as a color or as an object."""
    split = Split("zs1", 50, 0, (("apple", "orange"),))
    assert split.says_held_out(Meaning("nav_bw_obj", 0, {"obj": "orange", "obj2": "apple"}))
    assert split.says_held_out(Meaning("nav_col_obj", 0, {"col": "orange", "obj": "apple"}))
    assert not split.says_held_out(Meaning("nav_col_obj", 0, {"col": "red", "obj": "apple"}))
    words = content_words(Meaning("rec_bw_obj2obj", 0, {"obj": "orange", "obj2": "apple"}))
    assert sorted(words) == ["apple", "between", "orange"]


def test_file(catalog: Catalog, tmp_path: Path) -> None:
    split = draw(catalog, "zs1", 20, 7)
    path = tmp_path / "split.json"
    split.save(path)
    assert Split.load(path) == split
    record = json.loads(path.read_text())
    for change, complaint in (
        ({"held_out": record["held_out"][1:]}, "does not match its hash"),
        ({"format": "other"}, "not a groundling-split-1"),
        ({"held_out": [["apple", "fig", "pear"]]}, "words and pairs of words"),
        ({"held_out": 3}, "not a groundling-split-1"),
    ):
        path.write_text(json.dumps(record | change))
        with pytest.raises(InputError, match=complaint):
            Split.load(path)
    path.write_text("{")
    with pytest.raises(InputError, match="not a groundling-split-1"):
        Split.load(path)
    with pytest.raises(InputError, match="cannot be read"):
        Split.load(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("kind", "holdout", "seed", "complaint"),
    [
        ("zs3", 50, 0, "unknown split 'zs3'"),
        ("zs1", 0, 0, "portion 0"),
        ("zs1", 100, 0, "portion 100"),
        ("zs2", -5, 0, "portion -5"),
        ("zs2", float("nan"), 0, "portion nan"),
        ("zs2", 50, -1, "split seed -1"),
    ],
)
def test_bad_input(catalog: Catalog, kind: str, holdout: float, seed: int, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        draw(catalog, kind, holdout, seed)


def said_and_answered(teacher: Teacher, b: int, sentences: SentenceBatch) -> set[str]:
    meaning = teacher.meaning(sentences, b)
    assert meaning is not None
    answer = [teacher.lexicon.words[sentences.answer[b]]] if sentences.answer[b] >= 0 else []
    return {*content_words(meaning), *answer}


@pytest.mark.parametrize("phase", ["train", "test"])
def test_a_novel_word_is_in_no_sentence_and_no_answer(catalog: Catalog, phase: str) -> None:
    """Though its objects are on the maps; in testing each sentence says it, or asks for it."""
    split = draw(catalog, "novel", 10)
    assert len(split.held_out) == 12
    novel = {word for group in split.held_out for word in group}
    teacher = Teacher(Lessons(balanced=0.3), split, phase)
    episode = teacher.begin(0, np.arange(2000))
    for sentences in (episode.command, episode.question):
        for b in np.flatnonzero(sentences.type >= 0).tolist():
            assert bool(said_and_answered(teacher, b, sentences) & novel) == (phase == "test")
    icons = episode.state.grid[episode.state.grid >= FIRST_ICON] - FIRST_ICON
    seen = {catalog.classes[c] for c in catalog.icon_class[icons]}
    assert novel <= seen


def test_joined_splits_test_one_thing_at_a_time(catalog: Catalog) -> None:
    """An agent trained without some pairs and some words: zs1 sentences say a pair of words that are not held out."""
    pairs, words = draw(catalog, "zs1", 20), draw(catalog, "zs2", 20)
    for split in (pairs.joined(words), words.joined(pairs)):
        train, test = (Teacher(split=split, phase=phase) for phase in ("train", "test"))
        held = set(words.held_out)
        for teacher, wanted in ((train, False), (test, split.kind == "zs2")):
            episode = teacher.begin(0, np.arange(500))
            for b in range(500):
                meaning = teacher.meaning(episode.command, b)
                assert meaning is not None
                assert split.allows(meaning, teacher.phase)
                assert any((word,) in held for word in content_words(meaning)) == wanted
        assert Split.of(json.loads(json.dumps(split.to_dict()))) == split


def test_the_curriculum_begins_with_words_that_may_be_said(catalog: Catalog) -> None:
    """With 90 % of the words held out, a few random classes would leave nothing to say."""
    split = draw(catalog, "zs2", 90)
    teacher = Teacher(Lessons(curriculum=10_000), split)
    episode = teacher.begin(0, np.arange(200))
    icons = episode.state.grid[episode.state.grid >= FIRST_ICON] - FIRST_ICON
    early = {catalog.classes[c] for c in catalog.icon_class[icons]}
    assert early <= {name for name in catalog.classes if (name,) not in split.held_out}

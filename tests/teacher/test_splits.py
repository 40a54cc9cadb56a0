"""Splits: exact percentages, train and test disjoint over the whole language, one rule for all uses."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from groundling.errors import InputError
from groundling.teacher.allowed_table import allowed_table
from groundling.teacher.grammar import Grammar
from groundling.teacher.make_teacher import make_split
from groundling.teacher.splits import PHASES, Split
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import Meaning, SamplingConfig
from groundling.world.catalog import FIRST_ICON
from tests.teacher.drawn_splits import ALL_SPLITS, PAPER, WORDINGS, content_groups, draw, split_of


@pytest.mark.parametrize("holdout", [12.5, 20.0, 50.0, 66.7, 90.0])
def test_number_of_held_out_groups(grammar: Grammar, holdout: float) -> None:
    assert len(draw(grammar, "zs2", holdout).held_out) == round(119 * holdout / 100)
    pairs = draw(grammar, "zs1", holdout).held_out
    assert len(set(pairs)) == len(pairs)
    with_orange_color = sum(color == "orange" for color, _ in grammar.pairs)
    sorts = (119 * 9, 221, 119 * 120 // 2 - with_orange_color)
    assert len(pairs) == sum(round(n * holdout / 100) for n in sorts)


def test_seed_determines_the_split(grammar: Grammar) -> None:
    assert draw(grammar, "zs1", 50, 1) == draw(grammar, "zs1", 50, 1)
    assert draw(grammar, "zs1", 50, 1).hash != draw(grammar, "zs1", 50, 2).hash


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["zs1", "zs2"])
def test_phases_are_disjoint_over_the_whole_language(grammar: Grammar, splits: dict[str, Split], kind: str) -> None:
    """Each sentence belongs to one phase: test if it contains something held out, train otherwise."""
    split = splits[kind]
    held = set(split.held_out)
    counts = {"train": 0, "test": 0}
    for name in PAPER.type_names:
        for slots in grammar.fillings(name):
            meaning = grammar.meaning(name, 0, slots)
            words = [word for slot, word in slots.items() if slot != "prep"]
            if name.startswith(("nav_bw", "rec_bw")):
                words.append("between")
            groups = {tuple(sorted(group)) for group in itertools.combinations(words, 2 if kind == "zs1" else 1)}
            phases = [phase for phase in counts if split.allows(meaning, phase)]
            assert phases == ["test" if groups & held else "train"]
            counts[phases[0]] += len(grammar.templates[name])
    assert sum(counts.values()) == 1_639_015
    assert min(counts.values()) > 100_000


@pytest.mark.parametrize("seed", [2, 4, 9])
def test_training_with_pairs_held_out_has_sentences_of_every_type(grammar: Grammar, seed: int) -> None:
    """A first draw of seed 4 and of seed 9 held out every two objects that may be said with `between`."""
    split = Split.draw("zs1", 90.0, seed, grammar)
    assert split == Split.draw("zs1", 90.0, seed, grammar)
    held = {frozenset(pair) for pair in split.held_out}
    said_with_between = [name for name in grammar.catalog.classes if frozenset((name, "between")) not in held]
    assert any(frozenset(pair) not in held for pair in itertools.combinations(said_with_between, 2))


def test_orange_is_one_word(grammar: Grammar) -> None:
    """A held-out pair with `orange` is held out whether orange is a color or an object."""
    split = Split("zs1", 50, 0, (("apple", "orange"),))
    assert split.holds_out(grammar.meaning("nav_bw_obj", 0, {"obj": "orange", "obj2": "apple"}))
    assert split.holds_out(grammar.meaning("nav_col_obj", 0, {"col": "orange", "obj": "apple"}))
    assert not split.holds_out(grammar.meaning("nav_col_obj", 0, {"col": "red", "obj": "apple"}))
    meaning = grammar.meaning("rec_bw_obj2obj", 0, {"obj": "orange", "obj2": "apple"})
    assert sorted(meaning.content) == ["apple", "between", "orange"]


def test_split_file(grammar: Grammar, tmp_path: Path) -> None:
    split = draw(grammar, "zs1", 20, 7)
    path = tmp_path / "split.json"
    split.save(path)
    assert Split.load(path) == split
    record = json.loads(path.read_text())
    for change, message in (
        ({"held_out": record["held_out"][1:]}, "split must match its hash"),
        ({"format": "other"}, "format must be 'groundling-split-1', got \"other\""),
        ({"held_out": [["apple", "fig", "pear"]]}, "must hold out words and pairs of words"),
        ({"held_out": 3}, "held_out must be of type tuple, got 3"),
    ):
        path.write_text(json.dumps(record | change))
        with pytest.raises(InputError, match=message):
            Split.load(path)
    path.write_text("{")
    with pytest.raises(InputError, match="not valid JSON"):
        Split.load(path)
    with pytest.raises(InputError, match="no such file"):
        Split.load(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("kind", "holdout", "seed", "message"),
    [
        ("zs3", 50, 0, "split must be one of normal, zs1, zs2, novel, category, paraphrase, length, icon, got 'zs3'"),
        ("zs1", 0, 0, "holdout must be a percentage, at least 1 and below 100, got 0; for one half use 50"),
        ("zs1", 0.5, 0, r"holdout must be a percentage, .*, got 0\.5"),
        ("zs1", 100, 0, "holdout must be a percentage, .*, got 100"),
        ("zs2", -5, 0, "holdout must be a percentage, .*, got -5"),
        ("zs2", float("nan"), 0, "holdout must be a percentage, .*, got nan"),
        ("zs2", 50, -1, "split_seed must be an integer of at least 0, got -1"),
    ],
)
def test_invalid_split_is_rejected(grammar: Grammar, kind: str, holdout: float, seed: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        draw(grammar, kind, holdout, seed)


def test_joined_splits_test_pairs_and_words_separately(grammar: Grammar) -> None:
    """Training holds out some pairs and some words; zs1 test sentences contain a held-out pair but no held-out word."""
    pairs, words = draw(grammar, "zs1", 20), draw(grammar, "zs2", 20)
    for split in (pairs.joined(words), words.joined(pairs)):
        train, test = (Teacher(split=split, phase=phase) for phase in ("train", "test"))
        held = set(words.held_out)
        for teacher, wanted in ((train, False), (test, split.kind == "zs2")):
            episode = teacher.begin(0, np.arange(500))
            for b in range(500):
                meaning = teacher.meaning(episode.command, b)
                assert meaning is not None
                assert split.allows(meaning, teacher.phase)
                assert any((word,) in held for word in meaning.content) == wanted
        assert Split.of(json.loads(json.dumps(split.to_dict()))) == split


def test_holdout_is_a_percentage_from_1_to_below_100(grammar: Grammar) -> None:
    for holdout in (1, 50, 99.9):
        assert draw(grammar, "zs2", holdout).holdout == holdout
    for holdout in (0, 0.5, 0.99, 100, 150):
        with pytest.raises(InputError, match="holdout must be a percentage"):
            draw(grammar, "zs2", holdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_SPLITS)
def test_no_sentence_of_the_language_is_in_both_phases(grammar: Grammar, name: str) -> None:
    """Every sentence, with any answer. What training excludes follows from the list of held-out groups alone."""
    split = split_of(grammar, name)
    held = set(split.held_out)
    held_answer = next((word for word in grammar.catalog.classes if split.kind == "novel" and (word,) in held), None)
    counts = dict.fromkeys(["train", "test", "both", "neither"], 0)
    for type_ in PAPER.types:
        templates = [(type_.name, " ".join(template)) for template in type_.templates]
        wording = {p: np.array([split.allows_wording(type_.name, t, p) for t in type_.templates]) for p in PHASES}
        held_wording = [split.kind in WORDINGS and template in held for template in templates]
        assert wording["train"].tolist() == [not out for out in held_wording]
        for answer in ("", held_answer) if held_answer else ("",):
            content: dict[str, list[bool]] = {phase: [] for phase in PHASES}
            for slots in grammar.fillings(type_.name):
                meaning = grammar.meaning(type_.name, 0, slots)
                for phase in PHASES:
                    content[phase].append(split.allows(meaning, phase, answer))
                groups = content_groups(type_.name, slots) | ({(answer,)} if answer else set())
                assert content["train"][-1] == (split.kind in (*WORDINGS, "icon") or not groups & held)
            # [filling, template]
            train, test = (np.array(content[phase])[:, None] & wording[phase] for phase in PHASES)
            for key, found in zip(counts, (train, test, train & test, ~train & ~test), strict=True):
                counts[key] += int(found.sum())
    if split.kind in ("normal", "icon"):  # they restrict no sentence
        assert counts["both"] == 1_639_015
        return
    assert counts["both"] == 0
    assert min(counts["train"], counts["test"]) > 100_000
    assert (counts["neither"] > 0) == ("+" in name)  # of a joint split, what only the other one tests


def test_wordings_held_out(grammar: Grammar) -> None:
    """Half of the wordings of each type: random ones, or the longest. Each type keeps one; at least one is held out."""
    for holdout in (1, 50, 99):
        for kind in WORDINGS:
            split = draw(grammar, kind, holdout, 3)
            for type_ in PAPER.types:
                held = [split.holds_out_wording(type_.name, template) for template in type_.templates]
                wanted = round(len(held) * holdout / 100)
                assert sum(held) == min(max(wanted, 1), len(held) - 1)
                if kind == "length":
                    assert held == sorted(held)  # the templates are sorted by length
    assert draw(grammar, "paraphrase", 50, 1) != draw(grammar, "paraphrase", 50, 2)


def test_categories_held_out(grammar: Grammar) -> None:
    """Whole categories, and as close to X % of the words as whole categories in a random order allow."""
    catalog = grammar.catalog
    category = dict(zip(catalog.classes, catalog.categories, strict=True))
    drawn = set()
    for seed in range(10):
        split = draw(grammar, "category", 50, seed)
        words = {word for (word,) in split.held_out}
        names = {category[word] for word in words}
        drawn.add(frozenset(names))
        assert words == {word for word in catalog.classes if category[word] in names}
        assert 0 < len(words) < 119
    assert len(drawn) > 3
    assert len({category[word] for (word,) in draw(grammar, "category", 1).held_out}) == 1
    one = Grammar(PAPER, catalog.only([word for word in catalog.classes if category[word] == category["apple"]]))
    with pytest.raises(InputError, match="split category must have icons in at least two categories, got 1"):
        draw(one, "category", 50)


def test_icons_held_out(grammar: Grammar) -> None:
    """Of the three icons of each class, one is held out at 1 %, two at 50 %; one always stays."""
    for holdout, number in ((1, 1), (50, 2), (99, 2)):
        split = draw(grammar, "icon", holdout)
        held = [[split.holds_out_icon(name, k) for k in range(3)] for name in grammar.catalog.classes]
        assert {sum(of_class) for of_class in held} == {number}
        assert not split.restricts_content
        assert allowed_table(split, "test", grammar) is None


class NoNorth(Split):
    """A split of a user: training has no sentence with `north`, no wording with `please`, no answer `apple`, and shows
    no second icon."""

    def holds_out(self, meaning: Meaning) -> bool:
        return "north" in meaning.content

    def holds_out_wording(self, type_: str, template: tuple[str, ...]) -> bool:
        return "please" in template

    def holds_out_answer(self, word: str) -> bool:
        return word == "apple"

    def holds_out_icon(self, name: str, number: int) -> bool:
        return number == 1


@pytest.mark.parametrize("phase", PHASES)
def test_split_of_a_user(grammar: Grammar, phase: str) -> None:
    name = f"{__name__}:NoNorth"
    split = make_split(name, 50, 0, grammar)
    assert isinstance(split, NoNorth)
    assert (split.restricts_content, split.restricts_wording, split.restricts_icons) == (True, True, True)
    assert Split.of(split.to_dict()) == split
    in_test = phase == "test"
    teacher = Teacher(split=split, phase=phase, sampling=SamplingConfig(type_balanced_fraction=0.5))
    assert ("nav_obj" in teacher.types) == (not in_test)  # without a direction it contains nothing held out
    episode = teacher.begin(0, np.arange(2000))
    for sentences in (episode.command, episode.question):
        for b in np.flatnonzero(sentences.type >= 0).tolist():
            meaning = teacher.meaning(sentences, b)
            assert meaning is not None
            words = grammar.words(meaning)
            answer = teacher.lexicon.words[sentences.answer[b]] if sentences.answer[b] >= 0 else ""
            assert ("north" in words or answer == "apple") == in_test
            assert ("please" in words) == in_test
    icons = np.unique(episode.state.grid[episode.state.grid >= FIRST_ICON] - FIRST_ICON)
    assert set((icons % 3 == 1).tolist()) == {in_test}


def test_split_of_a_user_that_is_none_is_refused(grammar: Grammar) -> None:
    for name, message in (
        ("nowhere:Split", "split 'nowhere:Split' cannot be imported"),
        (f"{__name__}:Missing", "cannot be imported"),
        (f"{__name__}:PAPER", "must be a subclass of groundling.teacher.splits.Split"),
    ):
        with pytest.raises(InputError, match=message):
            make_split(name, 50, 0, grammar)

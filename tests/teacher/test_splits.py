"""Splits: exact percentages, train and test disjoint over the whole language, one rule for all uses."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from groundling.errors import InputError
from groundling.teacher.grammar import TYPES, Grammar
from groundling.teacher.lexicon import COLORS, DIRECTIONS, NOTHING, PREPOSITIONS
from groundling.teacher.sentence_types import COMMAND_COUNT, allowed
from groundling.teacher.splits import Split, allowed_table, content_words
from groundling.teacher.teacher import Teacher, make_split
from groundling.teacher.types import Meaning, SamplingConfig, SentenceBatch
from groundling.world.catalog import FIRST_ICON, Catalog


def draw(catalog: Catalog, kind: str, holdout: float, seed: int = 0) -> Split:
    return Split.draw(kind, holdout, seed, catalog.classes, catalog.pairs)


@pytest.mark.parametrize("holdout", [12.5, 20.0, 50.0, 66.7, 90.0])
def test_number_of_held_out_groups(catalog: Catalog, holdout: float) -> None:
    assert len(draw(catalog, "zs2", holdout).held_out) == round(119 * holdout / 100)
    pairs = draw(catalog, "zs1", holdout).held_out
    assert len(set(pairs)) == len(pairs)
    with_orange_color = sum(color == "orange" for color, _ in catalog.pairs)
    sorts = (119 * 9, 221, 119 * 120 // 2 - with_orange_color)
    assert len(pairs) == sum(round(n * holdout / 100) for n in sorts)


def test_seed_determines_the_split(catalog: Catalog) -> None:
    assert draw(catalog, "zs1", 50, 1) == draw(catalog, "zs1", 50, 1)
    assert draw(catalog, "zs1", 50, 1).hash != draw(catalog, "zs1", 50, 2).hash


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["zs1", "zs2"])
def test_phases_are_disjoint_over_the_whole_language(grammar: Grammar, splits: dict[str, Split], kind: str) -> None:
    """Each sentence belongs to one phase: test if it contains something held out, train otherwise."""
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
    """A held-out pair with `orange` is held out whether orange is a color or an object."""
    split = Split("zs1", 50, 0, (("apple", "orange"),))
    assert split.contains_held_out(Meaning("nav_bw_obj", 0, {"obj": "orange", "obj2": "apple"}))
    assert split.contains_held_out(Meaning("nav_col_obj", 0, {"col": "orange", "obj": "apple"}))
    assert not split.contains_held_out(Meaning("nav_col_obj", 0, {"col": "red", "obj": "apple"}))
    words = content_words(Meaning("rec_bw_obj2obj", 0, {"obj": "orange", "obj2": "apple"}))
    assert sorted(words) == ["apple", "between", "orange"]


def test_split_file(catalog: Catalog, tmp_path: Path) -> None:
    split = draw(catalog, "zs1", 20, 7)
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
        ("zs3", 50, 0, "split must be one of normal, zs1, zs2, novel, got 'zs3'"),
        ("zs1", 0, 0, "holdout must be a percentage, at least 1 and below 100, got 0; for one half use 50"),
        ("zs1", 0.5, 0, r"holdout must be a percentage, .*, got 0\.5"),
        ("zs1", 100, 0, "holdout must be a percentage, .*, got 100"),
        ("zs2", -5, 0, "holdout must be a percentage, .*, got -5"),
        ("zs2", float("nan"), 0, "holdout must be a percentage, .*, got nan"),
        ("zs2", 50, -1, "split_seed must be an integer of at least 0, got -1"),
    ],
)
def test_invalid_split_is_rejected(catalog: Catalog, kind: str, holdout: float, seed: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        draw(catalog, kind, holdout, seed)


SPLITS = ["zs1", "zs2", "novel", "zs1+zs2 (zs1)", "zs1+zs2 (zs2)"]


def split_of(catalog: Catalog, name: str) -> Split:
    """A split with half of the pairs or words held out; of `zs1+zs2`, the tested part is in parentheses."""
    kind, _, tested = name.partition(" ")
    return make_split(kind, 50, 0, catalog, tested.strip("()"))


@pytest.mark.parametrize("phase", ["train", "test"])
@pytest.mark.parametrize("name", SPLITS)
def test_table_and_kernel_follow_the_predicate(catalog: Catalog, grammar: Grammar, name: str, phase: str) -> None:
    """Of each type, 300 random meanings, with the answer `nothing` and with each of two object words as the answer."""
    split = split_of(catalog, name)
    table = allowed_table(split, phase, grammar, catalog.classes)
    words = Teacher(split=split, phase=phase, catalog=catalog).rules.words
    vocabulary = {
        "obj": catalog.classes,
        "obj2": catalog.classes,
        "col": COLORS,
        "loc": DIRECTIONS,
        "prep": PREPOSITIONS,
    }
    held_out = next((word for word in catalog.classes if split.holds_out_answer(word)), None)
    assert (held_out is None) == (split.kind != "novel")
    answers = [NOTHING, next(word for word in catalog.classes if not split.holds_out_answer(word)), held_out or "apple"]
    rng = np.random.default_rng(0)
    expected: list[tuple[bool, ...]] = []
    for t, type_ in enumerate(TYPES):
        for _ in range(300):
            index = {slot: int(rng.integers(len(vocabulary[slot]))) for slot in grammar.slots(type_)}
            slots = {slot: vocabulary[slot][k] for slot, k in index.items()}
            meaning = Meaning(type_, int(rng.integers(len(grammar.templates[type_]))), slots)
            obj, obj2, col, loc = (index.get(slot, -1) for slot in ("obj", "obj2", "col", "loc"))
            row = int(table.filling_row[t] @ [1, *np.maximum([obj, obj2, col, loc], 0)])
            expected.append(tuple(split.allows(meaning, phase, answer) for answer in answers))
            assert tuple(table.allowed[row, [0, 0, 1]].tolist()) == expected[-1], meaning
            is_command = t < COMMAND_COUNT  # without an answer
            tokens = [-1] if is_command else [grammar.lexicon.token[answer] for answer in answers]
            looked_up = tuple(allowed(words, t, obj, obj2, col, loc, token) for token in tokens)
            assert looked_up == expected[-1][: len(tokens)], meaning
    found = np.array(expected)
    assert found[:, 0].any()
    assert not found[:, 0].all()
    # Only a novel word changes, as an answer, what is allowed.
    assert (found[:, 0] == found[:, 1]).all()
    assert (found[:, 0] == found[:, 2]).all() == (held_out is None)


@pytest.mark.parametrize("phase", ["train", "test"])
@pytest.mark.parametrize("name", SPLITS)
def test_sampled_sentences_are_allowed(catalog: Catalog, name: str, phase: str) -> None:
    """All sentences at the first two steps of 2,000 episodes, half of them sampled for a sentence type."""
    split = split_of(catalog, name)
    other = {"train": "test", "test": "train"}[phase]
    teacher = Teacher(split=split, phase=phase, sampling=SamplingConfig(type_balanced_fraction=0.5))
    episode = teacher.begin(0, np.arange(2000))
    later, outcome = teacher.step(episode, np.random.default_rng(0).integers(0, 4, 2000))
    types = set()
    for sentences in (episode.command, episode.question, later.question):
        for b in np.flatnonzero(sentences.type >= 0).tolist():
            meaning = teacher.meaning(sentences, b)
            assert meaning is not None
            answer = teacher.lexicon.words[sentences.answer[b]] if sentences.answer[b] >= 0 else NOTHING
            assert split.allows(meaning, phase, answer)
            assert not split.allows(meaning, other, answer)
            types.add(meaning.type)
    assert types >= set(teacher.types)
    assert (later.question.type >= 0).sum() > 500
    assert not (later.question.type >= 0)[outcome.terminated].any()


def content_and_answer(teacher: Teacher, b: int, sentences: SentenceBatch) -> set[str]:
    """The content words of a sentence and its answer."""
    meaning = teacher.meaning(sentences, b)
    assert meaning is not None
    answer = [teacher.lexicon.words[sentences.answer[b]]] if sentences.answer[b] >= 0 else []
    return {*content_words(meaning), *answer}


@pytest.mark.parametrize("phase", ["train", "test"])
def test_novel_words_occur_in_no_training_sentence_or_answer(catalog: Catalog, phase: str) -> None:
    """Their objects are on the maps in both phases; every test sentence contains one, or has it as its answer."""
    split = draw(catalog, "novel", 10)
    assert len(split.held_out) == 12
    novel = {word for group in split.held_out for word in group}
    teacher = Teacher(split=split, phase=phase, sampling=SamplingConfig(type_balanced_fraction=0.3))
    episode = teacher.begin(0, np.arange(2000))
    for sentences in (episode.command, episode.question):
        for b in np.flatnonzero(sentences.type >= 0).tolist():
            assert bool(content_and_answer(teacher, b, sentences) & novel) == (phase == "test")
    icons = episode.state.grid[episode.state.grid >= FIRST_ICON] - FIRST_ICON
    seen = {catalog.classes[c] for c in catalog.icon_class[icons]}
    assert novel <= seen


def test_joined_splits_test_pairs_and_words_separately(catalog: Catalog) -> None:
    """Training holds out some pairs and some words; zs1 test sentences contain a held-out pair but no held-out word."""
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


def test_curriculum_starts_with_words_that_are_not_held_out(catalog: Catalog) -> None:
    """With 90 % of the words held out, a few random classes could leave no sentence."""
    split = draw(catalog, "zs2", 90)
    teacher = Teacher(split=split, sampling=SamplingConfig(curriculum_episodes=10_000))
    episode = teacher.begin(0, np.arange(200))
    icons = episode.state.grid[episode.state.grid >= FIRST_ICON] - FIRST_ICON
    early = {catalog.classes[c] for c in catalog.icon_class[icons]}
    assert early <= {name for name in catalog.classes if (name,) not in split.held_out}


def test_holdout_is_a_percentage_from_1_to_below_100(catalog: Catalog) -> None:
    for holdout in (1, 50, 99.9):
        assert Split.draw("zs2", holdout, 0, catalog.classes, catalog.pairs).holdout == holdout
    for holdout in (0, 0.5, 0.99, 100, 150):
        with pytest.raises(InputError, match="holdout must be a percentage"):
            Split.draw("zs2", holdout, 0, catalog.classes, catalog.pairs)

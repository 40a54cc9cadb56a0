"""Splits: exact percentages, train and test disjoint over the whole language, one rule for all uses."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from groundling.errors import InputError
from groundling.teacher.grammar import Grammar
from groundling.teacher.language import Language
from groundling.teacher.references import ANSWER_SHIFT, FIRST_ROW, TARGET, USED
from groundling.teacher.splits import KINDS, PHASES, Split, allowed_table
from groundling.teacher.teacher import Teacher, make_split
from groundling.teacher.types import Meaning, SamplingConfig, SentenceBatch
from groundling.world.catalog import FIRST_ICON, Catalog

PAPER = Language.paper()


def draw(grammar: Grammar, kind: str, holdout: float, seed: int = 0) -> Split:
    return Split.draw(kind, holdout, seed, grammar)


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


SPLITS = ["zs1", "zs2", "novel", "category", "zs1+zs2 (zs1)", "zs1+zs2 (zs2)"]
"""The splits that restrict the content of sentences."""


def split_of(grammar: Grammar, name: str) -> Split:
    """A split with half of what it is about held out; of `zs1+zs2`, the tested part is in parentheses."""
    kind, _, tested = name.partition(" ")
    return make_split(kind, 50, 0, grammar, tested.strip("()"))


@pytest.mark.parametrize("phase", ["train", "test"])
@pytest.mark.parametrize("name", SPLITS)
def test_table_and_kernel_follow_the_predicate(catalog: Catalog, grammar: Grammar, name: str, phase: str) -> None:
    """Of each type, 300 random meanings, with the answer `nothing` and with each of two object words as the answer."""
    split = split_of(grammar, name)
    table = allowed_table(split, phase, grammar)
    assert table is not None
    tables = Teacher(split=split, phase=phase, catalog=catalog).rules.language
    assert tables.restricted
    vocabulary = {slot: {**PAPER.word_classes, "object": catalog.classes}[kind] for slot, kind in PAPER.slots.items()}
    slot_count = len(PAPER.slots)
    held_out = next((word for word in catalog.classes if split.holds_out_answer(word)), None)
    assert (held_out is None) == (split.kind != "novel")
    answers = [
        PAPER.nothing,
        next(word for word in catalog.classes if not split.holds_out_answer(word)),
        held_out or "apple",
    ]
    rng = np.random.default_rng(0)
    expected: list[tuple[bool, ...]] = []
    for t, type_ in enumerate(PAPER.types):
        strides = tables.types[t, USED + slot_count :]
        for _ in range(300):
            index = {slot: int(rng.integers(len(vocabulary[slot]))) for slot in type_.slots}
            slots = {slot: vocabulary[slot][k] for slot, k in index.items()}
            meaning = grammar.meaning(type_.name, int(rng.integers(len(type_.templates))), slots)
            fillings = [index.get(slot, -1) for slot in PAPER.slots]
            row = int(table.first_row[t] + table.strides[t] @ fillings)
            expected.append(tuple(split.allows(meaning, phase, answer) for answer in answers))
            assert tuple(table.allowed[row, [0, 0, 1]].tolist()) == expected[-1], meaning
            # As `emit` looks it up; an unused slot may hold anything.
            left_over = [index.get(slot, 3) if slot in type_.reference.slots else 3 for slot in PAPER.slots]
            row = int(tables.types[t, FIRST_ROW] + strides @ left_over)
            assert type_.is_command == (tables.types[t, ANSWER_SHIFT] == TARGET)
            looked_up = [
                bool(tables.allowed[row, 0 if type_.is_command else tables.token[-1, grammar.lexicon.token[answer]]])
                for answer in answers
            ]
            assert looked_up == [expected[-1][0 if type_.is_command else k] for k in range(3)], meaning
    found = np.array(expected)
    assert found[:, 0].any()
    assert not found[:, 0].all()
    # Only a novel word changes, as an answer, what is allowed.
    assert (found[:, 0] == found[:, 1]).all()
    assert (found[:, 0] == found[:, 2]).all() == (held_out is None)


@pytest.mark.parametrize("phase", ["train", "test"])
@pytest.mark.parametrize("name", SPLITS)
def test_sampled_sentences_are_allowed(grammar: Grammar, name: str, phase: str) -> None:
    """All sentences at the first two steps of 2,000 episodes, half of them sampled for a sentence type."""
    split = split_of(grammar, name)
    other = {"train": "test", "test": "train"}[phase]
    teacher = Teacher(split=split, phase=phase, sampling=SamplingConfig(type_balanced_fraction=0.5))
    episode = teacher.begin(0, np.arange(2000))
    later, outcome = teacher.step(episode, np.random.default_rng(0).integers(0, 4, 2000))
    types = set()
    for sentences in (episode.command, episode.question, later.question):
        for b in np.flatnonzero(sentences.type >= 0).tolist():
            meaning = teacher.meaning(sentences, b)
            assert meaning is not None
            answer = teacher.lexicon.words[sentences.answer[b]] if sentences.answer[b] >= 0 else PAPER.nothing
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
    return {*meaning.content, *answer}


@pytest.mark.parametrize("phase", ["train", "test"])
def test_novel_words_occur_in_no_training_sentence_or_answer(catalog: Catalog, grammar: Grammar, phase: str) -> None:
    """Their objects are on the maps in both phases; every test sentence contains one, or has it as its answer."""
    split = draw(grammar, "novel", 10)
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


def test_curriculum_starts_with_words_that_are_not_held_out(catalog: Catalog, grammar: Grammar) -> None:
    """With 90 % of the words held out, a few random classes could leave no sentence."""
    split = draw(grammar, "zs2", 90)
    teacher = Teacher(split=split, sampling=SamplingConfig(curriculum_episodes=10_000))
    episode = teacher.begin(0, np.arange(200))
    icons = episode.state.grid[episode.state.grid >= FIRST_ICON] - FIRST_ICON
    early = {catalog.classes[c] for c in catalog.icon_class[icons]}
    assert early <= {name for name in catalog.classes if (name,) not in split.held_out}


def test_holdout_is_a_percentage_from_1_to_below_100(grammar: Grammar) -> None:
    for holdout in (1, 50, 99.9):
        assert draw(grammar, "zs2", holdout).holdout == holdout
    for holdout in (0, 0.5, 0.99, 100, 150):
        with pytest.raises(InputError, match="holdout must be a percentage"):
            draw(grammar, "zs2", holdout)


ALL_SPLITS = [*KINDS, "zs1+zs2 (zs1)", "zs1+zs2 (zs2)"]
WORDINGS = ("paraphrase", "length")


def content_groups(type_: str, slots: dict[str, str]) -> set[tuple[str, ...]]:
    """The content words of a sentence, and their pairs in alphabetical order."""
    words = [word for slot, word in slots.items() if slot != "prep"]
    if type_.startswith(("nav_bw", "rec_bw")):
        words.append("between")
    return {tuple(sorted(group)) for n in (1, 2) for group in itertools.combinations(words, n)}


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


@pytest.mark.parametrize("name", ALL_SPLITS)
@pytest.mark.parametrize("curriculum", [0, 2000])
def test_training_episodes_contain_nothing_of_the_test_phase(grammar: Grammar, name: str, curriculum: int) -> None:
    """Sentences, answers and icons of four steps of 3,000 episodes, by the list of held-out groups alone."""
    split, catalog = split_of(grammar, name), grammar.catalog
    held = set(split.held_out)
    sampling = SamplingConfig(curriculum, type_balanced_fraction=0.5)
    teacher = Teacher(split=split, phase="train", sampling=sampling)
    episode, rng = teacher.begin(0, np.arange(3000)), np.random.default_rng(0)
    icons = np.unique(episode.state.grid[episode.state.grid >= FIRST_ICON] - FIRST_ICON)
    shown = {(catalog.classes[c], str(k - catalog.first_icon[c])) for k in icons for c in [catalog.icon_class[k]]}
    sentences, answers = set(), set()
    for step in range(4):
        for said in (episode.command, episode.question) if step == 0 else (episode.question,):
            for b in np.flatnonzero(said.type >= 0).tolist():
                meaning = teacher.meaning(said, b)
                assert meaning is not None
                assert grammar.tokens(meaning) == [token for token in said.tokens[b].tolist() if token != 185]
                sentences.add((meaning.type, meaning.template, tuple(meaning.slots.items())))
            answers |= set(said.answer[said.answer >= 0].tolist())
        episode, _ = teacher.step(episode, rng.integers(0, 4, 3000))
    assert len(sentences) > 4000
    for type_, template, slots in sentences:
        if split.kind in WORDINGS:
            assert (type_, " ".join(grammar.templates[type_][template])) not in held
        elif split.kind != "icon":
            assert not content_groups(type_, dict(slots)) & held
    words = {(teacher.lexicon.words[token],) for token in answers}
    assert len(words) > 100 or split.kind == "novel"
    assert bool(words & held) == (split.kind in ("zs2", "category") or "+" in name)  # they are learned from answers
    assert not (shown & held)
    assert len(shown) > (100 if split.kind == "icon" else 340)


@pytest.mark.parametrize("name", ALL_SPLITS[1:])
def test_test_episodes_contain_something_held_out(grammar: Grammar, name: str) -> None:
    """Every sentence and every icon of 2,000 test episodes, as far as the split is about them."""
    split, catalog = split_of(grammar, name), grammar.catalog
    held = set(split.held_out)
    teacher = Teacher(split=split, phase="test", sampling=SamplingConfig(type_balanced_fraction=0.5))
    episode = teacher.begin(0, np.arange(2000))
    for sentences in (episode.command, episode.question):
        for b in np.flatnonzero(sentences.type >= 0).tolist():
            meaning = teacher.meaning(sentences, b)
            assert meaning is not None
            groups = content_groups(meaning.type, meaning.slots)
            if split.kind in WORDINGS:
                assert (meaning.type, " ".join(grammar.templates[meaning.type][meaning.template])) in held
            elif split.kind == "novel":
                assert {*groups, (teacher.lexicon.words[sentences.answer[b]],)} & held
            elif split.kind != "icon":
                size = 2 if split.kind == "zs1" else 1
                assert {group for group in groups if len(group) == size} & held
    if split.kind == "icon":
        icons = np.unique(episode.state.grid[episode.state.grid >= FIRST_ICON] - FIRST_ICON)
        shown = {(catalog.classes[c], str(k - catalog.first_icon[c])) for k in icons for c in [catalog.icon_class[k]]}
        assert shown == held


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


class NoRedAnswer(Split):
    """Holds out the answer `red`."""

    def holds_out_answer(self, word: str) -> bool:
        return word == "red"


def test_held_out_answer_may_be_any_word() -> None:
    """Not only the name of an object."""
    sampling = SamplingConfig(type_balanced_fraction=1.0, types=("rec_obj2col",))
    counts = {}
    for split in (Split(), NoRedAnswer("own:NoRedAnswer", 50)):
        teacher = Teacher(split=split, sampling=sampling)
        episode = teacher.begin(0, np.arange(500))
        counts[split.kind] = int((episode.question.answer == teacher.lexicon.token["red"]).sum())
    assert counts["normal"] > 10
    assert counts["own:NoRedAnswer"] == 0

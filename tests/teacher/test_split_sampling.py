"""Sampled episodes follow the predicate of the split: nothing held out in training, something held out in tests."""

import numpy as np
import pytest

from groundling.teacher.allowed_table import allowed_table
from groundling.teacher.grammar import Grammar
from groundling.teacher.language_tables import ANSWER_SHIFT, FIRST_ROW, TARGET, USED
from groundling.teacher.splits import Split
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import SamplingConfig, SentenceBatch
from groundling.world.catalog import FIRST_ICON, Catalog
from tests.teacher.drawn_splits import ALL_SPLITS, PAPER, WORDINGS, content_groups, draw, split_of

SPLITS = ["zs1", "zs2", "novel", "category", "zs1+zs2 (zs1)", "zs1+zs2 (zs2)"]
"""The splits that restrict the content of sentences."""


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
        strides = tables.types[t, USED + slot_count : USED + 2 * slot_count]
        for _ in range(300):
            index = {slot: int(rng.integers(len(vocabulary[slot]))) for slot in type_.slots}
            slots = {slot: vocabulary[slot][k] for slot, k in index.items()}
            meaning = grammar.meaning(type_.name, int(rng.integers(len(type_.templates))), slots)
            fillings = [index.get(slot, -1) for slot in PAPER.slots]
            row = table.row(t, fillings)
            expected.append(tuple(split.allows(meaning, phase, answer) for answer in answers))
            assert tuple(table.allowed[row, [0, 0, 1]].tolist()) == expected[-1], meaning
            # As `emit` looks it up; an unused slot may hold anything.
            left_over = [index.get(slot, 3) if slot in type_.reference.slots else 3 for slot in PAPER.slots]
            groups = [tables.group[tables.types[t, USED + 2 * slot_count + s], k] for s, k in enumerate(left_over)]
            row = int(tables.types[t, FIRST_ROW] + strides @ groups)
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


def test_curriculum_starts_with_words_that_are_not_held_out(catalog: Catalog, grammar: Grammar) -> None:
    """With 90 % of the words held out, a few random classes could leave no sentence."""
    split = draw(grammar, "zs2", 90)
    teacher = Teacher(split=split, sampling=SamplingConfig(curriculum_episodes=10_000))
    episode = teacher.begin(0, np.arange(200))
    icons = episode.state.grid[episode.state.grid >= FIRST_ICON] - FIRST_ICON
    early = {catalog.classes[c] for c in catalog.icon_class[icons]}
    assert early <= {name for name in catalog.classes if (name,) not in split.held_out}


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

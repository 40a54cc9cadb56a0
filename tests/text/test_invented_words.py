"""Invented words: a bijection with the same grammar, and examples from which the words can be learned."""

import numpy as np
import pytest
from PIL import Image

from groundling.env_options import EnvOptions
from groundling.errors import InputError
from groundling.teacher.invented_words import content_words, with_lexicon
from groundling.teacher.language import Language
from groundling.teacher.lesson import lesson
from groundling.text import TextEpisode
from groundling.world.catalog import Catalog

PAPER = Language.paper()


@pytest.mark.parametrize("lexicon", ["invented", "all-invented"])
def test_lexicon_is_a_bijection_to_new_words_with_the_same_grammar(lexicon: str) -> None:
    language = with_lexicon(PAPER, lexicon, 3)
    renamed = {old: new for old, new in zip(PAPER.words, language.words, strict=True) if old != new}
    expected = content_words(PAPER) if lexicon == "invented" else [word for word in PAPER.words if word.isalpha()]
    assert set(renamed) == set(expected)
    assert len(set(renamed.values())) == len(renamed)
    assert not set(renamed.values()) & set(PAPER.words)
    for type_, same in zip(PAPER.types, language.types, strict=True):
        assert [[renamed.get(word, word) for word in t] for t in type_.templates] == list(map(list, same.templates))


def test_content_words_are_those_of_objects_colors_directions_and_relations() -> None:
    words = content_words(PAPER)
    assert len(words) == 119 + 1 + 8 + 8 - 1  # orange is an object and a color
    assert {"apple", "between", "northeast", "orange"} <= set(words)
    assert "nothing" not in words


def test_seed_decides_the_words() -> None:
    first, same, other = (with_lexicon(PAPER, "invented", seed) for seed in (1, 1, 2))
    assert first == same
    assert not set(first.word_classes["object"]) & set(other.word_classes["object"])
    with pytest.raises(InputError, match="lexicon must be one of plain, invented, all-invented, got 'klingon'"):
        EnvOptions(lexicon="klingon").teacher()


def test_only_words_differ_from_the_plain_episodes() -> None:
    plain = EnvOptions().teacher()
    invented = EnvOptions(lexicon="invented", lexicon_seed=5).teacher()
    a, b = (teacher.begin(7, np.arange(200)) for teacher in (plain, invented))
    for name, array in a.arrays().items():
        np.testing.assert_array_equal(array, b.arrays()[name], name)
    assert plain.text(a.command, 0) != invented.text(b.command, 0)


def test_icon_classes_without_a_word_get_an_invented_one() -> None:
    catalog = Catalog.default().only(["apple", "cat"]).with_class("durian", Image.new("RGB", (12, 12), "red"))
    plain = EnvOptions(icons=catalog).teacher()
    invented = EnvOptions(icons=catalog, lexicon="invented").teacher()
    (own,) = invented.lexicon.class_words(["durian"])
    assert own not in ("durian", *PAPER.words)
    assert invented.lexicon.token[own] == plain.lexicon.token["durian"] == len(PAPER.words)
    assert not set(catalog.classes) & set(invented.lexicon.words)
    a, b = (teacher.begin(7, np.arange(100)) for teacher in (plain, invented))
    for name, array in a.arrays().items():
        np.testing.assert_array_equal(array, b.arrays()[name], name)
    others = EnvOptions(lexicon="invented").teacher().lexicon.words
    assert invented.lexicon.words == (*others, own)


@pytest.mark.parametrize(("type_", "task"), [("nav_bw_obj", "nav"), ("nav_col_obj", "nav"), ("rec_bw_obj2loc", "qa")])
def test_lesson_teaches_the_words_of_the_sentence_and_all_answers(type_: str, task: str) -> None:
    teacher = EnvOptions(lexicon="invented", types=(type_,), type_balanced_fraction=1.0).teacher()
    for index in range(20):
        episode = teacher.begin(0, [index])
        sentences = episode.question if task == "qa" else episode.command
        examples = lesson(teacher, episode, sentences, 12)
        meaning = teacher.meaning(sentences, 0)
        assert meaning is not None
        shown = " ".join(f"{example.question} {example.answer}" for example in examples).lower()
        assert all(word in shown for word in meaning.content)
        if task == "qa":
            answers = {example.answer for example in examples}
            assert answers >= set(teacher.language.word_classes["direction"])
        assert len(examples) == 12


def test_lesson_is_shown_before_the_episode_and_has_maps_of_its_own() -> None:
    teacher = EnvOptions(lexicon="invented").teacher()
    with_lesson, without = (TextEpisode(teacher, 0, 3, examples=k) for k in (4, 0))
    assert with_lesson.text.count("\nAnswer: ") == 4
    assert with_lesson.text.endswith(without.text[without.text.index("The map now:") :])
    assert "Answer: " not in without.text

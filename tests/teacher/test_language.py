"""Languages as data: the paper's, files of a user, translations, and several at once."""

import pickle
import re
from pathlib import Path

import numpy as np

from groundling.errors import InputError
from groundling.teacher.grammar import Grammar
from groundling.teacher.language import Language
from groundling.teacher.splits import Split
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import SamplingConfig
from groundling.world.catalog import Catalog
from groundling.world.types import WorldConfig
from tests.teacher.languages import EXTENDED, GERMAN, OWN, TWO_STEPS

PAPER = Language.paper()


def test_counts_of_the_papers_language(grammar: Grammar) -> None:
    assert (len(PAPER.words), len(PAPER.types), len(PAPER.commands), len(PAPER.questions)) == (185, 16, 4, 12)
    assert sum(templates * fillings for templates, fillings in grammar.count().values()) == 1_639_015
    assert PAPER.max_words == 13
    assert PAPER.type_names == (*PAPER.commands, *PAPER.questions)
    assert {name: len(words) for name, words in PAPER.word_classes.items()} == {
        "object": 119,
        "relation": 1,
        "direction": 8,
        "color": 8,
        "grammatical": 50,
        "preposition": 4,
    }
    assert Language.load("paper") is PAPER


def test_a_language_of_its_own() -> None:
    language = Language.of(OWN)
    assert language.words[:3] == ("apple", "cat", "dog")
    assert language.commands == ("nav",)
    assert language.questions == ("ask",)  # commands come first
    assert language.max_words == 6
    assert [" ".join(template) for template in language.type("nav").templates] == [
        "{how} to the {obj} .",
        "to the {obj} {how} .",
        "{how} go to the {obj} .",
        "go to the {obj} {how} .",
    ]
    icons = Catalog.default().only(["apple", "cat", "dog"])
    grammar = Grammar(language, icons)
    assert grammar.count() == {"nav": (4, 3 * 2), "ask": (1, 8)}
    meaning = grammar.parse(grammar.lexicon.encode("quickly to the cat"))
    assert (meaning.type, meaning.slots, meaning.content) == ("nav", {"how": "quickly", "obj": "cat"}, ("cat",))
    teacher = Teacher(WorldConfig(objects=(1, 3)), catalog=icons, language=language)
    episode = teacher.begin(0, np.arange(200))
    texts = {teacher.text(episode.command, b) for b in range(200)}
    assert texts == {
        text.capitalize() + "."
        for name in ("apple", "cat", "dog")
        for go in ("to", "go to")
        for how in ("now", "quickly")
        for text in (f"{how} {go} the {name}", f"{go} the {name} {how}")
    }


def test_wordings_with_and_without_a_word_that_does_not_change_the_meaning() -> None:
    """Refused, or every sentence is enumerated: each meaning is one sentence, which parses back to it."""
    text = OWN.replace('"{verb} {np} {how} ."', '"{verb} {np} ."')
    try:
        language = Language.of(text)
    except InputError:
        return
    grammar = Grammar(language, Catalog.default().only(["apple", "cat", "dog"]))
    sentences = [tuple(grammar.tokens(meaning)) for meaning in grammar.meanings("nav")]
    assert len(sentences) == len(set(sentences)) == 3 * 2 * (1 + 2)
    assert all(grammar.parse(list(tokens)).type == "nav" for tokens in sentences)


def test_a_file_that_extends_the_paper(tmp_path: Path) -> None:
    """It has the paper's words and types first, then its own; `"key+"` adds, `key` replaces."""
    path = tmp_path / "own.toml"
    path.write_text(
        EXTENDED
        + '[words]\n"grammatical+" = "hey"\n'
        + '[phrases]\n"verb+" = ["hey reach"]\nnoun = ["thing"]\n'
        + '[types]\nnav_col = { reference = "colored", asked = "go", frames = ["hey {col} ."] }\n'
    )
    language = Language.load(path)
    assert language.name == str(path)
    assert set(language.words) == {*PAPER.words, "hey"}
    assert language.commands == (*PAPER.commands, "nav_col")
    assert language.questions == PAPER.questions
    assert len(language.type("nav_obj").templates) == 1 + 6 * 5 + 6
    assert len(language.type("rec_col2obj").templates) == 3 + 8  # with one noun instead of four
    assert language.type("rec_obj2loc") == PAPER.type("rec_obj2loc")
    assert len(PAPER.type("nav_obj").templates) == 31  # the paper's is as before


def test_the_same_content_is_the_same_language() -> None:
    one, two = Language.of(OWN), Language.of(OWN + "\n# a comment\n")
    assert one == two
    assert hash(one) == hash(two)
    other = Language.of(OWN.replace("quickly", "slowly"))
    assert one != other
    assert one.hash != other.hash
    assert pickle.loads(pickle.dumps(other)) == other
    assert pickle.loads(pickle.dumps(PAPER)).types == PAPER.types


def test_translation_changes_words_and_nothing_else() -> None:
    """The same episodes, token by token; only the words differ."""
    table = "".join(f'{word} = "{new}"\n' for word, new in GERMAN.items())
    for german in (PAPER.translated(GERMAN), Language.of(f"{EXTENDED}[translate]\n{table}")):
        assert german.words == tuple(GERMAN.get(word, word) for word in PAPER.words)
        assert german.type_names == PAPER.type_names
        assert german.nothing == "nichts"
        assert german.relation_words["nav_bw_obj"] == ("zwischen",)
        assert german.concepts["direction"][1] == "north"
        assert german.word_classes["direction"][1] == "norden"
        sampling = SamplingConfig(type_balanced_fraction=0.5)
        one, two = Teacher(sampling=sampling), Teacher(sampling=sampling, language=german)
        first, second = (teacher.begin(0, np.arange(200)) for teacher in (one, two))
        for name, array in first.arrays().items():
            np.testing.assert_array_equal(array, second.arrays()[name])
        for b in range(200):
            words = one.text(first.question, b).lower()
            expected = re.sub(r"[a-z]+", lambda found: GERMAN.get(found[0], found[0]), words)
            assert two.text(second.question, b).lower() == expected
        assert ("rot", "apfel") in two.grammar.pairs
        parsed = two.grammar.parse(two.lexicon.encode("Go to das rot apfel."))
        assert (parsed.type, parsed.slots) == ("nav_col_obj", {"col": "rot", "obj": "apfel"})


def test_split_of_a_translation_holds_out_translated_words() -> None:
    german = Grammar(PAPER.translated(GERMAN), Catalog.default())
    held = [Split.draw("zs2", 99, 0, grammar) for grammar in (Grammar(PAPER, Catalog.default()), german)]
    assert len(held[0].held_out) == len(held[1].held_out) == 118
    assert "apple" not in held[1].held_out_words
    teacher = Teacher(split=Split("zs2", 1, 0, (("apfel",),)), phase="test", language=german.language)
    episode = teacher.begin(0, np.arange(50))
    assert all("apfel" in teacher.text(episode.command, b).lower() for b in range(50))


def test_languages_of_one_process_do_not_disturb_each_other() -> None:
    """Teachers of three languages in turn, twice, give what each gives first; all share kernels and caches."""
    languages = [PAPER, Language.of(TWO_STEPS), PAPER.translated(GERMAN), Language.of(OWN)]
    icons = Catalog.default().only(["apple", "cat", "dog"])
    results: list[list[bytes]] = []
    for _ in range(2):
        result = []
        for language, catalog in zip(languages, (None, None, None, icons), strict=True):
            for split in (Split(), Split("zs2", 50, 0, (("cat",), ("dog",)))):
                teacher = Teacher(WorldConfig(objects=(2, 5)), split, "train", catalog, language=language)
                episode = teacher.begin(3, np.arange(100))
                later, _ = teacher.step(episode, np.arange(100) % 4)
                arrays = (*episode.arrays().values(), *later.arrays().values())
                result.append(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays))
        results.append(result)
    assert results[0] == results[1]
    assert len(set(results[0])) == 6  # a translation has the same tokens
    assert results[0][:2] == results[0][4:6]
    assert Teacher().language is PAPER

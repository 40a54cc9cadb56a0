"""Languages as data: the paper's, a user's, what the words of a user refer to, and what is refused and why."""

import itertools
import pickle
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from groundling.errors import InputError
from groundling.teacher.grammar import Grammar
from groundling.teacher.language import Language
from groundling.teacher.splits import Split
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import SamplingConfig
from groundling.teacher.valid_sentences import valid_sentences, verbalize
from groundling.world.catalog import WALL, Catalog
from groundling.world.types import State, WorldConfig
from tests.independent_judge import DIRECTIONS, Cell, MapObject, World, is_empty, next_to, reachable
from tests.teacher.test_teacher import map_objects

PAPER = Language.paper()
HEAD = 'format = "groundling-language-1"\n'
OWN = f"""{HEAD}nothing = "nothing"

[words]
object = "apple cat dog"
direction = "east north northeast northwest south southeast southwest west"
grammatical = "? . go to the what is in of nothing thing"
filler = "now quickly"

[slots]
obj = "object"
loc = "direction"
loc2 = "direction"
how = "filler"

[references]
object = "{{obj}}"
near_agent = "{{loc}} of agent"
near_object = "{{loc}} of object"

[phrases]
verb = ["go to", "to"]

[frames]
command = [
  "{{verb}} {{np}} .",
  "{{how}} {{verb}} {{np}} .",
]

[types]
ask = {{ reference = "near_agent", asked = "object", frames = ["what is in the {{loc}} ?"] }}
nav = {{ reference = "object", asked = "go", frames = "command", np = "the {{obj}}" }}
"""
"""A small language of its own."""
EXTENDED = f'{HEAD}extends = "paper"\n'


# The paper's language, and files


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
        "to the {obj} .",
        "go to the {obj} .",
        "{how} to the {obj} .",
        "{how} go to the {obj} .",
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
        for text in (f"{go} the {name}", f"now {go} the {name}", f"quickly {go} the {name}")
    }


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


# Translations


GERMAN = {"apple": "apfel", "red": "rot", "north": "norden", "between": "zwischen", "the": "das", "nothing": "nichts"}


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
        for a, b in zip(first.arrays().values(), second.arrays().values(), strict=True):
            np.testing.assert_array_equal(a, b)
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


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('aple = "apfel"', r"line 4: \[translate\] must name words of \[words\], got 'aple', did you mean 'apple'"),
        ('apple = "Apfel"', "line 4: a word must be of lower-case letters, or `.` or `.`, got 'Apfel'"),
        ('apple = "roter apfel"', "line 4: a word must be of lower-case letters"),
        ("apple = 3", "line 4: a word must be of lower-case letters, .* got 3"),
        ('apple = "cat"', r"\[translate\] must give each word its own translation, got 'cat' twice"),
    ],
)
def test_bad_translation_is_refused(table: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^own, .*{message}|^own.*{message}"):
        Language.of(f"{EXTENDED}[translate]\n{table}\n", "own")


# What is refused


def changed(*changes: tuple[str, str]) -> str:
    """OWN with some texts replaced."""
    text = OWN
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return text


LONG = " ".join(["the"] * 20)
REFUSED: list[tuple[str, str, str]] = [
    # (text of the file, a text in the line that must be named, the message after it)
    (changed(("[words]", "[words")), "", r"own\.toml: not a TOML file \(.* line 4"),
    (changed((HEAD, "")), "", "own.toml: the first line must be `format = \"groundling-language-1\"`, got None"),
    (changed(("language-1", "language-9")), "format", "the first line must be .*, got 'groundling-language-9'"),
    (changed(("[phrases]", "[phrase]")), "[phrase]", "keys must be format, .*, got 'phrase', did you mean 'phrases'"),
    (changed(("nothing =", "nothin =")), "nothin =", "keys must be format, .*, got 'nothin'"),
    (changed(('"nothing"', '"zero"')), "nothing =", r"nothing must be a word of \[words\], got 'zero'"),
    (changed(('"nothing"', "3")), "nothing =", "nothing must be a string, got 3"),
    (f'{HEAD}extends = "mine"\n', "extends", 'extends must be "paper", got \'mine\''),
    (f"{HEAD}[words]\n", "", r"own\.toml: it must have a table \[slots\]; or write `extends = \"paper\"`"),
    (f"{HEAD}words = 3\n", "words", r"\[words\] must be a table, got 3"),
    # words
    (changed(('"apple cat dog"', '"apple Cat dog"')), "object =", "a word must be of lower-case letters"),
    (changed(('"apple cat dog"', '"apple cat cat"')), "object =", "words of class object must be at least one, each"),
    (changed(('"apple cat dog"', '""')), "object =", "words of class object must be at least one, each once"),
    (changed(('"apple cat dog"', "3")), "object =", "words of class object must be a string of words, got 3"),
    (changed(("direction = ", "directions = ")), "[words]", r"\[words\] must have the class direction, got object, "),
    (changed(("east north northeast", "east up northeast")), "direction =", "direction must be one of east, north, .*"
     "got 'up'.*; write .words.direction. as a table such as east = \"up\""),
    (changed((" southwest west", "")), "direction =", r"\[words\.direction\] must have a word for each of east, north"),
    # slots
    (changed(('obj = "object"', 'obj = "objet"')), 'obj = "objet"', r"slot obj must have a class of \[words\], got "
     "'objet', did you mean 'object'"),
    (changed(('how = "filler"', '"h o" = "filler"')), '"h o"', "slot must be a name of letters, digits and _, got 'h o'"),
    # references
    (changed(('object = "{obj}"', 'object = "{objj}"')), "{objj}", "reference object must consist of slots such as "
     "{obj}, got '{objj}', did you mean 'obj'"),
    (changed(('object = "{obj}"', 'object = "{how}"')), "{how}", "slot {how} must be an attribute, got one of class 'fil"),
    (changed(('"{loc} of agent"', '"{obj} of agent"')), "near_agent =", "slot {obj} must be a direction, got one of cl"),
    (changed(('"{loc} of agent"', '"{loc} of agnt"')), "near_agent =", r"'agnt' is no reference of \[references\]"),
    (changed(('"{loc} of agent"', '"{loc} {loc2} of agent"')), "near_agent =", "a step must be one direction slot, got"),
    (changed(('"{loc} of agent"', '""')), "near_agent =", "reference near_agent must be a string such as .*, got ''"),
    (changed(('"{loc} of agent"', '"between {obj}"')), "near_agent =", 'must be "between {obj} and {obj2}", got'),
    (changed(('"{loc} of object"', '"{loc} of near_object"')), "near_object =", "reference near_object must not refer to "
     "itself, got near_object -> near_object; name another one"),
    (changed(('"{loc} of object"', '"{loc} of near_agent"'), ('"{loc} of agent"', '"{loc2} of near_object"')),
     "near_agent =", "reference .* must not refer to itself, got near_agent -> near_object -> near_agent"),
    (changed(('"{loc} of object"', '"{loc} of near_agent"')), "near_object =", "must use each slot once, got .*; add slots"),
    (changed(('"{loc} of object"', '"{obj} {obj}"')), "near_object =", "must use each slot once"),
    (changed(('loc2 = "direction"', 'obj2 = "object"'), ('"{loc} of object"', '"{obj} {obj2}"')), "near_object =",
     "a description must use each attribute once"),
    # types
    (changed(('reference = "near_agent"', 'reference = "near"')), "ask =", r"reference must be one of \[references\], got "
     "'near', did you mean 'near_agent'"),
    (changed(('asked = "object"', 'asked = "objet"')), "ask =", "asked must be one of go, object, direction, got 'objet', "
     "did you mean 'object'"),
    (changed(('asked = "object"', 'asked = "color"')), "ask =", "asked must be one of go, object, direction, got 'color'"),
    (changed(('asked = "go", ', "")), "nav =", "type nav must have reference, asked and frames, got"),
    (changed(('asked = "go"', 'asked = "object"')), "[types]", r'types must contain a command \(asked = "go"\), got none'),
    (changed(('asked = "go"', 'asked = "go", cell = "any"')), "nav =", 'cell must be "object" or "empty", got \'any\''),
    (changed(('frames = "command"', 'frames = "comand"')), "nav =", r"frames must be a name of \[frames\] or a list of "
     "strings, got 'comand', did you mean 'command'"),
    (changed(('frames = "command"', "frames = []")), "nav =", r"frames must be a name of \[frames\] or a list of strings"),
    (changed(('frames = "command"', "frames = [3]")), "nav =", r"frames must be a name of \[frames\] or a list of str"),
    # a type that no map can trigger
    (changed(('asked = "go"', 'asked = "go", cell = "empty"')), "nav =", "type nav: no map can trigger it: an empty cell "
     "must be the target of a command, and be referred to by a direction or `between`"),
    (changed(('asked = "object"', 'asked = "object", cell = "empty"')), "ask =", "no map can trigger it: an empty cell"),
    (changed(('"{loc} of agent"', '"agent"'), ("in the {loc} ?", "in the thing ?")), "ask =", "no map can trigger it: a "
     "sentence must not refer to the agent's own cell"),
    # wordings
    (changed(("what is in the", "what was in the")), "what was", "type ask: unknown word 'was' in 'what was in the {loc} "
     ".'.*; add it to .words."),
    (changed(("what is in the {loc}", "what is in the {lok}")), "{lok}", "type ask: unknown slot {lok} in .*, did you mean"),
    (changed(("the {loc} ?", "the {loc}")), "what is in", "a sentence must end with ` .` or ` .`, got 'what is in the"),
    (changed(("what is in the {loc} ?", "what ? is in the {loc} ?")), "what ? is", "a sentence must end with"),
    (changed(("what is in the {loc} ?", "what is in the thing ?")), "what is in", "a sentence must contain the slots of "
     r"its reference once \({loc}\), got 'what is in the thing"),
    (changed(("what is in the {loc} ?", "what is in the {loc} of {obj} ?")), "what is in", "must contain the slots of its"),
    (changed(("what is in the {loc} ?", "what is in the {loc} of {loc} ?")), "what is in", "must contain the slots of its"),
    (changed(("what is in the {loc} ?", "{loc ?")), "ask =", "braces must enclose a slot or phrase, got '{loc"),
    (changed(("what is in the {loc} ?", "")), "", "a sentence must have 2 to 24 words, got 0"),
    (changed(("what is in the {loc}", f"what is in {LONG} {{loc}}")), "the the", "a sentence must have 2 to 24 words, got "
     "25: 'what is in the the"),
    (changed(('"go to", "to"', '"go to", "{verb} to"')), "", "phrases must not contain themselves, got"),
    (changed(('verb = ["go to", "to"]', 'verb = ["{more}"]\nmore = ["{verb}"]')), "", "phrases must not contain them"),
    (changed(('verb = ["go to", "to"]', 'verb = "go to"')), "verb =", "phrase verb must be a list of strings, got 'go to'"),
    # ambiguous sentences
    (OWN + 'two = { reference = "object", asked = "go", frames = ["to the {obj} ."] }\n', "two =", "ambiguous sentences: "
     "type two has 'to the {obj} .', and type nav has 'to the {obj} .'; change one wording"),
    (OWN + 'two = { reference = "near_agent", asked = "go", frames = ["what is in the {loc} ?"] }\n', "", "ambiguous sent"),
    (changed(("quickly", "quickly go")), "", "ambiguous sentences: type nav has .*, and type nav has"),
    # additions
    (f'{EXTENDED}[words]\n"shape+" = "round"\n', '"shape+"', r"shape\+ must add to a string or list of the same name, got "),
    (f'{EXTENDED}[phrases]\n"verb+" = "run to"\n', '"verb+"', r"verb\+ must add to a string or list of the same name"),
    # attributes
    (OWN + "[attributes]\nshade = { of = 'icon' }\n", "shade =", "attribute shade must be a class of your own"),
    (OWN + "[attributes]\nobject = { of = 'icon' }\n", "object =", "attribute object must be a class of your own"),
    (OWN + "[attributes]\nfiller = { of = 'moon' }\n", "filler =", 'attribute filler must be { of = "icon" }, or of "pla'),
    (OWN + "[attributes]\nfiller = { of = 'map' }\n", "filler =", "attribute filler of a place or map must have a rule"),
    (OWN + "[attributes]\nfiller = { of = 'icon', rule = 'a.py:b' }\n", "filler =", "must have a rule, and one of icons no"),
    (OWN + "[attributes]\nfiller = { of = 'map', rule = 'os:system' }\n", "filler =", 'must be "file.py:function", got '),
    (OWN + "[attributes]\nfiller = { of = 'map', rule = '../a.py:b' }\n", "filler =", 'must be "file.py:function", got '),
    (OWN + "[attributes]\nfiller = { of = 'map', rule = 'a.py:b' }\n", "filler =", r"file .*a\.py does not exist"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "message"), REFUSED, ids=range(len(REFUSED)))
def test_bad_file_is_refused_with_file_line_and_cure(tmp_path: Path, text: str, line: str, message: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        Language.load(path)
    found = str(caught.value).replace(str(path), "own.toml")
    assert re.search(message, found), found
    assert len(found) < 500
    if line:
        numbers = [number for number, content in enumerate(text.splitlines(), 1) if line in content]
        assert re.match(rf"own\.toml, line ({'|'.join(map(str, numbers))}): ", found), found
    else:
        assert found.startswith("own.toml")

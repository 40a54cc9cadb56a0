"""Language files that are refused, each with file, line and cure."""

import re
from pathlib import Path

import pytest

from groundling.errors import InputError
from groundling.teacher.grammar import Grammar
from groundling.teacher.language import Language
from groundling.world.catalog import Catalog
from tests.teacher.languages import EXTENDED, HEAD, OWN, WITH_SIZE


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


LONG = " ".join(["the"] * 20)
Change = str | list[str]
"""A text to add to OWN, a whole file, or texts of OWN and what replaces them, in turn."""


def changed(change: Change) -> str:
    if isinstance(change, str):
        return change if change.startswith(HEAD) else OWN + change
    text = OWN
    for old, new in zip(change[::2], change[1::2], strict=True):
        assert old in text
        text = text.replace(old, new, 1)
    return text


REFUSED: list[tuple[Change, str, str]] = [
    # a change, a text in the line that must be named, and the message
    (["[words]", "[words"], "", r"own\.toml: not a TOML file \(.* line 4"),
    ([HEAD, ""], "", "own.toml: the first line must be `format = \"groundling-language-1\"`, got None"),
    (["language-1", "language-9"], "format", "the first line must be .*, got 'groundling-language-9'"),
    (["[phrases]", "[phrase]"], "[phrase]", "keys must be format, .*, got 'phrase', did you mean 'phrases'"),
    (["nothing =", "nothin ="], "nothin =", "keys must be format, .*, got 'nothin'"),
    (['"nothing"', '"zero"'], "nothing =", r"nothing must be a word of \[words\], got 'zero'"),
    (['"nothing"', "3"], "nothing =", "nothing must be a string, got 3"),
    (f'{HEAD}extends = "mine"\n', "extends", 'extends must be "paper", got \'mine\''),
    (f"{HEAD}[words]\n", "", r"own\.toml: it must have a table \[slots\]; or write `extends = \"paper\"`"),
    (f"{HEAD}words = 3\n", "words", r"\[words\] must be a table, got 3"),
    # words
    (['"apple cat dog"', '"apple Cat dog"'], "object =", "a word must be of lower-case letters"),
    (['"apple cat dog"', '"apple cat cat"'], "object =", "words of class object must be at least one, each"),
    (['"apple cat dog"', '""'], "object =", "words of class object must be at least one, each once"),
    (['"apple cat dog"', "3"], "object =", "words of class object must be a string of words, got 3"),
    (["direction = ", "directions = "], "[words]", r"\[words\] must have the class direction, got object, "),
    (["east north northeast", "east up northeast"], "direction =", "direction must be one of east, north, .*"
     "got 'up'.*; write .words.direction. as a table such as east = \"up\""),
    ([" southwest west", ""], "direction =", r"\[words\.direction\] must have a word for each of east, north"),
    # slots
    (['obj = "object"', 'obj = "objet"'], 'obj = "objet"', r"slot obj must have a class of \[words\], got "
     "'objet', did you mean 'object'"),
    (['how = "filler"', '"h o" = "filler"'], '"h o"', "slot must be a name of letters, digits and _, got 'h o'"),
    # references
    (['object = "{obj}"', 'object = "{objj}"'], "{objj}", "reference object must consist of slots such as "
     "{obj}, got '{objj}', did you mean 'obj'"),
    (['object = "{obj}"', 'object = "{how}"'], "{how}", "slot {how} must be an attribute, got one of class 'fil"),
    (['"{loc} of agent"', '"{obj} of agent"'], "near_agent =", "slot {obj} must be a direction, got one of cl"),
    (['"{loc} of agent"', '"{loc} of agnt"'], "near_agent =", r"'agnt' is no reference of \[references\]"),
    (['"{loc} of agent"', '"{loc} {loc2} of agent"'], "near_agent =", "a step must be one direction slot, got"),
    (['"{loc} of agent"', '""'], "near_agent =", "reference near_agent must be a string such as .*, got ''"),
    (['"{loc} of agent"', '"between {obj}"'], "near_agent =", 'must be "between {obj} and {obj2}", got'),
    (['"{loc} of object"', '"{loc} of near_object"'], "near_object =", "reference near_object must not refer to "
     "itself, got near_object -> near_object; name another one"),
    (['"{loc} of object"', '"{loc} of near_agent"', '"{loc} of agent"', '"{loc2} of near_object"'],
     "near_object =", "reference .* must not refer to itself, got near_agent -> near_object -> near_agent"),
    (['"{loc} of object"', '"{loc} of near_agent"'], "near_object =", "must use each slot once, got .*; add slots"),
    (['"{loc} of object"', '"{obj} {obj}"'], "near_object =", "must use each slot once"),
    (['loc2 = "direction"', 'obj2 = "object"', '"{loc} of object"', '"{obj} {obj2}"'], "near_object =",
     "a description must use each attribute once"),
    # types
    (['reference = "near_agent"', 'reference = "near"'], "ask =", r"reference must be one of \[references\], got "
     "'near', did you mean 'near_agent'"),
    (['asked = "object"', 'asked = "objet"'], "ask =", "asked must be one of go, object, direction, got 'objet', "
     "did you mean 'object'"),
    (['asked = "object"', 'asked = "color"'], "ask =", "asked must be one of go, object, direction, got 'color'"),
    (['asked = "go", ', ""], "nav =", "type nav must have reference, asked and frames, got"),
    (['asked = "go"', 'asked = "object"'], "[types]", r'types must contain a command \(asked = "go"\), got none'),
    (['asked = "go"', 'asked = "go", cell = "any"'], "nav =", 'cell must be "object" or "empty", got \'any\''),
    (['frames = "command"', 'frames = "comand"'], "nav =", r"frames must be a name of \[frames\] or a list of "
     "strings, got 'comand', did you mean 'command'"),
    (['frames = "command"', "frames = []"], "nav =", r"frames must be a name of \[frames\] or a list of strings"),
    (['frames = "command"', "frames = [3]"], "nav =", r"frames must be a name of \[frames\] or a list of str"),
    # a type that no map can trigger
    (['asked = "go"', 'asked = "go", cell = "empty"'], "nav =", "type nav: no map can trigger it: an empty cell "
     "must be the target of a command, and be referred to by a direction or `between`"),
    (['asked = "object"', 'asked = "object", cell = "empty"'], "ask =", "no map can trigger it: an empty cell"),
    (['"{loc} of agent"', '"agent"', "in the {loc} ?", "in the thing ?"], "ask =", "no map can trigger it: a "
     "sentence must not refer to the agent's own cell"),
    # wordings
    (["what is in the", "what was in the"], "what was", "type ask: unknown word 'was' in 'what was in the {loc} "
     ".'.*; add it to .words."),
    (["what is in the {loc}", "what is in the {lok}"], "{lok}", "type ask: unknown slot {lok} in .*, did you mean"),
    (["the {loc} ?", "the {loc}"], "what is in", "a sentence must end with ` .` or ` .`, got 'what is in the"),
    (["what is in the {loc} ?", "what ? is in the {loc} ?"], "what ? is", "a sentence must end with"),
    (["what is in the {loc} ?", "what is in the thing ?"], "what is in", "a sentence must contain the slots of "
     r"its reference once \({loc}\), got 'what is in the thing"),
    (["what is in the {loc} ?", "what is in the {loc} of {obj} ?"], "what is in", "must contain the slots of its"),
    (["what is in the {loc} ?", "what is in the {loc} of {loc} ?"], "what is in", "must contain the slots of its"),
    (["what is in the {loc} ?", "{loc ?"], "ask =", "braces must enclose a slot or phrase, got '{loc"),
    (["what is in the {loc} ?", ""], "", "a sentence must have 2 to 24 words, got 0"),
    (["what is in the {loc}", f"what is in {LONG} {{loc}}"], "the the", "a sentence must have 2 to 24 words, got "
     "25: 'what is in the the"),
    (['"go to", "to"', '"{verb} to", "go to"'], "", "phrases must not contain themselves, got"),
    (['verb = ["go to", "to"]', 'verb = ["{more}"]\nmore = ["{verb}"]'], "", "phrases must not contain them"),
    (['verb = ["go to", "to"]', 'verb = "go to"'], "verb =", "phrase verb must be a list of strings, got 'go to'"),
    # ambiguous sentences
    ('two = { reference = "object", asked = "go", frames = ["{how} to the {obj} ."] }\n', "two =", "ambiguous "
     "sentences: type two has '{how} to the {obj} .', and type nav has '{how} to the {obj} .'; change one wording"),
    ('two = { reference = "near_agent", asked = "go", frames = ["what is in the {loc} ?"] }\n', "", "ambiguous sent"),
    (['"apple cat dog"', '"apple cat north"', "[types]", """[types]
two = { reference = "near_agent", asked = "go", frames = ["{how} to the {loc} ."] }
"""], "nav =", "ambiguous sentences: type nav has '{how} to the {obj} .', and type two has '{how} to the {loc}"),
    # additions
    (f'{EXTENDED}[words]\n"shape+" = "round"\n', '"shape+"', r"shape\+ must add to a string or list of the same name"),
    (f'{EXTENDED}[phrases]\n"verb+" = "run to"\n', '"verb+"', r"verb\+ must add to a string or list of the same name"),
    # attributes
    ("[attributes]\nshade = { of = 'icon' }\n", "shade =", "attribute shade must be a class of your own"),
    ("[attributes]\nobject = { of = 'icon' }\n", "object =", "attribute object must be a class of your own"),
    ("[attributes]\nfiller = { of = 'moon' }\n", "filler =", 'attribute filler must be { of = "icon" }, or of "pla'),
    ("[attributes]\nfiller = { of = 'map' }\n", "filler =", "attribute filler of a place or map must have a rule"),
    ("[attributes]\nfiller = { of = 'icon', rule = 'a.py:b' }\n", "filler =", "must have a rule, and one of icons no"),
    ("[attributes]\nfiller = { of = 'map', rule = 'os:system' }\n", "filler =", 'must be "file.py:function", got '),
    ("[attributes]\nfiller = { of = 'map', rule = '../a.py:b' }\n", "filler =", 'must be "file.py:function", got '),
    ("[attributes]\nfiller = { of = 'map', rule = 'a.py:b' }\n", "filler =", r"file .*a\.py does not exist"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "line", "message"), REFUSED, ids=range(len(REFUSED)))
def test_bad_file_is_refused_with_file_line_and_cure(tmp_path: Path, change: Change, line: str, message: str) -> None:
    path, text = tmp_path / "own.toml", changed(change)
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


def test_rule_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    text = OWN + "[attributes]\nfiller = { of = 'map', rule = 'rules.py:side' }\n"
    line = text.splitlines().index("filler = { of = 'map', rule = 'rules.py:side' }") + 1
    with pytest.raises(InputError, match="rule of filler is Python code, which only a language file may name: give"):
        Language.of(text)
    path, rules = tmp_path / "own.toml", tmp_path / "rules.py"
    path.write_text(text)
    for code, message in (
        ("x = 1 / 0", r"rules\.py failed: ZeroDivisionError"),
        ("def side(", r"rules\.py failed: SyntaxError"),
        ("side = 3", r"rules\.py must define the function side"),
    ):
        rules.write_text(code)
        # The first `filler =` is that of [words].
        with pytest.raises(InputError, match=rf"own\.toml, line ({line}|8): rule of filler: .*{message}"):
            Language.load(path)


def test_unknown_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"language file .*none\.toml.*no such file"):
        Language.load(tmp_path / "none.toml")
    with pytest.raises(InputError, match="sentence type must be one of nav, ask, got 'nvv', did you mean 'nav'"):
        Language.of(OWN).type("nvv")


def test_type_that_no_icon_can_trigger_is_refused(catalog: Catalog) -> None:
    """Icons have an attribute, but none of them has one of its words together with another attribute."""
    text = f"""{WITH_SIZE}[references]
sized = "{{size}} {{col}}"
[types]
nav_size = {{ reference = "sized", asked = "go", frames = ["go to the {{size}} {{col}} one ."] }}
"""
    language = Language.of(text, "own")
    with pytest.raises(InputError, match="icons must have the attribute 'size', got none"):
        Grammar(language, catalog)
    large = catalog.with_variants("size", {"large": lambda image: image})
    with pytest.raises(
        InputError, match=r"own: no map can trigger type nav_size: no icon can be described by \{size\} \{col"
    ):
        Grammar(language, large)
    assert Grammar(language, catalog.with_variants("size", {"big": lambda image: image})).count()["nav_size"] == (1, 8)

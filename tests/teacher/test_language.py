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
  "{{how}} {{verb}} {{np}} .",
  "{{verb}} {{np}} {{how}} .",
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
    text = f"""{EXTENDED}[words]
size = "small big"
[slots]
size = "size"
[attributes]
size = {{ of = "icon" }}
[references]
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


# What words of a user refer to, against a second implementation


class Spec(NamedTuple):
    """A sentence type as the second implementation reads it: the slots that describe an object (none: the agent), the
    slots of the steps from there, and what is asked."""

    described: tuple[str, ...]
    steps: tuple[str, ...]
    asked: str


Words = Callable[[World, MapObject], dict[str, str | None]]
"""The word of each slot for an object."""


def expected_sentences(world: World, words: Words, specs: dict[str, Spec]) -> set[tuple[str, tuple[str, ...], str]]:
    """(type, words in the slots, target or answer): all fillings are tried."""
    described = {item: words(world, item) for item in world.objects}
    found = set()
    for type_, spec in specs.items():
        choices = [sorted({w for of_item in described.values() if (w := of_item[slot])}) for slot in spec.described]
        for filling in itertools.product(*choices, *([DIRECTIONS] * len(spec.steps))):
            named, steps = filling[: len(spec.described)], filling[len(spec.described) :]
            cell = referred(world, described, dict(zip(spec.described, named, strict=True)), steps)
            outcome = cell and judged(world, described, cell, spec)
            if outcome is not None:
                found.add((type_, tuple(filling), outcome))
    return found


def referred(
    world: World, described: dict[MapObject, dict[str, str | None]], wanted: dict[str, str], steps: tuple[str, ...]
) -> Cell | None:
    """The cell that words refer to, or None."""
    cell, start = world.agent, None
    if wanted:
        fits = [item for item, words in described.items() if all(words[slot] == w for slot, w in wanted.items())]
        if len(fits) != 1 or fits[0].at == world.agent:
            return None
        others = [words for item, words in described.items() if item != fits[0]]
        if len(wanted) > 1 and not any(words[slot] == w for words in others for slot, w in wanted.items()):
            return None
        cell = start = fits[0].at
    for k, step in enumerate(steps):
        cell = next_to(cell, step)
        if cell == start:  # a way back to what the sentence names
            return None
        if k < len(steps) - 1 and (cell == world.agent or all(item.at != cell for item in world.objects)):
            return None
    return cell


def judged(world: World, described: dict[MapObject, dict[str, str | None]], cell: Cell, spec: Spec) -> str | None:
    """The target or answer, or None if the sentence is not possible."""
    there = [words for item, words in described.items() if item.at == cell != world.agent]
    if not there:
        return "nothing" if spec.asked == "obj" and spec.steps and is_empty(world, cell) else None
    if spec.asked == "go":
        return str(cell) if reachable(world, cell) else None
    if spec.asked == "loc":
        near = [name for name in DIRECTIONS if next_to(world.agent, name) == cell]
        return near[0] if near else None
    return there[0][spec.asked]


def compare(teacher: Teacher, words: Words, specs: dict[str, Spec], maps: int, most: int = 10) -> None:
    """On random maps, after up to three random moves, the teacher may say exactly what the second implementation says;
    each type occurs more often than `most`, and what it says in the episodes themselves is among it."""
    size, rng = teacher.world.size, np.random.default_rng(1)
    episode = teacher.begin(5, np.arange(maps))
    types = Counter[str]()
    for step in range(4):
        referred_to = teacher.referred_positions(episode, episode.question)
        for b in range(maps):
            state = State(*(array[b : b + 1] for array in episode.state))
            grid = state.grid[0].tolist()
            objects = map_objects(teacher.catalog, grid, state.objects[0].tolist(), size)
            walls = {divmod(position, size) for position, cell in enumerate(grid) if cell == WALL}
            world = World(size, objects, walls, divmod(int(state.agent[0]), size))
            found, exact = set(), {}
            for valid in valid_sentences(teacher, state):
                if valid.type not in specs:
                    continue
                spec = specs[valid.type]
                slots = tuple(valid.slots[slot] for slot in (*spec.described, *spec.steps))
                word = teacher.lexicon.words[valid.outcome]
                outcome = str(divmod(valid.outcome, size)) if spec.asked == "go" else word
                found.add((valid.type, slots, outcome))
                exact[valid.type, slots] = valid
            assert found == expected_sentences(world, words, specs), (step, b)
            types.update(type_ for type_, _, _ in found)
            question = teacher.meaning(episode.question, b)
            if question is not None and question.type in specs:
                spec = specs[question.type]
                slots = tuple(question.slots[slot] for slot in (*spec.described, *spec.steps))
                assert exact[question.type, slots].outcome == episode.question.answer[b]
                described = {item: words(world, item) for item in world.objects}
                wanted = {slot: question.slots[slot] for slot in spec.described}
                cell = referred(world, described, wanted, slots[len(spec.described) :])
                assert divmod(int(referred_to[b]), size) == cell
        episode, outcome_of_step = teacher.step(episode, rng.integers(0, 4, maps))
        running = ~(outcome_of_step.terminated | outcome_of_step.truncated)
        episode, maps = episode.select(running), int(running.sum())
    assert set(types) == set(specs)
    assert min(types.values()) > most, types


TWO_STEPS = f"""{EXTENDED}[slots]
loc2 = "direction"
[references]
two_steps = "{{loc2}} of near_object"
two_steps_from_agent = "{{loc2}} of near_agent"
[types]
nav_two = {{ reference = "two_steps", asked = "go", frames = [
  "go to the object in the {{loc2}} of the object in the {{loc}} of the {{obj}} .",
] }}
rec_two2obj = {{ reference = "two_steps", asked = "object", frames = [
  "what is in the {{loc2}} of the object in the {{loc}} of the {{obj}} ?",
] }}
rec_two2col = {{ reference = "two_steps", asked = "color", frames = [
  "what is the color of the object in the {{loc2}} of the object in the {{loc}} of the {{obj}} ?",
] }}
rec_agent2obj = {{ reference = "two_steps_from_agent", asked = "object", frames = [
  "what is in the {{loc2}} of the object in the {{loc}} ?",
] }}
"""


def name_and_color(world: World, item: MapObject) -> dict[str, str | None]:
    return {"obj": item.name, "col": item.color}


def test_reference_of_two_steps() -> None:
    """On crowded maps, with and without walls, half of them of these types."""
    language = Language.of(TWO_STEPS)
    assert language.type("rec_two2obj").fewest_objects == 3
    assert language.max_words == 20
    specs = {
        "nav_two": Spec(("obj",), ("loc", "loc2"), "go"),
        "rec_two2obj": Spec(("obj",), ("loc", "loc2"), "obj"),
        "rec_two2col": Spec(("obj",), ("loc", "loc2"), "col"),
        "rec_agent2obj": Spec((), ("loc", "loc2"), "obj"),
    }
    for world in (WorldConfig(size=4, objects=(3, 8), walls=(0, 3)), WorldConfig(size=5, objects=(3, 7), walls=(0, 0))):
        sampling = SamplingConfig(type_balanced_fraction=0.5, types=tuple(specs))
        compare(Teacher(world, sampling=sampling, language=language), name_and_color, specs, maps=60)


def test_sentences_of_two_steps_are_asked_and_parsed() -> None:
    teacher = Teacher(
        WorldConfig(objects=(3, 5)),
        sampling=SamplingConfig(type_balanced_fraction=1.0, types=("rec_two2obj",)),
        language=Language.of(TWO_STEPS),
    )
    episode = teacher.begin(0, np.arange(200))
    assert {teacher.language.type_names[t] for t in episode.question.type} == {"rec_two2obj"}
    nothing = (episode.question.answer == teacher.lexicon.token["nothing"]).mean()
    assert 0.03 < nothing < 0.2  # one in ten
    for b in range(200):
        text = teacher.text(episode.question, b)
        assert re.fullmatch(r"What is in the \w+ of the object in the \w+ of the \w+\?", text)
        assert teacher.grammar.parse(teacher.lexicon.encode(text)) == teacher.meaning(episode.question, b)


def test_attribute_of_icons(catalog: Catalog) -> None:
    """Only some icons have the attribute; a description of three words needs another object that shares one of them."""
    text = f"""{EXTENDED}[words]
"grammatical+" = "size"
size = "small big"
[slots]
size = "size"
[attributes]
size = {{ of = "icon" }}
[references]
sized = "{{size}}"
sized_object = "{{size}} {{obj}}"
all_three = "{{size}} {{col}} {{obj}}"
[types]
nav_size = {{ reference = "sized", asked = "go", frames = ["go to the {{size}} object ."] }}
nav_size_obj = {{ reference = "sized_object", asked = "go", frames = ["go to the {{size}} {{obj}} ."] }}
rec_all2loc = {{ reference = "all_three", asked = "direction", frames = ["where is the {{size}} {{col}} {{obj}} ?"] }}
rec_obj2size = {{ reference = "object", asked = "size", frames = ["what is the size of the {{obj}} ?"] }}
"""
    names = ["apple", "cat", "dog", "fox"]
    sides = {"small": lambda image: image // 2, "medium": lambda image: image, "big": lambda image: 255 - image}
    icons = catalog.only(names).with_variants("size", sides)
    language = Language.of(text)
    assert [attribute.name for attribute in language.attributes] == ["object", "color", "size"]
    grammar = Grammar(language, icons)
    assert grammar.count()["nav_size_obj"] == (1, 8)
    assert grammar.count()["rec_all2loc"] == (1, 2 * len(icons.pairs))
    teacher = Teacher(
        WorldConfig(size=4, objects=(2, 6), walls=(0, 2)),
        catalog=icons,
        sampling=SamplingConfig(type_balanced_fraction=0.5),
        language=language,
    )
    # The second implementation knows objects by their icon.
    by_icon = {icon: icons.attributes["size"][icon] for icon in range(len(icons.icon_class))}
    sized = {"small": "small", "big": "big", "medium": None}
    episode = teacher.begin(5, np.arange(150))
    specs = {
        "nav_size": Spec(("size",), (), "go"),
        "nav_size_obj": Spec(("size", "obj"), (), "go"),
        "rec_all2loc": Spec(("size", "col", "obj"), (), "loc"),
        "rec_obj2size": Spec(("obj",), (), "size"),
    }
    current: dict[tuple[Cell, ...], dict[Cell, str | None]] = {}
    for grid, objects in zip(episode.state.grid.tolist(), episode.state.objects.tolist(), strict=True):
        at = [position for position in objects if position >= 0]
        sizes = {divmod(position, 4): sized[str(by_icon[grid[position] - 4])] for position in at}
        key = tuple((item.at, item.name, item.color) for item in map_objects(icons, grid, objects, 4))
        current[key] = sizes  # type: ignore[index]

    def words(world: World, item: MapObject) -> dict[str, str | None]:
        key = tuple((other.at, other.name, other.color) for other in world.objects)
        return {"obj": item.name, "col": item.color, "size": current[key][item.at]}  # type: ignore[index]

    compare(teacher, words, specs, maps=150)


RULES = """
def side(row, column, size):
    if 2 * column == size - 1:
        return None
    return "left" if 2 * column < size else "right"


def crowd(grid, size, agent, objects, count, i):
    near = 0
    for j in range(count):
        rows, columns = objects[i] // size - objects[j] // size, objects[i] % size - objects[j] % size
        if j != i and abs(rows) <= 1 and abs(columns) <= 1:
            near += 1
    return near if near < 3 else -1


def reach(grid, size, agent, objects, count, i):
    return 0 if objects[i] // size == agent // size else 1
"""


def side_and_crowd(world: World, item: MapObject) -> dict[str, str | None]:
    """What RULES say, with other words for the same."""
    middle = (world.size - 1) / 2
    side = None if item.at[1] == middle else "left" if item.at[1] < middle else "right"
    near = [o for o in world.objects if o != item and max(abs(o.at[k] - item.at[k]) for k in (0, 1)) == 1]
    crowd = dict(enumerate(("lonely", "paired", "crowded"))).get(len(near))
    reach = "level" if item.at[0] == world.agent[0] else "apart"
    return {"obj": item.name, "col": item.color, "side": side, "crowd": crowd, "reach": reach}


@pytest.fixture
def language_with_rules(tmp_path: Path) -> Language:
    """Attributes of places and of maps, each with a rule in a file beside the language."""
    (tmp_path / "rules.py").write_text(RULES)
    (tmp_path / "own.toml").write_text(f"""{EXTENDED}[words]
"grammatical+" = "crowd"
side = "left right"
crowd = "lonely paired crowded"
reach = "level apart"
[slots]
side = "side"
crowd = "crowd"
reach = "reach"
[attributes]
side = {{ of = "place", rule = "rules.py:side" }}
crowd = {{ of = "map", rule = "rules.py:crowd" }}
reach = {{ of = "map", rule = "rules.py:reach" }}
[references]
on_side = "{{side}} {{obj}}"
in_crowd = "{{crowd}}"
in_reach = "{{reach}} {{crowd}}"
[types]
nav_side_obj = {{ reference = "on_side", asked = "go", frames = ["go to the {{side}} {{obj}} ."] }}
nav_crowd = {{ reference = "in_crowd", asked = "go", frames = ["go to the {{crowd}} object ."] }}
rec_reach2obj = {{ reference = "in_reach", asked = "object", frames = ["what is the {{reach}} {{crowd}} object ?"] }}
rec_obj2side = {{ reference = "object", asked = "side", frames = ["on which side is the {{obj}} {{prep}} you ?"] }}
rec_obj2crowd = {{ reference = "object", asked = "crowd", frames = ["what crowd is the {{obj}} in ?"] }}
""")
    return Language.load(tmp_path / "own.toml")


@pytest.mark.slow
@pytest.mark.usefixtures("no_kernel_cache")
def test_attributes_of_places_and_maps(language_with_rules: Language, catalog: Catalog) -> None:
    """Their values can change while the agent moves."""
    assert [attribute.source for attribute in language_with_rules.attributes] == ["icon", "icon", "place", "map", "map"]
    specs = {
        "nav_side_obj": Spec(("side", "obj"), (), "go"),
        "nav_crowd": Spec(("crowd",), (), "go"),
        "rec_reach2obj": Spec(("reach", "crowd"), (), "obj"),
        "rec_obj2side": Spec(("obj",), (), "side"),
        "rec_obj2crowd": Spec(("obj",), (), "crowd"),
    }
    teacher = Teacher(
        WorldConfig(size=5, objects=(2, 7), walls=(0, 2)),
        catalog=catalog.only(["apple", "cat", "dog", "fox"]),
        sampling=SamplingConfig(type_balanced_fraction=0.5),
        language=language_with_rules,
    )
    compare(teacher, side_and_crowd, specs, maps=100)
    assert language_with_rules.text is None  # it cannot be stored without its Python code
    for phase in ("train", "test"):
        split = Split.draw("zs1", 50, 0, teacher.grammar)
        held = Teacher(teacher.world, split, phase, teacher.catalog, language=language_with_rules)
        episode = held.begin(0, np.arange(300))
        for sentences in (episode.command, episode.question):
            for b in range(300):
                meaning = held.meaning(sentences, b)
                assert meaning is None or split.allows(meaning, phase)


def test_rule_of_places_that_returns_no_word_of_its_class_is_refused(language_with_rules: Language) -> None:
    (side,) = [attribute for attribute in language_with_rules.attributes if attribute.name == "side"]
    assert side.rule is not None
    assert [side.rule(0, column, 3) for column in range(3)] == ["left", None, "right"]
    object.__setattr__(side, "rule", lambda row, column, size: "up")
    with pytest.raises(InputError, match="word of the rule of side must be one of left, right, got 'up'"):
        Teacher(language=language_with_rules)


# Several languages at once


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


def test_verbalized_sentences_of_a_user_parse_back() -> None:
    teacher = Teacher(WorldConfig(objects=(3, 5)), language=Language.of(TWO_STEPS))
    episode, rng = teacher.begin(1, np.arange(10)), np.random.default_rng(0)
    for b in range(10):
        for valid in valid_sentences(teacher, State(*(array[b : b + 1] for array in episode.state))):
            meaning = teacher.grammar.parse(teacher.lexicon.encode(verbalize(teacher, valid, rng)))
            assert valid.matches(meaning)

"""References and attributes of a user: what the teacher says is what a second implementation says."""

import re
from pathlib import Path

import numpy as np
import pytest

from groundling.errors import InputError
from groundling.teacher.grammar import Grammar
from groundling.teacher.language import Language
from groundling.teacher.splits import Split
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import SamplingConfig
from groundling.teacher.valid_sentences import valid_sentences, verbalize
from groundling.world.catalog import Catalog
from groundling.world.types import State, WorldConfig
from tests.independent_judge import Cell, MapObject, World
from tests.teacher.independent_references import Spec, compare
from tests.teacher.languages import EXTENDED, TWO_STEPS, WITH_SIZE
from tests.teacher.test_teacher import map_objects


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
    text = f"""{WITH_SIZE}[references]
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


def test_verbalized_sentences_of_a_user_parse_back() -> None:
    teacher = Teacher(WorldConfig(objects=(3, 5)), language=Language.of(TWO_STEPS))
    episode, rng = teacher.begin(1, np.arange(10)), np.random.default_rng(0)
    for b in range(10):
        for valid in valid_sentences(teacher, State(*(array[b : b + 1] for array in episode.state))):
            meaning = teacher.grammar.parse(teacher.lexicon.encode(verbalize(teacher, valid, rng)))
            assert valid.matches(meaning)

"""Why a sentence has no correct outcome in a scene, in words."""

from dataclasses import replace

from groundling.page.scene import Scene
from groundling.teacher.language_file import COLOR, OBJECT
from groundling.teacher.types import Meaning
from groundling.teacher.valid_sentences import valid_sentences
from groundling.world.catalog import COLOR_NAMES, NO_COLOR
from groundling.world.scenario import Scenario

OTHER = "This place or fact is not defined in this world, so nothing is right or wrong."
NO_PATH = "No way leads there: walls are around it."
ALREADY_THERE = "The agent is already there."


def explain_missing_outcome(meaning: Meaning, scene: Scene) -> str:
    """Why the teacher would not say a sentence of this meaning in this scene."""
    return _about_objects(meaning, scene) or _about_position(meaning, scene) or OTHER


def _about_objects(meaning: Meaning, scene: Scene) -> str:
    """Whether an object of the sentence is missing, or is there more than once."""
    language = scene.teacher.language
    named = [word for slot, word in meaning.slots.items() if language.slots[slot] == OBJECT]
    colors = [word for slot, word in meaning.slots.items() if language.slots[slot] == COLOR]
    objects = _objects(scene)
    for name in named:
        color = colors[0] if len(named) == 1 and colors and name in {other for other, _ in objects} else None
        described = f"{color} {name}" if color else name
        count = sum(other == name and color in (None, shown) for other, shown in objects)
        if count == 0:
            return f"There is no {described} in this world."
        if count > 1:
            return f"There are {count} objects called “{described}”: any of them would do."
    if colors and not named:
        count = sum(shown == colors[0] for _, shown in objects)
        if count == 0:
            return f"Nothing in this world is {colors[0]}."
        if count > 1:
            return f"{count} objects are {colors[0]}: any of them would do."
    return ""


def _about_position(meaning: Meaning, scene: Scene) -> str:
    """Whether the agent is at the target already, or cannot reach it."""
    scenario = scene.scenario
    if not scene.teacher.language.type(meaning.type).is_command:
        return ""
    free = replace(scenario, walls=())
    taken = {position for position, _ in scenario.objects}
    others = [position for position in range(scenario.size**2) if position not in taken and position != scenario.agent]
    for position in others[:1]:
        if _outcome(meaning, scene, replace(free, agent=position)) == scenario.agent:
            return ALREADY_THERE
    return NO_PATH if _outcome(meaning, scene, free) is not None else ""


def _outcome(meaning: Meaning, scene: Scene, scenario: Scenario) -> int | None:
    sentences = valid_sentences(scene.teacher, scenario.state())
    return next((sentence.outcome for sentence in sentences if sentence.matches(meaning)), None)


def _objects(scene: Scene) -> list[tuple[str, str | None]]:
    """The word and the color of each object."""
    catalog, teacher = scene.teacher.catalog, scene.teacher
    words = teacher.lexicon.class_words(catalog.classes)
    color_words = dict(
        zip(teacher.language.concepts.get(COLOR, ()), teacher.language.word_classes.get(COLOR, ()), strict=True)
    )
    found = []
    for _, icon in scene.scenario.objects:
        color = int(catalog.icon_color[icon])
        name = words[int(catalog.icon_class[icon])]
        found.append((name, None if color == NO_COLOR else color_words.get(COLOR_NAMES[color])))
    return found

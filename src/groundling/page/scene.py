"""Scenes: worlds with user-drawn object classes, sent by clients in the format `groundling-scenario-1`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from groundling.errors import InputError, quote
from groundling.page.limits import Limits
from groundling.page.message import Message
from groundling.page.uploads import decode_png
from groundling.teacher.teacher import Teacher
from groundling.world.catalog import DISPLAY_PIXELS, Catalog
from groundling.world.scenario import KEYS, Scenario, read_position

FORMAT = "groundling-scenario-1"
_SCRIPTED_EPISODE_KEYS = ("target", "max_steps", "actions")
"""Each line of a scripted-episodes file is a scenario too; its other keys are ignored."""
_ICON_BYTES = 24 * 1024
"""Maximum file size of a drawing in a scenario, which is an icon of DISPLAY_PIXELS per side."""

Drawings = tuple[tuple[str, str], ...]
"""(name, PNG in base64) of each user-drawn object class."""


@dataclass(frozen=True)
class Scene:
    """A world, and a teacher for its object classes that may use every sentence."""

    scenario: Scenario
    teacher: Teacher
    sentence: str = ""
    drawings: Drawings = ()

    def to_dict(self) -> dict[str, Any]:
        """The content of a scenario file."""
        record: dict[str, Any] = {"format": FORMAT, **self.scenario.to_dict(self.teacher.catalog)}
        if self.drawings:
            record["drawings"] = dict(self.drawings)
        return {**record, "sentence": self.sentence} if self.sentence else record


def with_agent_at(scene: Scene, name: str, at: Any) -> Scene:
    """The scene with the agent at [row, column], an unchecked field `name` of a message."""
    position = read_position(name, at, scene.scenario.size)
    return replace(scene, scenario=replace(scene.scenario, agent=position))


class SceneReader:
    """Reads scenes with the icons and the map size of a base teacher; teachers with drawings are cached."""

    def __init__(self, base: Teacher, limits: Limits) -> None:
        self.base, self.limits = base, limits
        self.max_objects = max(limits.objects, base.world.objects[1])
        self.teacher = lru_cache(maxsize=16)(self._teacher)

    def read(self, record: Any) -> Scene:
        """Check the content of a scenario file and build its scene."""
        message = Message(record, "scenario")
        file_format = message.optional("format")
        if file_format is not None and file_format != FORMAT:
            raise InputError(f"scenario format must be {FORMAT!r}, got {quote(file_format)}")
        message.ignore(*_SCRIPTED_EPISODE_KEYS)
        has_sentence = message.optional("sentence") not in (None, "")
        sentence = message.text("sentence", self.limits.sentence_chars) if has_sentence else ""
        drawings = self._drawings(message.optional("drawings"))
        parts = {key: message.required(key) for key in KEYS}
        message.end()
        teacher = self.teacher(drawings)
        scenario = Scenario.of(parts, teacher.catalog, self.base.world.size, self.max_objects)
        return Scene(scenario, teacher, sentence, drawings)

    def _drawings(self, record: Any) -> Drawings:
        if record is None:
            return ()
        if not isinstance(record, Mapping) or not all(isinstance(text, str) for text in record.values()):
            raise InputError(f'drawings must be {{"name": "PNG in base64", ...}}, got {quote(record)}')
        if len(record) > self.limits.drawings:
            raise InputError(f"drawings must have at most {self.limits.drawings} entries, got {len(record)}")
        for name in record:
            if len(name) > self.limits.name_chars:
                raise InputError(
                    f"a drawing's name must have at most {self.limits.name_chars} characters, got {quote(name)}"
                )
        return tuple(record.items())

    def _teacher(self, drawings: Drawings) -> Teacher:
        """A teacher without held-out words whose catalog includes the drawings."""
        catalog: Catalog = self.base.catalog
        for name, text in drawings:
            catalog = catalog.with_class(name, decode_png(text, _ICON_BYTES, DISPLAY_PIXELS))
        return Teacher(self.base.world, catalog=catalog, language=self.base.language)

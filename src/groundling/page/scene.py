"""What a client sends to be thought about: a world, with drawings of the user's own, as `groundling-scenario-1`."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from groundling.errors import InputError
from groundling.page.limits import Limits
from groundling.page.message import Message
from groundling.page.uploads import decode
from groundling.teacher.teacher import Teacher
from groundling.world.catalog import PERSON_PIXELS, Catalog
from groundling.world.scenario import KEYS, Scenario, quote

FORMAT = "groundling-scenario-1"
_REPLAY_KEYS = ("target", "max_steps", "actions")
"""A line of a replay file is a scenario too; these it does not use."""
_ICON_BYTES = 24 * 1024
"""Of a drawing in a scenario, which has the size of a cell."""


@dataclass(frozen=True)
class Scene:
    """A world, and one who knows all the truth about it."""

    scenario: Scenario
    teacher: Teacher
    sentence: str = ""
    drawings: tuple[tuple[str, str], ...] = ()
    """(name, PNG in base64) of each class that the user drew."""

    def to_dict(self) -> dict[str, Any]:
        """A scenario file."""
        record: dict[str, Any] = {"format": FORMAT, **self.scenario.to_dict(self.teacher.catalog)}
        if self.drawings:
            record["drawings"] = dict(self.drawings)
        return {**record, "sentence": self.sentence} if self.sentence else record


class Scenes:
    """Reads scenes of one world's icons and size; what drawings need is made once and kept for a while."""

    def __init__(self, base: Teacher, settings: Limits) -> None:
        self.base, self.settings = base, settings
        self.teacher = lru_cache(maxsize=16)(self._teacher)

    def read(self, record: Any) -> Scene:
        message = Message(record, "a scenario")
        if message.has("format") and message.take("format") != FORMAT:
            raise InputError(f"scenario: its format is {quote(message.take('format'))}, this version reads {FORMAT!r}")
        for key in _REPLAY_KEYS:
            message.has(key)
        sentence = ""
        if message.has("sentence") and message.take("sentence") != "":
            sentence = message.text("sentence", self.settings.sentence_chars)
        drawings = self._drawings(message.take("drawings")) if message.has("drawings") else ()
        parts = {key: message.take(key) for key in KEYS}
        message.end()
        teacher = self.teacher(drawings)
        return Scene(Scenario.of(parts, teacher.catalog, self.base.lessons.size), teacher, sentence, drawings)

    def _drawings(self, record: Any) -> tuple[tuple[str, str], ...]:
        if not isinstance(record, Mapping) or not all(isinstance(text, str) for text in record.values()):
            raise InputError('drawings: they are {"name": "a PNG in base64", ...}')
        if len(record) > self.settings.drawings:
            raise InputError(f"{len(record)} drawings: {self.settings.drawings} at the most")
        for name in record:
            if len(name) > self.settings.name_chars:
                raise InputError(f"drawing {quote(name)}: a name has {self.settings.name_chars} letters at the most")
        return tuple(record.items())

    def _teacher(self, drawings: tuple[tuple[str, str], ...]) -> Teacher:
        """One who may say anything of these worlds, and knows the drawings by name."""
        catalog: Catalog = self.base.catalog
        for name, text in drawings:
            catalog = catalog.with_class(name, decode(text, _ICON_BYTES, PERSON_PIXELS))
        return Teacher(self.base.lessons, catalog=catalog)

"""What all sessions share: the agents, the icons, and a teacher for each agent's world."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundling.agent.model import Agent
from groundling.errors import InputError
from groundling.learn.shipped import Trained
from groundling.page.drawing import png
from groundling.page.insight import explain
from groundling.page.reading import read
from groundling.page.scene import Scene, Scenes
from groundling.page.settings import Settings
from groundling.page.thinker import Thinker
from groundling.teacher.session import Teacher
from groundling.world.catalog import COLOR_NAMES, FIRST_ICON, NO_COLOR, PERSON_PIXELS
from groundling.world.scenario import Scenario

SHEET_COLUMNS = 19


@dataclass(frozen=True)
class Resident:
    """An agent that people can talk to."""

    name: str
    trained: Trained

    @cached_property
    def novel(self) -> frozenset[str]:
        """Words that training never told it."""
        split = self.trained.split
        return frozenset(word for group in split.held_out for word in group) if split.kind == "novel" else frozenset()

    @cached_property
    def teacher(self) -> Teacher:
        """One whose sentences put to the test what training held out, but for words that nobody ever told it."""
        return self.trained.teacher(phase="train" if self.novel else "test")

    @property
    def world(self) -> tuple[str, int]:
        """The icons and the size of the maps that it was trained on."""
        return self.trained.checkpoint.icons, self.teacher.lessons.size


class House:
    """The residents, all of the same world."""

    def __init__(self, residents: list[Resident], settings: Settings) -> None:
        self.residents, self.settings = residents, settings
        self.thinker = Thinker()
        first, *others = residents
        for other in others:
            if other.world != first.world:
                raise InputError(f"{other.name}: it needs the icons and the map size of {first.name}, and has others")
        base = first.teacher
        self.catalog = base.catalog
        self.scenes = Scenes(Teacher(base.lessons, catalog=base.catalog), settings)

    def draw(self, seed: int) -> tuple[Scene, str, str]:
        """A random world, and what the teacher of the first agent says of it: a command and a question."""
        teacher = self.residents[0].teacher
        session = teacher.begin(seed, [0])
        scene = Scene(Scenario.of_state(session.state), self.scenes.base)
        return scene, teacher.text(session.command, 0), teacher.text(session.question, 0)

    def warm_up(self) -> None:
        """Compile and make what the first visitor would have to wait for."""
        scene, command, _ = self.draw(0)
        _ = self.sheet
        for resident in self.residents:
            reading = read(command, scene, resident.trained.checkpoint.lexicon, resident.novel, self.settings)
            explain(self.thinker, resident.trained, scene, reading.words)

    @cached_property
    def sheet(self) -> bytes:
        """A PNG of every cell's picture, SHEET_COLUMNS in a row."""
        return png(_sheet(self.catalog.pictures[PERSON_PIXELS]))

    def hello(self) -> dict[str, Any]:
        """All that a page must know from the start."""
        catalog = self.catalog
        icons = [
            None if color == NO_COLOR else COLOR_NAMES[color] for color in self.catalog.icon_color.astype(int).tolist()
        ]
        firsts = catalog.first_icon.tolist()
        return {
            "size": self.scenes.base.lessons.size,
            "steps": self.scenes.base.lessons.step_limit,
            "sheet": {"columns": SHEET_COLUMNS, "rows": -(-catalog.cells // SHEET_COLUMNS)},
            "classes": [
                {"name": name, "first": FIRST_ICON + start, "colors": icons[start:end]}
                for name, start, end in zip(catalog.classes, firsts[:-1], firsts[1:], strict=True)
            ],
            "agents": [
                {
                    "name": resident.name,
                    "method": resident.trained.model.config.method,
                    "words": list(resident.trained.checkpoint.lexicon),
                    "novel": sorted(resident.novel),
                    "teachable": isinstance(resident.trained.model, Agent),
                }
                for resident in self.residents
            ],
        }


def _sheet(pictures: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """[cells, side, side, 3] -> [rows * side, columns * side, 3]"""
    cells, side = pictures.shape[:2]
    rows = -(-cells // SHEET_COLUMNS)
    padded = np.zeros((rows * SHEET_COLUMNS, side, side, 3), np.uint8)
    padded[:cells] = pictures
    grid = padded.reshape(rows, SHEET_COLUMNS, side, side, 3).swapaxes(1, 2)
    return grid.reshape(rows * side, SHEET_COLUMNS * side, 3)

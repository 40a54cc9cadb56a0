"""What all episodes share: the agents, the icons, and a teacher for each agent's world."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundling.agent.model import Agent
from groundling.errors import InputError
from groundling.learn.trained_agent import TrainedAgent
from groundling.page.batched_inference import BatchedInference
from groundling.page.explanations import explain
from groundling.page.limits import Limits
from groundling.page.scene import Scene, Scenes
from groundling.page.sentence_check import read
from groundling.page.uploads import png
from groundling.teacher.teacher import Teacher
from groundling.world.catalog import COLOR_NAMES, FIRST_ICON, NO_COLOR, PERSON_PIXELS
from groundling.world.scenario import Scenario

SHEET_COLUMNS = 19


@dataclass(frozen=True)
class ServedAgent:
    """An agent that people can talk to."""

    name: str
    trained: TrainedAgent

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


class AppState:
    """The residents, all of the same world."""

    def __init__(self, served: list[ServedAgent], settings: Limits) -> None:
        self.served, self.settings = served, settings
        self.thinker = BatchedInference()
        first, *others = served
        for other in others:
            if other.world != first.world:
                raise InputError(f"{other.name}: it needs the icons and the map size of {first.name}, and has others")
        base = first.teacher
        self.catalog = base.catalog
        self.scenes = Scenes(Teacher(base.lessons, catalog=base.catalog), settings)

    def draw(self, seed: int) -> tuple[Scene, str, str]:
        """A random world, and what the teacher of the first agent says of it: a command and a question."""
        teacher = self.served[0].teacher
        episode = teacher.begin(seed, [0])
        scene = Scene(Scenario.of_state(episode.state), self.scenes.base)
        return scene, teacher.text(episode.command, 0), teacher.text(episode.question, 0)

    def warmup_updates(self) -> None:
        """Compile and make what the first visitor would have to wait for."""
        scene, command, _ = self.draw(0)
        _ = self.sheet
        for served in self.served:
            reading = read(command, scene, served.trained.checkpoint.lexicon, served.novel, self.settings)
            explain(self.thinker, served.trained, scene, reading.words)

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
                    "name": served.name,
                    "method": served.trained.model.config.method,
                    "words": list(served.trained.checkpoint.lexicon),
                    "novel": sorted(served.novel),
                    "teachable": isinstance(served.trained.model, Agent),
                }
                for served in self.served
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

"""State shared by all clients: the served agents, the icons, and a teacher for their world."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundling.errors import InputError
from groundling.learn.trained_agent import TrainedAgent
from groundling.page.batched_inference import BatchedInference
from groundling.page.explanations import intermediate_values
from groundling.page.limits import Limits
from groundling.page.message import to_json
from groundling.page.scene import Scene, SceneReader
from groundling.page.sentence_check import check_sentence
from groundling.page.uploads import cut_out, png_bytes, webp_bytes
from groundling.teacher.language_file import OBJECT
from groundling.teacher.teacher import Teacher
from groundling.world.catalog import AGENT, COLOR_NAMES, DISPLAY_PIXELS, FIRST_ICON, FLOOR, NO_COLOR, WALL
from groundling.world.scenario import Scenario
from groundling.world.types import DIRECTIONS

SHEET_COLUMNS = 19
Metrics = list[dict[str, Any]]
"""Lines of the metrics file of a run."""


@dataclass(frozen=True)
class ServedAgent:
    """A trained agent that the server offers to every client."""

    name: str
    trained: TrainedAgent
    age_seconds: float | None = None
    """Seconds of training of a snapshot; None for an agent that is not one of a series."""
    is_live: bool = False
    """Whether it is still being trained, and is replaced from time to time."""

    @cached_property
    def held_out_words(self) -> frozenset[str]:
        """Words that occur in no command and no question of its training; some may occur in answers."""
        return frozenset(self.trained.split.held_out_words)

    @cached_property
    def novel_words(self) -> frozenset[str]:
        """Object words that occur in no training sentence or answer (split kind `novel`)."""
        split = self.trained.split
        return self.held_out_words if split.kind == "novel" else frozenset()

    @cached_property
    def teacher(self) -> Teacher:
        """Teacher for the held-out split, excluding novel words."""
        return self.trained.teacher(phase="train" if self.novel_words else "test")

    @property
    def world_and_language(self) -> tuple[str, int, str]:
        """Hash of the icons, size of the maps and hash of the language with which the agent was trained."""
        return self.trained.checkpoint.icons, self.teacher.world.size, self.teacher.language.hash

    def describe(self) -> dict[str, Any]:
        """As plain data for the page."""
        trained = self.trained
        progress = trained.checkpoint.provenance.get("progress")
        return {
            "name": self.name,
            "method": trained.model.config.method,
            "lexicon": list(trained.words),
            "novel_words": sorted(self.novel_words),
            "held_out_words": sorted(self.held_out_words),
            "object_words": len(trained.lexicon.objects),
            "teachable": trained.teachable and not self.is_live and self.age_seconds is None,
            "training_seconds": progress.get("seconds") if isinstance(progress, dict) else None,
            "age_seconds": self.age_seconds,
            "is_live": self.is_live,
        }


class AppState:
    """The served agents, all trained on the same icons and map size, and what they share."""

    def __init__(self, agents: list[ServedAgent], limits: Limits, metrics: Callable[[], Metrics] = list) -> None:
        """`metrics` returns the latest metrics of a live run."""
        self.agents, self.limits, self.metrics = agents, limits, metrics
        self.versions = [0] * len(agents)
        """Number of times that each agent was replaced."""
        self._hello_text: str | None = None
        self.inference = BatchedInference()
        first, *others = agents
        for other in others:
            if other.world_and_language != first.world_and_language:
                raise InputError(
                    f"{other.name} must have the icons, the map size and the language of {first.name}; compare agents "
                    "of one world"
                )
        base = first.teacher
        self.catalog = base.catalog
        pictures = self.catalog.pictures[DISPLAY_PIXELS]
        icons = cut_out(pictures, pictures[FLOOR])
        self.icon_sheet = webp_bytes(_icon_sheet(icons))
        """WebP of the icons of all cells on a transparent background, SHEET_COLUMNS per row."""
        self.agent_icon = png_bytes(icons[AGENT])
        """PNG of the agent on a transparent background."""
        self.language = base.language
        self.scenes = SceneReader(Teacher(base.world, catalog=base.catalog, language=base.language), limits)

    @property
    def hello_text(self) -> str:
        """The first message to a client."""
        if self._hello_text is None:
            self._hello_text = to_json({"hello": self.hello()})
        return self._hello_text

    def replace_agent(self, index: int, agent: ServedAgent) -> None:
        """Serve another agent of the same world; clients that look at the versions notice it."""
        if agent.world_and_language == self.agents[index].world_and_language:
            self.agents[index] = agent
            self.versions[index] += 1
            self._hello_text = None

    def sample_world(self, seed: int) -> tuple[Scene, str, str]:
        """A random scene, with a command and a question of the first agent's teacher for it."""
        teacher = self.agents[0].teacher
        episode = teacher.begin(seed, [0])
        scene = Scene(Scenario.of_state(episode.state), self.scenes.base)
        return scene, teacher.text(episode.command, 0), teacher.text(episode.question, 0)

    def warm_up(self) -> None:
        """Run each agent once, so that the first client does not wait for compilation."""
        scene, command, _ = self.sample_world(0)
        for agent in self.agents:
            check = check_sentence(command, scene, agent.trained.words, agent.novel_words, self.limits)
            intermediate_values(self.inference, agent.trained, scene, check.words)

    def hello(self) -> dict[str, Any]:
        """The first message to a client: the world, the icons and the agents."""
        catalog, world = self.catalog, self.scenes.base.world
        colors = [None if color == NO_COLOR else COLOR_NAMES[color] for color in catalog.icon_color.tolist()]
        first_icons = catalog.first_icon.tolist()
        return {
            "size": world.size,
            "max_steps": world.step_limit,
            "max_examples": self.limits.examples,
            "max_objects": self.scenes.max_objects,
            "neighbor_questions": {
                direction: self.scenes.base.grammar.neighbor_question(OBJECT, direction) for direction in DIRECTIONS
            },
            "sheet": {"columns": SHEET_COLUMNS, "rows": _sheet_rows(catalog.cells)},
            "cells": {"floor": FLOOR, "wall": WALL, "agent": AGENT},
            "classes": [
                {"name": name, "first": FIRST_ICON + start, "colors": colors[start:end]}
                for name, start, end in zip(catalog.classes, first_icons[:-1], first_icons[1:], strict=True)
            ],
            "agents": [agent.describe() for agent in self.agents],
        }


def _sheet_rows(cells: int) -> int:
    return -(-cells // SHEET_COLUMNS)


def _icon_sheet(pictures: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """[cells, side, side, 4] -> [rows * side, columns * side, 4]"""
    cells, side = pictures.shape[:2]
    rows = _sheet_rows(cells)
    padded = np.zeros((rows * SHEET_COLUMNS, side, side, 4), np.uint8)
    padded[:cells] = pictures
    grid = padded.reshape(rows, SHEET_COLUMNS, side, side, 4).swapaxes(1, 2)
    return grid.reshape(rows * side, SHEET_COLUMNS * side, 4)

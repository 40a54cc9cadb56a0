"""State shared by all clients: the served agents, the icons, and a teacher for their world."""

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
from groundling.page.scene import Scene, SceneReader
from groundling.page.sentence_check import check_sentence
from groundling.page.uploads import png_bytes
from groundling.teacher.language_file import OBJECT
from groundling.teacher.teacher import Teacher
from groundling.world.catalog import AGENT, COLOR_NAMES, DISPLAY_PIXELS, FIRST_ICON, FLOOR, NO_COLOR, WALL
from groundling.world.scenario import Scenario
from groundling.world.types import DIRECTIONS

SHEET_COLUMNS = 19


@dataclass(frozen=True)
class ServedAgent:
    """A trained agent that the server offers to every client."""

    name: str
    trained: TrainedAgent

    @cached_property
    def novel_words(self) -> frozenset[str]:
        """Object words that occur in no training sentence or answer (split kind `novel`)."""
        split = self.trained.split
        return frozenset(word for group in split.held_out for word in group) if split.kind == "novel" else frozenset()

    @cached_property
    def teacher(self) -> Teacher:
        """Teacher for the held-out split, excluding novel words."""
        return self.trained.teacher(phase="train" if self.novel_words else "test")

    @property
    def world_and_language(self) -> tuple[str, int, str]:
        """Hash of the icons, size of the maps and hash of the language with which the agent was trained."""
        return self.trained.checkpoint.icons, self.teacher.world.size, self.teacher.language.hash


class AppState:
    """The served agents, all trained on the same icons and map size, and what they share."""

    def __init__(self, agents: list[ServedAgent], limits: Limits) -> None:
        self.agents, self.limits = agents, limits
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
        self.icon_sheet = png_bytes(_icon_sheet(self.catalog.pictures[DISPLAY_PIXELS]))
        """PNG of the icons of all cells, SHEET_COLUMNS per row."""
        self.language = base.language
        self.scenes = SceneReader(Teacher(base.world, catalog=base.catalog, language=base.language), limits)

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
            "neighbor_questions": {
                direction: self.scenes.base.grammar.neighbor_question(OBJECT, direction) for direction in DIRECTIONS
            },
            "sheet": {"columns": SHEET_COLUMNS, "rows": _sheet_rows(catalog.cells)},
            "cells": {"floor": FLOOR, "wall": WALL, "agent": AGENT},
            "classes": [
                {"name": name, "first": FIRST_ICON + start, "colors": colors[start:end]}
                for name, start, end in zip(catalog.classes, first_icons[:-1], first_icons[1:], strict=True)
            ],
            "agents": [
                {
                    "name": agent.name,
                    "method": agent.trained.model.config.method,
                    "lexicon": list(agent.trained.words),
                    "novel_words": sorted(agent.novel_words),
                    "teachable": agent.trained.teachable,
                }
                for agent in self.agents
            ],
        }


def _sheet_rows(cells: int) -> int:
    return -(-cells // SHEET_COLUMNS)


def _icon_sheet(pictures: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """[cells, side, side, 3] -> [rows * side, columns * side, 3]"""
    cells, side = pictures.shape[:2]
    rows = _sheet_rows(cells)
    padded = np.zeros((rows * SHEET_COLUMNS, side, side, 3), np.uint8)
    padded[:cells] = pictures
    grid = padded.reshape(rows, SHEET_COLUMNS, side, side, 3).swapaxes(1, 2)
    return grid.reshape(rows * side, SHEET_COLUMNS * side, 3)

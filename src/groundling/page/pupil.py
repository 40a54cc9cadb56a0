"""An agent as one client taught it: what it was told, how it understands a sentence, and what it does."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from groundling.errors import InputError
from groundling.learn.shipped import Trained
from groundling.learn.teach import Example, teach
from groundling.page import insight
from groundling.page.house import Resident
from groundling.page.reading import QUESTION, UNKNOWN, Reading, read
from groundling.page.scene import Scene
from groundling.page.settings import Settings
from groundling.page.thinker import Insides, Thinker
from groundling.teacher.grammar import COMMANDS, Meaning
from groundling.teacher.lexicon import OBJECTS, Lexicon
from groundling.teacher.truth import Truth
from groundling.world.catalog import FIRST_ICON
from groundling.world.simulation import ACTIONS, step
from groundling.world.view import on_map


@dataclass(frozen=True)
class Pupil:
    """A resident, and what became of it by lessons."""

    resident: Resident
    trained: Trained
    untaught: frozenset[str]
    """Words of its lexicon that nobody ever told it."""

    @classmethod
    def of(cls, resident: Resident) -> "Pupil":
        """As it came."""
        return cls(resident, resident.trained, resident.novel)

    @property
    def lexicon(self) -> tuple[str, ...]:
        return self.trained.checkpoint.lexicon

    @property
    def answers(self) -> tuple[str, ...]:
        """The words with which it can answer."""
        every = Lexicon(self.lexicon[len(Lexicon()) :]).answers
        return tuple(word for word in every if word not in self.untaught)

    def taught(self, word: str, examples: list[Example]) -> "Pupil":
        """One that knows the name of a thing, too."""
        if word in Lexicon().words and word not in OBJECTS:
            raise InputError(f"word {word!r}: it has another use; teach the name of a thing")
        return Pupil(self.resident, teach(self.trained, word, examples), self.untaught - {word})

    def read(self, sentence: str, scene: Scene, settings: Settings) -> Reading:
        return read(sentence, scene, self.lexicon, self.untaught, settings)

    def knows(self, truth: Truth, scene: Scene) -> bool:
        """Whether it was told all words of a sentence, and of its answer."""
        words = {*truth.slots.values()}
        if truth.type not in COMMANDS:
            words.add(scene.teacher.lexicon.words[truth.outcome])
        return words <= {*self.lexicon} - self.untaught

    def is_tested_by(self, truth: Truth) -> bool:
        """Whether a sentence has what training held out; novel words, once taught, are as any other."""
        teacher = self.resident.teacher
        meaning = Meaning(truth.type, 0, truth.slots)
        return bool(self.resident.novel) or teacher.split.allows(meaning, teacher.phase)

    def think(self, scene: Scene, reading: Reading, thinker: Thinker) -> dict[str, Any]:
        """Its insides at one step, and the move that it makes, unless it was asked a question."""
        for word, state in zip(reading.words, reading.states, strict=True):
            if word not in self.lexicon:
                why = "does not know" if state == UNKNOWN else "was never told"
                hint = reading.hints.get(word)
                raise InputError(f"the agent {why} the word {word!r}" + (f", did you mean {hint!r}?" if hint else ""))
        insides = insight.explain(thinker, self.trained, scene, reading.words)
        return {
            "inside": insight.told(self.trained, scene, insides),
            "move": None if reading.kind == QUESTION else _move(scene, reading, insides),
        }


def _move(scene: Scene, reading: Reading, insides: Insides) -> dict[str, Any]:
    """The likeliest action and where it leads. Without a known target, a walk ends at the cell attended to most."""
    scenario = scene.scenario
    action = int(insides["action_probabilities"].argmax())
    before = scenario.state(-1 if reading.target is None else reading.target)
    after, outcome = step(before, np.array([action]), scene.teacher.lessons.step_limit)
    place = int(after.agent[0])
    moved = place != scenario.agent
    ended = bool(outcome.terminated[0])
    if reading.target is None and "x_loc" in insides:
        ended = moved and place == int(on_map(insides["x_loc"], scenario.size, scenario.agent).argmax())
    on_object = before.grid[0, place] >= FIRST_ICON
    return {
        "action": ACTIONS[action],
        "to": scenario.at(place),
        "ended": ended,
        "wrong": bool(moved and on_object and reading.target is not None and not ended),
    }

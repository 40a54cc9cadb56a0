"""An agent as one client taught it: what it was told, how it understands a sentence, and what it does."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from groundling.errors import InputError
from groundling.learn.few_shot import Example, teach
from groundling.learn.trained_agent import TrainedAgent
from groundling.page import explanations
from groundling.page.app_state import ServedAgent
from groundling.page.batched_inference import BatchedInference, Intermediates
from groundling.page.limits import Limits
from groundling.page.scene import Scene
from groundling.page.sentence_check import QUESTION, UNKNOWN, Reading, read
from groundling.teacher.grammar import COMMANDS, Meaning
from groundling.teacher.lexicon import OBJECTS, Lexicon
from groundling.teacher.valid_sentences import ValidSentence
from groundling.world.catalog import FIRST_ICON
from groundling.world.rendering import on_map
from groundling.world.simulation import ACTIONS, step


@dataclass(frozen=True)
class ClientAgent:
    """A resident, and what became of it by lessons."""

    served: ServedAgent
    trained: TrainedAgent
    untaught: frozenset[str]
    """Words of its lexicon that nobody ever told it."""

    @classmethod
    def of(cls, served: ServedAgent) -> "Pupil":
        """As it came."""
        return cls(served, served.trained, served.novel)

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
        return ClientAgent(self.served, teach(self.trained, word, examples), self.untaught - {word})

    def read(self, sentence: str, scene: Scene, settings: Limits) -> Reading:
        return read(sentence, scene, self.lexicon, self.untaught, settings)

    def knows(self, truth: ValidSentence, scene: Scene) -> bool:
        """Whether it was told all words of a sentence, and of its answer."""
        words = {*truth.slots.values()}
        if truth.type not in COMMANDS:
            words.add(scene.teacher.lexicon.words[truth.outcome])
        return words <= {*self.lexicon} - self.untaught

    def is_tested_by(self, truth: ValidSentence) -> bool:
        """Whether a sentence has what training held out; novel words, once taught, are as any other."""
        teacher = self.served.teacher
        meaning = Meaning(truth.type, 0, truth.slots)
        return bool(self.served.novel) or teacher.split.allows(meaning, teacher.phase)

    def think(self, scene: Scene, reading: Reading, thinker: BatchedInference) -> dict[str, Any]:
        """Its insides at one step, and the move that it makes, unless it was asked a question."""
        for word, state in zip(reading.words, reading.states, strict=True):
            if word not in self.lexicon:
                why = "does not know" if state == UNKNOWN else "was never told"
                hint = reading.hints.get(word)
                raise InputError(f"the agent {why} the word {word!r}" + (f", did you mean {hint!r}?" if hint else ""))
        intermediates = explanations.explain(thinker, self.trained, scene, reading.words)
        return {
            "inside": explanations.told(self.trained, scene, intermediates),
            "move": None if reading.kind == QUESTION else _move(scene, reading, intermediates),
        }


def _move(scene: Scene, reading: Reading, intermediates: Intermediates) -> dict[str, Any]:
    """The likeliest action and where it leads. Without a known target, a walk ends at the cell attended to most."""
    scenario = scene.scenario
    action = int(intermediates["action_probabilities"].argmax())
    before = scenario.state(-1 if reading.target is None else reading.target)
    after, outcome = step(before, np.array([action]), scene.teacher.lessons.step_limit)
    position = int(after.agent[0])
    moved = position != scenario.agent
    ended = bool(outcome.terminated[0])
    if reading.target is None and "x_loc" in intermediates:
        ended = moved and position == int(on_map(intermediates["x_loc"], scenario.size, scenario.agent).argmax())
    on_object = before.grid[0, position] >= FIRST_ICON
    return {
        "action": ACTIONS[action],
        "to": scenario.at(position),
        "ended": ended,
        "wrong": bool(moved and on_object and reading.target is not None and not ended),
    }

"""A served agent with the words that one client taught it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from groundling.errors import InputError
from groundling.learn.few_shot import Example
from groundling.learn.trained_agent import TrainedAgent
from groundling.page.app_state import ServedAgent
from groundling.page.batched_inference import BatchedInference, Intermediates
from groundling.page.explanations import explanation, intermediate_values
from groundling.page.limits import Limits
from groundling.page.scene import Scene
from groundling.page.sentence_check import QUESTION, UNSEEN, SentenceCheck, check_sentence
from groundling.teacher.language_file import OBJECT
from groundling.teacher.valid_sentences import ValidSentence
from groundling.world.catalog import FIRST_ICON
from groundling.world.rendering import on_map
from groundling.world.simulation import ACTIONS, step


@dataclass(frozen=True)
class ClientAgent:
    """A served agent after few-shot teaching by one client."""

    served: ServedAgent
    trained: TrainedAgent
    unseen: frozenset[str]
    """Words of its lexicon that were neither in its training nor taught by the client."""

    @classmethod
    def of(cls, served: ServedAgent) -> "ClientAgent":
        """The served agent before any teaching."""
        return cls(served, served.trained, served.novel_words)

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its lexicon."""
        return self.trained.words

    @property
    def answers(self) -> tuple[str, ...]:
        """The words with which it can answer a question."""
        return tuple(word for word in self.trained.lexicon.answers if word not in self.unseen)

    def teach(self, word: str, examples: list[Example], cancelled: Callable[[], bool]) -> "ClientAgent":
        """The agent after learning the name of an object from examples; see `TrainedAgent.teach`."""
        language = self.trained.lexicon.language
        if word in language.words and word not in language.word_classes[OBJECT]:
            raise InputError(f"a taught word must name an object, got {word!r}; it already has another meaning")
        return ClientAgent(self.served, self.trained.teach(word, examples, cancelled), self.unseen - {word})

    def check(self, sentence: str, scene: Scene, limits: Limits) -> SentenceCheck:
        return check_sentence(sentence, scene, self.words, self.unseen, limits)

    def knows(self, sentence: ValidSentence, scene: Scene) -> bool:
        """Whether it knows all content words of a sentence, and of its answer."""
        words = {*sentence.slots.values()}
        if not scene.teacher.language.type(sentence.type).is_command:
            words.add(scene.teacher.lexicon.words[sentence.outcome])
        return words <= {*self.words} - self.unseen

    def is_test_sentence(self, sentence: ValidSentence) -> bool:
        """Whether a sentence belongs to the held-out split; always true for an agent with novel words."""
        teacher = self.served.teacher
        meaning = teacher.grammar.meaning(sentence.type, 0, sentence.slots)
        return bool(self.served.novel_words) or teacher.split.allows(meaning, teacher.phase)

    def step(self, scene: Scene, check: SentenceCheck, inference: BatchedInference) -> dict[str, Any]:
        """The explanation of one time step and, unless the sentence is a question, the move."""
        for word, state in zip(check.words, check.states, strict=True):
            if word not in self.words:
                raise InputError(_unknown_word(word, state, check))
        intermediates = intermediate_values(inference, self.trained, scene, check.words)
        return {
            "explanation": explanation(self.trained, scene, intermediates),
            "move": None if check.kind == QUESTION else _move(scene, check, intermediates),
        }


def _unknown_word(word: str, state: str, check: SentenceCheck) -> str:
    if state == UNSEEN:
        return f"words must be known to the agent, got {word!r}, which was not seen in training; teach it first"
    suggestion = check.suggestions.get(word)
    hint = f"; did you mean {suggestion.word!r}?" if suggestion else ""
    return f"words must be known to the agent, got {word!r}{hint}"


def _move(scene: Scene, check: SentenceCheck, intermediates: Intermediates) -> dict[str, Any]:
    """The most probable action and the next position.

    If the target is not defined, the walk terminates at the position with the highest attention.
    """
    scenario = scene.scenario
    action = int(intermediates["action_probabilities"].argmax())
    before = scenario.state(-1 if check.target is None else check.target)
    after, outcome = step(before, np.array([action]), scene.teacher.world.step_limit)
    position = int(after.agent[0])
    moved = position != scenario.agent
    terminated = bool(outcome.terminated[0])
    if check.target is None and "x_loc" in intermediates:
        terminated = moved and position == int(on_map(intermediates["x_loc"], scenario.size, scenario.agent).argmax())
    on_object = before.grid[0, position] >= FIRST_ICON
    return {
        "action": ACTIONS[action],
        "to": scenario.at(position),
        "terminated": terminated,
        "reward": round(float(outcome.reward[0]), 3),
        "wrong_object": bool(moved and on_object and check.target is not None and not terminated),
    }

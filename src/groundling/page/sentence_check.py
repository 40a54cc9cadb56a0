"""What there is to say about a sentence before anybody acts on it: its words, its meaning, what is right."""

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from groundling.errors import InputError
from groundling.page.limits import Limits
from groundling.page.scene import Scene
from groundling.teacher.grammar import COMMANDS, Meaning
from groundling.teacher.lexicon import split
from groundling.teacher.valid_sentences import valid_sentences
from groundling.world.shortest_path import best_actions

KNOWN, UNTAUGHT, UNKNOWN = "known", "untaught", "unknown"
COMMAND, QUESTION, FREE = "command", "question", "free"


@dataclass(frozen=True)
class Reading:
    """A sentence as the teacher and the agent read it."""

    words: tuple[str, ...]
    """As the agent hears them: a sentence of the grammar gets its final mark."""
    states: tuple[str, ...]
    """Of each word: KNOWN, UNTAUGHT (its thing has a name, but the agent was never told it) or UNKNOWN."""
    hints: dict[str, str | None]
    """For each unknown word the nearest known one."""
    meaning: Meaning | None
    """None for a free sentence."""
    complaint: str
    """Why a free sentence is none of the teacher's."""
    target: int | None = None
    """Where a command leads, if the teacher could say it in this world."""
    answer: str | None = None
    """The true answer, in the same case."""
    shortest: int = 0
    """Steps of a shortest way to the target."""

    @property
    def kind(self) -> str:
        if self.meaning is None:
            return FREE
        return COMMAND if self.meaning.type in COMMANDS else QUESTION

    def to_dict(self, scene: Scene) -> dict[str, Any]:
        return {
            "words": [
                {"text": word, "state": state, "nearest": self.hints.get(word)}
                for word, state in zip(self.words, self.states, strict=True)
            ],
            "kind": self.kind,
            "type": self.meaning.type if self.meaning else None,
            "complaint": self.complaint,
            "target": None if self.target is None else scene.scenario.at(self.target),
            "shortest": self.shortest,
            "answer": self.answer,
        }


def read(text: str, scene: Scene, lexicon: tuple[str, ...], untaught: frozenset[str], settings: Limits) -> Reading:
    """`lexicon` is the agent's; `untaught` are those of its words that nobody ever told it."""
    words = split(text)
    if len(words) > settings.sentence_words:
        raise InputError(f"sentence of {len(words)} words: {settings.sentence_words} at the most")
    meaning, complaint = _parse(words, scene)
    if meaning is not None:
        words = scene.teacher.grammar.words(meaning)
    drawn = {name for name, _ in scene.drawings}
    states = tuple(_state(word, lexicon, untaught, drawn) for word in words)
    unknown = [word for word, state in zip(words, states, strict=True) if state == UNKNOWN]
    hints = {word: next(iter(get_close_matches(word, lexicon, 1, 0.5)), None) for word in unknown}
    reading = Reading(tuple(words), states, hints, meaning, complaint)
    return reading if meaning is None else _judged(reading, meaning, scene)


def _state(word: str, lexicon: tuple[str, ...], untaught: frozenset[str], drawn: set[str]) -> str:
    if word in lexicon:
        return UNTAUGHT if word in untaught else KNOWN
    return UNTAUGHT if word in drawn else UNKNOWN


def _parse(words: list[str], scene: Scene) -> tuple[Meaning | None, str]:
    try:
        return scene.teacher.grammar.parse(scene.teacher.lexicon.tokens(" ".join(words))), ""
    except InputError as error:
        return None, str(error)


def _judged(reading: Reading, meaning: Meaning, scene: Scene) -> Reading:
    """With the target or the answer that is right in this world, if there is one."""
    outcome = next((t.outcome for t in valid_sentences(scene.teacher, scene.scenario.state()) if t.of(meaning)), None)
    if outcome is None:
        return reading
    if reading.kind == QUESTION:
        return replace(reading, answer=scene.teacher.lexicon.words[outcome])
    _, length = best_actions(scene.scenario.state(outcome))
    return replace(reading, target=outcome, shortest=int(length[0]))

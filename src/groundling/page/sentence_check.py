"""Check of a sentence before an agent acts on it: its words, its meaning, and the correct outcome in a scene."""

from dataclasses import dataclass, replace
from typing import Any

from groundling.errors import InputError
from groundling.page.limits import Limits
from groundling.page.no_outcome import explain_missing_outcome
from groundling.page.reading import Suggestion, normalize, split_commands, suggest
from groundling.page.scene import Scene
from groundling.teacher.lexicon import split_words
from groundling.teacher.types import Meaning
from groundling.teacher.valid_sentences import valid_sentences
from groundling.world.shortest_path import best_actions

KNOWN, UNSEEN, UNKNOWN = "known", "unseen", "unknown"
COMMAND, QUESTION, FREE_FORM = "command", "question", "free_form"


@dataclass(frozen=True)
class SentenceCheck:
    """A sentence as the teacher's grammar and the agent's lexicon read it."""

    words: tuple[str, ...]
    """The agent's input; a sentence of the grammar gets its final punctuation."""
    states: tuple[str, ...]
    """State of each word: KNOWN, UNSEEN (it names an object, but was neither in training nor taught) or UNKNOWN."""
    suggestions: dict[str, Suggestion | None]
    """A known word for each unknown one, if there is one that was probably meant."""
    meaning: Meaning | None
    """None for a free-form sentence, which is not in the grammar."""
    parse_error: str
    """Why a free-form sentence is not in the grammar; empty otherwise."""
    parts: tuple[str, ...]
    """The commands of a sentence with `then`, otherwise the sentence alone."""
    is_command: bool = False
    """Whether it is a sentence of the grammar that is a command."""
    target: int | None = None
    """Target position of a command, if the teacher could give it in this scene."""
    answer: str | None = None
    """Correct answer to a question, under the same condition."""
    shortest_path: int = 0
    """Number of steps of a shortest path to the target."""
    no_outcome: str = ""
    """Why a sentence of the grammar has neither target nor answer in this scene; empty if it has one."""

    @property
    def kind(self) -> str:
        """COMMAND, QUESTION or FREE_FORM."""
        if self.meaning is None:
            return FREE_FORM
        return COMMAND if self.is_command else QUESTION

    def to_dict(self, scene: Scene) -> dict[str, Any]:
        """As plain data for the page."""
        return {
            "words": [
                {"text": word, "state": state, **self._suggestion(k)}
                for k, (word, state) in enumerate(zip(self.words, self.states, strict=True))
            ],
            "parts": list(self.parts),
            "kind": self.kind,
            "type": self.meaning.type if self.meaning else None,
            "parse_error": self.parse_error,
            "target": None if self.target is None else scene.scenario.at(self.target),
            "shortest_path": self.shortest_path,
            "answer": self.answer,
            "no_outcome": self.no_outcome,
        }

    def _suggestion(self, k: int) -> dict[str, str | None]:
        """The suggestion for word k, why it is made, and the sentence with it."""
        found = self.suggestions.get(self.words[k])
        if found is None:
            return {"suggestion": None}
        words = [*self.words[:k], found.word, *self.words[k + 1 :]]
        return {
            "suggestion": found.word,
            "why": found.why,
            "repaired": " ".join(words).replace(" .", ".").replace(" ?", "?"),
        }


def check_sentence(
    text: str, scene: Scene, lexicon: tuple[str, ...], unseen: frozenset[str], limits: Limits
) -> SentenceCheck:
    """Check a sentence for an agent with words `lexicon`, of which `unseen` were neither in training nor taught."""
    parts = split_commands(text, lexicon)
    words = split_words(normalize(text))
    if not set(words) - {".", "?"}:
        raise InputError("sentence must have at least one word, got only punctuation")
    if len(words) > limits.sentence_words:
        raise InputError(f"sentence must have at most {limits.sentence_words} words, got {len(words)}")
    meaning, parse_error = _parse(words, scene)
    if meaning is not None:
        words = scene.teacher.grammar.words(meaning)
    drawn = {name for name, _ in scene.drawings}
    states = tuple(_state(word, lexicon, unseen, drawn) for word in words)
    unknown = [word for word, state in zip(words, states, strict=True) if state == UNKNOWN]
    suggestions = {word: suggest(word, lexicon) for word in unknown}
    is_command = meaning is not None and scene.teacher.language.type(meaning.type).is_command
    check = SentenceCheck(tuple(words), states, suggestions, meaning, parse_error, tuple(parts), is_command)
    return check if meaning is None else _with_outcome(check, meaning, scene)


def _state(word: str, lexicon: tuple[str, ...], unseen: frozenset[str], drawn: set[str]) -> str:
    if word in lexicon:
        return UNSEEN if word in unseen else KNOWN
    return UNSEEN if word in drawn else UNKNOWN


def _parse(words: list[str], scene: Scene) -> tuple[Meaning | None, str]:
    """The meaning of a sentence and an empty string, or None and the reason for which it is not in the grammar."""
    try:
        return scene.teacher.grammar.parse(scene.teacher.lexicon.encode(" ".join(words))), ""
    except InputError as error:
        return None, str(error)


def _with_outcome(check: SentenceCheck, meaning: Meaning, scene: Scene) -> SentenceCheck:
    """The check with the correct target or answer, if the sentence is valid in the scene."""
    sentences = valid_sentences(scene.teacher, scene.scenario.state())
    outcome = next((sentence.outcome for sentence in sentences if sentence.matches(meaning)), None)
    if outcome is None:
        return replace(check, no_outcome=explain_missing_outcome(meaning, scene))
    if check.kind == QUESTION:
        return replace(check, answer=scene.teacher.lexicon.words[outcome])
    _, length = best_actions(scene.scenario.state(outcome))
    return replace(check, target=outcome, shortest_path=int(length[0]))

"""An environment for TRL's `environment_factory`: the model calls tools, and is rewarded for the episode.

    trainer = GRPOTrainer(..., train_dataset=Dataset.from_list(rows(1000)), environment_factory=environment_factory())

TRL itself is not needed here: it finds the tools by their type hints and docstrings.
"""

import base64
import io
from collections.abc import Callable
from typing import Any

from PIL import Image

from groundling.env_options import EnvOptions
from groundling.errors import InputError
from groundling.suites.suite import Suite
from groundling.teacher.teacher import Teacher
from groundling.text import Message, TextEpisode

PROMPT = [{"role": "user", "content": "Play one episode of the grid world with the tools."}]
"""What precedes the text of `reset`."""


class GroundlingEnvironment:
    """One text episode at a time; its public methods other than `reset` and `get_reward` are tools."""

    def __init__(self, teacher: Teacher, view: str = "sentences", examples: int = 0) -> None:
        self._teacher, self._view, self._examples = teacher, view, examples
        self._game: TextEpisode | None = None

    def reset(
        self, seed: int = 0, index: int = 0, task: str = "nav", suite: str = "", **_: Any
    ) -> str | list[dict[str, Any]]:
        """Begin the episode of a row of the dataset; the rules, the map and the teacher's sentence."""
        if suite:
            self._game = Suite.load(suite, "full").begin(index, self._view)
        else:
            self._game = TextEpisode(self._teacher, seed, index, task, self._view, self._examples)
        return _content(self._game.messages[-1])

    def move(self, direction: str) -> str | list[dict[str, Any]]:
        """Move one cell.

        Args:
            direction: One of up, down, left and right.

        Returns:
            The map after the move.
        """
        return self._reply(direction, "nav")

    def answer(self, word: str) -> str | list[dict[str, Any]]:
        """Answer the teacher's question.

        Args:
            word: The answer, one word of the teacher's language.

        Returns:
            That the episode is over.
        """
        return self._reply(word, "qa")

    def get_reward(self) -> float:
        """1 if the episode succeeded, otherwise 0."""
        return float(self._game is not None and self._game.success)

    def _reply(self, text: str, task: str) -> str | list[dict[str, Any]]:
        if self._game is None:
            raise InputError("call reset before the first tool")
        if self._game.done:
            return "The episode is over."
        self._game.reply(text if task == self._game.task else "")  # the wrong tool is an invalid reply
        return _content(self._game.messages[-1])


def environment_factory(
    view: str = "sentences", examples: int = 0, **options: Any
) -> Callable[[], GroundlingEnvironment]:
    """A function that makes environments; `options` are those of the Gymnasium environments."""
    teacher = EnvOptions.of(options).teacher()
    return lambda: GroundlingEnvironment(teacher, view, examples)


def rows(count: int, seed: int = 0, task: str = "nav", **options: Any) -> list[dict[str, Any]]:
    """Rows of a dataset: the episodes of a seed; for `qa`, those that begin with a question."""
    teacher = EnvOptions.of(options).teacher()
    found: list[dict[str, Any]] = []
    index = 0
    while len(found) < count:
        if task == "nav" or teacher.begin(seed, [index]).question.type[0] >= 0:
            found.append({"prompt": PROMPT, "seed": seed, "index": index, "task": task})
        index += 1
    return found


def suite_rows(suite: str, size: str = "small") -> list[dict[str, Any]]:
    """Rows of a dataset: the episodes of a frozen suite, for evaluation."""
    return [{"prompt": PROMPT, "suite": suite, "index": i} for i in range(len(Suite.load(suite, size)))]


def _content(message: Message) -> str | list[dict[str, Any]]:
    """A message as TRL takes it: text, or text and PIL images."""
    content = message["content"]
    if isinstance(content, str):
        return content
    parts: list[dict[str, Any]] = []
    for part in content:
        if part["type"] == "text":
            parts.append(part)
        else:
            data = base64.b64decode(part["image_url"]["url"].partition(",")[2])
            parts.append({"type": "image", "image": Image.open(io.BytesIO(data))})
    return parts

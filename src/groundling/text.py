"""Episodes as text: prompts, observations as sentences, grids or pictures, and a lenient parser of replies.

    game = TextEpisode(Teacher(), seed=0, index=0)
    while not game.done:
        game.reply(model(game.messages))     # `messages` is a chat in the form of OpenAI-compatible servers
    game.success

What a model sees are the names of objects, colors and directions in English, whatever the language of the teacher. No
message depends on the target or on the true answer.
"""

import base64
import io
import re
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from groundling.episodes import play_step
from groundling.errors import InputError, check_choice, check_int
from groundling.teacher.lesson import lesson
from groundling.teacher.lexicon import Lexicon
from groundling.teacher.teacher import Teacher
from groundling.world.catalog import DISPLAY_PIXELS, FIRST_ICON, OUTSIDE, WALL, Catalog
from groundling.world.rendering import ansi, draw, map_cells, view_cells
from groundling.world.types import Int16s, State

TASKS = ("nav", "qa")
"""Reach the target of a command; answer one question."""
VIEWS = ("sentences", "grid", "picture", "both")
"""How a map is shown; `both` is sentences and a picture."""
MOVE_WORDS = {"left": 0, "west": 0, "right": 1, "east": 1, "up": 2, "north": 2, "down": 3, "south": 3}
MAX_REPLY = 100_000
"""Characters of a reply that are read: its last ones."""
_LABELLED = re.compile(r"(?:answer|action|move)\W{0,9}[:=]\W{0,9}([^\W\d_]+)")
_WORD = re.compile(r"[^\W\d_]+")

Message = dict[str, Any]
"""`role`, and `content`: a text, or a list of texts and pictures."""


def describe_view(cells: Int16s, catalog: Catalog) -> str:
    """What the agent sees, as sentences; `cells` [side, side] are the ids around the agent, which is at the center."""
    center = len(cells) // 2
    objects, walls = [], []
    for row, column in np.argwhere((cells == WALL) | (cells >= FIRST_ICON)).tolist():
        where = _offset(row - center, column - center)
        if cells[row, column] == WALL:
            walls.append(where)
        else:
            name = catalog.describe(int(cells[row, column]))
            objects.append(f"{'an' if name[0] in 'aeiou' else 'a'} {name} {where}")
    rows, columns = ((cells != OUTSIDE).any(axis) for axis in (1, 0))
    edges = [*_either_side(rows, center), *_either_side(columns, center)]
    free = ", ".join(f"{count} {name}" for count, name in zip(edges, ("north", "south", "west", "east"), strict=True))
    return (
        f"Objects: {'; '.join(objects) or 'none'}.\nWalls: {'; '.join(walls) or 'none'}.\n"
        f"Cells between you and the edge of the map: {free}."
    )


def _offset(rows: int, columns: int) -> str:
    """An offset from the agent, such as `2 steps north, 1 step west`."""
    parts = ((rows, "south", "north"), (columns, "east", "west"))
    return ", ".join(
        f"{abs(count)} step{'s' if abs(count) > 1 else ''} {positive if count > 0 else negative}"
        for count, positive, negative in parts
        if count
    )


def _either_side(on_map: NDArray[np.bool_], center: int) -> tuple[int, int]:
    """The number of rows, or columns, of the map before and after the agent's."""
    return int(on_map[:center].sum()), int(on_map[center + 1 :].sum())


def max_length(size: int) -> int:
    """An upper limit of the length of `describe_view`."""
    return 200 + 100 * size**2


def show(state: State, view: str, catalog: Catalog) -> tuple[str, str | None]:
    """The first map of a batch as text and as the data URL of a PNG picture, according to `view`."""
    text = ""
    if view in ("sentences", "both"):
        text = describe_view(view_cells(state)[0], catalog)
    elif view == "grid":
        key = "The map, north is up; @ is you, # a wall, . an empty cell:"
        text = f"{key}\n{ansi(state, catalog)[0]}"
    if view not in ("picture", "both"):
        return text, None
    return text, data_url(Image.fromarray(draw(map_cells(state), catalog.pictures[DISPLAY_PIXELS])[0]))


def data_url(picture: Image.Image) -> str:
    """A picture as the data URL of a PNG file."""
    png = io.BytesIO()
    picture.save(png, format="PNG")
    return f"data:image/png;base64,{base64.b64encode(png.getvalue()).decode()}"


def rules(teacher: Teacher, task: str) -> str:
    """What a model has to know: the world, what sentences mean, and how to reply."""
    size, limit, language = teacher.world.size, teacher.world.step_limit, teacher.language
    lines = [f"You are in a grid world of {size} x {size} cells. A teacher speaks a small language."]
    if task == "nav":
        lines += [
            f"The teacher gives you a command. Go to the cell that it refers to, in at most {limit} moves.",
            "- A move goes one cell: up (north), down (south), left (west) or right (east).",
            "- Walls and the edge of the map block a move. You can walk over objects, but each step on an object that "
            "the command does not refer to is a mistake.",
        ]
    else:
        lines += ["The teacher asks you a question about the map. Answer it with one word."]
    lines += [
        "- A color, the name of an object, or both refer to the only object on the map that they describe.",
        "- A direction of an object refers to the cell next to the object in that direction, whatever the preposition.",
        "- There are eight directions; northeast is one cell north and one cell east.",
        "- Between two objects is the cell in the middle of two objects with one cell between them in a row or column.",
    ]
    if task == "qa":
        lines += [
            "- A direction without an object refers to the cell next to you in that direction.",
            "- Where something is, is its direction from you; it is in a cell next to you.",
            f'- The answer about a cell without an object is "{language.nothing}".',
            "Reply with one word of the teacher's language: the name of an object, a color or a direction.",
        ]
    else:
        lines += ["Reply with one move: up, down, left or right."]
    return "\n".join(lines)


def parse_move(text: Any) -> int | None:
    """The one move of a reply, wherever it stands; None if there is none, or more than one."""
    return _parse(text, MOVE_WORDS, ())


def parse_answer(text: Any, lexicon: Lexicon, question: str = "") -> int | None:
    """The token of the one answer of a reply; None if there is none, or more than one.

    Words that repeat the question count only if there is no other answer.
    """
    return _parse(text, {word: lexicon.token[word] for word in lexicon.answers}, _WORD.findall(question.lower()))


def _parse(text: Any, choices: dict[str, int], repeated: Collection[str]) -> int | None:
    """The choice that a reply names: after a label such as `Answer:`, alone in the last line, or alone in the text."""
    if not isinstance(text, str):
        return None
    text = text[-MAX_REPLY:].lower()
    last_line = (text.strip().splitlines() or [""])[-1]
    labelled = [word for word in _LABELLED.findall(text) if word in choices]
    for words in (labelled[-1:], _WORD.findall(last_line), _WORD.findall(text)):
        named = [word for word in words if word in choices]
        new = [word for word in named if word not in repeated]
        found = {choices[word] for word in new or named}
        if len(found) == 1:
            return found.pop()
    return None


class TextEpisode:
    """One episode as a chat: a command to follow, or a question to answer."""

    def __init__(
        self, teacher: Teacher, seed: int, index: int, task: str = "nav", view: str = "sentences", examples: int = 0
    ) -> None:
        self.teacher = teacher
        self.task, self.view = check_choice("task", task, TASKS), check_choice("view", view, VIEWS)
        self.episode = teacher.begin(seed, [index], ask=task == "qa")
        """The ground truth, for reference players; nothing of it enters a message."""
        if task == "qa" and self.episode.question.type[0] < 0:
            raise InputError(f"episode {index} of seed {seed} must have a question, got none; take another index")
        self.sentence = teacher.text(self.episode.question if task == "qa" else self.episode.command, 0)
        self.done, self.success = False, False
        self.reward = 0.0
        self.replies, self.invalid = 0, 0
        """Replies so far, and how many of them could not be understood."""
        shown = self._lesson(check_int("examples", examples, 0))
        self.messages: list[Message] = [_message([rules(teacher, task), *shown, *self._now()])]

    def _lesson(self, examples: int) -> list[Any]:
        """Example questions with their answers, each about a map of its own."""
        parts: list[Any] = []
        sentences = self.episode.question if self.task == "qa" else self.episode.command
        for k, example in enumerate(lesson(self.teacher, self.episode, sentences, examples)):
            heading = "Examples of the teacher's language, each on another map:\n\n" if k == 0 else ""
            text, picture = show(example.state, self.view, self.teacher.catalog)
            parts += [heading + text, picture, f"Teacher: {example.question}\nAnswer: {example.answer}"]
        return parts

    def _now(self) -> list[Any]:
        """The current map and the teacher's sentence."""
        text, picture = show(self.episode.state, self.view, self.teacher.catalog)
        if self.task == "qa":
            return [f"The map now:\n{text}", picture, f"Teacher: {self.sentence}\nAnswer:"]
        step = f"Move {self.replies + 1} of {self.teacher.world.step_limit}."
        return [f"The map now:\n{text}", picture, f"Teacher: {self.sentence}\n{step}"]

    @property
    def text(self) -> str:
        """The text of the last message."""
        return message_text(self.messages[-1])

    def reply(self, text: Any) -> str:
        """Act on a model's reply; returns the text of the next message. An invalid reply is a counted no-op."""
        if self.done:
            raise InputError("the episode is over; begin another one")
        self.replies += 1
        self.messages.append({"role": "assistant", "content": text if isinstance(text, str) else ""})
        note = self._answer(text) if self.task == "qa" else self._move(text)
        self.messages.append(_message([note] if self.done else [note, *self._now()]))
        return self.text

    def _answer(self, text: Any) -> str:
        choice = parse_answer(text, self.teacher.lexicon, self.sentence)
        self.invalid += choice is None
        self.done, self.success = True, choice == int(self.episode.question.answer[0])
        self.reward = float(self.success)
        return "The episode is over."

    def _move(self, text: Any) -> str:
        choice, world = parse_move(text), self.teacher.world
        if choice is None:
            self.invalid += 1
            self.reward += world.rewards.step
        else:
            step = play_step(self.teacher, self.episode, np.array([choice]), ask=False)
            self.episode = step.after
            self.reward += float(step.reward[0])
            self.success = bool(step.terminated[0])
        self.done = self.success or self.replies >= world.step_limit
        if self.done:
            return "You are at the right cell." if self.success else "The episode is over."
        return "Your reply must name exactly one move; you did not move." if choice is None else ""


def message_text(message: Message) -> str:
    """The text of a message, without its pictures."""
    content = message["content"]
    parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    return "\n".join(filter(None, parts))


def _message(parts: list[Any]) -> Message:
    """A user's message of texts and pictures (data URLs), in their order; texts alone are one string."""
    given = [part for part in parts if part]
    is_picture = [part.startswith("data:") for part in given]
    if not any(is_picture):
        return {"role": "user", "content": "\n\n".join(given)}
    content = [
        {"type": "image_url", "image_url": {"url": part}} if picture else {"type": "text", "text": part}
        for part, picture in zip(given, is_picture, strict=True)
    ]
    return {"role": "user", "content": content}

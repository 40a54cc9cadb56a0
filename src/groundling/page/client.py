"""One episode: what a client can ask for, and the agents as it taught them. It keeps nothing else."""

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from groundling.errors import InputError
from groundling.learn.few_shot import Example
from groundling.page import explanations
from groundling.page.app_state import AppState
from groundling.page.client_agent import ClientAgent
from groundling.page.export import WalkRecording, gif, html
from groundling.page.message import Message
from groundling.page.scene import Scene
from groundling.page.sentence_check import COMMAND, QUESTION, Reading
from groundling.page.uploads import decode, icon, png_text
from groundling.teacher.episode_sampling import EMPTY_CELL_ODDS
from groundling.teacher.grammar import COMMANDS
from groundling.teacher.lexicon import Lexicon
from groundling.teacher.valid_sentences import valid_sentences, verbalize
from groundling.world.scenario import read_position

Answer = dict[str, Any]
_MAX_SEED = 1 << 31


class Client:
    """Answers the messages of one client; each is a pure question but for `teach`."""

    SLOW = ("teach", "export")
    """Requests that take so long that others must not wait for them."""

    def __init__(self, app: AppState) -> None:
        self.app, self.settings = app, app.settings
        self.pupils = [ClientAgent.of(served) for served in app.served]
        self._readings: dict[int, tuple[tuple[Any, ...], Reading]] = {}
        """The last of each agent, and of what: a walk asks for the same at every step."""
        self.requests: dict[str, Callable[[Message], Answer]] = {
            "world": self.world,
            "load": self.load,
            "read": self.read,
            "say": self.say,
            "think": self.think,
            "where": self.where,
            "seen": self.seen,
            "drawing": self.drawing,
            "teach": self.teach,
            "export": self.export,
        }

    def world(self, message: Message) -> Answer:
        """A random world."""
        seed = message.whole("seed", _MAX_SEED)
        message.end()
        scene, command, question = self.app.draw(seed)
        return {"scene": scene.to_dict(), "command": command, "question": question}

    def load(self, message: Message) -> Answer:
        """A scenario of a file or link, checked and complete."""
        scene = self._scene(message)
        message.end()
        return {"scene": scene.to_dict()}

    def read(self, message: Message) -> Answer:
        """What is to be said of a sentence before anyone acts on it."""
        pupil, scene = self._pupil(message), self._scene(message)
        sentence = self._sentence(message)
        message.end()
        return pupil.read(sentence, scene, self.settings).to_dict(scene)

    def say(self, message: Message) -> Answer:
        """A sentence that the teacher could say of a world, made of words that the agent was told."""
        pupil, scene = self._pupil(message), self._scene(message)
        kind = message.one_of("kind", (COMMAND, QUESTION))
        rng = np.random.default_rng(message.whole("seed", _MAX_SEED))
        message.end()
        found = [
            truth
            for truth in valid_sentences(scene.teacher, scene.scenario.state())
            if (truth.type in COMMANDS) == (kind == COMMAND) and pupil.knows(truth, scene)
        ]
        if not found:
            raise InputError(f"there is no {kind} that the teacher could give here: add an object, or free its way")
        found = [truth for truth in found if pupil.is_tested_by(truth)] or found
        if rng.integers(EMPTY_CELL_ODDS):  # there are many empty cells, and they are asked about now and then only
            found = [truth for truth in found if not truth.is_empty] or found
        types = sorted({truth.type for truth in found})
        type_ = types[rng.integers(len(types))]
        of_type = [truth for truth in found if truth.type == type_]
        return {"sentence": verbalize(scene.teacher, of_type[rng.integers(len(of_type))], rng)}

    def think(self, message: Message) -> Answer:
        """An agent's insides at one step and where it goes; `from` is where it stood when it was told."""
        agent, scene = self._agent(message), self._scene(message)
        sentence = self._sentence(message)
        start = scene
        if message.has("from"):
            begun = read_position("from", message.take("from"), scene.scenario.size)
            start = replace(scene, scenario=replace(scene.scenario, agent=begun))
        message.end()
        reading = self._reading(agent, sentence, start)
        thought = self.pupils[agent].think(scene, reading, self.app.thinker)
        return {"reading": reading.to_dict(start), **thought}

    def where(self, message: Message) -> Answer:
        """Where the agent sees a word."""
        pupil, scene = self._pupil(message), self._scene(message)
        word = message.text("word", self.settings.sentence_chars)
        message.end()
        return {"map": explanations.where(pupil.trained, scene, word)}

    def seen(self, message: Message) -> Answer:
        """Which words the agent sees in a cell."""
        pupil, scene = self._pupil(message), self._scene(message)
        position = read_position("cell", message.take("at"), scene.scenario.size)
        message.end()
        return {"words": explanations.seen_at(pupil.trained, scene, position, pupil.answers)}

    def drawing(self, message: Message) -> Answer:
        """An uploaded picture as an icon, and its name checked."""
        name = message.text("name", self.settings.name_chars)
        limits = self.settings
        image = decode(message.text("png", 2 * limits.upload_bytes), limits.upload_bytes, limits.upload_pixels)
        message.end()
        Lexicon([name])  # checks that it can be a word
        return {"name": name, "png": png_text(icon(image))}

    def teach(self, message: Message) -> Answer:
        """The agent, taught all these lessons and no others, from the start; without lessons, as it came."""
        pupil = self._pupil(message)
        lessons = message.items("lessons", self.settings.lessons)
        message.end()
        taught, words = ClientAgent.of(pupil.served), []
        for record in lessons:
            lesson = Message(record, "a lesson")
            words.append(lesson.text("word", self.settings.name_chars))
            examples = lesson.items("examples", self.settings.examples)
            lesson.end()
            taught = taught.taught(words[-1], [self._example(example, words[-1]) for example in examples])
        self.pupils = [taught if other is pupil else other for other in self.pupils]
        self._readings.clear()  # new words are understood now
        return {"taught": words, "words": list(taught.lexicon)}

    def export(self, message: Message) -> Answer:
        """A walk as a moving picture, or as a page that plays alone."""
        pupil, scene = self._pupil(message), self._scene(message)
        sentence = self._sentence(message)
        form = message.one_of("format", ("gif", "html"))
        path = message.items("path", self.settings.walk_steps)
        message.end()
        size = scene.scenario.size
        scenes = [
            replace(scene, scenario=replace(scene.scenario, agent=read_position("path", at, size))) for at in path
        ] or [scene]
        reading = pupil.read(sentence, scenes[0], self.settings)
        thoughts = [pupil.think(one, reading, self.app.thinker) for one in scenes[:-1] or scenes]
        if len(thoughts) < len(scenes):  # where the walk ended, it is shown what the last step was made by
            move = thoughts[-1]["move"]
            ended = move is not None and move["ended"] and move["to"] == path[-1]
            thoughts.append({**thoughts[-1], "move": None, "done": "ended" if ended else "time"})
        recording = WalkRecording(pupil.served.name, scenes, reading, thoughts)
        if form == "gif":
            return {"name": "groundling.gif", "base64": base64.b64encode(gif(recording)).decode()}
        return {"name": "groundling.html", "base64": base64.b64encode(html(recording).encode()).decode()}

    def _agent(self, message: Message) -> int:
        return message.whole("agent", len(self.pupils))

    def _pupil(self, message: Message) -> ClientAgent:
        return self.pupils[self._agent(message)]

    def _scene(self, message: Message) -> Scene:
        return self.app.scenes.read(message.take("scene"))

    def _sentence(self, message: Message) -> str:
        return message.text("sentence", self.settings.sentence_chars)

    def _reading(self, agent: int, sentence: str, scene: Scene) -> Reading:
        asked = (sentence, scene.scenario, scene.drawings)
        last, reading = self._readings.get(agent, (None, None))
        if reading is None or asked != last:
            reading = self.pupils[agent].read(sentence, scene, self.settings)
            self._readings[agent] = (asked, reading)
        return reading

    def _example(self, record: Any, word: str) -> Example:
        example = Message(record, "an example")
        scene, question = self._scene(example), self._sentence(example)
        example.end()
        return Example(explanations.picture(scene), question, word)

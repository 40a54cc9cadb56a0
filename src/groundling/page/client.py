"""The requests of one client, and the agents as that client taught them."""

import base64
from collections.abc import Callable
from typing import Any

import numpy as np

from groundling.errors import Cancelled, InputError
from groundling.learn.few_shot import Example
from groundling.page import explanations
from groundling.page.app_state import AppState
from groundling.page.client_agent import ClientAgent
from groundling.page.examples import example_sentences
from groundling.page.export import to_gif, to_html
from groundling.page.message import Message
from groundling.page.scene import Scene, with_agent_at
from groundling.page.sentence_check import COMMAND, QUESTION, SentenceCheck
from groundling.page.uploads import decode_png, icon_base64
from groundling.page.walk import Runner, record_walk
from groundling.teacher.episode_sampling import EMPTY_CELL_ODDS
from groundling.teacher.lexicon import check_new_word
from groundling.teacher.valid_sentences import valid_sentences, verbalize
from groundling.world.scenario import read_position

Reply = dict[str, Any]
_MAX_SEED = 1 << 31


class Client:
    """Answers the requests of one client. Only `teach` changes its state.

    When `cancelled` returns true, a slow request raises Cancelled at its next step.
    """

    SLOW_REQUESTS = ("teach", "export")
    """Requests that take seconds; they run in a thread of their own, so that others do not wait for them."""

    def __init__(self, app_state: AppState, cancelled: Callable[[], bool]) -> None:
        self.app_state, self.limits, self.cancelled = app_state, app_state.limits, cancelled
        self.agents = [ClientAgent.of(agent) for agent in app_state.agents]
        self._checks: dict[int, tuple[tuple[Any, ...], SentenceCheck]] = {}
        """Last sentence check of each agent with its input; all steps of a walk repeat the same check."""
        self.requests: dict[str, Callable[[Message], Reply]] = {
            "new_world": self.new_world,
            "load": self.load,
            "check_sentence": self.check_sentence,
            "suggest_sentence": self.suggest_sentence,
            "step": self.step,
            "detect": self.detect,
            "describe_cell": self.describe_cell,
            "convert_drawing": self.convert_drawing,
            "teach": self.teach,
            "export": self.export,
            "examples": self.examples,
            "progress": self.progress,
        }

    def new_world(self, message: Message) -> Reply:
        """A random world, with a command and a question for it."""
        seed = message.integer("seed", _MAX_SEED)
        message.end()
        scene, command, question = self.app_state.sample_world(seed)
        return {"scene": scene.to_dict(), "command": command, "question": question}

    def load(self, message: Message) -> Reply:
        """A scene from a file or a link, checked and complete."""
        scene = self._scene(message)
        message.end()
        return {"scene": scene.to_dict()}

    def check_sentence(self, message: Message) -> Reply:
        """The sentence check, without running the agent."""
        agent, scene = self._agent(message), self._scene(message)
        sentence = self._sentence(message)
        message.end()
        return agent.check(sentence, scene, self.limits).to_dict(scene)

    def suggest_sentence(self, message: Message) -> Reply:
        """A random sentence of the teacher that is valid in the scene and has only words known to the agent."""
        agent, scene = self._agent(message), self._scene(message)
        kind = message.choice("kind", (COMMAND, QUESTION))
        rng = np.random.default_rng(message.integer("seed", _MAX_SEED))
        message.end()
        valid = [
            sentence
            for sentence in valid_sentences(scene.teacher, scene.scenario.state())
            if scene.teacher.language.type(sentence.type).is_command == (kind == COMMAND)
            and agent.knows(sentence, scene)
        ]
        if not valid:
            raise InputError(f"the teacher has no {kind} for this world; add an object, or remove walls around one")
        valid = [sentence for sentence in valid if agent.is_test_sentence(sentence)] or valid
        if rng.integers(EMPTY_CELL_ODDS):  # otherwise most questions would be about empty cells
            valid = [sentence for sentence in valid if not sentence.is_empty] or valid
        types = sorted({sentence.type for sentence in valid})
        type_ = types[rng.integers(len(types))]
        of_type = [sentence for sentence in valid if sentence.type == type_]
        return {"sentence": verbalize(scene.teacher, of_type[rng.integers(len(of_type))], rng)}

    def examples(self, message: Message) -> Reply:
        """One sentence of each type that is valid in the scene; the same scene has the same examples."""
        agent, scene = self._agent(message), self._scene(message)
        message.end()
        return {"examples": example_sentences(agent, scene)}

    def progress(self, message: Message) -> Reply:
        """How often each agent was replaced by a later one, and the metrics of a live run."""
        message.end()
        return {"versions": list(self.app_state.versions), "metrics": self.app_state.metrics()}

    def step(self, message: Message) -> Reply:
        """The agent's move and its explanation; the sentence was given when the agent was at `start`."""
        index, scene = self._agent_index(message), self._scene(message)
        sentence = self._sentence(message)
        start = message.optional("start")
        message.end()
        first = scene if start is None else with_agent_at(scene, "start", start)
        check = self._cached_check(index, sentence, first)
        reply = self._current(index).step(scene, check, self.app_state.inference)
        return {"sentence_check": check.to_dict(first), **reply}

    def detect(self, message: Message) -> Reply:
        """The detection map of a word."""
        agent, scene = self._agent(message), self._scene(message)
        word = message.text("word", self.limits.sentence_chars)
        message.end()
        return {"map": explanations.detection_map(agent.trained, scene, word)}

    def describe_cell(self, message: Message) -> Reply:
        """The words that the agent would answer about a cell."""
        agent, scene = self._agent(message), self._scene(message)
        position = read_position("cell", message.required("at"), scene.scenario.size)
        message.end()
        return {"words": explanations.describe_cell(agent.trained, scene, position, agent.answers)}

    def convert_drawing(self, message: Message) -> Reply:
        """An uploaded image as an icon; its name is checked."""
        limits = self.limits
        name = message.text("name", limits.name_chars)
        image = decode_png(message.text("png", 2 * limits.upload_bytes), limits.upload_bytes, limits.upload_pixels)
        message.end()
        check_new_word(name, self.app_state.language)
        return {"name": name, "png": icon_base64(image)}

    def teach(self, message: Message) -> Reply:
        """Teach the served agent exactly these words, replacing all earlier teaching."""
        index = self._agent_index(message)
        records = message.items("taught_words", self.limits.taught_words)
        message.end()
        agent, words = ClientAgent.of(self.app_state.agents[index]), []
        for record in records:
            taught_word = Message(record, "taught word")
            word = taught_word.text("word", self.limits.name_chars)
            examples = taught_word.items("examples", self.limits.examples)
            taught_word.end()
            agent = agent.teach(word, [self._example(example, word) for example in examples], self.cancelled)
            words.append(word)
        self.agents[index] = agent
        self._checks.clear()  # they depend on the lexicon
        return {"taught_words": words, "lexicon": list(agent.words)}

    def export(self, message: Message) -> Reply:
        """A walk as a GIF animation, or as an HTML file that needs no server."""
        agent, scene = self._agent(message), self._scene(message)
        sentence = self._sentence(message)
        file_format = message.choice("format", ("gif", "html"))
        path = message.items("path", max(self.limits.walk_steps, 1 + self.app_state.scenes.base.world.step_limit))
        has_verdict = message.optional("verdict") not in (None, "")
        verdict = message.text("verdict", self.limits.verdict_chars) if has_verdict else ""
        message.end()
        recording = record_walk(self._runner(agent), scene, sentence, path, verdict)
        data = to_gif(recording, self._check_cancelled) if file_format == "gif" else to_html(recording).encode()
        return {"name": f"groundling.{file_format}", "base64": base64.b64encode(data).decode()}

    def _runner(self, agent: ClientAgent) -> Runner:
        return Runner(agent, self.app_state.inference, self.limits, self._check_cancelled)

    def _check_cancelled(self) -> None:
        if self.cancelled():
            raise Cancelled

    def _agent_index(self, message: Message) -> int:
        return message.integer("agent", len(self.agents))

    def _agent(self, message: Message) -> ClientAgent:
        return self._current(self._agent_index(message))

    def _current(self, index: int) -> ClientAgent:
        """The agent as this client taught it, or a later one if the server has replaced it."""
        if self.agents[index].served is not self.app_state.agents[index]:
            self.agents[index] = ClientAgent.of(self.app_state.agents[index])
            self._checks.pop(index, None)
        return self.agents[index]

    def _scene(self, message: Message) -> Scene:
        return self.app_state.scenes.read(message.required("scene"))

    def _sentence(self, message: Message) -> str:
        return message.text("sentence", self.limits.sentence_chars)

    def _cached_check(self, index: int, sentence: str, scene: Scene) -> SentenceCheck:
        key = (sentence, scene.scenario, scene.drawings)
        if index in self._checks and self._checks[index][0] == key:
            return self._checks[index][1]
        check = self._current(index).check(sentence, scene, self.limits)
        self._checks[index] = (key, check)
        return check

    def _example(self, record: Any, word: str) -> Example:
        example = Message(record, "example")
        scene, question = self._scene(example), self._sentence(example)
        example.end()
        return Example(explanations.render_view(scene), question, word)

"""An OpenEnv server: text episodes over HTTP and WebSocket, with the frozen suites as tasks.

    uvicorn --factory groundling.adapters.openenv_server:make_app

`reset(split="train", index=k, seed=s)` begins episode k of a seed; `reset(split="zs1", index=k)` the k-th episode of a
frozen suite. A factory of your own that calls `make_app(view="both")` shows pictures, too.
"""

from functools import cache, partial
from typing import Any

import numpy as np
from openenv.core.env_server import Action, Environment, Observation, State, create_app
from openenv.core.env_server.types import EnvironmentMetadata
from pydantic import Field

import groundling
from groundling.env_options import EnvOptions
from groundling.errors import InputError
from groundling.suites.suite import Suite, suite_names
from groundling.teacher.teacher import Teacher
from groundling.text import TextEpisode

TRAIN = "train"
TRAIN_TASKS = 1_000_000
"""Tasks of the train split under each seed."""
MAX_CONCURRENT_ENVS = 64


class GroundlingAction(Action):  # type: ignore[misc, unused-ignore]
    """What a model replies."""

    reply: str = Field(description="One move (up, down, left, right), or one word that answers the question.")


class GroundlingObservation(Observation):  # type: ignore[misc, unused-ignore]
    """The last message of the chat."""

    text: str = Field(description="Rules, map and the teacher's sentence.")
    content: Any = Field(default=None, description="The same with pictures, as content of an OpenAI-compatible chat.")
    task: str = Field(default="nav", description="nav: follow the command; qa: answer the question.")


class GroundlingEnvironment(Environment):  # type: ignore[misc, unused-ignore]
    """One text episode at a time."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, view: str = "sentences", **options: Any) -> None:
        super().__init__()
        self._view, self._options = view, tuple(sorted(options.items()))
        self._game: TextEpisode | None = None
        self._episode_id: str | None = None

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        split: str = TRAIN,
        index: int = 0,
        task: str = "nav",
        **_: Any,
    ) -> GroundlingObservation:
        """Begin an episode of the train split, or of a frozen suite."""
        if split == TRAIN:
            number = int(np.random.default_rng().integers(1 << 40)) if seed is None else seed
            self._game = TextEpisode(_teacher(self._options), number, index, task, self._view)
            self._episode_id = episode_id or f"{split}-{number}-{index}"
        else:
            self._game = Suite.load(split, "full").begin(index, self._view)
            self._episode_id = episode_id or f"{split}-{index}"
        return self._observe(None)

    def step(self, action: GroundlingAction, timeout_s: float | None = None, **_: Any) -> GroundlingObservation:
        """Act on a reply; the reward is that of the step."""
        if self._game is None:
            raise InputError("call reset before the first step")
        before = self._game.reward
        self._game.reply(action.reply)
        return self._observe(round(self._game.reward - before, 3))

    def _observe(self, reward: float | None) -> GroundlingObservation:
        game = self._game
        assert game is not None
        metadata = {"replies": game.replies, "invalid": game.invalid}
        if game.done:
            metadata |= {"success": game.success, "truncated": not game.success and game.task == "nav"}
        content = game.messages[-1]["content"]
        return GroundlingObservation(
            text=game.text, content=content, task=game.task, done=game.done, reward=reward, metadata=metadata
        )

    @property
    def state(self) -> State:
        """Which episode, and how many replies; nothing of the ground truth."""
        return State(episode_id=self._episode_id, step_count=self._game.replies if self._game else 0)

    def get_metadata(self) -> EnvironmentMetadata:
        """Name, description and version."""
        return EnvironmentMetadata(
            name="groundling",
            description="A grid world with a teacher: follow commands and answer questions in a small language.",
            version=groundling.__version__,
        )

    # The task API.

    def list_splits(self) -> list[dict[str, str]]:
        """The train split and the frozen suites."""
        return [{"name": TRAIN, "type": "train"}, *({"name": name, "type": "test"} for name in suite_names())]

    def num_tasks(self, split: str) -> int:
        """The number of episodes of a split."""
        return TRAIN_TASKS if split == TRAIN else len(Suite.load(split, "full"))

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """The episodes of a suite; of the train split, the first hundred."""
        return self.get_task_range(split, 0, min(100, self.num_tasks(split)) if split == TRAIN else None)

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """The id of an episode and, for a suite, its sentence type."""
        if not 0 <= index < self.num_tasks(split):
            raise IndexError(index)
        task = {"id": f"{split}-{index}", "index": index}
        return task if split == TRAIN else {**task, "type": Suite.load(split, "full")[index].type}

    def get_task_range(self, split: str, start: int | None, stop: int | None) -> list[dict[str, Any]]:
        """The episodes start .. stop - 1."""
        return [self.get_task(split, k) for k in range(*slice(start, stop).indices(self.num_tasks(split)))]


@cache
def _teacher(options: tuple[tuple[str, Any], ...]) -> Teacher:
    """The teacher of the train split; the same for all concurrent environments."""
    return EnvOptions.of(dict(options)).teacher()


def make_app(view: str = "sentences", **options: Any) -> Any:
    """The server as an ASGI application; `options` of the Gymnasium environments are those of the train split."""
    return create_app(
        partial(GroundlingEnvironment, view, **options),
        GroundlingAction,
        GroundlingObservation,
        env_name="groundling",
        max_concurrent_envs=MAX_CONCURRENT_ENVS,
    )

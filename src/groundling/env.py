"""The Gymnasium environments `groundling/Nav-v0` and `groundling/NavQA-v0`, single and vectorized.

Env i of a vector reset with seed s plays episodes 0, 1, 2, ... of seed s + i, as the single env reset with seed s + i
does: the two agree step for step.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from groundling.errors import InputError, nearest
from groundling.teacher.grammar import MAX_WORDS
from groundling.teacher.splits import KINDS, Split
from groundling.teacher.teacher import EpisodeBatch, Lessons, Teacher
from groundling.world.catalog import CELL_PIXELS, PERSON_PIXELS, Catalog
from groundling.world.rendering import ansi, draw, map_cells, view_cells
from groundling.world.shortest_path import best_actions
from groundling.world.simulation import ACTIONS, Bools

Observation = dict[str, NDArray[Any]]
Info = dict[str, Any]


@dataclass(frozen=True)
class EnvOptions(Lessons):
    """The keyword arguments of `gymnasium.make`, beside those of Lessons."""

    split: str | Path | Split = "normal"
    """`normal`, `zs1`, `zs2`, `novel`, a split file, or a Split."""
    holdout: float = 50.0
    """X: the percentage held out, for a split drawn by its name."""
    split_seed: int = 0
    """Draws what is held out, for a split drawn by its name."""
    phase: str = "train"
    """`train`: sentences without anything held out; `test`: only sentences with it."""
    icons: str | Path | None = None
    """A folder of icons to use in place of the shipped ones."""
    observation: str = "pixels"
    """`pixels`: `image`, as the agent sees it; `cells`: `cells`, the number of each cell's picture."""
    answer_reward: float = 0.0
    """What a right answer adds to the reward."""
    texts: bool = True
    """Whether `info` holds the sentences as texts too."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.observation not in ("pixels", "cells"):
            raise InputError(f"observation {self.observation!r}: it is pixels or cells")

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Options":
        """From keyword arguments; an unknown one is an error."""
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise InputError(f"unknown option {name!r}{nearest(name, known)}; there are {', '.join(known)}")
        return cls(**options)

    def teacher(self) -> Teacher:
        catalog = Catalog.default() if self.icons is None else Catalog.from_folder(self.icons)
        if isinstance(self.split, Split):
            split = self.split
        elif str(self.split) in KINDS:
            split = Split.draw(str(self.split), self.holdout, self.split_seed, catalog.classes, catalog.pairs)
        elif Path(self.split).is_file():
            split = Split.load(self.split)
        else:
            raise InputError(f"unknown split {str(self.split)!r}: it is one of {', '.join(KINDS)}, or a split file")
        return Teacher(self, split, self.phase, catalog)


class NavVectorEnv(VectorEnv[Observation, NDArray[np.int64], NDArray[Any]]):
    """Episodes in which the teacher commands; with `questions`, it also asks."""

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium's own form
        "render_modes": ["rgb_array", "ansi"],
        "render_fps": 4,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }
    questions = False

    def __init__(
        self,
        num_envs: int = 1,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        **options: Any,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise InputError(f"render_mode {render_mode!r}: it is rgb_array, ansi or None")
        self.options = EnvOptions.of(options)
        self.teacher = self.options.teacher()
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "autoreset_mode": AutoresetMode(autoreset_mode)}
        self._seed = np.random.default_rng().integers(0, 1 << 62, num_envs)
        self._index = np.full(num_envs, -1)
        """Which episode of its seed each env is in; -1 before the first reset."""
        self._session: EpisodeBatch | None = None
        self._over = np.zeros(num_envs, np.bool_)
        self._shortest = np.zeros(num_envs, np.int64)

        side = 2 * self.options.size - 1
        words = len(self.teacher.lexicon)
        sentence = spaces.MultiDiscrete([words + 1] * MAX_WORDS)
        observed: dict[str, spaces.Space[Any]] = {}
        if self.options.observation == "pixels":
            pixels = side * CELL_PIXELS
            observed["image"] = spaces.Box(0, 255, (pixels, pixels, 3), np.uint8)
        else:
            observed["cells"] = spaces.Box(0, self.teacher.catalog.cells - 1, (side, side), np.int16)
        observed["command"] = sentence
        if self.questions:
            observed["question"] = sentence
        self.single_observation_space = spaces.Dict(observed)
        self.single_action_space = (
            spaces.MultiDiscrete([len(ACTIONS), words]) if self.questions else spaces.Discrete(len(ACTIONS))
        )
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Begin new episodes. Without a seed, the next ones of the seed in use, or of a random one at first.

        `options["episode"]` begins with the episode of that index, `options["reset_mask"]` resets some envs only.
        """
        options = options or {}
        which = np.asarray(options.get("reset_mask", np.ones(self.num_envs, np.bool_)))
        if which.shape != (self.num_envs,) or which.dtype != np.bool_:
            raise InputError(f"reset_mask: it is a boolean array of shape ({self.num_envs},)")
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int | np.integer) else seed
        if seeds is not None and len(seeds) != self.num_envs:
            raise InputError(f"{len(seeds)} seeds for {self.num_envs} envs: one for each is needed")
        new_seed, new_index = self._seed.copy(), self._index + 1
        for i, given in enumerate(seeds or ()):
            if given is not None:
                new_seed[i], new_index[i] = _natural("seed", given), 0
        if "episode" in options:
            new_index[:] = _natural("episode", options["episode"])
        self._seed, self._index = np.where(which, new_seed, self._seed), np.where(which, new_index, self._index)
        self._begin(which)
        return self._observe(), self._info()

    def _begin(self, which: Bools) -> None:
        """Begin the episodes that `_seed` and `_index` say, in some of the envs."""
        if self._session is None:
            self._session, which = self.teacher.begin(self._seed, self._index), np.ones(self.num_envs, np.bool_)
        else:
            self._session = self.teacher.reset(replace(self._session, seed=self._seed.copy()), which, self._index)
        self._over = self._over & ~which
        self._shortest = np.where(which, best_actions(self._session.state)[1], self._shortest)

    @property
    def episode(self) -> EpisodeBatch:
        """The episodes as they stand."""
        if self._session is None:
            raise gym.error.ResetNeeded("call reset before the first step")
        return self._session

    def step(self, actions: NDArray[np.int64]) -> tuple[Observation, NDArray[Any], NDArray[Any], NDArray[Any], Info]:
        """Act, be judged, hear a question, look. Envs whose episode ended begin a new one as `autoreset_mode` says."""
        before, over = self.episode, self._over
        mode = self.metadata["autoreset_mode"]
        if mode == AutoresetMode.DISABLED and over.any():
            raise gym.error.ResetNeeded(f"env {np.flatnonzero(over)[0]}: its episode is over, reset it first")
        chosen = np.asarray(actions, np.int64)
        if not self.action_space.contains(chosen):
            raise InputError(f"actions {actions!r}: they are not in {self.action_space}")
        moves = chosen[:, 0] if self.questions else chosen
        self._session, (rewards, terminated, truncated) = self.teacher.step(before, moves, self.questions)
        asked = correct = np.zeros(self.num_envs, np.bool_)
        if self.questions:
            asked = (before.question.answer >= 0) & ~over
            correct = asked & (chosen[:, 1] == before.question.answer)
            rewards = rewards + self.options.answer_reward * correct

        final: Info = {}
        if mode == AutoresetMode.NEXT_STEP:  # an env whose episode was over has only begun the next one
            rewards, terminated, truncated = rewards * ~over, terminated & ~over, truncated & ~over
            self._auto_reset(over)
            self._over = terminated | truncated
        elif mode == AutoresetMode.DISABLED:
            self._over = terminated | truncated
        elif (ended := terminated | truncated).any():
            final = self._final(ended, correct, asked)
            asked = asked & ~ended
            self._auto_reset(ended)
        info = self._info() | _masked({"correct": correct}, asked) | final
        return self._observe(), rewards, terminated, truncated, info

    def _auto_reset(self, which: Bools) -> None:
        if which.any():
            self._index = self._index + which
            self._begin(which)

    def _final(self, ended: Bools, correct: Bools, asked: Bools) -> Info:
        """What Gymnasium wants to know of episodes that end and are renewed in the same step."""
        observation = self._observe()
        final_obs = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(ended):
            final_obs[i] = {name: value[i].copy() for name, value in observation.items()}
        info = self._info(ended) | _masked({"correct": correct}, asked & ended)
        return {"final_obs": final_obs, "_final_obs": ended, "final_info": info, "_final_info": ended}

    def _observe(self) -> Observation:
        episode = self.episode
        cells = view_cells(episode.state)
        pixels = self.options.observation == "pixels"
        view = {"image": draw(cells, self.teacher.catalog.pictures[CELL_PIXELS])} if pixels else {"cells": cells}
        said = {"command": episode.command} | ({"question": episode.question} if self.questions else {})
        return {**view, **{name: sentences.tokens.astype(np.int64) for name, sentences in said.items()}}

    def _info(self, which: Bools | None = None) -> Info:
        """Of each env: its episode, the shortest way from its start, the texts and, with questions, the true answer."""
        episode = self.episode
        info: Info = {"episode": episode.index.copy(), "shortest_path": self._shortest.copy()}
        if self.questions:
            info["answer_token"] = episode.question.answer.astype(np.int64)
        if self.options.texts:
            info["command"] = self._texts(episode.command.tokens)
        if self.options.texts and self.questions:
            info["question"] = self._texts(episode.question.tokens)
            words = (*self.teacher.lexicon.words, "")  # -1, no question, is the last of these
            info["answer"] = _objects([words[k] for k in episode.question.answer.tolist()])
        return _masked(info, np.ones(self.num_envs, np.bool_) if which is None else which)

    def _texts(self, tokens: NDArray[np.int16]) -> NDArray[np.object_]:
        return _objects([self.teacher.lexicon.text(row) for row in tokens.tolist()])

    def render(self) -> tuple[Any, ...] | None:
        """Each env's map from above: pixels, or text with what the teacher says."""
        state = self.episode.state
        if self.render_mode == "rgb_array":
            return tuple(draw(map_cells(state), self.teacher.catalog.pictures[PERSON_PIXELS]))
        if self.render_mode == "ansi":
            maps = ansi(state, self.teacher.catalog)
            said = [self._texts(self.episode.command.tokens)]
            if self.questions:
                said.append(self._texts(self.episode.question.tokens))
            return tuple("\n".join(filter(None, lines)) for lines in zip(maps, *said, strict=True))
        return None

    def save_state(self) -> dict[str, NDArray[Any]]:
        """A snapshot as named arrays: `numpy.savez(path, **env.save_state())` writes a file."""
        own = {"over": self._over, "shortest": self._shortest, "next_seed": self._seed, "next_index": self._index}
        return {**self.episode.arrays(), **{name: array.copy() for name, array in own.items()}}

    def load_state(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a snapshot of an env with the same options."""
        episode = EpisodeBatch.of(arrays)
        if len(episode.index) != self.num_envs or episode.state.size != self.options.size:
            raise InputError(
                f"snapshot of {len(episode.index)} maps of size {episode.state.size}: this env has {self.num_envs} of "
                f"size {self.options.size}"
            )
        self._session = episode
        self._over, self._shortest = arrays["over"].copy(), arrays["shortest"].copy()
        self._seed, self._index = arrays["next_seed"].copy(), arrays["next_index"].copy()


class NavQAVectorEnv(NavVectorEnv):
    """Episodes in which the teacher commands and asks; an action is a move and the number of the word answered."""

    questions = True


class NavEnv(gym.Env[Observation, Any]):
    """A batch of one."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array", "ansi"], "render_fps": 4}  # noqa: RUF012
    _vector: type[NavVectorEnv] = NavVectorEnv

    def __init__(self, render_mode: str | None = None, **options: Any) -> None:
        self.batch = self._vector(1, render_mode, AutoresetMode.DISABLED, **options)
        self.render_mode = render_mode
        self.observation_space = self.batch.single_observation_space
        self.action_space = self.batch.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin the next episode; with a seed, its first; with `options={"episode": k}`, that one."""
        super().reset(seed=None if seed is None else _natural("seed", seed))
        return self._first(*self.batch.reset(seed=seed, options=options))

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        batched, reward, terminated, truncated, infos = self.batch.step(np.asarray(action)[None])
        observation, info = self._first(batched, infos)
        return observation, float(reward[0]), bool(terminated[0]), bool(truncated[0]), info

    def render(self) -> Any:
        frames = self.batch.render()
        return None if frames is None else frames[0]

    def save_state(self) -> dict[str, NDArray[Any]]:
        """A snapshot as named arrays."""
        return self.batch.save_state()

    def load_state(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a snapshot of an env with the same options."""
        self.batch.load_state(arrays)

    @staticmethod
    def _first(observation: Observation, info: Info) -> tuple[Observation, dict[str, Any]]:
        own = {name: value[0] for name, value in info.items() if name[0] != "_" and info[f"_{name}"][0]}
        return {name: value[0] for name, value in observation.items()}, {
            name: value.item() if isinstance(value, np.generic) else value for name, value in own.items()
        }


class NavQAEnv(NavEnv):
    """A batch of one, with questions."""

    _vector = NavQAVectorEnv


def _natural(what: str, number: Any) -> int:
    if not isinstance(number, int | np.integer) or not 0 <= number < 1 << 63:
        raise InputError(f"{what} {number!r}: it is a whole number, 0 or more and below 2**63")
    return int(number)


def _masked(info: Info, which: Bools) -> Info:
    """A vector's info in Gymnasium's form: values of the envs that have them, and the mask that says which do."""
    if not which.any():
        return {}
    masked: Info = {}
    for name, value in info.items():
        masked[name] = np.full(len(which), None if value.dtype == object else 0, value.dtype)
        masked[name][which] = value[which]
        masked[f"_{name}"] = which.copy()
    return masked


def _objects(texts: list[str]) -> NDArray[np.object_]:
    array = np.empty(len(texts), object)
    array[:] = texts
    return array

"""The vector environments: many episodes at once, step for step equal to a loop over single environments.

Env i of a vector env reset with seed s plays episodes 0, 1, 2, ... of seed s + i, exactly as the single env reset with
seed s + i does. `groundling.env` documents observations, actions, rewards and infos.
"""

import string
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from groundling.env_arrays import LazyInfo, ObservationArrays, SentenceTexts, masked
from groundling.env_options import EnvOptions
from groundling.episodes import play_step
from groundling.errors import InputError, check_choice, check_int
from groundling.teacher.given_episodes import begin_given, put_episode
from groundling.teacher.lexicon import Lexicon
from groundling.teacher.snapshot import check_array, own_arrays, restore_episodes
from groundling.teacher.types import MAX_INDEX, EpisodeBatch
from groundling.text import describe_view, max_length
from groundling.world.catalog import CELL_PIXELS, DISPLAY_PIXELS
from groundling.world.rendering import ansi, draw, map_cells, view_cells
from groundling.world.shortest_path import best_actions
from groundling.world.simulation import ACTIONS
from groundling.world.types import Bools, State

Observation = dict[str, Any]
"""Arrays; texts for `observation="text"`."""
Info = dict[str, Any]
RENDER_MODES = ["rgb_array", "ansi"]
RESET_OPTIONS = ("episode", "reset_mask", "scenario", "command")


class NavVectorEnv(VectorEnv[Observation, NDArray[np.int64], NDArray[Any]]):
    """Episodes with a command; with `questions`, also with a question at each step."""

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium's own form
        "render_modes": RENDER_MODES,
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
        if render_mode is not None:
            check_choice("render_mode", render_mode, RENDER_MODES)
        self.options = EnvOptions.of(options)
        self.teacher = self.options.teacher()
        self.teacher.check_episodes(self.questions)
        self.num_envs = check_int("num_envs", num_envs, 1)
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "autoreset_mode": AutoresetMode(autoreset_mode)}
        self._seed = np.random.default_rng().integers(0, 1 << 62, num_envs)
        self._index = np.full(num_envs, -1)
        """The episode index of each env under its seed; -1 before the first reset."""
        self._episode: EpisodeBatch | None = None
        self._over = np.zeros(num_envs, np.bool_)
        self._shortest_path = np.zeros(num_envs, np.int64)
        self._arrays = ObservationArrays(self.options.copy)
        self._decode = SentenceTexts(self.lexicon)

        side = 2 * self.teacher.world.size - 1
        observed: dict[str, spaces.Space[Any]] = {}
        words = len(self.lexicon)
        sentence: spaces.Space[Any] = spaces.MultiDiscrete([words + 1] * self.teacher.language.max_words)
        if self.options.observation == "pixels":
            pixels = side * CELL_PIXELS
            observed["image"] = spaces.Box(0, 255, (pixels, pixels, 3), np.uint8)
        elif self.options.observation == "cells":
            observed["cells"] = spaces.Box(0, self.teacher.catalog.cells - 1, (side, side), np.int16)
        else:
            observed["text"], sentence = self._text_spaces()
        observed["command"] = sentence
        if self.questions:
            observed["question"] = sentence
        self.single_observation_space = spaces.Dict(observed)
        self.single_action_space = (
            spaces.MultiDiscrete([len(ACTIONS), words + 1]) if self.questions else spaces.Discrete(len(ACTIONS))
        )
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def _text_spaces(self) -> tuple[spaces.Text, spaces.Text]:
        """The spaces of what is seen and of sentences, as text."""
        catalog, words = self.teacher.catalog, self.lexicon.words
        attributes = (word for column in catalog.attributes.values() for word in column if word)
        charset = frozenset(string.printable).union(*words, *catalog.classes, *attributes)
        charset |= {character.upper() for word in words for character in word}
        longest = self.teacher.language.max_words * (1 + max(map(len, words)))
        seen = spaces.Text(max_length(self.teacher.world.size), min_length=1, charset=charset)
        return seen, spaces.Text(longest, min_length=0, charset=charset)

    @property
    def lexicon(self) -> Lexicon:
        """The words and their tokens: `lexicon.words[token]`, `lexicon.token[word]`, `encode`, `decode`, `pad`."""
        return self.teacher.lexicon

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Begin new episodes: of the given seed, otherwise the next ones of the current seed (random at first).

        `options["episode"]` begins with the episode of that index, `options["reset_mask"]` resets only some envs.
        `options["scenario"]` gives the map, as `Scenario.to_dict` writes it, and `options["command"]` the command;
        either alone is completed at random. Both are for all envs, or a list with one for each.
        """
        options = options or {}
        for name in options:
            if name not in RESET_OPTIONS:
                raise InputError(f"reset options must be among {', '.join(RESET_OPTIONS)}, got {name!r}")
        which = np.asarray(options.get("reset_mask", np.ones(self.num_envs, np.bool_)))
        if which.shape != (self.num_envs,) or which.dtype != np.bool_:
            raise InputError(f"reset_mask must be a boolean array of shape ({self.num_envs},), got {which!r}")
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int | np.integer) else seed
        if seeds is not None and (not isinstance(seeds, list | tuple) or len(seeds) != self.num_envs):
            raise InputError(f"seed must be one integer or a list of {self.num_envs}, got {seed!r}")
        new_seed, new_index = self._seed.copy(), self._index + 1
        for i, given in enumerate(seeds or ()):
            if given is not None:
                new_seed[i], new_index[i] = check_seed("seed", given), 0
        if "episode" in options:
            new_index[:] = check_int("episode", options["episode"], 0, MAX_INDEX)
        before = self._seed, self._index
        self._seed, self._index = np.where(which, new_seed, self._seed), np.where(which, new_index, self._index)
        scenarios, commands = (self._for_each_env(name, options.get(name)) for name in ("scenario", "command"))
        try:
            self._begin(which, scenarios, commands)
        except InputError:  # of a scenario or command: the running episodes go on
            self._seed, self._index = before
            raise
        return self._observe(), self._info()

    def _for_each_env(self, name: str, value: Any) -> list[Any]:
        """A reset option for each env."""
        if not isinstance(value, list):
            return [value] * self.num_envs
        if len(value) != self.num_envs:
            raise InputError(f"{name} must be one for all envs or a list of {self.num_envs}, got {len(value)}")
        return value

    def _begin(self, which: Bools, scenarios: list[Any] | None = None, commands: list[Any] | None = None) -> None:
        """Begin the episodes of `_seed` and `_index` in some of the envs, with given maps and commands."""
        if self._episode is None:
            episode = self.teacher.begin(self._seed, self._index, self.questions)
            which = np.ones(self.num_envs, np.bool_)
        else:
            seeded = replace(self._episode, seed=self._seed.copy())
            episode = self.teacher.reset(seeded, which, self._index, self.questions)
        for i, (scenario, command) in enumerate(zip(scenarios or (), commands or (), strict=True)):
            if which[i] and (scenario is not None or command is not None):
                seed, index = int(episode.seed[i]), int(episode.index[i])
                given = begin_given(self.teacher, seed, index, scenario, command, self.questions)
                episode = put_episode(episode, i, given)
        self._episode = episode
        self._over = self._over & ~which
        begun = State(*(array[which] for array in episode.state))
        self._shortest_path = self._shortest_path.copy()
        self._shortest_path[which] = best_actions(begun)[1]

    @property
    def episode(self) -> EpisodeBatch:
        """The current step of all episodes."""
        if self._episode is None:
            raise gym.error.ResetNeeded("call reset before the first step")
        return self._episode

    def step(self, actions: NDArray[np.int64]) -> tuple[Observation, NDArray[Any], NDArray[Any], NDArray[Any], Info]:
        """Act, judge, ask, observe. Envs whose episode ended begin a new one according to `autoreset_mode`."""
        before, over = self.episode, self._over
        mode = self.metadata["autoreset_mode"]
        if mode == AutoresetMode.DISABLED and over.any():
            raise gym.error.ResetNeeded(f"the episode of env {np.flatnonzero(over)[0]} is over; reset it first")
        chosen = self._check_actions(actions)
        moves = chosen[:, 0] if self.questions else chosen
        answers = chosen[:, 1] if self.questions else None
        _, self._episode, rewards, terminated, truncated, asked, correct = play_step(
            self.teacher, before, moves, answers, self.questions
        )
        asked, correct = asked & ~over & self.questions, correct & ~over
        if mode == AutoresetMode.NEXT_STEP:  # this step only begins the next episode where the last one was over
            rewards, terminated, truncated = rewards * ~over, terminated & ~over, truncated & ~over
        ended = terminated | truncated
        judged = masked({"correct": correct}, asked) | masked({"is_success": terminated}, ended)

        final: Info = {}
        if mode == AutoresetMode.NEXT_STEP:
            self._auto_reset(over)
            self._over = ended
        elif mode == AutoresetMode.DISABLED:
            self._over = ended
        elif ended.any():
            final = self._final(ended, correct, asked, terminated)
            judged = masked({"correct": correct}, asked & ~ended)
            self._auto_reset(ended)
        info = self._info()
        info.update(judged, **final)
        return self._observe(), rewards, terminated, truncated, info

    def _check_actions(self, actions: Any) -> NDArray[np.int64]:
        chosen = np.asarray(actions)
        if chosen.dtype.kind not in "iu" or not self.action_space.contains(chosen.astype(np.int64)):
            shown = str(actions).replace("\n", "")
            shown = shown if len(shown) <= 80 else shown[:77] + "..."
            raise InputError(
                f"actions must be integers of shape {self.action_space.shape}, each action in "
                f"{self.single_action_space}, got {shown}"
            )
        return chosen.astype(np.int64)

    def _auto_reset(self, which: Bools) -> None:
        if which.any():
            self._index = self._index + which
            self._begin(which)

    def _final(self, ended: Bools, correct: Bools, asked: Bools, success: Bools) -> Info:
        """The last observation and info of episodes that end and are replaced in the same step, as Gymnasium's API has
        them."""
        observation = self._observe(ended)
        final_obs = np.full(self.num_envs, None, object)
        for k, i in enumerate(np.flatnonzero(ended)):
            final_obs[i] = {name: copy(value[k]) for name, value in observation.items()}
        info = self._info(ended)
        info.update(masked({"correct": correct}, asked & ended), **masked({"is_success": success}, ended))
        return {"final_obs": final_obs, "_final_obs": ended, "final_info": info, "_final_info": ended}

    def _observe(self, which: Bools | None = None) -> Observation:
        """What all envs show, or some of them."""
        episode, catalog = self.episode, self.teacher.catalog
        arrays = self._arrays
        if which is not None:
            episode, arrays = episode.select(which), ObservationArrays(copy=False)
        sentences = {"command": episode.command} | ({"question": episode.question} if self.questions else {})
        side = 2 * episode.state.size - 1
        shape = (len(episode.index), side, side)
        if self.options.observation == "text":
            texts = {name: tuple(self._decode(batch.tokens)) for name, batch in sentences.items()}
            return {"text": tuple(describe_view(seen, catalog) for seen in view_cells(episode.state)), **texts}
        cells = view_cells(episode.state, arrays.get("cells", shape, np.int16))
        view: Observation = {"cells": cells}
        if self.options.observation == "pixels":
            pixels = (shape[0], side * CELL_PIXELS, side * CELL_PIXELS, 3)
            view = {"image": draw(cells, catalog.pictures[CELL_PIXELS], arrays.get("image", pixels, np.uint8))}
        return {**view, **{name: batch.tokens.astype(np.int64) for name, batch in sentences.items()}}

    def _info(self, which: Bools | None = None) -> Info:
        """The info of all envs, or of some; see `groundling.env.NavQAEnv`. Texts are made when they are asked for."""
        episode, lexicon = self.episode, self.lexicon
        which = np.ones(self.num_envs, np.bool_) if which is None else which
        info: Info = {"episode_index": episode.index, "shortest_path": self._shortest_path}
        if self.questions:
            answer = episode.question.answer.astype(np.int64)
            info["answer_token"] = np.where(answer < 0, lexicon.pad, answer)
        texts: dict[str, Callable[[], NDArray[np.object_]]] = {}
        if self.options.texts:
            texts["command"] = partial(self._decode, episode.command.tokens)
        if self.options.texts and self.questions:
            texts["question"] = partial(self._decode, episode.question.tokens)
            texts["answer"] = partial(self._decode.words, info["answer_token"])
        return LazyInfo(masked(info, which), texts, which)

    def render(self) -> tuple[Any, ...] | None:
        """Each env's map from above, as pixels or as text with the sentences."""
        state = self.episode.state
        if self.render_mode == "rgb_array":
            return tuple(draw(map_cells(state), self.teacher.catalog.pictures[DISPLAY_PIXELS]))
        if self.render_mode == "ansi":
            maps = ansi(state, self.teacher.catalog, self.options.mark_target)
            texts = [self._decode(self.episode.command.tokens)]
            if self.questions:
                texts.append(self._decode(self.episode.question.tokens))
            return tuple("\n".join(filter(None, lines)) for lines in zip(maps, *texts, strict=True))
        return None

    def save_state(self) -> dict[str, NDArray[Any]]:
        """A snapshot as named arrays: `numpy.savez(path, **env.save_state())` writes a file."""
        own = {
            "over": self._over,
            "shortest_path": self._shortest_path,
            "next_seed": self._seed,
            "next_index": self._index,
        }
        return {**self.episode.arrays(), **{name: array.copy() for name, array in own.items()}}

    def load_state(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a snapshot of an env with the same options; anything else is refused, and nothing changes."""
        arrays = own_arrays(arrays)
        episode = restore_episodes(self.teacher, arrays, self.num_envs)
        check_array(arrays, "over", self._over)
        check_array(arrays, "shortest_path", self._shortest_path.astype(np.int64), -1, self.teacher.world.size**2)
        check_array(arrays, "next_seed", self._seed, 0)
        check_array(arrays, "next_index", self._index, -1, MAX_INDEX)
        self._episode = episode
        self._over, self._shortest_path = arrays["over"].copy(), arrays["shortest_path"].copy()
        self._seed, self._index = arrays["next_seed"].copy(), arrays["next_index"].copy()


class NavQAVectorEnv(NavVectorEnv):
    """Episodes with a command and questions; an action is a move and the token of the answer."""

    questions = True


def check_seed(name: str, number: Any) -> int:
    """A seed of an env; anything else is an error."""
    return check_int(name, number, 0, (1 << 63) - 1)

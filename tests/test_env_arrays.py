"""Observations of vector envs in memory that is used again: what somebody refers to never changes, unless asked for."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import groundling.env
from groundling.env_arrays import KEPT, ObservationArrays, SentenceTexts
from groundling.teacher.lexicon import Lexicon
from groundling.teacher.teacher import Teacher

VIEWS = {"pixels": "image", "cells": "cells"}


def make(observation: str, **options: Any) -> Any:
    env = gym.make_vec("groundling/NavQA-v0", num_envs=8, observation=observation, **options)
    env.action_space.seed(0)
    return env


@pytest.mark.parametrize(("observation", "key"), VIEWS.items())
def test_observations_that_are_kept_do_not_change(observation: str, key: str) -> None:
    env = make(observation)
    kept = [env.reset(seed=0)[0][key]]
    seen = [kept[0].copy()]
    for _ in range(12):
        array = env.step(env.action_space.sample())[0][key]
        kept.append(array)
        seen.append(array.copy())
    for before, now in zip(seen, kept, strict=True):
        np.testing.assert_array_equal(before, now)
    assert len({array.ctypes.data for array in kept}) == len(kept)


@pytest.mark.parametrize(("observation", "key"), VIEWS.items())
def test_memory_is_reused_when_only_the_last_observation_is_kept(observation: str, key: str) -> None:
    env = make(observation)
    shown, _ = env.reset(seed=0)
    addresses = set()
    for _ in range(20):
        shown, *_ = env.step(env.action_space.sample())
        addresses.add(shown[key].ctypes.data)
    assert len(addresses) == KEPT


def test_a_view_of_an_observation_keeps_it() -> None:
    env = make("pixels")
    part = env.reset(seed=0)[0]["image"][3, :12]
    before = part.copy()
    for _ in range(6):
        env.step(env.action_space.sample())
    np.testing.assert_array_equal(part, before)


@pytest.mark.parametrize(("observation", "key"), VIEWS.items())
def test_without_copy_the_same_array_is_overwritten_with_the_same_content(observation: str, key: str) -> None:
    env, other = make(observation), make(observation, copy=False)
    env.reset(seed=0)
    first = other.reset(seed=0)[0][key]
    for _ in range(10):
        action = env.action_space.sample()
        a, b = env.step(action)[0][key], other.step(action)[0][key]
        assert b is first
        np.testing.assert_array_equal(a, b)


def test_single_envs_and_copies_of_envs_have_arrays_of_their_own() -> None:
    env = gym.make("groundling/Nav-v0").unwrapped
    shown = [env.reset(seed=0)[0]["image"], *(env.step(action)[0]["image"] for action in (0, 1, 2))]
    twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    frames = [image.copy() for image in shown]
    for twin in twins:
        for name, value in twin.step(3)[0].items():
            np.testing.assert_array_equal(value, copy.deepcopy(env).step(3)[0][name])
    for before, now in zip(frames, shown, strict=True):
        np.testing.assert_array_equal(before, now)


def test_arrays_of_another_shape_are_new() -> None:
    arrays = ObservationArrays(copy=True)
    assert arrays.get("image", (2, 3), np.uint8).shape == (2, 3)
    assert arrays.get("image", (4, 3), np.uint8).shape == (4, 3)


def test_texts_of_infos_are_made_only_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    env = make("cells")
    monkeypatch.setattr(Lexicon, "decode", lambda *_: pytest.fail("a text was made"))
    _, info = env.reset(seed=0)
    for _ in range(40):
        *_, info = env.step(env.action_space.sample())
        assert {"command", "question", "answer", "_answer"} <= info.keys()
        assert info["answer_token"].shape == info["_command"].shape == (8,)
    monkeypatch.undo()
    episode = env.unwrapped.episode
    expected = [env.unwrapped.teacher.text(episode.command, i) for i in range(8)]
    assert info["command"].tolist() == expected


LOOKS: dict[str, Callable[[Any], Any]] = {
    "items": lambda info: dict(info.items()),
    "dict": dict,
    "unpacking": lambda info: {**info},
    "or": lambda info: info | {},
    "reversed or": lambda info: {} | info,
    "copy": lambda info: info.copy(),
    "copy.copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda info: pickle.loads(pickle.dumps(info)),
    "update": lambda info: [merged := {}, merged.update(info)][0],
    "iteration": lambda info: {name: info[name] for name in info},
    "get": lambda info: {name: info.get(name) for name in info.keys()},  # noqa: SIM118
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_every_way_to_look_at_an_info_shows_its_texts(look: Callable[[Any], Any]) -> None:
    env = make("cells", max_steps=2)
    expected = {name: list(value) for name, value in env.reset(seed=0)[1].items()}
    assert all(map(str, expected["command"]))
    shown = look(env.reset(seed=0)[1])
    assert {name: list(value) for name, value in shown.items()} == expected


def test_values_of_a_lazy_info_can_be_set() -> None:
    _, info = make("cells").reset(seed=0)
    info["command"] = "mine"
    assert info["command"] == "mine"
    assert "mine" in repr(info)
    assert len(info) == len(list(info))


def test_sentences_are_decoded_and_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    teacher = Teacher()
    episode = teacher.begin(0, np.arange(300))
    monkeypatch.setattr(groundling.env_arrays, "MAX_KNOWN", 100)
    texts = SentenceTexts(teacher.lexicon)
    for _ in range(3):
        for sentences in (episode.command, episode.question):
            assert texts(sentences.tokens).tolist() == [teacher.text(sentences, b) for b in range(300)]

"""TrainedAgent (what `groundling.load` returns): equal results for all kinds of input, valid actions, clear errors."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import groundling
from groundling.agent import build
from groundling.agent.checkpoint import save
from groundling.errors import InputError
from groundling.learn.trained_agent import TrainedAgent, load_agent

IDS = ["groundling/Nav-v0", "groundling/NavQA-v0"]
BATCH = 6
QUESTIONS = [
    "What is in the north?",
    "What is in the south?",
    "What is in the northwest?",
    "What is in the west?",
    "Say the name of the object in the northeast.",
    "Tell the name of the thing in the southeast.",
]
"""One for each of the images, about a cell of its map: outside the map nothing is asked."""
EXPLANATION = {
    "word_attention",
    "attended_words",
    "gates",
    "detections",
    "x_loc_steps",
    "x_loc",
    "x_feat",
    "x_terr",
    "action_probabilities",
    "value",
    "value_map",
    "answer_scores",
}


@pytest.fixture(scope="module")
def agent() -> TrainedAgent:
    return groundling.load("normal")


def observations(id_: str, steps: int = 0, **options: Any) -> dict[str, NDArray[Any]]:
    """Batched observations after some steps to the right."""
    envs = gym.make_vec(id_, num_envs=BATCH, **options)
    observation: dict[str, NDArray[Any]] = envs.reset(seed=0)[0]
    for _ in range(steps):
        moves = np.ones(BATCH, np.int64)
        observation, *_ = envs.step(moves if id_ == IDS[0] else np.stack([moves, moves], 1))
    return observation


@pytest.fixture(scope="module")
def images() -> NDArray[np.uint8]:
    """[B, 156, 156, 3]"""
    return observations(IDS[0])["image"]


@pytest.mark.parametrize("id_", IDS)
def test_single_and_batched_actions_are_equal_and_in_the_action_space(agent: TrainedAgent, id_: str) -> None:
    env, envs = gym.make(id_), gym.make_vec(id_, num_envs=BATCH)
    for steps in range(3):
        batch = observations(id_, steps)
        actions = agent.act(batch)
        assert envs.action_space.contains(actions)
        for b in range(BATCH):
            action = agent.act({name: values[b] for name, values in batch.items()})
            assert env.action_space.contains(action)
            assert isinstance(action, int if id_ == IDS[0] else np.ndarray)
            assert np.array_equal(action, actions[b])


@pytest.mark.parametrize("id_", IDS)
def test_pixels_and_cells_give_the_same_actions(agent: TrainedAgent, id_: str) -> None:
    for steps in range(3):
        pixels, cells = (observations(id_, steps, observation=kind) for kind in ("pixels", "cells"))
        assert "image" in pixels
        assert "cells" in cells
        assert np.array_equal(agent.act(pixels), agent.act(cells))
        first_pixels, first_cells = ({name: v[0] for name, v in batch.items()} for batch in (pixels, cells))
        assert np.array_equal(agent.act(first_pixels), agent.act(first_cells))


def test_agent_reaches_targets_and_answers_questions_in_the_env(agent: TrainedAgent) -> None:
    envs = gym.make_vec(IDS[1], num_envs=100, phase="test", observation="cells", rewards={"right_answer": 1.0})
    observation, info = envs.reset(seed=1)
    asked = info["answer_token"] != agent.lexicon.pad
    assert (agent.act(observation)[asked, 1] == info["answer_token"][asked]).mean() > 0.95
    success, over = np.zeros(100, np.bool_), np.zeros(100, np.bool_)
    for _ in range(28):
        observation, _, terminated, truncated, _ = envs.step(agent.act(observation))
        success |= terminated & ~over
        over |= terminated | truncated
    assert over.all()
    assert success.mean() > 0.95


def test_model_without_an_answer_head_acts_and_gives_the_padding_token_as_answer(images: NDArray[np.uint8]) -> None:
    normal = groundling.load("normal")
    config = replace(normal.config, agent=replace(normal.config.agent, method="nava"))
    nav_only = TrainedAgent(replace(normal.checkpoint, model=build(config.agent, config.spec())), config)
    actions = nav_only.act(observations(IDS[1]))
    assert gym.make_vec(IDS[1], num_envs=BATCH).action_space.contains(actions)
    assert (actions[:, 1] == nav_only.lexicon.pad).all()
    with pytest.raises(InputError, match="agent must have an answer head to answer, got method 'nava'"):
        nav_only.answer(images[0], QUESTIONS[0])


@pytest.mark.parametrize("id_", IDS)
def test_sampled_actions_are_reproducible_with_the_same_seed(agent: TrainedAgent, id_: str) -> None:
    batch = observations(id_)

    def sampled(seed: int) -> NDArray[np.int64]:
        rng = np.random.default_rng(seed)
        return np.stack([agent.act(batch, greedy=False, rng=rng) for _ in range(50)])

    assert np.array_equal(sampled(0), sampled(0))
    assert not np.array_equal(sampled(0), sampled(1))
    space = gym.make_vec(id_, num_envs=BATCH).action_space
    assert all(space.contains(actions) for actions in sampled(0))


def test_frequencies_of_sampled_actions_are_the_action_probabilities(agent: TrainedAgent) -> None:
    observation = {name: values[0] for name, values in observations(IDS[0]).items()}
    explained = agent.explain(observation["image"], agent.lexicon.decode(observation["command"]))
    rng = np.random.default_rng(0)
    sampled = [agent.act(observation, greedy=False, rng=rng) for _ in range(400)]
    frequencies = np.bincount(sampled, minlength=4) / len(sampled)
    np.testing.assert_allclose(frequencies, explained["action_probabilities"], atol=0.1)
    assert agent.act(observation) == explained["action_probabilities"].argmax()


def test_answers_agree_for_text_and_tokens_numpy_and_torch_single_and_batched(
    agent: TrainedAgent, images: NDArray[np.uint8]
) -> None:
    answers = agent.answer(images, QUESTIONS)
    assert len(set(answers)) > 2
    assert set(answers) <= set(agent.lexicon.answers)
    assert agent.answer(torch.from_numpy(images), QUESTIONS) == answers
    tokens = [agent.lexicon.encode(question) for question in QUESTIONS]
    assert agent.answer(images, tokens) == answers
    padded = agent.model.tokens(tokens)
    assert agent.answer(images, padded) == agent.answer(images, padded.numpy()) == answers
    for image, question, row, answer in zip(images, QUESTIONS, tokens, answers, strict=True):
        assert agent.answer(image, question) == answer
        assert agent.answer(image, row) == answer
        assert agent.answer(image, np.array(row)) == answer
        assert agent.answer(torch.from_numpy(image), torch.tensor(row)) == answer


def test_answer_equals_the_answer_of_act(agent: TrainedAgent) -> None:
    batch = observations(IDS[1])
    answers = agent.answer(batch["image"], batch["question"])
    assert [agent.lexicon.token[word] for word in answers] == agent.act(batch)[:, 1].tolist()


def test_explanations_have_the_documented_names_and_agree_single_and_batched(
    agent: TrainedAgent, images: NDArray[np.uint8]
) -> None:
    batch = agent.explain(images, QUESTIONS)
    assert len(batch) == BATCH
    answers = agent.answer(images, QUESTIONS)
    for image, question, batched, answer in zip(images, QUESTIONS, batch, answers, strict=True):
        single = agent.explain(image, question)
        assert set(single) == set(batched) == EXPLANATION
        words = len(agent.lexicon.encode(question))
        shapes = {"word_attention": (3, words), "gates": (3,), "x_loc_steps": (3, 169), "x_loc": (169,), "value": ()}
        assert {name: single[name].shape for name in shapes} == shapes
        assert single["x_loc"].sum() == pytest.approx(1, abs=1e-3)
        assert agent.words[single["answer_scores"].argmax()] == answer
        for name, array in single.items():
            assert isinstance(array, np.ndarray), name
            np.testing.assert_allclose(batched[name], array, rtol=1e-3, atol=1e-4, err_msg=name)
    by_tokens: Any = agent.explain(torch.from_numpy(images[0]), torch.tensor(agent.lexicon.encode(QUESTIONS[0])))
    for name, array in by_tokens.items():
        np.testing.assert_allclose(array, agent.explain(images[0], QUESTIONS[0])[name], err_msg=name)


@pytest.mark.parametrize("half", [False, True], ids=["single precision", "half precision"])
def test_saved_and_loaded_agent_acts_and_answers_the_same(
    agent: TrainedAgent, images: NDArray[np.uint8], tmp_path: Path, half: bool
) -> None:
    path = tmp_path / "mine.safetensors"
    agent.save(path, half=half)
    loaded = groundling.load(path)
    assert isinstance(loaded, TrainedAgent)
    assert (loaded.config, loaded.words, loaded.split) == (agent.config, agent.words, agent.split)
    for steps in range(3):
        batch = observations(IDS[1], steps)
        assert np.array_equal(loaded.act(batch), agent.act(batch))
    assert loaded.answer(images, QUESTIONS) == agent.answer(images, QUESTIONS)


@pytest.mark.parametrize("word", ["durian", "apple"], ids=["new word", "known word"])
def test_teach_returns_a_new_agent_and_leaves_the_old_one_unchanged(
    agent: TrainedAgent, images: NDArray[np.uint8], tmp_path: Path, word: str
) -> None:
    before = {name: tensor.clone() for name, tensor in agent.model.state_dict().items()}
    words, batch = agent.words, observations(IDS[1])
    actions = agent.act(batch)
    taught = agent.teach(word, [(images[0], QUESTIONS[0], word), (torch.from_numpy(images[3]), QUESTIONS[3], word)])
    assert taught is not agent
    assert taught.model is not agent.model
    assert word in taught.words
    assert agent.words == words
    after = agent.model.state_dict()
    assert after.keys() == before.keys()
    assert all(torch.equal(after[name], before[name]) for name in before)
    assert np.array_equal(agent.act(batch), actions)
    row = taught.lexicon.token[word]
    table = taught.model.state_dict()["words.table"]
    assert row == len(words) or not torch.equal(table[row], before["words.table"][row])
    taught.save(tmp_path / "taught.safetensors")
    loaded = groundling.load(tmp_path / "taught.safetensors")
    assert loaded.words == taught.words
    assert torch.equal(loaded.model.state_dict()["words.table"], table)


def image_errors() -> list[tuple[Any, str]]:
    shape = r"image must be uint8 of shape \[H, W, 3\] or \[B, H, W, 3\], got "
    return [
        (np.zeros((156, 156, 3), np.float32), shape + r"float32 of shape \(156, 156, 3\)"),
        (torch.zeros(156, 156, 3), shape + r"float32 of shape \(156, 156, 3\)"),
        (np.zeros((156, 156), np.uint8), shape + r"uint8 of shape \(156, 156\)"),
        (np.zeros((3, 156, 156), np.uint8), shape + r"uint8 of shape \(3, 156, 156\)"),
        (np.zeros((1, 1, 156, 156, 3), np.uint8), shape + r"uint8 of shape \(1, 1, 156, 156, 3\)"),
        (np.zeros((100, 156, 3), np.uint8), r"images must be .* multiples of 12, got torch.uint8 of shape \(1, 100,"),
        (np.zeros((48, 48, 3), np.uint8), "images must be squares with an odd number of cells on a side"),
    ]


@pytest.mark.parametrize(("image", "message"), image_errors())
def test_wrong_image_is_refused(agent: TrainedAgent, image: Any, message: str) -> None:
    command = np.array(agent.lexicon.encode("Go to the apple."))
    for call in (
        lambda: agent.answer(image, QUESTIONS[0]),
        lambda: agent.explain(image, QUESTIONS[0]),
        lambda: agent.act({"image": image, "command": command}),
        lambda: agent.teach("durian", [(image, QUESTIONS[0], "durian")]),
    ):
        with pytest.raises(InputError, match=message):
            call()


@pytest.mark.parametrize("method", ["answer", "explain"])
@pytest.mark.parametrize(
    ("batch", "sentence", "message"),
    [
        (True, QUESTIONS[:2], r"sentences must be one for each of the 6 images, got \['What is in the north\?', 'What"),
        (True, QUESTIONS[0], r"sentences must be one for each of the 6 images, got 'What is in the north\?'"),
        (True, [], r"sentences must be one for each of the 6 images, got \[\]"),
        (False, QUESTIONS[:1], r"sentence must be text or a sequence of tokens .*, got \['What is in the north\?'\]"),
        (False, "", "sentence must have at least one word, got ''"),
        (False, [], r"sentence must have at least one word, got \[\]"),
        (False, [0, 186], r"sentence must be text or a sequence of tokens from 0 to 185, got \[0, 186\]"),
        (False, [-1], r"sentence must be text or a sequence of tokens from 0 to 185, got \[-1\]"),
        (False, [0.5], r"sentence must be text or a sequence of tokens from 0 to 185, got \[0\.5\]"),
        (False, "What is in the nort?", "unknown word 'nort', did you mean 'north'"),
        (True, ["Where is the gloves?"] * BATCH, "unknown word 'gloves', did you mean 'glove'"),
    ],
)
def test_wrong_sentences_are_refused(
    agent: TrainedAgent, images: NDArray[np.uint8], method: str, batch: bool, sentence: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        getattr(agent, method)(images if batch else images[0], sentence)


def test_wrong_observation_is_refused(agent: TrainedAgent) -> None:
    batch = observations(IDS[1])
    single = {name: values[0] for name, values in batch.items()}
    for observation, message in (
        ({}, "observation must have `command` and `image` or `cells`, got "),
        ({"image": single["image"]}, "observation must have `command` and `image` or `cells`, got image"),
        (
            single | {"command": batch["command"]},
            r"command must be tokens .* of shape \[L\], got int64 of shape \(6, 13",
        ),
        (
            batch | {"command": single["command"]},
            r"command must be tokens .* of shape \[6, L\], got int64 of shape \(13",
        ),
        (
            batch | {"question": batch["question"][:2]},
            r"question must be .* of shape \[6, L\], got int64 of shape \(2, 13",
        ),
        (single | {"question": single["question"] + 186}, "question must be tokens from 0 to 185"),
    ):
        with pytest.raises(InputError, match=message):
            agent.act(observation)


def test_example_with_several_images_is_refused(agent: TrainedAgent, images: NDArray[np.uint8]) -> None:
    with pytest.raises(InputError, match=r"image of an example must be of shape \[H, W, 3\], got \(6, 156, 156, 3\)"):
        agent.teach("durian", [(images, QUESTIONS[0], "durian")])


def test_load_refuses_missing_files_and_names(tmp_path: Path) -> None:
    for name, message in (
        (tmp_path / "missing.safetensors", "no such file"),
        (tmp_path, r"best\.safetensors: no such file"),
        ("norml", "checkpoint must be a file, a run folder or one of normal, .*, got 'norml', did you mean 'normal'"),
    ):
        with pytest.raises(InputError, match=message):
            groundling.load(name)


@pytest.mark.slow
def test_load_and_teach_have_the_static_type_trained_agent(tmp_path: Path) -> None:
    """For a user's code outside this repository, checked by mypy with the installed package."""
    snippet = tmp_path / "snippet.py"
    snippet.write_text(
        """import groundling

agent = groundling.load("normal")
reveal_type(agent)
reveal_type(agent.teach("durian", []))
reveal_type(groundling.teach(agent, "durian", []))
reveal_type(agent.answer([[[0]]], "What is in the north?"))
reveal_type(agent.answer([[[0]]], ["What is in the north?"]))
"""
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", snippet.name]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    revealed = [line.split("Revealed type is ")[1].strip('"') for line in found.stdout.splitlines()]
    trained_agent = "groundling.learn.trained_agent.TrainedAgent"
    assert revealed[:3] == [trained_agent] * 3
    assert [kind.replace("builtins.", "") for kind in revealed[3:]] == ["str", "list[str]"]


def test_agent_with_a_taught_word_reads_the_padding_of_the_environment() -> None:
    """The padding token of the environment is the token of the new word; it must not be read as the word."""
    agent = groundling.load("normal")
    envs = gym.make_vec("groundling/NavQA-v0", num_envs=64, phase="test")
    observation, _ = envs.reset(seed=0)
    example = (observation["image"][0], "What is in the north?", "durian")
    taught = agent.teach("durian", [example])
    assert taught.lexicon.token["durian"] == envs.unwrapped.lexicon.pad  # type: ignore[attr-defined]
    before, after = agent.act(observation), taught.act(observation)
    assert (before[:, 0] == after[:, 0]).all()


def test_cell_ids_outside_the_catalog_are_refused() -> None:
    agent = groundling.load("normal")
    with pytest.raises(InputError, match=r"cells must be ids from 0 to 360"):
        agent.act({"cells": np.full((13, 13), 9999, np.int16), "command": np.zeros(13, np.int64)})


@pytest.mark.parametrize(
    ("field", "value"),
    [("icons", "os:abort"), ("world", {"maps": "os:abort"}), ("split", "some_module:Split"), ("language", "x.toml")],
)
def test_checkpoint_runs_no_code_that_its_user_did_not_name(
    agent: TrainedAgent, tmp_path: Path, field: str, value: Any
) -> None:
    """Not even functions of modules that are imported already."""
    record = agent.config.to_dict()
    record[field] = {**record[field], **value} if isinstance(value, dict) else value
    provenance = {**agent.checkpoint.provenance, "config": record}
    path = tmp_path / "hostile.safetensors"
    save(path, replace(agent.checkpoint, provenance=provenance))
    with pytest.raises(InputError, match="needs code that you did not name, and loading it runs it"):
        load_agent(path)

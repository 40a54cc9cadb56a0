"""The Gymnasium API: single and vector envs agree; infos, auto-reset, snapshots, and training with SB3."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import groundling  # noqa: F401 - registers the envs
from groundling.errors import InputError
from groundling.teacher.lexicon import Lexicon
from groundling.world.shortest_path import best_actions

IDS = ["groundling/Nav-v0", "groundling/NavQA-v0"]


def assert_same(a: Any, b: Any) -> None:
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, np.ndarray) and a.dtype == object:
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    else:
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("id_", IDS)
@pytest.mark.parametrize("options", [{}, {"observation": "cells", "size": 5, "walls": (0, 4), "render_mode": "ansi"}])
def test_check_env(id_: str, options: dict[str, Any]) -> None:
    options = {"render_mode": "rgb_array", **options}
    check_env(gym.make(id_, **options).unwrapped)


def test_spaces() -> None:
    nav, nav_qa = (gym.make(id_) for id_ in IDS)
    assert nav.action_space == gym.spaces.Discrete(4)
    assert nav_qa.action_space == gym.spaces.MultiDiscrete([4, 186])  # 185 words and padding
    assert isinstance(nav.observation_space, gym.spaces.Dict)
    assert isinstance(nav_qa.observation_space, gym.spaces.Dict)
    assert nav.observation_space["image"].shape == (156, 156, 3)
    assert set(nav.observation_space) == {"image", "command"}
    assert set(nav_qa.observation_space) == {"image", "command", "question"}


@pytest.mark.parametrize("id_", IDS)
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_vector_and_single_env_agree_at_every_step(id_: str, mode: AutoresetMode) -> None:
    """The vector env returns the same as Gymnasium's loop over single envs, including infos."""
    options: dict[str, Any] = {
        "observation": "cells",
        "max_steps": 9,
        "walls": (0, 3),
        "rewards": {"right_answer": 0.5},
    }
    ours = gym.make_vec(id_, num_envs=5, autoreset_mode=mode, **options)
    loop = gym.make_vec(id_, num_envs=5, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **options)
    ours.action_space.seed(0)
    for seed in (8, None):
        for a, b in zip(ours.reset(seed=seed), loop.reset(seed=seed), strict=True):
            assert_same(a, b)
        ended = 0
        for _ in range(60):
            action = ours.action_space.sample()
            ours_step, loop_step = ours.step(action), loop.step(action)
            for a, b in zip(ours_step, loop_step, strict=True):
                assert_same(a, b)
            ended += int((ours_step[2] | ours_step[3]).sum())
        assert ended > 20


def test_disabled_autoreset() -> None:
    env = gym.make_vec("groundling/Nav-v0", num_envs=3, autoreset_mode=AutoresetMode.DISABLED, max_steps=2, texts=False)
    env.reset(seed=0)
    over = np.zeros(3, np.bool_)
    while not over.any():
        _, _, terminated, truncated, _ = env.step(np.zeros(3, np.int64))
        over = terminated | truncated
    with pytest.raises(gym.error.ResetNeeded):
        env.step(np.zeros(3, np.int64))
    _, info = env.reset(options={"reset_mask": over})
    assert info["episode_index"].tolist() == over.astype(int).tolist()
    env.step(np.zeros(3, np.int64))


def test_true_answers() -> None:
    """`info` holds the true answer to the question of the observation, which earns `rewards.right_answer`."""
    env = gym.make("groundling/NavQA-v0", rewards={"right_answer": 0.25}, observation="cells")
    rewards: dict[str, Any] = {}
    for given in ("right", "wrong"):
        _, info = env.reset(seed=4, options={"episode": 2})
        assert info["question"]
        token = info["answer_token"] if given == "right" else (info["answer_token"] + 1) % 185
        _, rewards[given], _, _, after = env.step(np.array([0, token]))
        assert after["correct"] == (given == "right")
    assert rewards["right"] == pytest.approx(rewards["wrong"] + 0.25)


def test_step_without_a_question() -> None:
    """The question is all padding, and so is the true answer; no answer is judged."""
    env = gym.make("groundling/NavQA-v0", observation="cells", rewards={"right_answer": 0.25})
    pad = env.unwrapped.lexicon.pad  # type: ignore[attr-defined]
    for episode in range(500):
        observation, info = env.reset(seed=0, options={"episode": episode})
        if not info["question"]:
            break
    else:
        pytest.fail("every episode started with a question")
    assert (observation["question"] == pad).all()
    assert (info["answer"], info["answer_token"]) == ("", pad)
    rewards = []
    for token in (info["answer_token"], 0):
        env.reset(seed=0, options={"episode": episode})
        _, reward, _, _, after = env.step(np.array([0, token]))
        assert "correct" not in after
        rewards.append(reward)
    assert rewards[0] == rewards[1]


def test_the_true_answer_token_is_a_legal_answer_at_every_step() -> None:
    """`correct` follows exactly the steps with a question, which are about 97 % of the first steps."""
    env = gym.make("groundling/NavQA-v0", observation="cells", max_steps=6)
    moves = np.random.default_rng(0)
    asked = []
    for episode in range(500):
        observation, info = env.reset(seed=1, options={"episode": episode})
        asked.append(bool(info["question"]))
        over = False
        while not over:
            action = np.array([moves.integers(4), info["answer_token"]])
            assert action in env.action_space
            has_question = bool((observation["question"] != env.unwrapped.lexicon.pad).any())  # type: ignore[attr-defined]
            assert has_question == bool(info["question"])
            observation, _, terminated, truncated, info = env.step(action)
            assert info.get("correct") == (True if has_question else None)
            over = terminated or truncated
    assert 0.93 < np.mean(asked) < 0.99


@pytest.mark.parametrize("id_", IDS)
def test_is_success_is_in_the_last_info_of_an_episode(id_: str) -> None:
    env = gym.make(id_, observation="cells", size=3, walls=(0, 0), objects=(1, 3), max_steps=4)
    env.action_space.seed(0)
    ends = set()
    for episode in range(100):
        _, info = env.reset(seed=0, options={"episode": episode})
        assert "is_success" not in info
        over = False
        while not over:
            _, _, terminated, truncated, info = env.step(env.action_space.sample())
            over = terminated or truncated
            assert info.get("is_success") == (terminated if over else None)
        ends.add(info["is_success"])
    assert ends == {True, False}


@pytest.mark.parametrize("id_", IDS)
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_is_success_of_vector_envs(id_: str, mode: AutoresetMode) -> None:
    """It is masked by the envs whose episode ends; with SAME_STEP it is in `final_info`."""
    options: dict[str, Any] = {"observation": "cells", "size": 3, "walls": (0, 0), "objects": (1, 3), "max_steps": 4}
    env = gym.make_vec(id_, num_envs=16, autoreset_mode=mode, **options)
    _, info = env.reset(seed=0)
    assert "is_success" not in info
    env.action_space.seed(0)
    ends = []
    for _ in range(40):
        _, _, terminated, truncated, info = env.step(env.action_space.sample())
        ended = terminated | truncated
        if mode == AutoresetMode.SAME_STEP:
            assert "is_success" not in info
            assert ("final_info" in info) == ended.any()
            info = info.get("final_info", {})
        assert ("is_success" in info) == ended.any()
        if ended.any():
            assert info["_is_success"].tolist() == ended.tolist()
            assert info["is_success"].dtype == np.bool_
            assert info["is_success"].tolist() == terminated.tolist()
            ends += terminated[ended].tolist()
        if mode == AutoresetMode.DISABLED and ended.any():
            _, info = env.reset(options={"reset_mask": ended})
            assert "is_success" not in info
    assert len(ends) > 100
    assert 0.1 < np.mean(ends) < 0.9


@pytest.mark.parametrize("id_", IDS)
def test_lexicon_maps_tokens_to_words_and_back(id_: str) -> None:
    single, vector = gym.make(id_, observation="cells"), gym.make_vec(id_, num_envs=3, observation="cells")
    sentences: list[tuple[Lexicon, Any, str]] = []
    lexicon: Lexicon = single.unwrapped.lexicon  # type: ignore[attr-defined]
    observation, info = single.reset(seed=3)
    names = [name for name in ("command", "question") if name in observation]
    sentences += [(lexicon, observation[name], info[name]) for name in names]
    vector_lexicon: Lexicon = vector.unwrapped.lexicon  # type: ignore[attr-defined]
    observations, infos = vector.reset(seed=3)
    sentences += [(vector_lexicon, observations[name][i], infos[name][i]) for name in names for i in range(3)]
    assert lexicon.words == vector_lexicon.words
    assert (len(lexicon.words), lexicon.pad) == (185, 185)
    assert [lexicon.token[word] for word in lexicon.words] == list(range(185))
    for lexicon, tokens, text in sentences:
        words = [lexicon.words[token] for token in tokens if token != lexicon.pad]
        assert words == text.lower().replace(".", " .").replace("?", " ?").split()
        assert lexicon.decode(tokens) == text
        assert lexicon.encode(text) == [token for token in tokens if token != lexicon.pad]
    assert sum(bool(text) for _, _, text in sentences) >= 4


def test_reset_continues_and_episode_can_be_selected() -> None:
    env = gym.make("groundling/Nav-v0", observation="cells")
    first, _ = env.reset(seed=5)
    second, info = env.reset()
    assert info["episode_index"] == 1
    assert_same(env.reset(seed=5)[0], first)
    assert_same(env.reset(options={"episode": 1})[0], second)
    assert env.reset()[1]["episode_index"] == 2


@pytest.mark.parametrize("id_", IDS)
def test_state_is_saved_restored_copied_and_pickled(id_: str, tmp_path: Path) -> None:
    env = gym.make_vec(id_, num_envs=4, max_steps=6, observation="cells")
    env.reset(seed=1)
    env.action_space.seed(1)
    for _ in range(8):
        env.step(env.action_space.sample())
    np.savez(tmp_path / "state.npz", **env.save_state())  # type: ignore[attr-defined]
    fresh = gym.make_vec(id_, num_envs=4, max_steps=6, observation="cells")
    with np.load(tmp_path / "state.npz", allow_pickle=False) as arrays:
        fresh.load_state(arrays)  # type: ignore[attr-defined]
    copies = [fresh, copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    for _ in range(20):
        action = env.action_space.sample()
        expected = env.step(action)
        for other in copies:
            for a, b in zip(expected, other.step(action), strict=True):
                assert_same(a, b)
    with pytest.raises(InputError, match=r"snapshot: seed must be int64 of shape \(3,\), got int64 of shape \(4,\)"):
        gym.make_vec(id_, num_envs=3).load_state(env.save_state())  # type: ignore[attr-defined]


def test_rendering_does_not_change_the_episode() -> None:
    rendered = gym.make_vec("groundling/NavQA-v0", num_envs=3, render_mode="rgb_array")
    plain = gym.make_vec("groundling/NavQA-v0", num_envs=3, observation="cells")
    rendered.reset(seed=2)
    plain.reset(seed=2)
    rendered.action_space.seed(2)
    for _ in range(40):
        action = rendered.action_space.sample()
        frames: Any = rendered.render()
        assert frames[0].shape == (448, 448, 3)
        a, b = rendered.step(action), plain.step(action)
        assert_same(a[0]["question"], b[0]["question"])
        assert_same(a[4], b[4])


def test_best_actions_solve_the_env() -> None:
    env = gym.make("groundling/Nav-v0", observation="cells")
    for seed in range(20):
        _, info = env.reset(seed=seed)
        total, steps, terminated = 0.0, 0, False
        while not terminated:
            action = best_actions(env.unwrapped.batch.episode.state)[0][0]  # type: ignore[attr-defined]
            _, reward, terminated, truncated, _ = env.step(int(action))
            total, steps = total + float(reward), steps + 1
            assert not truncated
        assert steps == info["shortest_path"]
        assert total == pytest.approx(1 - 0.1 * steps)


def test_env_is_registered_on_demand_in_a_new_process() -> None:
    """`gymnasium.make("groundling:...")` imports the package by itself."""
    program = """
import sys, gymnasium
assert "groundling" not in sys.modules
env = gymnasium.make("groundling:groundling/Nav-v0")
print(env.spec.id, env.reset(seed=0)[0]["image"].shape)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "groundling/Nav-v0 (156, 156, 3)\n"


def test_importing_the_env_imports_no_torch() -> None:
    program = "import sys, groundling.env; print([m for m in ('torch', 'matplotlib', 'sklearn') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_episode_statistics_wrappers_work() -> None:
    """They add the key `episode` to infos, which must not be taken."""
    wrapped = gym.wrappers.RecordEpisodeStatistics(gym.make("groundling/NavQA-v0", max_steps=3, observation="cells"))
    wrapped.reset(seed=0)
    over, steps = False, 0
    while not over:
        _, _, terminated, truncated, info = wrapped.step(wrapped.action_space.sample())
        over, steps = terminated or truncated, steps + 1
    assert info["episode"]["l"] == steps
    envs = gym.make_vec("groundling/NavQA-v0", num_envs=4, max_steps=3, observation="cells")
    vector = gym.wrappers.vector.RecordEpisodeStatistics(envs)
    vector.reset(seed=0)
    ended = np.zeros(4, np.bool_)
    while not ended.any():
        _, _, terminations, truncations, info = vector.step(vector.action_space.sample())
        ended = terminations | truncations
    assert info["_episode"].tolist() == ended.tolist()


@pytest.mark.slow
def test_stable_baselines3_trains() -> None:
    from stable_baselines3 import PPO

    model = PPO("MultiInputPolicy", gym.make("groundling/Nav-v0"), n_steps=500, batch_size=125, n_epochs=1, seed=0)
    before = {name: value.clone() for name, value in model.policy.state_dict().items()}
    model.learn(4000)
    assert model.num_timesteps == 4000
    assert model.ep_success_buffer is not None
    assert len(model.ep_success_buffer) > 50
    assert any((value != before[name]).any() for name, value in model.policy.state_dict().items())

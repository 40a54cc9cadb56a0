"""The Gymnasium contract: single and vector envs agree, autoreset, snapshots, options, and training with SB3."""

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
from groundling.world.shortest_path import best_actions
from tests.world.test_catalog import write_icons

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
    assert nav_qa.action_space == gym.spaces.MultiDiscrete([4, 185])
    assert isinstance(nav.observation_space, gym.spaces.Dict)
    assert isinstance(nav_qa.observation_space, gym.spaces.Dict)
    assert nav.observation_space["image"].shape == (156, 156, 3)
    assert set(nav.observation_space) == {"image", "command"}
    assert set(nav_qa.observation_space) == {"image", "command", "question"}


@pytest.mark.parametrize("id_", IDS)
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_vector_and_single_agree_step_for_step(id_: str, mode: AutoresetMode) -> None:
    """Our vector env does just what Gymnasium's own loop over our single envs does, infos and all."""
    options: dict[str, Any] = {"observation": "cells", "max_steps": 9, "walls": (0, 3), "answer_reward": 0.5}
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
    assert info["episode"].tolist() == over.astype(int).tolist()
    env.step(np.zeros(3, np.int64))


def test_true_answers() -> None:
    """The true answer to the question in an observation is in its info, and pays what it is said to pay."""
    env = gym.make("groundling/NavQA-v0", answer_reward=0.25, observation="cells")
    rewards: dict[str, Any] = {}
    for given in ("right", "wrong"):
        _, info = env.reset(seed=4, options={"episode": 2})
        assert info["question"]
        token = info["answer_token"] if given == "right" else (info["answer_token"] + 1) % 185
        _, rewards[given], _, _, after = env.step(np.array([0, token]))
        assert after["correct"] == (given == "right")
    assert rewards["right"] == pytest.approx(rewards["wrong"] + 0.25)
    silent = gym.make("groundling/NavQA-v0", observation="cells", objects=(1, 1))
    for episode in range(200):
        _, info = silent.reset(seed=0, options={"episode": episode})
        if not info["question"]:
            assert (info["answer"], info["answer_token"]) == ("", -1)
            assert "correct" not in silent.step(np.array([0, 0]))[4]
            return
    pytest.fail("every episode began with a question")


def test_reset_continues_and_session_can_be_chosen() -> None:
    env = gym.make("groundling/Nav-v0", observation="cells")
    first, _ = env.reset(seed=5)
    second, info = env.reset()
    assert info["episode"] == 1
    assert_same(env.reset(seed=5)[0], first)
    assert_same(env.reset(options={"episode": 1})[0], second)
    assert env.reset()[1]["episode"] == 2


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
    twins = [fresh, copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    for _ in range(20):
        action = env.action_space.sample()
        expected = env.step(action)
        for twin in twins:
            for a, b in zip(expected, twin.step(action), strict=True):
                assert_same(a, b)
    with pytest.raises(InputError, match="snapshot of 4 maps"):
        gym.make_vec(id_, num_envs=3).load_state(env.save_state())  # type: ignore[attr-defined]


def test_drawing_and_looking_change_nothing() -> None:
    seen = gym.make_vec("groundling/NavQA-v0", num_envs=3, render_mode="rgb_array")
    blind = gym.make_vec("groundling/NavQA-v0", num_envs=3, observation="cells")
    seen.reset(seed=2)
    blind.reset(seed=2)
    seen.action_space.seed(2)
    for _ in range(40):
        action = seen.action_space.sample()
        frames: Any = seen.render()
        assert frames[0].shape == (448, 448, 3)
        a, b = seen.step(action), blind.step(action)
        assert_same(a[0]["question"], b[0]["question"])
        assert_same(a[4], b[4])


def test_zero_shot_options(tmp_path: Path) -> None:
    """In training no sentence says a held-out word; in testing each does."""
    split = gym.make("groundling/NavQA-v0", split="zs2").unwrapped.batch.teacher.split  # type: ignore[attr-defined]
    held = {word for (word,) in split.held_out}
    split.save(tmp_path / "split.json")
    for phase in ("train", "test"):
        env = gym.make_vec(
            "groundling/NavQA-v0", 32, split=str(tmp_path / "split.json"), phase=phase, observation="cells"
        )
        _, info = env.reset(seed=0)
        answers = set()
        for _ in range(60):
            sentences = [*info["command"], *filter(None, info["question"])]
            for sentence in sentences:
                assert bool(set(sentence.lower().strip(".?").split()) & held) == (phase == "test")
            answers |= set(info["answer"])
            info = env.step(env.action_space.sample())[4]
        assert answers & held


def test_users_icons(tmp_path: Path) -> None:
    write_icons(tmp_path)
    env = gym.make("groundling/NavQA-v0", icons=tmp_path, objects=(1, 3))
    assert env.action_space == gym.spaces.MultiDiscrete([4, 186])  # the paper's words and `unicorn`
    said = " ".join(env.reset(seed=0, options={"episode": k})[1]["command"].lower() for k in range(40))
    assert "unicorn" in said


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"spilt": "zs1"}, "unknown option 'spilt', did you mean 'split'"),
        ({"split": "zs4"}, "unknown split 'zs4'"),
        ({"split": "zs1", "holdout": 120}, "portion 120"),
        ({"phase": "exam"}, "phase 'exam'"),
        ({"observation": "sound"}, "observation 'sound'"),
        ({"render_mode": "human"}, "render_mode 'human'"),
        ({"icons": "/nowhere"}, "icon folder /nowhere"),
    ],
)
def test_bad_options(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        gym.make_vec("groundling/Nav-v0", num_envs=1, **options)


def test_bad_calls() -> None:
    env = gym.make("groundling/Nav-v0").unwrapped
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)
    with pytest.raises(InputError, match="seed -1"):
        env.reset(seed=-1)
    env.reset(seed=0)
    with pytest.raises(InputError, match="actions"):
        env.step(4)


def test_the_oracle_solves_the_env() -> None:
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


def test_importing_the_env_imports_no_torch() -> None:
    program = "import sys, groundling.env; print([m for m in ('torch', 'matplotlib', 'sklearn') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.slow
def test_stable_baselines3_trains() -> None:
    from stable_baselines3 import PPO

    model = PPO("MultiInputPolicy", gym.make("groundling/Nav-v0"), n_steps=500, batch_size=125, n_epochs=1, seed=0)
    before = {name: value.clone() for name, value in model.policy.state_dict().items()}
    model.learn(4000)
    assert model.num_timesteps == 4000
    assert any((value != before[name]).any() for name, value in model.policy.state_dict().items())

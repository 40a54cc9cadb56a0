"""Options, seeds and actions of the environments: which are valid, and what is said about the others."""

import re
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import groundling  # noqa: F401 - registers the envs
from groundling.errors import InputError
from tests.world.test_catalog import write_icons

IDS = ["groundling/Nav-v0", "groundling/NavQA-v0"]


def test_zero_shot_options(tmp_path: Path) -> None:
    """No training sentence contains a held-out word, every test sentence does; answers contain them in both phases."""
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


def test_user_icons(tmp_path: Path) -> None:
    write_icons(tmp_path)
    env = gym.make("groundling/NavQA-v0", icons=tmp_path, objects=(1, 3))
    assert env.action_space == gym.spaces.MultiDiscrete([4, 187])  # the paper's words, `unicorn` and padding
    commands = " ".join(env.reset(seed=0, options={"episode": k})[1]["command"].lower() for k in range(40))
    assert "unicorn" in commands


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"spilt": "zs1"}, "unknown option 'spilt', did you mean 'split'.*; the options are size, objects"),
        ({"sesion": 1}, "unknown option 'sesion'.*; the options are size, objects"),
        ({"split": "zs4"}, "split must be one of normal, zs1, zs2, .* or a split file, got 'zs4'"),
        ({"split": None}, "split must be one of normal, zs1, zs2, .* or a split file, got 'None'"),
        ({"split": "zs1", "holdout": 120}, "holdout must be a percentage, at least 1 and below 100, got 120"),
        ({"holdout": 0.5}, r"holdout must be a percentage, .*, got 0\.5; for one half use 50"),
        ({"holdout": 150}, "holdout must be a percentage, .*, got 150"),
        ({"holdout": "50"}, "holdout must be a percentage, .*, got '50'"),
        ({"split_seed": 1.5}, r"split_seed must be an integer of at least 0, got 1\.5"),
        ({"phase": "exam"}, "phase must be one of train, test, got 'exam'"),
        ({"observation": "sound"}, "observation must be one of pixels, cells, text, got 'sound'"),
        ({"render_mode": "human"}, "render_mode must be one of rgb_array, ansi, got 'human'"),
        ({"icons": "/nowhere"}, r"icon folder /nowhere must contain properties\.txt"),
        ({"icons": 3}, "icons must be the path of a folder, a Catalog or None, got 3"),
        ({"objects": 3}, r"objects must be a pair \(minimum, maximum\), got 3; for exactly 3 write \(3, 3\)"),
        ({"walls": (0, 2.5)}, r"walls must be .*, got 2\.5"),
        ({"size": "7"}, "size must be an integer from 3 to 64, got '7'"),
        ({"size": 9.0}, r"size must be an integer from 3 to 64, got 9\.0"),
        ({"max_steps": True}, "max_steps must be an integer from 1 to 32767, got True"),
        ({"types": "nav_obj"}, r"types must be a sequence of sentence types such as \(\"nav_obj\",\), got 'nav_obj'"),
        ({"types": 3}, "types must be a sequence of sentence types .*, got 3"),
        ({"types": {"nav_obj"}}, "types must be a sequence of sentence types .*, got {'nav_obj'}"),
        ({"texts": 1}, "texts must be True or False, got 1"),
        ({"rewards": {"goal": 1}}, "rewards must be .*step, blocked, wrong_object, reached, right_answer"),
        ({"rewards": 3}, "rewards must be .*got 3"),
        ({"maps": "cave"}, "maps must be open, rooms, maze or module:function, got 'cave'"),
        ({"language": "/nowhere.toml"}, r'language file "/nowhere\.toml": no such file'),
        ({"language": 3}, "language must be the path of a file or a Language, got 3"),
        ({"rewards": {"right_answer": "high"}}, r"rewards\.right_answer must be a finite number .*, got 'high'"),
        ({"num_envs": 0}, "num_envs must be an integer of at least 1, got 0"),
        ({"num_envs": 2.0}, r"num_envs must be an integer of at least 1, got 2\.0"),
    ],
)
def test_invalid_options_are_rejected(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        gym.make_vec("groundling/Nav-v0", **{"num_envs": 1, **options})
    if not {"num_envs", "render_mode"} & options.keys():  # Gymnasium handles `human` for single envs
        with pytest.raises(InputError, match=message):
            gym.make("groundling/NavQA-v0", **options)


def test_numpy_numbers_are_valid_options() -> None:
    env = gym.make("groundling/Nav-v0", size=np.int64(5), walls=(0, np.int8(4)), split="zs2", holdout=np.float32(20))
    assert env.unwrapped.batch.teacher.split.holdout == 20  # type: ignore[attr-defined]


def test_reset_arguments_are_checked() -> None:
    env = gym.make("groundling/Nav-v0").unwrapped
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)
    with pytest.raises(InputError, match="seed must be an integer from 0 to 9223372036854775807, got -1"):
        env.reset(seed=-1)
    with pytest.raises(
        InputError, match="reset options must be among episode, reset_mask, scenario, command, got 'sesion'"
    ):
        env.reset(options={"sesion": 3})
    with pytest.raises(InputError, match=r"episode must be an integer from 0 to .*, got 1\.5"):
        env.reset(options={"episode": 1.5})
    vector = gym.make_vec("groundling/Nav-v0", num_envs=3)
    for seed in (1.5, [1, 2], "123"):
        with pytest.raises(InputError, match="seed must be one integer or a list of 3, got"):
            vector.reset(seed=seed)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"reset_mask must be a boolean array of shape \(3,\), got"):
        vector.reset(options={"reset_mask": np.array([1, 0, 1])})


@pytest.mark.parametrize("action", [4, -1, 1.5, "left", None, True, [0]])
def test_invalid_moves_are_rejected(action: Any) -> None:
    env = gym.make("groundling/Nav-v0")
    env.reset(seed=0)
    with pytest.raises(
        InputError, match=r"actions? must be .*Discrete\(4\), got \[*\s*" + re.escape(repr(action).strip("[]"))
    ):
        env.step(action)
    env.step(0)


@pytest.mark.parametrize("action", [0, (0, 186), (4, 0), (0, -1), (0, 1.5), ("left", "apple"), (0, 1, 2)])
def test_invalid_moves_with_answers_are_rejected(action: Any) -> None:
    env = gym.make("groundling/NavQA-v0")
    env.reset(seed=0)
    with pytest.raises(InputError, match=r"actions? must be .*MultiDiscrete\(\[  4 186\]\), got "):
        env.step(action)
    env.step((0, 185))


@pytest.mark.parametrize("id_", IDS)
def test_long_actions_are_shortened_in_error_messages(id_: str) -> None:
    env = gym.make_vec(id_, num_envs=64, observation="cells", texts=False)
    env.reset(seed=0)
    valid = env.action_space.sample()
    for actions in (valid + 1000, valid.astype(float), valid.tolist() * 2, "x" * 10_000):
        with pytest.raises(InputError) as error:
            env.step(actions)
        assert re.match(r"actions must be integers of shape \(64,.*\), each action in .*, got ", str(error.value))
        assert len(str(error.value)) < 400

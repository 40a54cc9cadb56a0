"""Exports: what is re-imported equals what the env shows, bit for bit; interrupted exports continue."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import minari
import numpy as np
import pyarrow.parquet as pq
import pytest

from groundling.cli import main
from groundling.errors import InputError
from groundling.export import parquet
from groundling.export.minari import export_minari
from groundling.export.parquet import export_parquet
from groundling.export.recording import BATCH, ExportConfig

ID = "groundling/navqa/oracle-v0"
CONFIGS = [
    ExportConfig(),
    ExportConfig("random", seed=5, questions=False),
    ExportConfig("random", split="zs2", phase="test"),
    ExportConfig(lexicon="invented", lexicon_seed=3),
]


@pytest.fixture(autouse=True)
def datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))


def replay(env: Any, seed: int, index: int, actions: Any) -> tuple[list[Any], list[float], bool, bool]:
    """Observations, rewards, and how the episode ended."""
    observation, _ = env.reset(seed=seed, options={"episode": index})
    observations, rewards = [observation], []
    terminated = truncated = False
    for action in actions:
        assert not terminated
        assert not truncated
        observation, reward, terminated, truncated, _ = env.step(action)
        observations.append(observation)
        rewards.append(reward)
    return observations, rewards, terminated, truncated


@pytest.mark.filterwarnings("ignore:`")
@pytest.mark.parametrize("config", CONFIGS)
def test_minari_episodes_equal_those_of_the_env(config: ExportConfig) -> None:
    export_minari(config, ID, 40)
    dataset = minari.load_dataset(ID)
    assert dataset.total_episodes == 40
    env = dataset.recover_environment()
    metadata = list(dataset.storage.get_episode_metadata(range(40)))
    for episode, meta in zip(dataset, metadata, strict=True):
        seed, index = meta["seed"], int(meta["options"]["episode"])
        observations, rewards, terminated, truncated = replay(env, seed, index, episode.actions)
        for name in observations[0]:
            stored, shown = episode.observations[name], np.stack([observation[name] for observation in observations])
            np.testing.assert_array_equal(stored, shown)
            assert stored.dtype == shown.dtype
        np.testing.assert_array_equal(episode.rewards, rewards)
        assert (episode.terminations[-1], episode.truncations[-1]) == (terminated, truncated)
        assert not episode.terminations[:-1].any()
        if config.policy == "oracle":
            assert terminated


@pytest.mark.parametrize("config", CONFIGS)
def test_parquet_rows_equal_the_text_env(config: ExportConfig, tmp_path: Path) -> None:
    export_parquet(config, tmp_path / "out", 40)
    rows = pq.read_table(tmp_path / "out" / "episodes" / "000000000.parquet").to_pylist()
    env: Any = gym.make(config.env_id, observation="text", **config.options).unwrapped
    asked = []
    for row in rows:
        actions = row["actions"]
        if config.questions:
            tokens = [env.lexicon.token.get(word, env.lexicon.pad) for word in row["answers"]]
            actions = np.stack([actions, tokens], 1)
        observations, rewards, terminated, _ = replay(env, row["seed"], row["index"], actions)
        assert row["views"] == [observation["text"] for observation in observations]
        assert row["command"] == observations[0]["command"]
        assert row["rewards"] == rewards
        assert row["success"] == terminated
        if config.questions:
            assert row["questions"] == [observation["question"] for observation in observations[:-1]]
            asked += [
                (question, view) for question, view in zip(row["questions"], row["views"], strict=False) if question
            ]
    if config.questions:
        pairs = pq.read_table(tmp_path / "out" / "questions" / "000000000.parquet").to_pylist()
        assert [(pair["question"], pair["view"]) for pair in pairs] == asked
        assert all(pair["answer"] in env.lexicon.answers for pair in pairs)


def test_true_answers_are_those_of_the_env(tmp_path: Path) -> None:
    export_parquet(ExportConfig(), tmp_path / "out", 30)
    env = gym.make("groundling/NavQA-v0")
    first = [row for row in pq.read_table(tmp_path / "out/questions/000000000.parquet").to_pylist() if row["step"] == 0]
    assert len(first) > 20
    for row in first:
        assert row["answer"] == env.reset(seed=row["seed"], options={"episode": row["index"]})[1]["answer"]


def assert_equal(first: str, second: str) -> None:
    for a, b in zip(minari.load_dataset(first), minari.load_dataset(second), strict=True):
        np.testing.assert_array_equal(a.observations["cells"], b.observations["cells"])
        np.testing.assert_array_equal(a.actions, b.actions)


@pytest.mark.filterwarnings("ignore:`")
def test_interrupted_minari_export_continues(tmp_path: Path) -> None:
    config, count, other = ExportConfig(questions=False), BATCH + 20, "groundling/nav/other-v0"
    export_minari(config, ID, count)

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_minari(config, other, count, interrupt)
    dataset = minari.load_dataset(other)
    assert dataset.total_episodes == BATCH
    kept = dataset.storage.data_path / "episodes-000000000.hdf5"
    written = kept.stat().st_mtime_ns
    export_minari(config, other, BATCH + 5)  # a last batch that is not full grows later
    export_minari(config, other, count)
    assert kept.stat().st_mtime_ns == written
    assert minari.load_dataset(other).total_steps == minari.load_dataset(ID).total_steps
    assert_equal(ID, other)
    with pytest.raises(InputError, match="must be an export with the same settings"):
        export_minari(ExportConfig("random", questions=False), ID, 5)


@pytest.mark.filterwarnings("ignore:`")
def test_killed_minari_export_continues(tmp_path: Path) -> None:
    other = "groundling/nav/other-v0"
    command = [sys.executable, "-m", "groundling", "export", "minari", other, "--episodes", "1000000", "--nav-only"]
    folder = tmp_path / "minari" / other / "data"
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while not (folder / "episodes-000001000.hdf5").is_file():
            assert process.poll() is None
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()
    count = BATCH * len(list(folder.glob("episodes-*.hdf5"))) + 20
    config = ExportConfig(questions=False)
    export_minari(config, other, count)
    export_minari(config, ID, count)
    assert minari.load_dataset(other).total_episodes == count
    assert_equal(ID, other)


def test_interrupted_parquet_export_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "SHARD", BATCH)
    config = ExportConfig(questions=False)
    export_parquet(config, tmp_path / "whole", 2 * BATCH + 10)
    export_parquet(config, tmp_path / "parts", BATCH + 5)
    kept = (tmp_path / "parts" / "episodes" / "000000000.parquet").stat().st_mtime_ns
    export_parquet(config, tmp_path / "parts", 2 * BATCH + 10)
    assert (tmp_path / "parts" / "episodes" / "000000000.parquet").stat().st_mtime_ns == kept
    paths = sorted((tmp_path / "whole" / "episodes").iterdir())
    assert len(paths) == 3
    for path in paths:
        assert pq.read_table(path).equals(pq.read_table(tmp_path / "parts" / "episodes" / path.name))
    with pytest.raises(InputError, match="must hold an export with the same settings"):
        export_parquet(ExportConfig("random"), tmp_path / "parts", 5)


def test_fewer_parquet_episodes_than_before_remove_none(tmp_path: Path) -> None:
    for count in (10, 5):
        export_parquet(ExportConfig(questions=False), tmp_path, count)
    assert pq.read_metadata(tmp_path / "episodes" / "000000000.parquet").num_rows == 10


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["export", "parquet", str(tmp_path / "out"), "--policy", "random", "--episodes", "20", "--nav-only"])
    assert "20 episodes" in capsys.readouterr().out
    assert json.loads((tmp_path / "out" / "export.json").read_text("utf-8"))["policy"] == "random"


def test_policy_agent_names_its_agent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export = ["export", "parquet", str(tmp_path / "out"), "--episodes", "5"]
    main([*export, "--policy", "agent", "--agent", "normal"])
    record = json.loads((tmp_path / "out" / "export.json").read_text("utf-8"))
    assert (record["policy"], record["agent"]) == ("agent", "normal")
    refused = {
        "agent must be given for the policy agent": ["--policy", "agent"],
        "got 'normal' for oracle": ["--agent", "normal"],
        "policy must be one of oracle, random, agent": ["--policy", "zs2-50"],
    }
    for complaint, arguments in refused.items():
        with pytest.raises(SystemExit):
            main([*export, *arguments])
        assert complaint in capsys.readouterr().err

"""Files of every format that a release has written still load, and files of unknown formats are refused.

`tests/data` holds one file of each version of each format; a fixture is never written again.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import pyarrow.parquet as pq
import pytest
import torch

import groundling
from groundling.agent.checkpoint import load, read_record, read_tensors, write_record
from groundling.errors import InputError
from groundling.export.parquet import export_parquet
from groundling.export.recording import ExportConfig
from groundling.learn.trained_agent import load_agent
from groundling.page.limits import Limits
from groundling.page.scene import SceneReader
from groundling.study.result_store import Store
from groundling.suites import suite
from groundling.suites.score import Result
from groundling.teacher.language import Language
from groundling.teacher.splits import Split
from groundling.teacher.teacher import Teacher
from groundling.world.catalog import Catalog
from groundling.world.scripted_episodes import replay_file

DATA = Path(__file__).parent / "data"


def test_version_is_that_of_the_citation() -> None:
    citation = (Path(__file__).parents[1] / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {groundling.__version__}\n" in citation


def test_checkpoint_2_is_the_agent_of_checkpoint_1_in_half_precision() -> None:
    first, second = (load(DATA / f"agent-{k}.safetensors") for k in (1, 2))
    assert (second.words, second.icons, second.split) == (first.words, first.icons, first.split)
    assert second.model.config == first.model.config
    for name, tensor in first.model.state_dict().items():
        torch.testing.assert_close(second.model.state_dict()[name], tensor, atol=1e-3, rtol=1e-3)
    env = gym.make("groundling/NavQA-v0", size=3, objects=(1, 2), walls=(0, 0))
    observation, _ = env.reset(seed=0)
    assert env.action_space.contains(load_agent(DATA / "agent-2.safetensors").act(observation))


def test_split_1() -> None:
    split = Split.load(DATA / "split-1.json")
    assert (split.kind, split.holdout, split.seed) == ("zs2", 5.0, 0)
    assert split.held_out_words == ("bookshelf", "eggplant", "mushroom", "orange", "seaurchin", "triangle")


def test_scenario_1_in_the_page_and_in_an_env() -> None:
    record = json.loads((DATA / "scenario-1.json").read_text("utf-8"))
    scene = SceneReader(Teacher(), Limits()).read(record)
    assert scene.sentence == "Go to the apple."
    assert scene.scenario.agent == 3 * 7 + 3
    assert scene.scenario.walls == (3, 7 + 3)
    assert [position for position, _ in scene.scenario.objects] == [7 + 1, 6 * 7 + 6]
    env: Any = gym.make("groundling/Nav-v0")
    _, info = env.reset(options={"scenario": record, "command": "Go to the apple."})
    assert (info["command"], info["shortest_path"]) == ("Go to the apple.", 4)


def test_replay_1() -> None:
    """A blocked move, a move on an object that is not the target, and the target."""
    (played,) = replay_file(DATA / "replay-1.jsonl", Catalog.default().classes)
    assert played["positions"] == [[0, 0], [0, 1], [0, 2]]
    assert played["rewards"] == pytest.approx([-0.3, -1.1, 0.9])
    assert played["ended"] == "terminated"


def test_language_1() -> None:
    language = Language.load(DATA / "language-1.toml")
    assert language.commands[-1] == "nav_col"
    assert len(language.words) == 186
    assert language.type("nav_col").templates == (("hey", "the", "{col}", "object", "."),)


def test_suite_result_1() -> None:
    result = Result.load(DATA / "result-1.json")
    assert (result.suite, result.size, result.player, result.nav["mean"]) == ("zs2", "small", "oracle", 1.0)
    assert result.outcomes == "1" * 200


def test_study_result_1() -> None:
    """The first results had no format."""
    results = Store(str(DATA / "study-1")).results()
    assert [*results] == ["vl-normal-0"]
    assert results["vl-normal-0"]["greedy"]["natural"]["success_rate"]["mean"] == 0.0576


def test_export_1_is_continued(tmp_path: Path) -> None:
    """What is complete stays as it is."""
    folder = tmp_path / "export"
    shutil.copytree(DATA / "parquet-1", folder)
    export_parquet(ExportConfig(), folder, 3)
    for path in (DATA / "parquet-1").rglob("*.parquet"):
        assert (folder / path.relative_to(DATA / "parquet-1")).read_bytes() == path.read_bytes()
    rows = pq.read_table(folder / "episodes" / "000000000.parquet").to_pylist()
    assert [row["index"] for row in rows] == [0, 1, 2]
    assert all(row["success"] and len(row["views"]) == len(row["actions"]) + 1 for row in rows)
    assert rows[0]["command"] == Teacher().text(Teacher().begin(0, [0]).command, 0)


def use_suites(folder: Path) -> None:
    content = json.loads((folder / "suites-1.json").read_text("utf-8"))
    suite.read_suites(json.dumps(content), "suites-1.json")


def use_scenario(folder: Path) -> None:
    SceneReader(Teacher(), Limits()).read(json.loads((folder / "scenario-1.json").read_text("utf-8")))


USES: dict[str, Callable[[Path], object]] = {
    "split-1.json": lambda folder: Split.load(folder / "split-1.json"),
    "scenario-1.json": use_scenario,
    "language-1.toml": lambda folder: Language.load(folder / "language-1.toml"),
    "result-1.json": lambda folder: Result.load(folder / "result-1.json"),
    "suites-1.json": use_suites,
    "study-1.json": lambda folder: Store(str(folder)).results(),
    "export.json": lambda folder: export_parquet(ExportConfig(), folder, 3),
}


@pytest.mark.parametrize("name", USES)
def test_unknown_version_is_refused(tmp_path: Path, name: str) -> None:
    source = DATA / name
    if name == "suites-1.json":
        source = Path(suite.__file__).parent / name
    elif name == "export.json":
        source = DATA / "parquet-1" / name
    elif name == "study-1.json":
        source = DATA / "study-1" / "vl-normal-0.json"
    text = source.read_text("utf-8")
    if name == "study-1.json":
        text = text.replace("{", '{\n "format": "groundling-study-1",', 1)
    (tmp_path / name).write_text(text)
    if name != "export.json":  # it would begin the export
        USES[name](tmp_path)
    kind = next(line for line in text.splitlines() if "format" in line).rpartition("groundling-")[2].partition("-1")[0]
    changed = text.replace(f"groundling-{kind}-1", f"groundling-{kind}-9")
    assert changed != text
    (tmp_path / name).write_text(changed)
    with pytest.raises(InputError, match=f"groundling-{kind}-(1.*groundling-{kind}-9|9)"):
        USES[name](tmp_path)


def test_unknown_version_of_a_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "agent-9.safetensors"
    record, _ = read_record(DATA / "agent-2.safetensors")
    _, tensors = read_tensors(DATA / "agent-2.safetensors")
    write_record(path, {**record, "format": "groundling-agent-9"}, tensors)
    with pytest.raises(InputError, match=r"groundling-agent-2' or 'groundling-agent-1', got .groundling-agent-9"):
        load(path)

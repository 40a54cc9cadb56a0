"""Figures and tables come from the committed results alone, and match the committed figures and pages."""

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from groundling.study import tables
from groundling.study.ablations import ablation_runs
from groundling.study.curves import few_shot, write
from groundling.study.few_shot import COUNTS, DRAWS, summary
from groundling.study.figures import draw_all
from groundling.study.grid import GRID
from groundling.study.model_card import train_command
from groundling.study.readings import reading_runs
from groundling.study.result_store import Store

RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture(scope="module")
def results() -> list[tables.Result]:
    return list(Store(str(RESULTS / "study")).results().values())


def gray(path: Path) -> NDArray[np.float64]:
    """A figure as gray values from 0 to 1, at a quarter of its size, where fonts of other versions differ little."""
    with Image.open(path) as image:
        return np.asarray(image.convert("L").reduce(4), np.float64) / 255


@pytest.mark.slow
def test_committed_figures_show_the_committed_results(results: list[tables.Result], tmp_path: Path) -> None:
    """Within a tolerance, because other versions of Matplotlib and Pillow draw slightly other pixels."""
    logged: list[str] = []
    draw_all(results, RESULTS / "representations", tmp_path, logged.append)
    names = {f"{name}.{ending}" for name in logged for ending in ("svg", "png")}
    assert (
        {path.name for path in tmp_path.iterdir()} == {path.name for path in (RESULTS / "figures").iterdir()} == names
    )
    images = {path.name: (gray(path), gray(RESULTS / "figures" / path.name)) for path in tmp_path.glob("*.png")}
    for name, (drawn, committed) in images.items():
        assert drawn.shape == committed.shape, name
        assert abs(drawn - committed).mean() < 0.01, name
    # The tolerance tells figures apart: no two of them are that similar.
    assert abs(images["zs1.png"][0] - images["zs2.png"][0]).mean() > 0.01


def test_figures_and_tables_need_no_torch() -> None:
    code = "import sys; sys.modules['torch'] = None; import groundling.study.figures, groundling.study.tables"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_run_was_trained_on_its_test_sentences(results: list[tables.Result]) -> None:
    assert results
    for result in results:
        assert result["leaks"]["leaked"] == result["leaks"]["unknown"] == 0, result["name"]
        assert result["greedy"]["natural"]["success_rate"]["n"] == result["episodes"] >= 5000
        assert result["episodes_per_type"] == 1000


def test_results_are_those_of_the_grid(results: list[tables.Result]) -> None:
    """A changed recipe has other keys, and earlier results are not results of its runs."""
    runs = {run.name: run for run in (*GRID, *ablation_runs(), *reading_runs())}
    for path in (RESULTS / "study").iterdir():  # some runs were evaluated again, with more episodes
        result = json.loads(path.read_text("utf-8"))
        if "versions" not in result:  # of version 0.1, with an earlier recipe
            continue
        run = replace(runs[result["name"]], episodes=result["episodes"])
        assert (result["key"], path.name) == (run.key, run.file)
    # The command in a result is the one that trains with the config of the run, in the names of this version.
    assert [
        r["name"] for r in results if "versions" in r and r["command"] != train_command(runs[r["name"]].config)
    ] == []


def test_results_from_before_the_renaming_have_another_key(results: list[tables.Result]) -> None:
    """Options were renamed after training, which changed the hash of each config, but no value."""
    renamed = [result for result in results if "original_key" in result]
    assert renamed
    assert [result["name"] for result in renamed if result["original_key"] == result["key"]] == []
    assert len({result["original_key"] for result in renamed}) == len(renamed)


def test_masks_have_three_topics() -> None:
    """Questions of one topic select the same features: distances within topics are at most half of those across."""
    masks = np.load(RESULTS / "representations" / "masks.npz")
    same = masks["topic"][:, None] == masks["topic"][None]
    assert len(masks["word"]) == 134
    assert masks["distance"][same].mean() <= 0.5 * masks["distance"][~same].mean()


def test_few_shot_curve_is_that_of_its_words(tmp_path: Path) -> None:
    """The committed summary and figure follow from the committed scores of each word."""
    record = json.loads((RESULTS / "few_shot.json").read_text("utf-8"))
    assert len(record["words"]) == 12
    assert all(len(word["random"]) == len(COUNTS) * DRAWS for word in record["words"])
    assert json.loads(json.dumps(summary(record["words"]))) == record["summary"]
    assert [row["examples"] for row in record["summary"]["random"]] == [*COUNTS]
    write(partial(few_shot, record["summary"]), tmp_path / "few_shot.png")
    drawn, committed = gray(tmp_path / "few_shot.png"), gray(RESULTS / "few_shot.png")
    assert drawn.shape == committed.shape
    assert abs(drawn - committed).mean() < 0.01


def test_seeds_are_summarized_by_their_extremes() -> None:
    def result(seed: int, nav: float, qa: float, lowest: float) -> tables.Result:
        steps = 0.5 + seed / 10
        reading = {"command_content_word_steps": {"mean": nav}, "question_content_word_steps": {"mean": steps}}
        mass = {"command_content_word_mass": {"mean": 0.9}, "question_content_word_mass": {"mean": 0.8 - seed / 10}}
        natural = {"success_rate": {"mean": nav}, "qa_accuracy": {"mean": qa}, **reading, **mass}
        commands = {"nav_obj": {"success_rate": {"mean": 1.0}}, "nav_bw_obj": {"success_rate": {"mean": lowest}}}
        return {
            "name": f"ours-zs2-90-{seed}",
            "method": "ours",
            "split": "zs2",
            "holdout": 90.0,
            "seed": seed,
            "greedy": {"natural": natural, "commands": commands},
            "questions": {"rec_obj2loc": {"qa_accuracy": {"mean": qa}}},
        }

    found = [result(0, 0.97, 0.999, 0.95), result(1, 0.99, 0.998, 0.96), result(2, 1.0, 1.0, 0.91)]
    assert tables.over_seeds(found) == [
        (
            "ours-zs2-90",
            "3",
            "97.0 / 99.0 / 100.0",
            "99.80 / 99.90 / 100.00",
            "91.0 nav_bw_obj",
            "99.8 rec_obj2loc",
            "50 / 60",
        )
    ]

"""The declared grids beside the study: ablations, readings of the paper, and searches for learning rates."""

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from groundling.learn.presets import PRESETS
from groundling.study import ablation_tables as tables
from groundling.study.ablations import CHANGES, ablation_runs, ladder_configs
from groundling.study.curves import write
from groundling.study.grid import GRID, LATER_FIELDS, LR_SCALES, hashed_config, run, search_runs, select_runs
from groundling.study.readings import READINGS, reading_runs
from groundling.study.tables import validation_score


def test_ladder_leads_from_the_paper_to_ours_and_each_step_changes_something() -> None:
    configs = [PRESETS["paper"], *ladder_configs().values()]
    assert configs[-1] == PRESETS["fast"]
    assert all(one != two for one, two in itertools.pairwise(configs))


def test_every_recipe_has_three_seeds_on_both_splits_and_its_own_config() -> None:
    runs = ablation_runs()
    assert set(Counter(one.method for one in runs).values()) == {6}
    assert len({one.key for one in runs}) == len({one.name for one in runs}) == len(runs)
    assert {one.method for one in runs} | {"paper", "ours"} == set(tables.recipes())
    assert {label.partition(".")[2] for label in (*tables.LADDER, *tables.LEAVE_ONE_OUT)} == set(CHANGES)
    assert not {one.key for one in runs} & {one.key for one in GRID}


def test_fields_added_later_do_not_change_keys_of_runs_that_do_not_use_them() -> None:
    record = hashed_config(PRESETS["fast"])
    assert not set(LATER_FIELDS[""]) & record.keys()
    assert not set(LATER_FIELDS["actor_critic"]) & record["actor_critic"].keys()
    assert hashed_config(run("ca").config)["patience"] == 10
    assert hashed_config(PRESETS["paper"])["actor_critic"]["optimizer"] == "rmsprop"


def test_runs_of_all_grids_are_found_by_name() -> None:
    for grid in ([*GRID], ablation_runs(), reading_runs(), search_runs("ca")):
        assert select_runs([grid[0].name, grid[-1].name], grid) == [grid[0], grid[-1]]
    (outside,) = select_runs(["paper-zs2-90-1"])
    assert (outside.config.actor_critic, outside.config.holdout) == (PRESETS["paper"].actor_critic, 90.0)


def test_search_scales_all_learning_rates_and_nothing_else() -> None:
    for method in ("ours", "ca"):
        runs = dict(zip(LR_SCALES, search_runs(method), strict=True))
        assert len({one.key for one in runs.values()}) == len(LR_SCALES)
        for scale, one in runs.items():
            plain = run(method, seed=one.config.seed, lr_scale=1.0).config
            assert one.config.ppo.lr == pytest.approx(scale * plain.ppo.lr)
            assert one.config.qa_pretraining.lr == pytest.approx(scale * plain.qa_pretraining.lr)
            assert one.config.ppo.gamma == plain.ppo.gamma
            assert one.config.patience == plain.patience


def test_readings_differ_from_each_other() -> None:
    runs = reading_runs()
    assert len({one.key for one in runs}) == len(runs) == len(READINGS)


def test_validation_score_is_the_best_mean_of_both_scores() -> None:
    curve = [
        {"seconds": 1},
        {"eval/success_rate": 0.5, "eval/qa_accuracy": 0.9},
        {"eval/success_rate": 0.6, "eval/qa_accuracy": 0.6},
        {"eval/success_rate": 0.65},
    ]
    assert validation_score({"curve": curve}) == pytest.approx(0.7)
    assert validation_score({"curve": curve[:1]}) is None


def result(method: str, split: str, seed: int, success: float, accuracy: float) -> dict[str, Any]:
    scores = {"success_rate": {"mean": success}, "qa_accuracy": {"mean": accuracy}}
    return {
        "name": f"{method}-{split}-{seed}",
        "method": method,
        "split": split,
        "holdout": 90.0,
        "seed": seed,
        "greedy": {"natural": scores},
    }


def test_table_and_figure_of_some_results(tmp_path: Path) -> None:
    found = [
        result("ours", "normal", 0, 0.9, 1.0),
        result("ours", "normal", 1, 1.0, 1.0),
        result("ours", "normal", 3, 0.0, 0.0),  # not one of the three seeds
        result("ours", "zs2", 0, 0.5, 0.75),
        result("without.no_salience", "zs2", 0, 0.25, 0.5),
        result("ca", "normal", 0, 0.1, 0.1),
    ]
    ours, without = tables.rows(found)
    assert ours[2:] == ("95.0 (90.0-100.0)", "100.0 (100.0-100.0)", "50.0 (50.0-50.0)", "75.0 (75.0-75.0)", "2/1")
    assert without == ("without.no_salience", "no salience", "-", "-", "25.0 (25.0-25.0)", "50.0 (50.0-50.0)", "0/1")
    write(lambda: tables.figure(found), tmp_path / "ablations.svg")
    assert (tmp_path / "ablations.svg").stat().st_size > 3000

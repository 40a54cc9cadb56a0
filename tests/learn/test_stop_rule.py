"""Training ends when its evaluations stop improving, or after a number of frames; also after a resume."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from groundling.errors import InputError
from groundling.learn.trainer import Trainer, read_state
from tests.learn.tiny import FAST

LONG = replace(FAST, ppo=replace(FAST.ppo, iterations=60), eval_interval=1)


def evaluations(folder: Path) -> list[float]:
    """The scores of a run's evaluations, in order."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    return [(line["eval/success_rate"] + line["eval/qa_accuracy"]) / 2 for line in lines if "eval/qa_accuracy" in line]


def test_run_ends_when_evaluations_stop_improving(tmp_path: Path) -> None:
    trainer = Trainer(replace(LONG, patience=3), tmp_path, device="cpu")
    assert trainer.train() == "plateau"
    scores = evaluations(tmp_path)
    assert len(scores) < LONG.ppo.iterations
    best = scores.index(max(scores))
    assert len(scores) - 1 - best == 3
    assert all(any(later > max(scores[: k + 1]) for later in scores[k + 1 : k + 4]) for k in range(best))


def test_resumed_run_ends_where_an_uninterrupted_one_does(tmp_path: Path) -> None:
    config = replace(LONG, patience=3)
    Trainer(config, tmp_path / "whole", device="cpu").train()
    broken = Trainer(config, tmp_path / "broken", device="cpu")

    def stop(progress: Any, *_: Any) -> None:
        broken.signal = 2 if progress.stale == 2 else None

    assert broken.train(report=stop) == "signal"
    assert read_state(tmp_path / "broken")[0].stale == 2
    assert Trainer(config, tmp_path / "broken", resume=True, device="cpu").train() == "plateau"
    assert evaluations(tmp_path / "broken") == evaluations(tmp_path / "whole")


def test_run_ends_after_a_number_of_frames(tmp_path: Path) -> None:
    trainer = Trainer(replace(LONG, max_frames=300), tmp_path, device="cpu")
    assert trainer.train() == "frames"
    assert 300 <= trainer.progress.frames < 300 + 25 * FAST.qa_pretraining.batch_size


def test_run_of_an_earlier_version_is_resumed_with_the_defaults_of_new_fields(tmp_path: Path) -> None:
    Trainer(FAST, tmp_path, device="cpu").train(minutes=1e-9)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text("utf-8"))
    del config["patience"], config["max_frames"], config["actor_critic"]["optimizer"]
    path.write_text(json.dumps(config))
    assert Trainer(FAST, tmp_path, resume=True, device="cpu").train() == "finished"
    with pytest.raises(InputError, match="another config: patience is null there and 3 here"):
        Trainer(replace(FAST, patience=3), tmp_path, resume=True, device="cpu")


@pytest.mark.parametrize("change", [{"patience": 0}, {"max_frames": 0}], ids=str)
def test_stop_rule_of_zero_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(change))} must be an integer of at least 1, got 0"):
        replace(FAST, **change)

"""Inspect AI plays the frozen suites: its mock model is an oracle or a random player that reads the chat."""

from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval as inspect_eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from groundling.adapters.inspect_tasks import groundling_suite
from groundling.suites.players import RandomPlayer, oracle
from groundling.suites.suite import Suite
from tests.adapters.transcripts import transcripts


def run(player: Any, name: str, view: str, folder: Path) -> tuple[Any, list[bool]]:
    replies, success = transcripts(player, Suite.load(name), view)

    def reply(messages: list[Any], *_: Any) -> ModelOutput:
        output = ModelOutput.from_content("mockllm", replies[tuple(message.text for message in messages)])
        output.usage = ModelUsage()  # otherwise Inspect downloads a tokenizer to count tokens
        return output

    model = get_model("mockllm/model", custom_outputs=reply, memoize=False)
    task = groundling_suite(name, view=view)
    (log,) = inspect_eval(task, model=model, log_dir=str(folder), display="none", max_samples=1)
    assert log.status == "success"
    return log, success


VIEWS = {"normal": "sentences", "zs1": "sentences", "zs2": "grid", "paraphrase": "sentences", "invented": "grid"}


@pytest.mark.parametrize(("name", "view"), VIEWS.items())
def test_oracle_scores_everything(name: str, view: str, tmp_path: Path) -> None:
    log, _ = run(oracle, name, view, tmp_path)
    metrics = log.results.scores[0].metrics
    assert metrics["accuracy"].value == 1
    assert metrics["nav"].value == metrics["qa"].value == 1


def test_random_player_scores_as_without_inspect(tmp_path: Path) -> None:
    log, success = run(RandomPlayer(), "normal", "sentences", tmp_path)
    values = {sample.metadata["episode"]: sample.scores["success"].value == "C" for sample in log.samples}
    assert [values[i] for i in range(200)] == success


def test_pictures_are_images(tmp_path: Path) -> None:
    sample = groundling_suite("normal", view="both").dataset[0]
    kinds = [part.type for part in sample.input[0].content]
    assert "image" in kinds


def test_samples_hold_nothing_of_the_truth() -> None:
    for sample in groundling_suite("normal").dataset:
        assert sample.target == ""
        assert set(sample.metadata) == {"episode", "type", "task"}

"""Inspect AI plays the frozen suites: its mock model is an oracle or a random player that reads the chat."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from inspect_ai import eval as inspect_eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from groundling.adapters.inspect_tasks import groundling_suite
from groundling.suites.suite import Suite
from tests.adapters.transcripts import CASES, PLAYERS, transcripts

# Of Inspect's own code.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")


def shown_by_inspect(message: Any) -> str:
    """All that is in a message of Inspect."""
    if isinstance(message.content, str):
        return message.content
    return "\n\n".join(part.text if part.type == "text" else part.image for part in message.content)


@pytest.mark.parametrize(("player", "name", "view"), CASES)
def test_players_score_as_without_inspect(player: str, name: str, view: str, size: str, tmp_path: Path) -> None:
    replies, success = transcripts(PLAYERS[player], Suite.load(name, size), view)

    def reply(messages: list[Any], *_: Any) -> ModelOutput:
        output = ModelOutput.from_content("mockllm", replies[tuple(map(shown_by_inspect, messages))])
        output.usage = ModelUsage()  # otherwise Inspect downloads a tokenizer to count tokens
        return output

    model = get_model("mockllm/model", custom_outputs=reply, memoize=False)
    task = groundling_suite(name, size, view)
    (log,) = inspect_eval(task, model=model, log_dir=str(tmp_path), display="none", max_samples=1)
    assert log.status == "success", log.error
    values = {sample.metadata["episode"]: sample.scores["success"].value == "C" for sample in log.samples}
    assert [values[i] for i in range(len(success))] == success
    metrics = log.results.scores[0].metrics
    assert metrics["accuracy"].value == pytest.approx(np.mean(success))
    if player == "oracle":
        assert metrics["nav"].value == metrics["qa"].value == 1


def test_samples_hold_nothing_of_the_truth() -> None:
    for sample in groundling_suite("normal").dataset:
        assert sample.target == ""
        assert set(sample.metadata) == {"episode", "type", "task"}

"""Recordings: the policies do what they say, and a recording does not depend on how it is cut."""

import numpy as np
import pytest

from groundling.export.recording import BATCH, ExportConfig


def test_oracle_succeeds_and_answers() -> None:
    (batch,) = ExportConfig().recording().batches(0, 300)
    for episode in batch:
        assert episode.terminated[-1]
        asked = episode.true_answer[:-1] >= 0
        np.testing.assert_array_equal(episode.actions[asked, 1], episode.true_answer[:-1][asked])
        assert len(episode.cells) == len(episode.rewards) + 1


def test_agent_succeeds_nearly_always() -> None:
    (batch,) = ExportConfig("agent", agent="normal").recording().batches(0, 1000)
    assert np.mean([episode.terminated[-1] for episode in batch]) > 0.98


@pytest.mark.parametrize("policy", ["oracle", "random"])
def test_parts_equal_the_whole(policy: str) -> None:
    recording = ExportConfig(policy).recording()
    whole = [episode for batch in recording.batches(0, 2 * BATCH) for episode in batch]
    (second,) = recording.batches(BATCH, BATCH + 10)
    for a, b in zip(whole[BATCH : BATCH + 10], second, strict=True):
        assert a.index == b.index
        np.testing.assert_array_equal(a.actions, b.actions)

"""Rank-based replay: what is kept, and how often it is drawn."""

import numpy as np
import torch

from groundling.learn.replay_buffer import Replay


def filled(count: int, size: int = 8) -> Replay:
    replay = Replay(size, priority=0.7)
    for k in range(count):
        replay.store({"number": torch.tensor([k]), "pair": torch.tensor([[k, -k]])})
    return replay


def test_the_latest_steps_are_kept() -> None:
    replay = filled(11)
    assert len(replay) == 8
    assert sorted(replay.rows["number"].tolist()) == [*range(3, 11)]
    assert torch.equal(replay.rows["pair"][:, 0], replay.rows["number"])


def test_chances_follow_ranks_not_sizes() -> None:
    """Rank r is drawn in proportion to r ** -0.7, however large its error is."""
    replay = filled(8)
    replay.error[:] = [0.0, 1e6, 3.0, 2.0, 1.0, 0.5, 0.1, 0.01]  # step 1 is of rank 1, step 0 of the last
    rng = np.random.default_rng(0)
    drawn = np.concatenate([replay.draw(4, rng) for _ in range(20_000)])
    shares = np.bincount(drawn, minlength=8) / len(drawn)
    wanted = np.arange(1, 9) ** -0.7
    ranks = np.array([1, 2, 3, 4, 5, 6, 7, 0])  # the step of each rank
    np.testing.assert_allclose(shares[ranks], wanted / wanted.sum(), atol=0.005)


def test_a_new_step_comes_first() -> None:
    replay = filled(8)
    replay.error[:] = 5.0
    replay.store({"number": torch.tensor([99]), "pair": torch.tensor([[99, -99]])})
    first = replay.draw(1, _Lowest())  # type: ignore[arg-type]
    assert replay.get(first)["number"].tolist() == [99]


class _Lowest:
    """Chance that always takes the first of what it may."""

    def random(self, count: int) -> np.ndarray:
        return np.zeros(count)


def test_restored_replay_goes_on_alike() -> None:
    one, two = filled(5), Replay(8, priority=0.7)
    two.restore(one.tensors())
    for replay in (one, two):
        replay.store({"number": torch.tensor([7]), "pair": torch.tensor([[7, -7]])})
    assert one.written == two.written
    a, b = (replay.draw(6, np.random.default_rng(1)) for replay in (one, two))
    assert np.array_equal(a, b)
    assert torch.equal(one.get(a)["number"], two.get(b)["number"])

"""The replay buffer: which steps it keeps, and how often each is sampled."""

import numpy as np
import torch

from groundling.learn.replay_buffer import ReplayBuffer


def filled(count: int, size: int = 8) -> ReplayBuffer:
    replay = ReplayBuffer(size, priority_exponent=0.7)
    for k in range(count):
        replay.store({"number": torch.tensor([k]), "pair": torch.tensor([[k, -k]])})
    return replay


def test_buffer_keeps_the_latest_steps() -> None:
    replay = filled(11)
    assert len(replay) == 8
    assert sorted(replay.rows["number"].tolist()) == [*range(3, 11)]
    assert torch.equal(replay.rows["pair"][:, 0], replay.rows["number"])


def test_sampling_probability_depends_on_the_rank_of_the_error_not_on_its_size() -> None:
    """Rank r is sampled with probability proportional to r ** -0.7, however large its error is."""
    replay = filled(8)
    replay.error[:] = [0.0, 1e6, 3.0, 2.0, 1.0, 0.5, 0.1, 0.01]  # step 1 has rank 1, step 0 the last rank
    rng = np.random.default_rng(0)
    sampled = np.concatenate([replay.sample(4, rng) for _ in range(20_000)])
    fractions = np.bincount(sampled, minlength=8) / len(sampled)
    expected = np.arange(1, 9) ** -0.7
    ranks = np.array([1, 2, 3, 4, 5, 6, 7, 0])  # the step of each rank
    np.testing.assert_allclose(fractions[ranks], expected / expected.sum(), atol=0.005)


def test_several_steps_are_stored_in_place_of_the_oldest() -> None:
    """Three at a time, over the end of the ring: the latest eight of twelve remain, each with its own row."""
    replay = ReplayBuffer(8, priority_exponent=0.7)
    for k in range(0, 12, 3):
        numbers = torch.arange(k, k + 3)
        replay.store({"number": numbers, "pair": torch.stack([numbers, -numbers], 1)})
    assert replay.rows["number"].tolist() == [8, 9, 10, 11, 4, 5, 6, 7]
    assert torch.equal(replay.rows["pair"][:, 1], -replay.rows["number"])


def test_new_step_has_the_first_rank() -> None:
    """Not because of its place: it is stored in the middle, among steps with larger errors than it had before."""
    replay = filled(11)
    replay.error[:] = 5.0
    replay.store({"number": torch.tensor([99]), "pair": torch.tensor([[99, -99]])})
    assert replay.rows["number"].tolist().index(99) == 3
    first = replay.sample(1, _ZeroGenerator())  # type: ignore[arg-type]
    assert replay.get(first)["number"].tolist() == [99]


class _ZeroGenerator:
    """A random generator whose numbers are all 0, which samples the first rank."""

    def random(self, count: int) -> np.ndarray:
        return np.zeros(count)


def test_restored_buffer_continues_like_the_original() -> None:
    one, two = filled(5), ReplayBuffer(8, priority_exponent=0.7)
    two.restore(one.tensors())
    for replay in (one, two):
        replay.store({"number": torch.tensor([7]), "pair": torch.tensor([[7, -7]])})
    assert one.written == two.written
    a, b = (replay.sample(6, np.random.default_rng(1)) for replay in (one, two))
    assert np.array_equal(a, b)
    assert torch.equal(one.get(a)["number"], two.get(b)["number"])

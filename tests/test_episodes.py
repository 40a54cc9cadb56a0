"""The loop of all episodes: rewards of moves and answers, questions, and the order in which episodes end."""

import numpy as np
import pytest
from numpy.typing import NDArray

from groundling.episodes import Step, play_step, play_to_end
from groundling.rollout import RolloutEnv
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import EpisodeBatch
from groundling.world.shortest_path import best_actions
from groundling.world.types import Rewards, WorldConfig

N = 200


def teacher_with(right_answer: float, max_steps: int | None = None) -> Teacher:
    return Teacher(WorldConfig(max_steps=max_steps, rewards=Rewards(right_answer=right_answer)))


def test_step_is_that_of_the_teacher() -> None:
    """Without answers, nothing is correct and only the moves are rewarded."""
    teacher = teacher_with(0.5)
    before = teacher.begin(0, np.arange(N))
    moves = np.arange(N) % 4
    step = play_step(teacher, before, moves)
    after, outcome = teacher.step(before, moves)
    for name, array in step.after.arrays().items():
        np.testing.assert_array_equal(array, after.arrays()[name])
    np.testing.assert_array_equal(step.reward, outcome.reward)
    np.testing.assert_array_equal(step.terminated, outcome.terminated)
    np.testing.assert_array_equal(step.truncated, outcome.truncated)
    assert step.before is before
    assert step.asked.tolist() == (before.question.type >= 0).tolist()
    assert 0 < step.asked.sum() < N
    assert not step.correct.any()


def test_right_answers_are_rewarded_exactly() -> None:
    """-0.1 + 0.3 is 0.2, not 0.19999999999999998; where nothing was asked, no answer is right."""
    teacher = teacher_with(0.3)
    before = teacher.begin(0, np.arange(N))
    moves = best_actions(before.state)[0]
    right = before.question.answer.astype(np.int64)
    answers = np.where(np.arange(N) % 2 == 0, right, (right + 1) % len(teacher.lexicon))
    silent, answered = play_step(teacher, before, moves), play_step(teacher, before, moves, answers)
    expected = (right >= 0) & (np.arange(N) % 2 == 0)
    assert answered.correct.tolist() == expected.tolist()
    assert set(silent.reward.tolist()) == {-0.1, 0.9}
    assert set(answered.reward[expected].tolist()) == {0.2, 1.2}
    np.testing.assert_array_equal(answered.reward[~expected], silent.reward[~expected])
    np.testing.assert_array_equal(answered.after.state.agent, silent.after.state.agent)
    no_answer = play_step(teacher, before, moves, np.full(N, -1))
    assert not no_answer.correct.any()


def test_answers_do_not_count_by_default() -> None:
    teacher = Teacher()
    before = teacher.begin(0, np.arange(N))
    answers = before.question.answer.astype(np.int64)
    step = play_step(teacher, before, np.zeros(N, np.int64), answers)
    assert step.correct.sum() == (answers >= 0).sum() > 100
    np.testing.assert_array_equal(step.reward, play_step(teacher, before, np.zeros(N, np.int64)).reward)


def test_step_without_questions() -> None:
    teacher = teacher_with(0.5)
    before = teacher.begin(0, np.arange(N), ask=False)
    step = play_step(teacher, before, np.zeros(N, np.int64), np.zeros(N, np.int64), ask=False)
    assert not step.asked.any()
    assert not step.correct.any()
    assert (step.after.question.type == -1).all()


def test_every_episode_is_played_to_its_own_end() -> None:
    """With the best actions each episode takes as many steps as its shortest path; then it is gone from the batch."""
    teacher = Teacher()
    first = teacher.begin(7, np.arange(N))
    lengths = best_actions(first.state)[1]
    steps, total = np.zeros(N, np.int64), np.zeros(N)

    def act(episode: EpisodeBatch, running: NDArray[np.int64]) -> NDArray[np.int64]:
        assert episode.index.tolist() == running.tolist()  # the episodes of this batch are 0, 1, 2, ...
        return best_actions(episode.state)[0]

    seen: list[Step] = []
    for running, step in play_to_end(teacher, first, act):
        assert len(running) == len(step.reward) == len(step.after.index)
        steps[running] += 1
        total[running] += step.reward
        assert step.terminated.tolist() == (steps[running] == lengths[running]).tolist()
        assert not step.truncated.any()
        seen.append(step)
    assert steps.tolist() == lengths.tolist()
    np.testing.assert_allclose(total, 1 - 0.1 * lengths, atol=1e-12)
    assert len(seen) == lengths.max()
    assert (seen[0].before.question.answer >= 0).any()


def test_episodes_without_an_end_are_truncated() -> None:
    teacher = teacher_with(0, max_steps=3)
    steps = list(play_to_end(teacher, teacher.begin(1, np.arange(N)), lambda _, running: running % 4))
    assert len(steps) == 3
    assert not any(step.truncated.any() for _, step in steps[:2])
    last = steps[-1][1]
    assert (last.truncated ^ last.terminated).all()
    assert last.ended.all()
    assert last.truncated.sum() > 100


def test_no_episode_is_no_step() -> None:
    teacher = Teacher()
    assert not list(play_to_end(teacher, teacher.begin(0, np.arange(0)), lambda _, running: running))


def test_playing_does_not_change_the_first_batch() -> None:
    teacher = Teacher()
    first = teacher.begin(0, np.arange(20))
    arrays = first.arrays()
    for _ in play_to_end(teacher, first, lambda _, running: running % 4):
        pass
    for name, array in first.arrays().items():
        np.testing.assert_array_equal(array, arrays[name])


def test_rollout_returns_the_step_before_episodes_are_replaced() -> None:
    """The sum of the rewards of each finished episode is exact, however many episodes its env has played before."""
    teacher = teacher_with(0, max_steps=5)
    envs, total = RolloutEnv(teacher, 3, 16), np.zeros(16)
    rng, finished_count = np.random.default_rng(0), 0
    for _ in range(40):
        index = envs.episode.index.copy()
        step, finished = envs.step(rng.integers(0, 4, 16))
        total += step.reward
        assert step.after.index.tolist() == step.before.index.tolist() == index.tolist()
        assert finished.success.tolist() == step.terminated[step.ended].tolist()
        assert finished.reward.tolist() == total[step.ended].tolist()
        assert finished.steps.tolist() == step.after.state.step[step.ended].tolist()
        assert finished.type.tolist() == step.before.command.type[step.ended].tolist()
        assert envs.episode.index.tolist() == (index + 16 * step.ended).tolist()
        assert (envs.episode.state.step[step.ended] == 0).all()
        total[step.ended] = 0
        finished_count += len(finished.type)
    assert finished_count > 100


@pytest.mark.parametrize("bonus", [0.001, -0.25, 2.0])
def test_reward_of_a_right_answer_is_added_in_the_env_and_in_the_loop(bonus: float) -> None:
    from groundling.vector_env import NavQAVectorEnv

    envs = NavQAVectorEnv(30, rewards={"right_answer": bonus}, observation="cells")
    envs.reset(seed=5)
    answers = envs.episode.question.answer.astype(np.int64)
    actions = np.stack([np.arange(30) % 4, np.where(answers < 0, 0, answers)], axis=1)
    expected = play_step(envs.teacher, envs.episode, actions[:, 0], actions[:, 1])
    _, reward, _, _, info = envs.step(actions)
    assert reward.tolist() == expected.reward.tolist()
    assert info["correct"][info["_correct"]].all()
    plain = play_step(Teacher(), expected.before, actions[:, 0])
    np.testing.assert_allclose(reward, plain.reward + bonus * expected.correct, atol=1e-12)

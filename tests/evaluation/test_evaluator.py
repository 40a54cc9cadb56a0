"""Evaluation: every episode is counted, at full difficulty, and reports cover all sentence types."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from groundling import seeds
from groundling.agent import Model, View, build
from groundling.agent.checkpoint import Checkpoint
from groundling.agent.types import Answer
from groundling.errors import InputError
from groundling.evaluation.evaluator import Evaluator, evaluate, of_one_type
from groundling.learn.config import TrainConfig
from groundling.learn.presets import PRESETS
from groundling.learn.trained_agent import TrainedAgent
from groundling.teacher.language import Language
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import SamplingConfig
from groundling.world.shortest_path import best_actions
from tests.learn.tiny import AGENT, FAST, PAPER, SPEC, WORLD

WORD = 3
"""The token that `LeftModel` answers."""


class LeftModel(Model):
    """Always goes left, and gives the same answer to every question."""

    def perceive(self, view: View) -> View:
        return view

    def navigate(self, seen: View, commands: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits = torch.zeros(len(commands), 4)
        logits[:, 0] = 50.0
        return logits, torch.zeros(len(commands))

    def answer(self, seen: View, questions: torch.Tensor, word_dropout: object = None) -> Answer:
        scores = torch.zeros(len(questions), self.spec.words)
        scores[:, WORD] = 1.0
        return Answer(scores)


def left_model() -> LeftModel:
    model = LeftModel(AGENT, SPEC)
    model.register_parameter("unused", torch.nn.Parameter(torch.zeros(1)))
    return model


def test_every_episode_is_counted_to_its_end() -> None:
    """The record equals that of a loop that plays each episode separately."""
    teacher = FAST.stage_teacher("ppo")
    record = Evaluator(left_model(), teacher, greedy=True).run(200, seed=5)
    success, reward, wrong, correct, asked, asked_in = [], [], 0, 0, 0, [0] * 200
    for k in range(200):
        episode = teacher.begin(5, [k])
        total, over = 0.0, False
        while not over:
            asked += int(episode.question.answer[0] >= 0)
            asked_in[k] += int(episode.question.answer[0] >= 0)
            correct += int(episode.question.answer[0] == WORD)
            episode, outcome = teacher.step(episode, np.array([0]))
            total += float(outcome.reward[0])
            wrong += int(outcome.reward[0] < -1)
            over = bool(outcome.terminated[0] or outcome.truncated[0])
        success.append(float(outcome.terminated[0]))
        reward.append(total)
    assert record.success.tolist() == success
    np.testing.assert_allclose(record.reward, reward)
    assert record.wrong_object_steps.sum() == wrong > 0
    assert (len(record.correct), record.correct.sum()) == (asked, correct)
    assert np.bincount(record.question_episode, minlength=200).tolist() == asked_in
    assert 0 < np.mean(success) < 1
    shortest = best_actions(teacher.begin(5, np.arange(200)).state)[1]
    assert (record.spl <= record.success).all()
    # If the target is the cell to the left, the path was the shortest one.
    adjacent = (record.success == 1) & (shortest == 1)
    assert adjacent.any()
    assert record.spl[adjacent].tolist() == pytest.approx([1.0] * int(adjacent.sum()))


def test_first_questions_are_those_of_the_first_step() -> None:
    teacher = FAST.stage_teacher("ppo")
    record = Evaluator(left_model(), teacher, greedy=True).first_questions(200, seed=5)
    question = teacher.begin(5, np.arange(200)).question
    asked = np.flatnonzero(question.type >= 0)
    assert record.question_episode.tolist() == asked.tolist()
    assert record.question_type.tolist() == question.type[asked].tolist()
    assert record.correct.tolist() == (question.answer[asked] == WORD).tolist()
    assert len(record.success) == 0
    assert 0 < len(asked) < 200


def test_report_covers_every_type_with_separate_episodes() -> None:
    torch.manual_seed(0)
    teacher = Teacher(WORLD, FAST.split_for("normal"), "test", FAST.catalog())
    report = evaluate(build(AGENT, SPEC), teacher, 60, 40)
    types = [type_ for type_ in teacher.language.type_names if type_ in teacher.types]
    assert [*report["greedy"]["commands"], *report["questions"]] == types
    for type_ in report["greedy"]["commands"]:
        scores = report["sampled"]["commands"][type_]
        assert {name: part["n"] for name, part in scores.items()} == dict.fromkeys(scores, 40)
        assert 0 <= scores["command_attention"]["mean"] <= 1
    for scores in report["questions"].values():
        assert scores["qa_accuracy"]["n"] == scores["question_attention"]["n"] == 40


def test_report_of_a_single_episode_per_distribution() -> None:
    torch.manual_seed(0)
    teacher = FAST.teacher("test")
    calls: list[tuple[int, int]] = []
    report = evaluate(build(AGENT, SPEC), teacher, 1, 1, lambda done, total: calls.append((done, total)))
    assert (report["episodes"], report["episodes_per_type"]) == (1, 1)
    assert [*report["greedy"]["commands"], *report["questions"]] == list(teacher.types)
    for policy in ("greedy", "sampled"):
        for scores in (report[policy]["natural"], *report[policy]["commands"].values()):
            assert scores["success_rate"]["n"] == scores["reward"]["n"] == 1
            assert 0 <= scores["success_rate"]["low"] <= scores["success_rate"]["high"] <= 1
            assert scores["reward"]["low"] is None
            assert scores["reward"]["high"] is None
        assert 0 <= report[policy]["mean_over_types"]["success_rate"] <= 1
    assert {scores["qa_accuracy"]["n"] for scores in report["questions"].values()} == {1}
    total = calls[0][1]
    assert calls == [(k, total) for k in range(1, total + 1)]


def test_model_without_answer_head_has_no_qa_accuracy() -> None:
    torch.manual_seed(0)
    report = evaluate(build(replace(AGENT, method="nava"), SPEC), FAST.stage_teacher("ppo"), 20, 5)
    assert "qa_accuracy" not in report["greedy"]["natural"]
    assert report["questions"] == {}
    assert report["greedy"]["mean_over_types"]["qa_accuracy"] is None


JOINT = replace(FAST, split="zs1+zs2", num_classes=20, holdout=20.0)


@pytest.mark.parametrize("config", [FAST, PAPER, JOINT, *PRESETS.values()])
def test_evaluation_uses_the_natural_distribution_at_full_difficulty(config: TrainConfig) -> None:
    """Curriculum and type balancing are only for training."""
    trained = TrainedAgent(Checkpoint(left_model(), (), "", config.split_for("zs2").to_dict()), config)
    trained_with = [config.stage_teacher(name).sampling for name, stage in config.stages.items() if stage.length]
    assert any(sampling.curriculum_episodes for sampling in trained_with)
    makers: list[Callable[[], Teacher]] = [
        config.teacher,
        lambda: config.teacher("test"),
        trained.teacher,
        lambda: trained.teacher(phase="train"),
        lambda: trained.teacher("zs1", 50),
        lambda: trained.teacher("normal"),
    ]
    for make in makers:
        teacher = make()
        assert teacher.sampling == SamplingConfig()
        assert teacher.world == config.world
    # The episodes are those of a teacher without any settings for sampling.
    plain = Teacher(config.world, config.split_for("zs2"), "test", config.catalog())
    expected = plain.begin(seeds.EVALUATION, np.arange(20)).arrays()
    for name, array in trained.teacher().begin(seeds.EVALUATION, np.arange(20)).arrays().items():
        np.testing.assert_array_equal(array, expected[name])


@pytest.mark.parametrize("kind", ["zs1", "zs2"])
def test_agent_that_was_trained_on_both_splits_is_tested_on_each_as_it_was_trained(kind: str) -> None:
    """With what both splits hold out; on another split, with what that one holds out."""
    trained = TrainedAgent(Checkpoint(left_model(), (), "", JOINT.split_for("zs2").to_dict()), JOINT)
    assert trained.teacher(kind).split == JOINT.split_for(kind)
    assert trained.held_out(trained.teacher(kind).split)
    assert trained.teacher("normal").split.held_out == ()
    alone = replace(FAST, split=kind, num_classes=20, holdout=20.0)
    trained = TrainedAgent(Checkpoint(left_model(), (), "", alone.split_for(kind).to_dict()), alone)
    assert trained.teacher().split == trained.teacher(kind, 20.0).split == alone.split_for(kind)
    assert trained.teacher(kind, 40.0).split.holdout == 40


def test_episodes_per_type_have_full_difficulty() -> None:
    """Even if the given teacher has a curriculum."""
    sampling = of_one_type(FAST.stage_teacher("qa_pretraining"), "rec_obj2col").sampling
    assert FAST.stage_teacher("qa_pretraining").sampling.curriculum_episodes > 0
    assert sampling == SamplingConfig(curriculum_episodes=0, type_balanced_fraction=1.0, types=("rec_obj2col",))


def test_no_evaluation_seed_is_a_training_seed() -> None:
    """Not even for the largest seed that a config accepts."""
    largest = (1 << 36) - 1
    assert replace(FAST, seed=largest).seed == largest
    with pytest.raises(InputError, match="seed must be an integer from 0 to"):
        replace(FAST, seed=largest + 1)
    evaluation = [seeds.VALIDATION, seeds.REPRESENTATIONS, seeds.FEW_SHOT_EXAMPLES, seeds.FEW_SHOT_TEST]
    evaluation += [seeds.EVALUATION, seeds.EVALUATION_COMMANDS, seeds.EVALUATION_QUESTIONS]
    assert max(seeds.training(largest, stage) for stage in range(8)) < min(evaluation)
    assert seeds.EVALUATION_COMMANDS + len(Language.paper().types) <= seeds.EVALUATION_QUESTIONS


def test_results_do_not_depend_on_the_batch_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """The record of 30 episodes is the same in batches of 7."""
    evaluator = Evaluator(left_model(), FAST.teacher(), greedy=True)
    whole = evaluator.run(30)
    monkeypatch.setattr("groundling.evaluation.evaluator.BATCH_SIZE", 7)
    parts = evaluator.run(30)
    for name in ("command_type", "success", "reward", "spl", "wrong_object_steps"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    order = [np.argsort(record.question_episode, kind="stable") for record in (parts, whole)]
    np.testing.assert_array_equal(parts.question_type[order[0]], whole.question_type[order[1]])
    np.testing.assert_array_equal(parts.correct[order[0]], whole.correct[order[1]])


def test_reading_counts_steps_and_mass_on_content_words() -> None:
    """Of a model whose first step attends to the last word, and whose other steps attend to all words alike."""

    class Reader(LeftModel):
        def word_attention(self, sentences: torch.Tensor) -> torch.Tensor:
            real = (sentences != self.spec.pad).double()
            count = real.sum(1, keepdim=True)  # 0 where nothing is asked
            last = torch.zeros_like(real).scatter(1, (count.long() - 2).clamp(min=0), 1.0)  # before the mark
            alike = real / count.clamp(min=1)
            return torch.stack([last, alike], 1)

    model = Reader(AGENT, SPEC)
    model.register_parameter("unused", torch.nn.Parameter(torch.zeros(1)))
    teacher = of_one_type(FAST.stage_teacher("ppo"), "nav_obj")
    record = Evaluator(model, teacher, greedy=True).run(50, seed=5)
    assert record.command_reading.shape == (50, 2)
    for b, command in enumerate(teacher.begin(5, np.arange(50)).command.tokens):
        words = [teacher.lexicon.words[k] for k in command if k != teacher.lexicon.pad]
        ends_with_object, first_is_object = (words[k] in teacher.lexicon.objects for k in (-2, 0))
        steps, mass = record.command_reading[b]
        assert steps == (ends_with_object + first_is_object) / 2
        assert mass == pytest.approx((ends_with_object + 1 / len(words)) / 2)
    report = record.commands(teacher.language.type_names.index("nav_obj"))
    assert report["command_content_word_steps"] is not None
    assert report["command_content_word_steps"].mean == pytest.approx(record.command_reading[:, 0].mean())
    plain = Evaluator(left_model(), teacher, greedy=True).run(50, seed=5)
    assert plain.commands()["command_content_word_mass"] is None

"""Few-shot learning of a word: only its embedding changes, and it then works in answers, questions and commands."""

import itertools

import numpy as np
import pytest
import torch

import groundling
from groundling.errors import Cancelled, InputError
from groundling.evaluation.evaluator import Evaluator
from groundling.learn.few_shot import Example
from groundling.learn.trained_agent import TrainedAgent, load_agent
from groundling.study.few_shot import word_examples, word_teacher


@pytest.fixture(scope="module")
def agent() -> TrainedAgent:
    return load_agent("novel-12")


@pytest.fixture(scope="module")
def word(agent: TrainedAgent) -> str:
    return agent.split.held_out[3][0]


@pytest.fixture(scope="module")
def examples(agent: TrainedAgent, word: str) -> list[Example]:
    return [*itertools.islice(word_examples(agent, word), 10)]


def test_teaching_changes_only_the_embedding_of_the_word(
    agent: TrainedAgent, word: str, examples: list[Example]
) -> None:
    before = {name: tensor.clone() for name, tensor in agent.model.state_dict().items()}
    taught = agent.teach(word, examples)
    row = agent.words.index(word)
    for name, tensor in taught.model.state_dict().items():
        changed = (tensor != before[name]).nonzero()
        if name == "words.table":
            assert changed[:, 0].unique().tolist() == [row]
        else:
            assert not len(changed), name
    assert all(torch.equal(tensor, before[name]) for name, tensor in agent.model.state_dict().items())


def test_taught_word_works_in_commands_and_questions(agent: TrainedAgent, word: str, examples: list[Example]) -> None:
    """Training contained it in no command and no question; ten examples with it as the answer are enough for both."""
    teacher = word_teacher(agent, word)
    scores = {}
    for name, evaluated in (("untaught", agent), ("taught", agent.teach(word, examples))):
        record = Evaluator(evaluated.model, teacher, greedy=True).run(200, seed=9)
        scores[name] = (record.success.mean(), record.correct.mean())
    assert scores["untaught"][0] < 0.6
    assert scores["untaught"][1] < 0.6
    assert scores["taught"][0] > 0.8
    assert scores["taught"][1] > 0.8


def test_other_words_still_work_after_teaching(agent: TrainedAgent, word: str, examples: list[Example]) -> None:
    teacher = agent.teacher(phase="train")
    taught = agent.teach(word, examples)
    before, after = (Evaluator(each.model, teacher, greedy=True).run(200, seed=9) for each in (agent, taught))
    assert after.success.mean() >= before.success.mean() - 0.03
    assert after.correct.mean() >= before.correct.mean() - 0.03


def test_new_word_gets_the_token_after_the_last_word(agent: TrainedAgent, examples: list[Example]) -> None:
    renamed = [Example(example.image, example.question, "gizmo") for example in examples]
    taught = agent.teach("gizmo", renamed)
    assert taught.words == (*agent.words, "gizmo")
    assert taught.model.spec.words == 186
    assert taught.lexicon.token["gizmo"] == 185
    explained = taught.explain(examples[0].image, "Go to the gizmo.")
    assert explained["answer_scores"].shape == (186,)
    assert len(agent.words) == agent.model.spec.words == 185


def test_module_function_teach_equals_the_method(agent: TrainedAgent, word: str, examples: list[Example]) -> None:
    by_function, by_method = groundling.teach(agent, word, examples[:2]), agent.teach(word, examples[:2])
    one, two = by_function.model.state_dict(), by_method.model.state_dict()
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_invalid_examples_are_refused(agent: TrainedAgent, word: str, examples: list[Example]) -> None:
    image, question, _ = examples[0]
    with pytest.raises(InputError, match=r"examples of '.*' must be at least one, got none"):
        agent.teach(word, [])
    with pytest.raises(InputError, match=f"answer of every example must be the word '{word}', got 'other'"):
        agent.teach(word, [Example(image, question, "other")])
    with pytest.raises(InputError, match="unknown word 'gloves', did you mean 'glove'"):
        agent.teach(word, [Example(image, "What is gloves ?", word)])
    with pytest.raises(InputError, match=r"images must be .* multiples of 12, got .* of shape \(1, 5, 5, 3\)"):
        agent.teach(word, [Example(np.zeros((5, 5, 3), np.uint8), question, word)])
    with pytest.raises(InputError, match="'Two words' must be a new word of lower-case letters"):
        agent.teach("Two words", [Example(image, question, "Two words")])


def test_teaching_stops_when_it_is_cancelled(agent: TrainedAgent, word: str, examples: list[Example]) -> None:
    before = agent.model.state_dict()["words.table"].clone()
    calls = []

    def after_three_steps() -> bool:
        calls.append(1)
        return len(calls) > 3

    with pytest.raises(Cancelled):
        agent.teach(word, examples, cancelled=after_three_steps)
    assert len(calls) == 4
    assert torch.equal(agent.model.state_dict()["words.table"], before)


def test_only_a_model_with_an_interpreter_learns_words(word: str, examples: list[Example]) -> None:
    with pytest.raises(InputError, match="agent must be of method 'ours' to learn a word, got 'san'"):
        load_agent("san").teach(word, examples)

"""Teaching: only the word's own row changes, and then the word works in answers, questions and commands."""

import itertools

import numpy as np
import pytest
import torch

import groundling
from groundling.errors import InputError
from groundling.evaluation.evaluator import Evaluator
from groundling.learn.few_shot import Example
from groundling.learn.trained_agent import TrainedAgent, load_agent
from groundling.study.few_shot import examples_of, world_of


@pytest.fixture(scope="module")
def agent() -> TrainedAgent:
    return load_agent("novel-12")


@pytest.fixture(scope="module")
def word(agent: TrainedAgent) -> str:
    return agent.split.held_out[3][0]


@pytest.fixture(scope="module")
def examples(agent: TrainedAgent, word: str) -> list[Example]:
    return [*itertools.islice(examples_of(agent, word), 10)]


def test_only_the_row_of_the_word_changes(agent: TrainedAgent, word: str, examples: list[Example]) -> None:
    before = {name: tensor.clone() for name, tensor in agent.model.state_dict().items()}
    taught = groundling.teach(agent, word, examples)
    row = agent.checkpoint.words.index(word)
    for name, tensor in taught.model.state_dict().items():
        changed = (tensor != before[name]).nonzero()
        if name == "words.table":
            assert changed[:, 0].unique().tolist() == [row]
        else:
            assert not len(changed), name
    assert all(torch.equal(tensor, before[name]) for name, tensor in agent.model.state_dict().items())


def test_a_taught_word_works(agent: TrainedAgent, word: str, examples: list[Example]) -> None:
    """It was never heard in a command, nor in a question; ten examples of answers are enough for both."""
    teacher = world_of(agent, word)
    scores = {}
    for name, pupil in (("untaught", agent), ("taught", groundling.teach(agent, word, examples))):
        record = Evaluator(pupil.model, teacher, greedy=True).run(200, seed=9)
        scores[name] = (record.success.mean(), record.right.mean())
    assert scores["untaught"][0] < 0.6
    assert scores["untaught"][1] < 0.6
    assert scores["taught"][0] > 0.8
    assert scores["taught"][1] > 0.8


def test_other_words_still_work(agent: TrainedAgent, word: str, examples: list[Example]) -> None:
    teacher = agent.teacher(phase="train")
    taught = groundling.teach(agent, word, examples)
    before, after = (Evaluator(pupil.model, teacher, greedy=True).run(200, seed=9) for pupil in (agent, taught))
    assert after.success.mean() >= before.success.mean() - 0.03
    assert after.right.mean() >= before.right.mean() - 0.03


def test_a_new_word_is_numbered_after_the_others(agent: TrainedAgent, examples: list[Example]) -> None:
    renamed = [Example(example.image, example.question, "gizmo") for example in examples]
    taught = groundling.teach(agent, "gizmo", renamed)
    assert taught.checkpoint.words == (*agent.checkpoint.words, "gizmo")
    assert taught.model.config.words == 186
    assert taught.checkpoint.words.index("gizmo") == 185
    image = examples[0].image
    inside = taught.model.explain(image, [taught.checkpoint.words.index(w) for w in ("what", "is", "in", "the")])
    assert inside["answer_scores"].shape == (186,)


def test_bad_lessons_are_refused(agent: TrainedAgent, word: str, examples: list[Example]) -> None:
    with pytest.raises(InputError, match="at least one example"):
        groundling.teach(agent, word, [])
    with pytest.raises(InputError, match="an example's answer is 'other'; it must be the word taught"):
        groundling.teach(agent, word, [Example(examples[0].image, examples[0].question, "other")])
    with pytest.raises(InputError, match="unknown word 'gloves'"):
        groundling.teach(agent, word, [Example(examples[0].image, "What is gloves ?", word)])
    with pytest.raises(InputError, match="images of shape"):
        groundling.teach(agent, word, [Example(np.zeros((5, 5, 3), np.uint8), examples[0].question, word)])
    with pytest.raises(InputError, match="a new class needs a new word of lower-case letters"):
        groundling.teach(agent, "Two words", [Example(examples[0].image, examples[0].question, "Two words")])

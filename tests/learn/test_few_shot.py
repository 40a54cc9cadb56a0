"""Few-shot learning of a word: only its embedding changes, and it then works in answers, questions and commands."""

import itertools

import numpy as np
import pytest
import torch

import groundling
from groundling.agent.model import InterpreterModel
from groundling.errors import Cancelled, InputError
from groundling.evaluation.evaluator import Evaluator
from groundling.learn.few_shot import Example
from groundling.learn.trained_agent import TrainedAgent, load_agent
from groundling.study import few_shot
from groundling.study.few_shot import (
    measure_sequence,
    with_icons,
    without_other_novel_objects,
    word_examples,
    word_teacher,
)
from groundling.world.catalog import CELL_PIXELS


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
        if name in ("words.table", "words.answered"):
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
    with pytest.raises(Cancelled):
        agent.teach(word, examples, cancelled=lambda: True)
    assert torch.equal(agent.model.state_dict()["words.table"], before)


def test_one_example_is_enough_for_the_icon_that_it_shows(agent: TrainedAgent, word: str) -> None:
    """Among five objects, in commands and questions; `icon` keeps one icon of the word in the world."""
    catalog = with_icons(agent, word, [0])
    taught = agent.teach(word, [next(word_examples(agent, word, catalog))])
    teacher = word_teacher(agent, word, catalog, objects=5)
    record = Evaluator(taught.model, teacher, greedy=True, attention=False).run(200, seed=9)
    assert record.success.mean() >= 0.97
    assert record.correct.mean() >= 0.96


@pytest.mark.parametrize(("sense", "slots"), [("object", {"obj", "obj2"}), ("color", {"col"})])
def test_a_word_with_two_senses_is_used_in_the_one_that_was_taught(
    agent: TrainedAgent, sense: str, slots: set[str]
) -> None:
    catalog = without_other_novel_objects(agent, ["orange"] if sense == "object" else [])
    teacher = word_teacher(agent, "orange", catalog, sense=sense)
    grammar, types = teacher.grammar, {type_.name: type_ for type_ in teacher.language.types}
    novel, used = set(agent.split.held_out_words), 0
    episode = teacher.begin(7, np.arange(500))
    for sentences in (episode.command, episode.question):
        for b in np.flatnonzero(sentences.type >= 0):
            meaning = grammar.parse([token for token in sentences.tokens[b] if token != teacher.lexicon.pad])
            said = {(slot, word) for slot, word in meaning.slots.items() if word in novel}
            answer = teacher.lexicon.words[sentences.answer[b]] if sentences.answer[b] >= 0 else ""
            assert said <= {(slot, "orange") for slot in slots}
            assert answer not in novel - {"orange"}
            assert answer != "orange" or types[meaning.type].asked == sense
            assert said or answer == "orange"
            used += 1
    assert used >= 500


def test_new_row_leads_on_the_example_and_is_like_an_unrelated_word_on_everything_else(
    agent: TrainedAgent, word: str
) -> None:
    """The scores of the taught word, on pictures: the equations that the closed form solves."""
    example = next(word_examples(agent, word, with_icons(agent, word, [0])))
    taught = agent.teach(word, [example])
    model = taught.model
    assert isinstance(model, InterpreterModel)
    known = [name for name in agent.config.catalog().classes if name not in agent.split.held_out_words]
    pictures = torch.from_numpy(agent.config.catalog().only(known).pictures[CELL_PIXELS])
    rows = model.words.table[:, : model.config.channels]
    row = rows[taught.lexicon.token[word]] - rows[[taught.lexicon.token[name] for name in known]].mean(0)
    with torch.no_grad():
        lead = model.perception.features_of(pictures) @ row
        shown = model.perception.features_of(torch.from_numpy(taught.taught[word])) @ row
    assert shown.item() > lead.max() + 5
    assert lead.square().mean().sqrt() < shown.item() / 5


def test_words_taught_in_sequence_do_not_disturb_each_other(agent: TrainedAgent) -> None:
    """Three words, one of which is a shape; a word that was taught is remembered when the next one is."""
    words = [group[0] for group in agent.split.held_out if group[0] in ("rat", "eggplant", "wardrobe")]
    scores = measure_sequence(agent, words, episodes=200)
    assert len(scores["words"]) == 3
    for name in ("success_rate", "qa_accuracy"):
        assert scores["after"][name] >= scores["before"][name] - 0.01
        assert scores["new_words"][name] >= 0.93


def test_scores_of_icons_are_those_of_separate_worlds(
    agent: TrainedAgent, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(few_shot, "COUNTS", (2,))
    monkeypatch.setattr(few_shot, "OBJECTS", (2, 5))
    scores = few_shot.measure(agent, word, episodes=50)
    for shown in (*scores["one_icon"].values(), scores["each_icon"], *(draw["shown"] for draw in scores["random"])):
        assert shown["success_rate"] >= 0.94
        assert shown["qa_accuracy"] >= 0.94
    for name in ("untaught", "other_icons"):
        assert scores[name]["qa_accuracy"] < 0.5
    assert {draw["examples"] for draw in scores["random"]} == {2}
    assert {*few_shot.summary([scores])["one_icon"]} == {"2", "5"}


def test_only_a_model_with_an_interpreter_learns_words(word: str, examples: list[Example]) -> None:
    with pytest.raises(InputError, match="agent must be of method 'ours' to learn a word, got 'san'"):
        load_agent("san").teach(word, examples)

"""Word dropout: words that the interpreter reads are replaced by random embeddings, in training only."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from groundling.agent import MODELS, AgentConfig, EnvSpec, View, build
from groundling.agent.language import WordDropout
from groundling.agent.model import InterpreterModel

SPEC = EnvSpec(words=40, view=5)
CONFIG = AgentConfig(channels=8, hidden_units=8, temperature=5.0, init="he")


def embeddings() -> Tensor:
    """[words + 1, D]: embeddings whose mean and deviation differ from dimension to dimension, and the zero padding."""
    torch.manual_seed(0)
    words = torch.linspace(-3, 3, CONFIG.depth) + torch.linspace(0.2, 2, CONFIG.depth) * torch.randn(40, CONFIG.depth)
    return torch.cat([words, torch.zeros(1, CONFIG.depth)])


def random_tokens(batch: int) -> Tensor:
    """[B, 13]: random words, then padding."""
    tokens = torch.randint(0, SPEC.pad + 1, (batch, 13), generator=torch.Generator().manual_seed(1))
    return tokens.sort(1).values  # padding is the largest token


def model() -> InterpreterModel:
    torch.manual_seed(0)
    made = build(CONFIG, SPEC)
    assert isinstance(made, InterpreterModel)
    return made


def dropout(probability: float) -> WordDropout:
    return WordDropout(probability, np.random.default_rng(0))


def test_probability_1_replaces_every_word_but_no_padding() -> None:
    table, tokens = embeddings(), random_tokens(300)
    new_table, new_tokens = dropout(1.0)(table, tokens, SPEC.pad)
    is_word = tokens != SPEC.pad
    assert torch.equal(new_table[: len(table)], table)
    assert (new_tokens[~is_word] == SPEC.pad).all()
    assert torch.equal(new_tokens[is_word], torch.arange(len(table), len(new_table)))  # each its own embedding


def test_random_embeddings_have_the_mean_and_deviation_of_the_word_embeddings() -> None:
    table = embeddings()
    random_words = dropout(1.0)(table, random_tokens(300), SPEC.pad)[0][len(table) :]
    words, count = table[: SPEC.pad], len(random_words)
    assert count > 3500
    assert ((random_words.mean(0) - words.mean(0)).abs() < 4 * words.std(0) / count**0.5).all()
    assert ((random_words.std(0) / words.std(0) - 1).abs() < 4 / (2 * count) ** 0.5).all()
    assert len(random_words.unique(dim=0)) == count


def test_probability_0_changes_nothing() -> None:
    table, tokens = embeddings(), random_tokens(300)
    new_table, new_tokens = dropout(0.0)(table, tokens, SPEC.pad)
    assert torch.equal(new_table, table)
    assert torch.equal(new_tokens, tokens)


def test_probability_is_the_fraction_of_replaced_words() -> None:
    tokens = random_tokens(300)
    replaced = dropout(0.25)(embeddings(), tokens, SPEC.pad)[1] != tokens
    assert 0.23 < replaced.sum() / (tokens != SPEC.pad).sum() < 0.27


def test_dropped_words_are_still_detected_as_the_true_words() -> None:
    """Only the reading changes: tokens and embeddings that are detected are those of the sentence."""
    interpreter, words, tokens = model().interpreter, model().words, random_tokens(30)
    plain, dropped = interpreter(words, tokens), interpreter(words, tokens, dropout(1.0))
    assert torch.equal(dropped.tokens, plain.tokens)
    assert not torch.equal(dropped.attention, plain.attention)
    assert not torch.equal(dropped.gates, plain.gates)
    true_words = words.padded()[dropped.tokens]  # [S, L, D]
    torch.testing.assert_close(dropped.words, dropped.attention @ true_words)


def test_dropped_words_get_no_gradient_from_reading() -> None:
    agent = model()
    program = agent.interpreter(agent.words, torch.tensor([[3, 1, 4], [1, 5, 9]]), dropout(1.0))
    program.gates.sum().backward()
    assert agent.words.table.grad is not None
    assert not agent.words.table.grad.any()


def test_interpreter_without_word_dropout_equals_the_default() -> None:
    interpreter, words, tokens = model().interpreter, model().words, random_tokens(30)
    default, none = interpreter(words, tokens), interpreter(words, tokens, word_dropout=None)
    for name, a, b in zip(default._fields[:-1], default[:-1], none[:-1], strict=True):  # without `extra`
        assert a is b is None or torch.equal(a, b), name


@pytest.mark.parametrize("method", list(MODELS))
def test_only_models_with_an_interpreter_use_word_dropout(method: str) -> None:
    torch.manual_seed(0)
    agent = build(AgentConfig(method, channels=8, hidden_units=8, temperature=5.0, init="he"), SPEC)
    assert agent.supports_word_dropout == (method in ("ours", "nava"))
    images = torch.randint(0, 256, (4, 60, 60, 3), dtype=torch.uint8)
    view, tokens = View.of_images(images), random_tokens(4)
    default, none, dropped = (agent(view, tokens, tokens, *arguments) for arguments in ((), (None,), (dropout(1.0),)))
    for name, a, b in zip(default._fields[:-1], default[:-1], none[:-1], strict=True):  # without `extra`
        assert a is b is None or torch.equal(a, b), name
    assert torch.equal(default.action_logits, dropped.action_logits) == (not agent.supports_word_dropout)
    if agent.has_answer_head:
        seen = agent.perceive(view)
        plain, noisy = agent.answer(seen, tokens), agent.answer(seen, tokens, dropout(1.0))
        assert torch.equal(plain.scores, noisy.scores) == (not agent.supports_word_dropout)
        assert (plain.extra is None) == (not agent.supports_word_dropout)


def test_only_words_that_were_answers_are_replaced_by_embeddings_like_theirs() -> None:
    table, tokens = embeddings(), random_tokens(300)
    answered = torch.zeros(SPEC.words, dtype=torch.bool)
    answered[10:30] = True
    drop = WordDropout(1.0, np.random.default_rng(0), answered)
    new_table, new_tokens = drop(table, tokens, SPEC.pad)
    changed = new_tokens != tokens
    assert torch.equal(changed, (tokens >= 10) & (tokens < 30))
    random_words, like, count = new_table[len(table) :], table[10:30], int(changed.sum())
    assert ((random_words.mean(0) - like.mean(0)).abs() < 4 * like.std(0) / count**0.5).all()
    assert ((random_words.std(0) / like.std(0) - 1).abs() < 4 / (2 * count) ** 0.5).all()


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_is_replaced_before_two_words_were_answers(count: int) -> None:
    answered = torch.arange(SPEC.words) < count
    tokens = random_tokens(30)
    assert torch.equal(WordDropout(1.0, np.random.default_rng(0), answered)(embeddings(), tokens, SPEC.pad)[1], tokens)


def test_salience_moves_attention_to_words_that_were_answers() -> None:
    """By the factor exp(bias), compared with the same model before any word was an answer."""
    torch.manual_seed(0)
    agent = build(replace(CONFIG, salience=2.0), SPEC)
    assert isinstance(agent, InterpreterModel)
    tokens = torch.tensor([[3, 1, 4, 9], [1, 5, SPEC.pad, SPEC.pad]])
    before = agent.word_attention(tokens)[:, 0]
    agent.add_answer_words(torch.arange(SPEC.words) == 4)
    after = agent.word_attention(tokens)[:, 0]
    odds = [o[0, 2] / o[0, 1] for o in (before, after)]
    assert (odds[1] / odds[0]).item() == pytest.approx(math.exp(2), rel=1e-4)
    torch.testing.assert_close(after[1], before[1])
    agent.add_answer_words(torch.arange(SPEC.words) == 5)
    assert agent.words.answered is not None
    assert agent.words.answered.nonzero()[:, 0].tolist() == [4, 5]  # an answer is not forgotten

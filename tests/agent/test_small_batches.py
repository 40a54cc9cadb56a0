"""Reading without padding, and the initialization by inputs: options of the paper's algorithm."""

import pytest
import torch
from torch import Tensor

from groundling.agent import AgentConfig, build
from groundling.agent.language import RecurrentReader
from groundling.agent.model import InterpreterModel

PAD = 20
LENGTHS = (3, 0, 9, 5, 5, 1, 11, 2, 7)


def sentences() -> Tensor:
    """Sentences of several lengths, one of them without words, in a table with two columns more than the longest."""
    tokens = torch.full((len(LENGTHS), 13), PAD)
    for row, length in enumerate(LENGTHS):
        tokens[row, :length] = torch.randint(0, PAD, (length,))
    return tokens


@pytest.mark.parametrize("bidirectional", [True, False])
def test_reading_without_padding_gives_the_same_states_and_gradients(bidirectional: bool) -> None:
    torch.manual_seed(0)
    reader = RecurrentReader(6, 4, bidirectional).double()
    table = torch.randn(PAD + 1, 6, dtype=torch.float64, requires_grad=True)
    tokens = sentences()
    found = []
    for skips_padding in (False, True):
        reader.skips_padding = skips_padding
        states, last = reader(table, tokens, PAD)
        real = (tokens[:, : states.shape[1]] != PAD)[..., None]
        weight = torch.linspace(-1, 1, states.numel(), dtype=torch.float64).reshape(states.shape)
        loss = (states * weight * real).sum() + (last**3).sum()
        found.append((states * real, last, *torch.autograd.grad(loss, [table, *reader.parameters()])))
    for one, two in zip(*found, strict=True):
        torch.testing.assert_close(one, two)


def test_initialization_by_inputs_has_the_documented_deviations() -> None:
    torch.manual_seed(0)
    model = build(AgentConfig(init="inputs"))
    assert isinstance(model, InterpreterModel)
    first = model.perception.cnn[0]
    for weight, inputs in (
        (first.weight, 27),
        (model.perception.features.weight, 256),
        (model.interpreter.rnn.weight_in, 512),
        (model.interpreter.state.weight_hh, 128),
        (model.terrain.f, 512),
        (model.words.table, 1),
    ):
        assert isinstance(weight, Tensor)
        assert float(weight.detach().std()) == pytest.approx(inputs**-0.5, rel=0.1)
    assert not model.perception.positions.any()
    assert not model.interpreter.rnn.bias_in.any()
    bias = model.perception.features.bias
    assert bias is not None
    assert not bias.any()

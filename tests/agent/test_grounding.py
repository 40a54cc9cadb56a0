"""The identities that the equations of the model must satisfy."""

import math

import pytest
import torch
import torch.nn.functional as F

from groundling.agent import AgentConfig, View, build
from groundling.agent.baselines import ContextualAttention, StackedAttentionNet
from groundling.agent.grounding import Program, center, detection_map, ground, sharpen, transform
from groundling.agent.language import Gate
from groundling.agent.perception import Cube
from tests.agent.inputs import (
    assert_close,
    first_observations,
    interpreter_model,
    random_sentences,
)


def test_sharpen_equals_hand_computed_values() -> None:
    sharp = sharpen(torch.tensor([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]]), torch.tensor([2.0, 1.0]))
    torch.testing.assert_close(sharp, torch.tensor([[4 / 6, 1 / 6, 1 / 6], [0.5, 0.25, 0.25]]))


def test_per_word_detection_splits_attention_evenly_between_two_equally_attended_words() -> None:
    """However much larger the norm of one of the two words is; a mixture attends to that word alone."""
    small, large = torch.eye(2)
    table = torch.stack([10 * small, 40 * large])  # two words, each detects one of three cells
    cube = Cube(torch.eye(3)[:, :2], torch.zeros(3, 2), torch.tensor([[0, 1, 2]]))
    table = torch.cat([table, torch.zeros(2, 2)], 1)
    half = torch.tensor([[[0.5, 0.5]]])
    program = Program(half, torch.tensor([[0, 1]]), (half @ table), torch.zeros(1, 1), torch.ones(1, 4))
    shared = ground(program, cube, table).detections[0, 0, :2]
    torch.testing.assert_close(shared, torch.tensor([0.5, 0.5]), atol=1e-3, rtol=0)
    assert ground(program, cube).detections[0, 0, 1] > 0.999


def test_bounded_scores_share_attention_among_all_objects_that_match() -> None:
    """Of scores 20, 10 and 0 with the bound 5, a tenth of what is above 5 counts: 6.5, 5.5 and 0."""
    scores = torch.tensor([20.0, 10.0, 0.0], requires_grad=True)
    bounded = detection_map(scores, 5.0)
    expected = torch.softmax(torch.tensor([6.5, 5.5, 0.0]), dim=0)
    torch.testing.assert_close(bounded, expected, atol=2e-3, rtol=0)  # softplus is not exactly a corner
    assert detection_map(scores)[0] > 0.9999
    low = torch.tensor([-7.0, -9.0, -8.0])
    torch.testing.assert_close(detection_map(low, 5.0), low.softmax(0), atol=1e-5, rtol=0)
    bounded[1].log().backward()
    assert scores.grad is not None
    assert scores.grad[0] < -0.05  # a wrong object above the bound still has a gradient


def test_word_of_a_step_with_an_open_gate_is_covered_in_later_steps() -> None:
    """Its odds fall by 1 - rho, and not at all if the gate is closed."""
    for bias, share in ((-20.0, 1.0), (0.0, 0.5)):
        plain, covering = (
            interpreter_model(temperature=5.0, gate_bound=1e-6, coverage=coverage) for coverage in (False, True)
        )
        tokens = torch.tensor([[3, 50, 120]])
        odds = []
        for model in (plain, covering):
            with torch.no_grad():
                model.interpreter.gate.bias.fill_(bias)  # rho = sigma(bias)
            attention = model.word_attention(tokens)[0]
            first, other = attention[0].argmax(), attention[0].argmin()
            odds.append((attention[1, first] / attention[1, other]).item())
            relative = (attention[0, other] / attention[0, first]).item()
        remaining = 1 - (1 - share) * relative  # of the least attended word
        assert odds[1] / odds[0] == pytest.approx(share / remaining, rel=1e-3)


def test_supervised_terrain_gets_no_gradient_from_the_planner() -> None:
    model = interpreter_model(planner="value_iteration", supervised_terrain=True)
    images, _, _, commands, _ = first_observations(4)
    output = model(View.of_images(images), commands)
    output.action_logits.square().sum().backward(retain_graph=True)
    assert model.terrain.f.grad is None or not model.terrain.f.grad.any()
    assert output.x_terr is not None
    output.x_terr.sum().backward()
    assert model.terrain.f.grad is not None
    assert model.terrain.f.grad.any()


def test_bounded_gate_stays_in_its_range_and_has_a_gradient() -> None:
    """Whatever its weights, rho stays between sigma(b - g / 10) and sigma(b + g), and has a gradient."""
    gate = Gate(8, 5.0)
    assert gate.bias.item() == -4.0
    with torch.no_grad():
        gate.weight.mul_(1e6)
    states = torch.randn(100, 8, requires_grad=True)
    rho = gate(states)
    assert 1 / (1 + math.exp(4.5)) <= rho.min()
    assert rho.max() <= 1 / (1 + math.exp(-1))
    rho.sum().backward()
    assert states.grad is not None
    assert states.grad.abs().sum(1).min() > 0


def random_cube(batch: int = 2, side: int = 5) -> Cube:
    return Cube(torch.randn(7, 8), torch.randn(side * side, 8), torch.randint(0, 7, (batch, side * side)))


def random_program(batch: int = 2, gates: float = 0.5) -> Program:
    attention = torch.full((batch, 3, 4), 0.25)
    tokens = torch.randint(0, 9, (batch, 4))
    return Program(attention, tokens, torch.randn(batch, 3, 16), torch.full((batch, 3), gates), torch.ones(batch, 16))


def test_closed_gates_give_the_detection_of_each_word_alone() -> None:
    """y stays y^0, the identity of the map transform."""
    grounding = ground(random_program(gates=0.0), random_cube())
    torch.testing.assert_close(grounding.x_loc_steps, grounding.detections, atol=1e-6, rtol=1e-5)


def test_center_is_the_identity_of_the_map_transform() -> None:
    maps = torch.rand(3, 49)
    y0 = center(3, maps)
    assert y0.sum() == 3
    assert y0[0, 24] == 1
    torch.testing.assert_close(transform(maps, y0), maps, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(transform(y0, maps), maps, atol=1e-6, rtol=1e-5)


def test_northwest_map_shifts_attention_one_cell_up_and_left() -> None:
    there = torch.zeros(1, 7, 7)
    there[0, 4, 5] = 1  # an object
    northwest = torch.zeros(1, 7, 7)
    northwest[0, 2, 2] = 1  # up and left of the center (3, 3)
    moved = transform(northwest.reshape(1, 49), there.reshape(1, 49)).reshape(7, 7)
    expected = torch.zeros(7, 7)
    expected[3, 4] = 1
    torch.testing.assert_close(moved, expected, atol=1e-6, rtol=0)
    # Attention shifted over the edge is lost; it does not wrap around.
    corner = torch.zeros(1, 7, 7)
    corner[0, 0, 0] = 1
    assert transform(northwest.reshape(1, 49), corner.reshape(1, 49)).abs().max() < 1e-6


def test_map_transform_equals_the_convolution_sum() -> None:
    a, b = torch.rand(5, 5), torch.rand(5, 5)
    expected = torch.zeros(5, 5)
    for row in range(5):
        for column in range(5):
            for i in range(5):
                for j in range(5):
                    r, c = row - (i - 2), column - (j - 2)
                    if 0 <= r < 5 and 0 <= c < 5:
                        expected[row, column] += a[r, c] * b[i, j]
    torch.testing.assert_close(transform(a.reshape(1, 25), b.reshape(1, 25)).reshape(5, 5), expected)


def test_detection_scores_are_linear_in_the_word_embedding() -> None:
    cube = random_cube()
    u, v = torch.randn(2, 3, 16), torch.randn(2, 3, 16)
    torch.testing.assert_close(cube.detect(2 * u - v), 2 * cube.detect(u) - cube.detect(v), atol=1e-4, rtol=1e-4)


@pytest.mark.usefixtures("double_precision")
def test_attention_of_ca_and_san_equals_that_of_dense_implementations() -> None:
    """As in their papers: computed from h of every position of every image."""
    cube = Cube(torch.rand(20, 256), torch.rand(169, 256), torch.randint(0, 20, (4, 169)))
    h = torch.cat([cube.features[cube.cells], cube.positions.expand(4, -1, -1)], dim=2)

    ca = build(AgentConfig(method="ca", init="he"))
    assert isinstance(ca, ContextualAttention)
    vector, x_feat = ca.reader(ca.words, random_sentences(4))
    filters = ca.filter(vector).reshape(4, 3, 3, 512).movedim(3, 1) / math.sqrt(512)
    scores = F.conv2d(h.mT.reshape(1, 4 * 512, 13, 13), filters, padding=1, groups=4)
    attention = ca.attend(cube, random_sentences(4))
    assert_close(attention.x_loc, scores[0].flatten(1).softmax(1))
    assert_close(attention.x_feat, x_feat)
    assert attention.program is None

    san = build(AgentConfig(method="san", init="he"))
    assert isinstance(san, StackedAttentionNet)
    question, x_feat = san.reader(san.words, random_sentences(4))
    image, x_loc = torch.relu(san.image(h)), torch.empty(0)
    for by_image, by_question, score in zip(san.by_image, san.by_question, san.score, strict=True):
        joint = torch.relu(by_image(image) + by_question(question)[:, None])
        x_loc = torch.softmax(score(joint)[..., 0], dim=1)
        question = question + (x_loc[..., None] * image).sum(1)
    attention = san.attend(cube, random_sentences(4))
    assert_close(attention.x_loc, x_loc)
    assert_close(attention.x_feat, x_feat)
    assert attention.program is None

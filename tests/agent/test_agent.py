"""The model against its reference implementation, and the identities that its equations must satisfy."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from groundling.agent import MODELS, AgentConfig, EnvSpec, Output, View, build
from groundling.agent.baselines import ContextualAttention, StackedAttentionNet
from groundling.agent.grounding import Program, center, detection_map, ground, sharpen, transform
from groundling.agent.language import Gate, RecurrentReader
from groundling.agent.model import InterpreterModel
from groundling.agent.onnx_export import export_onnx
from groundling.agent.perception import Cube
from groundling.agent.planners import ValueIterationPlanner
from groundling.agent.reference import ReferenceModel
from groundling.agent.view import distinct_rows
from groundling.errors import InputError
from groundling.teacher.teacher import Teacher
from groundling.world.catalog import CELL_PIXELS
from groundling.world.rendering import draw, view_cells

PAD = 185
OURS = {"temperature": 5.0, "word_detection": "per_word", "sharpness": 2.0, "gate_bound": 5.0}
NEW = {
    **OURS,
    "planner_discount": 0.9,
    "salience": 2.0,
    "detection_bound": 1.0,
    "obstacle_contrast": 4.0,
    "coverage": True,
}


def interpreter_model(**changes: object) -> InterpreterModel:
    torch.manual_seed(0)
    model = build(AgentConfig.of({"init": "he", **changes}))
    assert isinstance(model, InterpreterModel)
    torch.nn.init.normal_(model.perception.positions)  # initially zero, which would hide mistakes
    if isinstance(model.planner, ValueIterationPlanner):
        # Initially symmetric, so that moves have equal values, and the gradient of their maximum is not unique.
        torch.nn.init.uniform_(model.planner.spread, 0.0, 0.3)
    model.add_answer_words(torch.arange(PAD) % 3 == 0)
    return model


def random_sentences(batch: int, seed: int = 0) -> Tensor:
    """Sentences of 1 to 13 random words."""
    rng = torch.Generator().manual_seed(seed)
    tokens = torch.randint(0, PAD, (batch, 13), generator=rng)
    lengths = torch.randint(1, 14, (batch, 1), generator=rng)
    return torch.where(torch.arange(13) < lengths, tokens, PAD)


def noise_images(batch: int) -> Tensor:
    return torch.randint(0, 256, (batch, 156, 156, 3), generator=torch.Generator().manual_seed(1), dtype=torch.uint8)


def first_observations(batch: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Images, their cell ids, the picture of every cell id, commands and questions of the first steps of episodes."""
    teacher = Teacher()
    episode = teacher.begin(0, np.arange(batch))
    cells, pictures = view_cells(episode.state), teacher.catalog.pictures[CELL_PIXELS]
    commands, questions = (torch.from_numpy(part.tokens).long() for part in (episode.command, episode.question))
    images = torch.from_numpy(draw(cells, pictures))
    return images, torch.from_numpy(cells), torch.from_numpy(pictures), commands, questions


def gradients(model: InterpreterModel, outputs: tuple[Tensor | None, ...]) -> dict[str, Tensor]:
    model.zero_grad()
    weighted = [
        (out * torch.linspace(-1, 1, out.numel()).reshape(out.shape)).sum() for out in outputs if out is not None
    ]
    torch.stack(weighted).sum().backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def assert_close(a: Tensor, b: Tensor, name: str = "") -> None:
    """Equal to 1e-4, relative to the largest value."""
    assert (a - b).abs().max() <= 1e-4 * b.abs().max(), name


@pytest.fixture
def double_precision() -> Iterator[None]:
    """Double precision, so that two implementations of the same function differ only if one is wrong."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("planner", ["mlp", "value_iteration"])
@pytest.mark.parametrize("options", [{}, OURS, NEW], ids=["paper", "ours", "new"])
@pytest.mark.parametrize("pictures", ["noise", "episodes"])
def test_model_equals_reference_implementation(planner: str, options: dict[str, object], pictures: str) -> None:
    """Features, attention, answers, action logits, values and all gradients."""
    offset = 240.0 if pictures == "episodes" else 0.0
    model = interpreter_model(planner=planner, pixel_offset=offset, pixel_scale=64.0, **options)
    reference = ReferenceModel(model)
    images = noise_images(6) if pictures == "noise" else first_observations(6)[0]
    commands, questions = random_sentences(6, 1), random_sentences(6, 2)
    questions[2] = PAD
    view = View.of_images(images)

    cube, h = model.perceive(view), reference.cube(images)
    assert_close(torch.cat([cube.features[cube.cells], cube.positions.expand(6, -1, -1)], 2), h, "features")
    attention = model.attend(cube, commands)
    reference_x_loc, reference_x_feat = reference.attend(h, commands)
    assert_close(attention.x_loc, reference_x_loc, "x_loc")
    assert_close(attention.x_feat, reference_x_feat, "x_feat")

    output, expected = model(view, commands, questions)[:-1], reference(images, commands, questions)  # without `extra`
    model_gradients = gradients(model, output)
    reference_gradients = gradients(model, expected)
    for name, a, b in zip(Output._fields[:-1], output, expected, strict=True):
        assert_close(a, b, name)
    assert model_gradients.keys() == reference_gradients.keys() == dict(model.named_parameters()).keys()
    for name, gradient in model_gradients.items():
        assert_close(gradient, reference_gradients[name], name)


def test_images_and_cell_ids_give_the_same_view_and_output() -> None:
    model = interpreter_model()
    images, cells, table, commands, questions = first_observations(32)
    from_images, from_cells = View.of_images(images), View.of_cells(cells, table)
    assert len(from_images.pictures) == len(from_cells.pictures) < 150
    assert torch.equal(from_images.pictures[from_images.cells], from_cells.pictures[from_cells.cells])
    assert torch.equal(from_cells.images().permute(0, 2, 3, 1), images)
    for a, b in zip(model(from_images, commands, questions), model(from_cells, commands, questions), strict=True):
        torch.testing.assert_close(a, b)


def test_forward_equals_perceive_then_navigate_and_answer() -> None:
    model = interpreter_model()
    images, _, _, commands, questions = first_observations(8)
    output = model(View.of_images(images), commands, questions)
    seen = model.perceive(View.of_images(images))
    logits, value = model.navigate(seen, commands)
    torch.testing.assert_close(output.action_logits, logits)
    torch.testing.assert_close(output.value, value)
    assert output.answer_scores is not None
    torch.testing.assert_close(output.answer_scores, model.answer(seen, questions).scores)


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


@pytest.mark.parametrize("method", list(MODELS))
def test_output_follows_batch_permutation_and_ignores_extra_padding(method: str) -> None:
    torch.manual_seed(0)
    model = build(AgentConfig(method=method, init="he"))
    images, commands, questions = noise_images(5), random_sentences(5, 3), random_sentences(5, 4)
    output = model(View.of_images(images), commands, questions)
    order = torch.tensor([3, 0, 4, 1, 2])
    permuted = model(View.of_images(images[order]), commands[order], questions[order])
    more = torch.full((5, 4), PAD)
    padded = model(View.of_images(images), torch.cat([commands, more], 1), torch.cat([questions, more], 1))
    for a, b, c in zip(output[:-1], permuted[:-1], padded[:-1], strict=True):  # without `extra`
        if a is not None:
            torch.testing.assert_close(a[order], b, atol=1e-5, rtol=1e-4)
            torch.testing.assert_close(a, c, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("method", list(MODELS))
@pytest.mark.parametrize("init", ["paper", "he", "inputs"])
def test_output_shapes_and_finite_gradients_of_all_parameters(method: str, init: str) -> None:
    torch.manual_seed(0)
    model = build(AgentConfig(method=method, init=init))
    questions = random_sentences(4, 2)
    questions[1] = PAD  # no question
    output = model(View.of_images(noise_images(4)), random_sentences(4, 1), questions)
    assert output.action_logits.shape == (4, 4)
    assert output.value.shape == (4,)
    assert (output.answer_scores is None) == (method == "nava")
    total = output.action_logits.square().sum() + output.value.sum()
    if output.answer_scores is not None:
        assert output.answer_scores.shape == (4, 185)
        total = total + output.answer_scores[[0, 2, 3]].square().sum()
    total.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


def test_paper_initialization_has_the_documented_deviations() -> None:
    torch.manual_seed(0)
    model = build(AgentConfig())
    assert isinstance(model, InterpreterModel)
    assert not model.perception.positions.any()
    assert model.words.table.std().item() == pytest.approx(1, rel=0.02)
    layer = model.perception.cnn[2]
    weights = torch.cat([p.flatten() for p in layer.parameters()])
    assert weights.std().item() == pytest.approx(weights.numel() ** -0.5, rel=0.05)


@pytest.mark.parametrize("planner", ["mlp", "value_iteration"])
def test_explain_returns_the_documented_arrays(planner: str) -> None:
    model = interpreter_model(planner=planner)
    image, sentence = noise_images(1)[0].numpy(), [5, 120, 9, 184, PAD, PAD]
    intermediates = model.explain(image, sentence)
    shapes = {
        "word_attention": (3, 4),
        "attended_words": (3, 512),
        "gates": (3,),
        "detections": (3, 169),
        "x_loc_steps": (3, 169),
        "x_loc": (169,),
        "x_feat": (512,),
        "x_terr": (169,),
        "action_probabilities": (4,),
        "value": (),
        "answer_scores": (185,),
    }
    if planner == "value_iteration":
        shapes["value_map"] = (169,)
    assert {name: array.shape for name, array in intermediates.items()} == shapes
    np.testing.assert_allclose(intermediates["word_attention"].sum(1), 1, rtol=1e-5)
    np.testing.assert_allclose(intermediates["x_loc_steps"][-1], intermediates["x_loc"])
    np.testing.assert_allclose(intermediates["action_probabilities"].sum(), 1, rtol=1e-5)
    assert set(build(AgentConfig(method="vl")).explain(image, sentence)) == {
        "action_probabilities",
        "value",
        "answer_scores",
    }


@pytest.mark.parametrize("method", ["ours", "san", "vl"])
def test_explain_batch_equals_explain_one_by_one(method: str) -> None:
    model = build(AgentConfig(method=method, planner="value_iteration"))
    images, sentences = noise_images(3).numpy(), [[5, 120, 9, 184], [7], [1, 2, 3, 4, 5, 6]]
    batch = model.explain_batch(list(images), sentences)
    for batched, image, sentence in zip(batch, images, sentences, strict=True):
        single = model.explain(image, sentence)
        assert batched.keys() == single.keys()
        for name, array in single.items():
            np.testing.assert_allclose(batched[name], array, rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_recurrent_reader_gives_the_same_states_for_small_and_large_batches(bidirectional: bool) -> None:
    """For a small batch, input products are computed only for its words; for a large one, for the whole lexicon."""
    torch.manual_seed(0)
    reader = RecurrentReader(32, 16, bidirectional)
    table, tokens = torch.randn(PAD + 1, 32), random_sentences(40)
    for many, few in zip(reader(table, tokens, PAD), reader(table, tokens[:5], PAD), strict=True):
        torch.testing.assert_close(many[:5, : few.shape[1]], few)


def test_images_of_wrong_shape_or_dtype_are_refused() -> None:
    with pytest.raises(InputError, match=r"images must be uint8 of shape .* of shape \(2, 100, 156, 3\)"):
        View.of_images(torch.zeros(2, 100, 156, 3, dtype=torch.uint8))
    with pytest.raises(InputError, match=r"images must be uint8 .* got torch.float32"):
        View.of_images(torch.zeros(2, 156, 156, 3))
    with pytest.raises(InputError, match="images must have the 13 x 13 cells that this model was built for, got 5 x 5"):
        interpreter_model().perceive(View.of_images(torch.zeros(2, 60, 60, 3, dtype=torch.uint8)))


def test_distinct_rows_and_their_indices_give_back_all_rows() -> None:
    rows = torch.tensor([[1, 2], [3, 4], [1, 2], [0, 0]])
    distinct, which = distinct_rows(rows)
    assert len(distinct) == 3
    assert torch.equal(distinct[which], rows)


def test_distinct_rows_are_found_even_if_all_hashes_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    def zeros(low: int, high: int, size: tuple[int, ...], **_: object) -> torch.Tensor:
        return torch.zeros(size, dtype=torch.int64)

    monkeypatch.setattr(torch, "randint", zeros)
    rows = torch.tensor([[1, 2], [3, 4], [1, 2], [0, 0]])
    distinct, which = distinct_rows(rows)
    assert len(distinct) == 3
    assert torch.equal(distinct[which], rows)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"planner": "magic"}, r"agent\.planner must be one of mlp, value_iteration, got 'magic'"),
        ({"interpreter_steps": 0}, r"agent\.interpreter_steps must be an integer from 1 to 64, got 0"),
        ({"pixel_scale": 0.0}, r"agent\.pixel_scale must be a finite number above 0, got 0\.0"),
        ({"sharpness": float("nan")}, r"sharpness must be .*, got NaN"),
        ({"channels": 8.5}, r"channels must be of type int, got 8\.5"),
        ({"interpreter_stepps": 3}, "no field \"interpreter_stepps\", did you mean 'interpreter_steps'"),
    ],
)
def test_invalid_agent_config_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        AgentConfig.of(changes)


def test_unknown_method_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match=r"agent\.method must be one of ours, .*, got 'our', did you mean 'ours'"):
        build(AgentConfig(method="our"))


def test_env_spec_derives_positions_and_padding_and_refuses_an_even_view() -> None:
    spec = EnvSpec(words=10, actions=4, view=5)
    assert (spec.positions, spec.pad) == (25, 10)
    with pytest.raises(InputError, match="view must be odd and at least 3, got 4"):
        EnvSpec(view=4)
    with pytest.raises(InputError, match="words must be an integer of at least 1, got 0"):
        EnvSpec(words=0)


@pytest.mark.slow
def test_exported_onnx_model_gives_the_same_outputs(tmp_path: Path) -> None:
    """In onnxruntime, also for another batch size than that of the export."""
    import onnxruntime

    model = interpreter_model(planner="value_iteration", temperature=5.0).eval()
    export_onnx(model, tmp_path / "agent.onnx")
    runtime = onnxruntime.InferenceSession(tmp_path / "agent.onnx")
    images, _, _, commands, questions = first_observations(7)
    outputs = runtime.run(
        None, {"images": images.numpy(), "commands": commands.numpy(), "questions": questions.numpy()}
    )
    expected_outputs = model(View.of_images(images), commands, questions)[:-1]  # without `extra`
    for expected, exported in zip(expected_outputs, outputs, strict=True):
        assert_close(torch.from_numpy(exported), expected)
    with pytest.raises(InputError, match="model to export must be of method 'ours', got StackedAttentionNet"):
        export_onnx(build(AgentConfig(method="san")), tmp_path / "san.onnx")

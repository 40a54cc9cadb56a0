"""The model against its reference implementation; its outputs, gradients, explanations and errors."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from groundling.agent import MODELS, AgentConfig, EnvSpec, Output, View, build
from groundling.agent.language import RecurrentReader
from groundling.agent.model import InterpreterModel
from groundling.agent.onnx_export import export_onnx
from groundling.agent.reference import ReferenceModel
from groundling.agent.view import distinct_rows
from groundling.errors import InputError
from tests.agent.inputs import (
    OURS,
    PAD,
    assert_close,
    first_observations,
    interpreter_model,
    noise_images,
    random_sentences,
)

NEW = {
    **OURS,
    "planner_discount": 0.9,
    "salience": 2.0,
    "detection_bound": 1.0,
    "obstacle_contrast": 4.0,
    "coverage": True,
}


def gradients(model: InterpreterModel, outputs: tuple[Tensor | None, ...]) -> dict[str, Tensor]:
    model.zero_grad()
    weighted = [
        (out * torch.linspace(-1, 1, out.numel()).reshape(out.shape)).sum() for out in outputs if out is not None
    ]
    torch.stack(weighted).sum().backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


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

"""Checkpoints of version 0.1 (format groundling-agent-1) load, convert, and compute what version 0.1 computed."""

import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from groundling.agent import AgentConfig, Output, View
from groundling.agent.checkpoint import convert, load, read_record, read_tensors
from groundling.learn.trained_agent import load_agent

OLD = Path(__file__).parents[1] / "data" / "agent-1.safetensors"
"""A run of version 0.1 with a 3 x 3 map and 8 channels."""


def output_of(path: Path) -> Output:
    """The output of a checkpoint's model for two noise images with fixed sentences."""
    images = torch.randint(0, 256, (2, 60, 60, 3), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    tokens = torch.tensor([[1, 2, 3, 185], [150, 7, 185, 185]])
    with torch.no_grad():
        output: Output = load(path).model(View.of_images(images), tokens, tokens.flip(0))
    return output


def assert_equal(a: Output, b: Output) -> None:
    for name, x, y in zip(a._fields[:-1], a[:-1], b[:-1], strict=True):  # without `extra`
        assert x is not None, name
        assert y is not None, name
        assert torch.equal(x, y), name


def file_format(path: Path) -> str:
    with safe_open(path, framework="pt") as file:
        return str(json.loads(file.metadata()["groundling"])["format"])


def test_old_checkpoint_gives_the_outputs_of_version_0_1() -> None:
    """The expected values were computed with the code of version 0.1."""
    output = output_of(OLD)
    logits = [[-0.4250371, -0.3526412, 0.4751585, 0.4819027], [-0.4522955, -0.3877970, 0.5052848, 0.5154029]]
    scores = [[-0.0917455, 0.0194639, 0.0287407, 0.0324178], [-0.0290181, 0.0042244, 0.0207558, -0.0010284]]
    assert output.answer_scores is not None
    assert output.x_loc is not None
    for found, expected in (
        (output.action_logits, logits),
        (output.value, [-0.7233101, -0.7688037]),
        (output.answer_scores[:, :4], scores),
        (output.x_loc.amax(1), [0.0511174, 0.0544957]),
    ):
        torch.testing.assert_close(found, torch.tensor(expected), atol=1e-5, rtol=1e-4)
    assert output.answer_scores.argmax(1).tolist() == [116, 17]


def test_old_checkpoint_loads_as_an_agent_with_its_training_config() -> None:
    assert file_format(OLD) == "groundling-agent-1"
    agent = load_agent(OLD)
    config = agent.config
    assert (agent.model.spec.words, agent.model.spec.actions, agent.model.spec.view) == (185, 4, 5)
    assert agent.model.config == config.agent
    assert isinstance(config.agent, AgentConfig)
    assert (config.agent.hidden_units, config.agent.word_detection, config.agent.gate_bound) == (8, "per_word", 8.0)
    assert (config.split, config.holdout, config.num_classes, config.word_dropout) == ("zs1+zs2", 20.0, 6, 0.1)
    assert (config.world.size, config.world.objects, config.world.walls) == (3, (1, 2), (0, 1))
    assert (config.qa_pretraining.batch_size, config.qa_pretraining.curriculum_episodes) == (8, 100)
    assert (config.ppo.iterations, config.ppo.num_envs, config.ppo.balanced_types) == (6, 8, ("nav_obj", "rec_obj2col"))
    assert (config.word_weight_decay, config.reader_weight_decay, config.eval_episodes) == (0.5, 1.0, 20)
    assert ("owl",) in agent.split.held_out


def test_provenance_of_an_old_checkpoint_has_the_current_names() -> None:
    provenance = load(OLD).provenance
    progress = provenance["progress"]
    assert (progress["env_steps"], progress["episodes"]) == (192, 24)
    assert progress["evaluation"] == {"success_rate": 0.05, "qa_accuracy": 0.0}
    assert provenance["sentences"]["seen"] == 375


def test_converted_checkpoint_has_the_current_format_and_equal_outputs(tmp_path: Path) -> None:
    new = tmp_path / "new.safetensors"
    convert(OLD, new)
    assert file_format(new) == "groundling-agent-2"
    assert_equal(output_of(OLD), output_of(new))
    old_agent, new_agent = load_agent(OLD), load_agent(new)
    assert old_agent.config == new_agent.config
    assert (old_agent.words, old_agent.split) == (new_agent.words, new_agent.split)
    assert old_agent.checkpoint.provenance == new_agent.checkpoint.provenance


def half_precision_copy(path: Path) -> Path:
    """The old checkpoint with all tensors in half precision, in the old format."""
    metadata, tensors = read_tensors(OLD)
    save_file({name: tensor.half() for name, tensor in tensors.items()}, path, metadata=metadata)
    return path


def tensor_bytes(tensors: dict[str, Tensor]) -> dict[str, tuple[torch.dtype, bytes]]:
    return {name: (tensor.dtype, tensor.numpy().tobytes()) for name, tensor in tensors.items()}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=["single", "half"])
def test_conversion_preserves_precision_and_bytes_of_all_tensors(tmp_path: Path, dtype: torch.dtype) -> None:
    source = OLD if dtype == torch.float32 else half_precision_copy(tmp_path / "half.safetensors")
    once, twice = tmp_path / "once.safetensors", tmp_path / "twice.safetensors"
    convert(source, once)
    convert(once, twice)
    old, new = (tensor_bytes(read_tensors(path)[1]) for path in (source, once))
    assert {found for found, _ in new.values()} == {dtype}
    old["perception.positions"] = old.pop("perception.places")  # the only renamed tensor
    assert old == new
    assert new == tensor_bytes(read_tensors(twice)[1])
    assert read_record(once)[0] == read_record(twice)[0]
    assert once.read_bytes() == twice.read_bytes()
    assert_equal(output_of(source), output_of(twice))

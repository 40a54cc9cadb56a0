"""A user's own model: examples/own_model.py learns, and its model works with the trainer and with checkpoints."""

import importlib.util
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import torch

from groundling.agent import MODELS
from groundling.learn.trained_agent import load_agent
from groundling.learn.trainer import Trainer
from tests.learn.tiny import AGENT, FAST

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_model.py"


@pytest.fixture
def own_model() -> Iterator[ModuleType]:
    """The example as a module; its model is registered during a test."""
    known = set(MODELS)
    specification = importlib.util.spec_from_file_location("own_model", EXAMPLE)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    yield module
    for name in set(MODELS) - known:
        del MODELS[name]


def test_example_is_short() -> None:
    assert len(EXAMPLE.read_text("utf-8").splitlines()) <= 60


@pytest.mark.slow
def test_example_learns_to_answer_questions(own_model: ModuleType) -> None:
    """After a fifth of its updates; always the most frequent answer would be right for 21 % of the questions."""
    torch.set_num_threads(1)
    assert own_model.main(updates=100) > 0.6


def test_example_model_trains_with_all_stages_and_loads_from_its_checkpoint(
    own_model: ModuleType, tmp_path: Path
) -> None:
    config = replace(FAST, agent=replace(AGENT, method="single_step"))
    trainer = Trainer(config, tmp_path, device="cpu")
    assert isinstance(trainer.model, own_model.SingleStepAttention)
    assert trainer.train() == "finished"
    loaded = load_agent(tmp_path / "last.safetensors").model
    assert isinstance(loaded, own_model.SingleStepAttention)
    for name, tensor in trainer.model.state_dict().items():
        assert torch.equal(tensor, loaded.state_dict()[name]), name

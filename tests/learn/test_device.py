"""The same run on a CPU, which is always tested, and on a GPU where there is one."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from groundling.learn.trained_agent import load_agent
from groundling.learn.trainer import Trainer
from tests.learn.tiny import FAST

GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=[pytest.mark.cuda, GPU])])
def test_run_on_a_device_is_saved_and_loaded_on_any(device: str, tmp_path: Path) -> None:
    torch.set_num_threads(1)
    config = replace(FAST, qa_pretraining=replace(FAST.qa_pretraining, updates=2), ppo=replace(FAST.ppo, iterations=2))
    trainer = Trainer(config, tmp_path / "run", device=device)
    assert trainer.train() == "finished"
    assert {p.device.type for p in trainer.model.parameters()} == {device}
    loaded = load_agent(tmp_path / "run" / "last.safetensors").model.state_dict()
    assert all(torch.equal(loaded[name], value.cpu()) for name, value in trainer.model.state_dict().items())

"""Checkpoints: complete, exact, atomic, and refused with the reason where they are not what they should be."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from groundling.agent import MODELS, AgentConfig, View, build
from groundling.agent.checkpoint import FORMAT, Checkpoint, load, save
from groundling.errors import InputError

SMALL: dict[str, Any] = {"channels": 16, "units": 16, "view": 5}


def a_checkpoint(method: str = "ours") -> Checkpoint:
    torch.manual_seed(0)
    model = build(AgentConfig(method=method, **SMALL))
    return Checkpoint(model, ("apple", "bat"), "abc", {"kind": "zs2"}, {"seed": 7})


@pytest.mark.parametrize("method", list(MODELS))
def test_round_trip(tmp_path: Path, method: str) -> None:
    saved = a_checkpoint(method)
    save(tmp_path / "agent.safetensors", saved)
    loaded = load(tmp_path / "agent.safetensors")
    assert loaded.model.config == saved.model.config
    assert (loaded.lexicon, loaded.icons) == (("apple", "bat"), "abc")
    assert (loaded.split, loaded.provenance) == ({"kind": "zs2"}, {"seed": 7})
    images = torch.randint(0, 256, (2, 60, 60, 3), dtype=torch.uint8)
    view, tokens = View.of_images(images), torch.tensor([[1, 2, 185], [3, 185, 185]])
    for a, b in zip(saved.model.eval()(view, tokens, tokens), loaded.model(view, tokens, tokens), strict=True):
        assert a is b is None or torch.equal(a, b)


def test_half_precision_halves_the_file(tmp_path: Path) -> None:
    save(tmp_path / "whole", a_checkpoint())
    save(tmp_path / "half", a_checkpoint(), half=True)
    assert (tmp_path / "half").stat().st_size < 0.6 * (tmp_path / "whole").stat().st_size
    assert next(load(tmp_path / "half").model.parameters()).dtype == torch.float32


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "agent.safetensors"
    save(path, a_checkpoint())
    before = path.read_bytes()

    def full_disk(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        save(path, a_checkpoint())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def rewrite(path: Path, change: dict[str, Any], drop: str = "") -> None:
    """The same tensors with another record, or with a tensor missing."""
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys() if name != drop}  # noqa: SIM118
    record = json.loads(metadata["groundling"]) | change
    save_file(tensors, path, metadata={"groundling": json.dumps(record)})


def test_refusals(tmp_path: Path) -> None:
    path = tmp_path / "agent.safetensors"
    with pytest.raises(InputError, match="there is no such file"):
        load(path)
    save(path, a_checkpoint())
    whole = path.read_bytes()
    for content, complaint in (
        (whole[: len(whole) // 2], "not a whole safetensors file"),
        (whole[:5], "not a whole safetensors file"),
        (b"", "not a whole safetensors file"),
        (b"hello, world" * 100, "not a whole safetensors file"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=complaint):
            load(path)
    save_file({"x": torch.zeros(3)}, path)
    with pytest.raises(InputError, match="not one of Groundling's"):
        load(path)
    config = a_checkpoint().model.config.to_dict()
    for change, drop, complaint in (
        ({"format": "groundling-agent-9"}, "", f"this version reads '{FORMAT}'"),
        ({"config": config | {"method": "telepathy"}}, "", "unknown method 'telepathy'"),
        ({"config": config | {"channels": 17}}, "", "has shape"),
        ({"config": config | {"color": 1}}, "", "unknown field 'color'"),
        ({}, "words.table", "tensor 'words.table' has shape None"),
    ):
        save(path, a_checkpoint())
        rewrite(path, change, drop)
        with pytest.raises(InputError, match=complaint):
            load(path)

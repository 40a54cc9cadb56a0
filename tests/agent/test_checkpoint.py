"""Checkpoints are complete, exact and written atomically; an invalid file is refused with the reason."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from groundling.agent import MODELS, AgentConfig, EnvSpec, View, build
from groundling.agent.checkpoint import FORMAT, Checkpoint, checksum, load, save
from groundling.errors import InputError

SPEC = EnvSpec(words=2, view=5)
WORDS = ("apple", "bat")


def small_checkpoint(method: str = "ours") -> Checkpoint:
    torch.manual_seed(0)
    model = build(AgentConfig(method=method, channels=16, hidden_units=16), SPEC)
    return Checkpoint(model, WORDS, "abc", {"kind": "zs2"}, {"seed": 7})


@pytest.mark.parametrize("method", list(MODELS))
def test_saved_and_loaded_model_gives_equal_outputs(tmp_path: Path, method: str) -> None:
    saved = small_checkpoint(method)
    save(tmp_path / "agent.safetensors", saved)
    loaded = load(tmp_path / "agent.safetensors")
    assert loaded.model.config == saved.model.config
    assert loaded.model.spec == saved.model.spec == SPEC
    assert (loaded.words, loaded.icons) == (WORDS, "abc")
    assert (loaded.split, loaded.provenance) == ({"kind": "zs2"}, {"seed": 7})
    images = torch.randint(0, 256, (2, 60, 60, 3), dtype=torch.uint8)
    view, tokens = View.of_images(images), torch.tensor([[1, 0, 2], [0, 2, 2]])
    outputs = (model(view, tokens, tokens)[:-1] for model in (saved.model.eval(), loaded.model))  # without `extra`
    for a, b in zip(*outputs, strict=True):
        assert a is b is None or torch.equal(a, b)


def test_half_precision_halves_the_file_and_loads_as_single_precision(tmp_path: Path) -> None:
    save(tmp_path / "single", small_checkpoint())
    save(tmp_path / "half", small_checkpoint(), half=True)
    assert (tmp_path / "half").stat().st_size < 0.6 * (tmp_path / "single").stat().st_size
    assert next(load(tmp_path / "half").model.parameters()).dtype == torch.float32


def test_failed_save_keeps_the_previous_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "agent.safetensors"
    save(path, small_checkpoint())
    before = path.read_bytes()

    def full_disk(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        save(path, small_checkpoint())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def rewrite(path: Path, change: dict[str, Any], drop: str = "") -> None:
    """Change the record of a checkpoint file; `drop`: a tensor or an entry of the record to leave out."""
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys() if name != drop}  # noqa: SIM118
    record = json.loads(metadata["groundling"]) | {"sha256": checksum(tensors)} | change
    record.pop(drop, None)
    save_file(tensors, path, metadata={"groundling": json.dumps(record)})


def test_missing_or_incomplete_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "agent.safetensors"
    with pytest.raises(InputError, match="no such file"):
        load(path)
    save(path, small_checkpoint())
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:5], b"", b"hello, world" * 100):
        path.write_bytes(content)
        with pytest.raises(InputError, match="not a complete safetensors file"):
            load(path)


def test_safetensors_file_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "agent.safetensors"
    save_file({"x": torch.zeros(3)}, path)
    with pytest.raises(InputError, match="not one of Groundling's"):
        load(path)


CONFIG = AgentConfig(channels=16, hidden_units=16).to_dict()


@pytest.mark.parametrize(
    ("change", "drop", "message"),
    [
        ({"format": "groundling-agent-9"}, "", f"format must be '{FORMAT}' or .*, got \"groundling-agent-9\""),
        ({"config": CONFIG | {"method": "telepathy"}}, "", r"agent\.method must be one of .*, got 'telepathy'"),
        ({"config": CONFIG | {"channels": 17}}, "", r'tensor "\S+" must have shape'),
        ({"config": CONFIG | {"channels": "many"}}, "", 'channels must be of type int, got "many"'),
        ({"config": CONFIG | {"color": 1}}, "", 'agent config has no field "color"'),
        ({"config": []}, "", "agent config must be a JSON object"),
        ({"spec": {"words": 2, "view": 4}}, "", "view must be odd and at least 3, got 4"),
        ({"spec": {"pixels": 4}}, "", 'spec has no field "pixels"'),
        ({"lexicon": ["apple"]}, "", "its lexicon must be a list of 2 words"),
        ({"lexicon": ["apple", 2]}, "", "its lexicon must be a list of 2 words"),
        ({"provenance": None}, "", "its provenance must be an object, got null"),
        ({"sha256": "0"}, "", "its weights do not match its checksum; the file is damaged"),
        ({}, "sha256", "its record lacks sha256"),
        ({}, "spec", "its record lacks spec"),
        ({}, "words.table", r'tensor "words\.table" must have shape \(2, 32\), got None'),
    ],
)
def test_checkpoint_with_invalid_record_or_tensors_is_refused(
    tmp_path: Path, change: dict[str, Any], drop: str, message: str
) -> None:
    path = tmp_path / "agent.safetensors"
    save(path, small_checkpoint())
    rewrite(path, {})
    load(path)  # it is valid before the change
    rewrite(path, change, drop)
    with pytest.raises(InputError, match=message):
        load(path)


def test_change_of_a_single_weight_is_detected_by_the_checksum(tmp_path: Path) -> None:
    path = tmp_path / "agent.safetensors"
    save(path, small_checkpoint())
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="its weights do not match its checksum"):
        load(path)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_infinite_or_undefined_weights_are_refused(tmp_path: Path, value: float) -> None:
    checkpoint = small_checkpoint()
    with torch.no_grad():
        next(checkpoint.model.parameters()).fill_(value)
    save(tmp_path / "agent.safetensors", checkpoint)
    with pytest.raises(InputError, match=r"tensor '\S+' must hold finite floating-point numbers"):
        load(tmp_path / "agent.safetensors")

"""A model as one safetensors file: its weights, and the JSON that rebuilds it. Nothing in it can be executed."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from groundling.agent import legacy
from groundling.agent.config import AgentConfig
from groundling.agent.model import Model
from groundling.agent.registry import build
from groundling.agent.types import EnvSpec
from groundling.atomic_write import atomic_write
from groundling.errors import InputError

FORMAT = "groundling-agent-2"


@dataclass
class Checkpoint:
    """A model with everything needed to use and to judge it."""

    model: Model
    words: tuple[str, ...]
    """The lexicon, in the order of its tokens."""
    icons: str
    """Hash of the icons that it was trained on."""
    split: dict[str, Any] | None = None
    """What was held out in training."""
    provenance: dict[str, Any] = field(default_factory=dict)
    """How it was made: training config, progress, versions."""


def save(path: str | Path, checkpoint: Checkpoint, half: bool = False) -> None:
    """Write a checkpoint atomically; `half` stores floats in half precision."""
    record = {
        "format": FORMAT,
        "config": checkpoint.model.config.to_dict(),
        "spec": asdict(checkpoint.model.spec),
        "lexicon": list(checkpoint.words),
        "icons": checkpoint.icons,
        "split": checkpoint.split,
        "provenance": checkpoint.provenance,
    }
    tensors = {
        name: (value.half() if half and value.is_floating_point() else value).detach().cpu().contiguous()
        for name, value in checkpoint.model.state_dict().items()
    }
    write_record(path, record, tensors)


def write_record(path: str | Path, record: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write a record and tensors as a checkpoint file, atomically."""
    atomic_write(path, to_bytes(tensors, {"groundling": json.dumps(record)}))


def load(path: str | Path, device: str | torch.device = "cpu") -> Checkpoint:
    """Read a checkpoint; a damaged or foreign file is refused with the reason."""
    path = Path(path)
    record, tensors = read_record(path)
    try:
        model = build(AgentConfig.of(record["config"]), EnvSpec(**record["spec"]))
    except (InputError, TypeError) as error:
        raise InputError(f"checkpoint {path}: no model can be built from its config ({error})") from error
    _check_shapes(
        path,
        {k: tuple(v.shape) for k, v in tensors.items()},
        {k: tuple(v.shape) for k, v in model.state_dict().items()},
    )
    model.load_state_dict(tensors)
    words: Sequence[str] = record["lexicon"]
    return Checkpoint(model.to(device).eval(), tuple(words), record["icons"], record["split"], record["provenance"])


def read_record(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The JSON record and the tensors of a checkpoint file, in the current names whatever its format."""
    if not path.is_file():
        raise InputError(f"checkpoint {path}: no such file")
    try:
        metadata, tensors = read_tensors(path)
    except (SafetensorError, OSError) as error:
        raise InputError(f"checkpoint {path}: not a complete safetensors file ({error})") from error
    try:
        record = json.loads(metadata["groundling"])
        if record["format"] == legacy.FORMAT:
            record, tensors = legacy.upgrade_record(record), legacy.upgrade_tensors(tensors)
        elif record["format"] != FORMAT:
            raise InputError(
                f"checkpoint {path}: format must be {FORMAT!r} or {legacy.FORMAT!r}, got {record['format']!r}"
            )
        missing = {"config", "spec", "lexicon", "icons", "split", "provenance"} - record.keys()
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise InputError(f"checkpoint {path}: a safetensors file, but not one of Groundling's") from error
    if missing:
        raise InputError(f"checkpoint {path}: its record lacks {', '.join(sorted(missing))}")
    return dict(record), tensors


def convert(source: Path, target: Path) -> None:
    """Rewrite a checkpoint of any readable format in the current one; precision and weights stay as they are."""
    record, tensors = read_record(source)
    load(source)
    write_record(target, {**record, "format": FORMAT}, tensors)


def read_tensors(path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """The metadata and the tensors of a safetensors file."""
    with safe_open(path, framework="pt") as file:
        return file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping


def _check_shapes(path: Path, found: dict[str, tuple[int, ...]], wanted: dict[str, tuple[int, ...]]) -> None:
    for name in sorted(found.keys() | wanted.keys()):
        if found.get(name) != wanted.get(name):
            raise InputError(
                f"checkpoint {path}: tensor {name!r} must have shape {wanted.get(name)}, got {found.get(name)}"
            )

"""A model as one file: its weights and the JSON that rebuilds it, in safetensors' format. Nothing in it can run."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from groundling.agent.config import AgentConfig
from groundling.agent.model import Model
from groundling.agent.registry import build
from groundling.atomic_write import atomic_write
from groundling.errors import InputError

FORMAT = "groundling-agent-1"


@dataclass
class Checkpoint:
    """A model and what must be known of it to use it and to judge it."""

    model: Model
    lexicon: tuple[str, ...]
    """The words, in the order of their numbers."""
    icons: str
    """Hash of the icons that it was trained on."""
    split: dict[str, Any] | None = None
    """What was held out in training."""
    provenance: dict[str, Any] = field(default_factory=dict)
    """How it came to be: command, seed, steps, versions."""


def save(path: str | Path, checkpoint: Checkpoint, half: bool = False) -> None:
    """Write a checkpoint whole or not at all; `half` stores floats in half precision."""
    record = {
        "format": FORMAT,
        "config": checkpoint.model.config.to_dict(),
        "lexicon": list(checkpoint.lexicon),
        "icons": checkpoint.icons,
        "split": checkpoint.split,
        "provenance": checkpoint.provenance,
    }
    tensors = {
        name: (value.half() if half and value.is_floating_point() else value).detach().cpu().contiguous()
        for name, value in checkpoint.model.state_dict().items()
    }
    atomic_write(path, to_bytes(tensors, {"groundling": json.dumps(record)}))


def load(path: str | Path, device: str | torch.device = "cpu") -> Checkpoint:
    """Read a checkpoint; a file that is none, or is not whole, is refused with the reason."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"checkpoint {path}: there is no such file")
    try:
        metadata, tensors = read_tensors(path)
    except (SafetensorError, OSError) as error:
        raise InputError(f"checkpoint {path}: not a whole safetensors file ({error})") from error
    record = _record(path, metadata)
    try:
        model = build(AgentConfig.of(record["config"]))
    except (InputError, TypeError) as error:
        raise InputError(f"checkpoint {path}: its config cannot be built ({error})") from error
    _check(
        path,
        {k: tuple(v.shape) for k, v in tensors.items()},
        {k: tuple(v.shape) for k, v in model.state_dict().items()},
    )
    model.load_state_dict(tensors)
    words: Sequence[str] = record["lexicon"]
    return Checkpoint(model.to(device).eval(), tuple(words), record["icons"], record["split"], record["provenance"])


def read_tensors(path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """The metadata and the tensors of a safetensors file."""
    with safe_open(path, framework="pt") as file:
        return file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping


def _record(path: Path, metadata: dict[str, str]) -> dict[str, Any]:
    """The JSON of a checkpoint, with every key that `load` uses."""
    try:
        record = json.loads(metadata["groundling"])
        if record["format"] != FORMAT:
            raise InputError(f"checkpoint {path}: its format is {record['format']!r}, this version reads {FORMAT!r}")
        missing = {"config", "lexicon", "icons", "split", "provenance"} - record.keys()
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise InputError(f"checkpoint {path}: a safetensors file, but not one of Groundling's") from error
    if missing:
        raise InputError(f"checkpoint {path}: its record lacks {', '.join(sorted(missing))}")
    return dict(record)


def _check(path: Path, found: dict[str, tuple[int, ...]], wanted: dict[str, tuple[int, ...]]) -> None:
    for name in sorted(found.keys() | wanted.keys()):
        if found.get(name) != wanted.get(name):
            raise InputError(
                f"checkpoint {path}: tensor {name!r} has shape {found.get(name)}, the config wants {wanted.get(name)}"
            )

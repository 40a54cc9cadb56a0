"""A model as one safetensors file: its weights, and the JSON that rebuilds it. Nothing in it can be executed."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from groundling.agent import legacy
from groundling.agent.model import Model
from groundling.agent.registry import build, config_of
from groundling.agent.types import EnvSpec
from groundling.atomic_write import atomic_write
from groundling.errors import InputError, cut, quote
from groundling.read_json import from_plain, parse_json

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
        name: value.half() if half and value.is_floating_point() else value
        for name, value in weights(checkpoint.model).items()
    }
    write_record(path, record, tensors)


def weights(model: Model) -> dict[str, Tensor]:
    """Copies of all tensors of a model on the CPU; no two share memory, which safetensors refuses."""
    return {name: value.detach().cpu().clone().contiguous() for name, value in model.state_dict().items()}


def write_record(path: str | Path, record: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write a record and tensors as a checkpoint file, atomically, with a checksum of the tensors."""
    record = {**record, "sha256": checksum(tensors)}
    atomic_write(path, to_bytes(tensors, {"groundling": json.dumps(record)}))


def checksum(tensors: dict[str, Tensor]) -> str:
    """A hash of names, types, shapes and values."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def load(path: str | Path, device: str | torch.device = "cpu", allow_import: bool = False) -> Checkpoint:
    """Read a checkpoint; a damaged or foreign file is refused with the reason, before anything large is allocated.

    `allow_import`: if its model is in a module that is not imported yet, import it, which runs its code.
    """
    path = Path(path)
    record, tensors = read_record(path)
    try:
        config = config_of(record["config"], allow_import)
        spec = from_plain(EnvSpec, record["spec"], "spec")
        with torch.device("meta"):
            expected = build(config, spec).state_dict()
    except (InputError, RuntimeError, TypeError, OverflowError) as error:  # of PyTorch: sizes beyond 64 bits
        raise InputError(f"checkpoint {path}: no model can be built from its config ({cut(str(error), 400)})") from None
    _check_tensors(path, tensors, expected)
    words = record["lexicon"]
    if not isinstance(words, list) or len(words) != spec.words or not all(isinstance(word, str) for word in words):
        raise InputError(f"checkpoint {path}: its lexicon must be a list of {spec.words} words")
    model = build(config, spec)
    model.load_state_dict(tensors)
    return Checkpoint(model.to(device).eval(), tuple(words), record["icons"], record["split"], record["provenance"])


def read_record(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The JSON record and the tensors of a checkpoint file, in the current names whatever its format."""
    try:
        if not path.is_file():
            raise InputError(f"checkpoint {path}: no such file")
        metadata, tensors = read_tensors(path)
    except (SafetensorError, OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"checkpoint {path}: not a complete safetensors file ({cut(str(error))})") from None
    record = parse_json(metadata.get("groundling", "null"), f"checkpoint {path}: its record")
    form = record.get("format") if isinstance(record, dict) else None
    if form is None:
        raise InputError(f"checkpoint {path}: a safetensors file, but not one of Groundling's")
    if form == legacy.FORMAT:
        try:
            record, tensors = legacy.upgrade_record(record), legacy.upgrade_tensors(tensors)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"checkpoint {path}: its record is damaged ({cut(repr(error))})") from None
    elif form != FORMAT:
        raise InputError(f"checkpoint {path}: format must be {FORMAT!r} or {legacy.FORMAT!r}, got {quote(form)}")
    needed = {"config", "spec", "lexicon", "icons", "split", "provenance"} | ({"sha256"} if form == FORMAT else set())
    missing = needed - record.keys()
    if missing:
        raise InputError(f"checkpoint {path}: its record lacks {', '.join(sorted(missing))}")
    if not isinstance(record["provenance"], dict):
        raise InputError(f"checkpoint {path}: its provenance must be an object, got {quote(record['provenance'])}")
    if form == FORMAT and record["sha256"] != checksum(tensors):
        raise InputError(f"checkpoint {path}: its weights do not match its checksum; the file is damaged")
    return record, tensors


def convert(source: Path, target: Path, allow_import: bool = False) -> None:
    """Rewrite a checkpoint of any readable format in the current one; precision and weights stay as they are."""
    record, tensors = read_record(source)
    load(source, allow_import=allow_import)
    write_record(target, {**record, "format": FORMAT}, tensors)


def read_tensors(path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """The metadata and the tensors of a safetensors file."""
    with safe_open(path, framework="pt") as file:
        return file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping


def _check_tensors(path: Path, tensors: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    """Raise unless the tensors have the names and shapes of the expected ones, and finite values of their types."""
    for name in sorted(tensors.keys() | expected.keys()):
        found, wanted = (tuple(of[name].shape) if name in of else None for of in (tensors, expected))
        if found != wanted:
            raise InputError(f"checkpoint {path}: tensor {quote(name)} must have shape {wanted}, got {found}")
    for name, tensor in tensors.items():
        dtype = expected[name].dtype
        if not dtype.is_floating_point:
            if tensor.dtype != dtype:
                raise InputError(f"checkpoint {path}: tensor {name!r} must be of {dtype}, got {tensor.dtype}")
        elif not tensor.is_floating_point() or not bool(torch.isfinite(tensor.float()).all()):
            raise InputError(f"checkpoint {path}: tensor {name!r} must hold finite floating-point numbers")

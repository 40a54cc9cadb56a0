"""Damaged and hostile checkpoints, of both formats: each is refused with an InputError, or loads and acts.

    python fuzz/checkpoints.py --count 300 --seed 0

Bars: no other exception, no crash, at most 60 s and 1 GB for each file, and no accepted weights that are not finite.
"""

import json
import struct
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import FILE_KINDS, LARGE_INTEGERS, Rng, arguments, mutate_bytes, mutate_json, odd_file, run, without_root
from safetensors.torch import save as to_bytes
from torch import Tensor

import groundling
from groundling.agent import AgentConfig, build
from groundling.agent.checkpoint import Checkpoint, checksum, read_tensors, save
from groundling.env import NavQAEnv
from groundling.learn.config import TrainConfig
from groundling.learn.stage_config import QAPretrainingConfig
from groundling.learn.trained_agent import WEIGHTS, TrainedAgent
from groundling.world.types import WorldConfig

REPOSITORY = Path(__file__).parents[1]
TINY = TrainConfig(
    world=WorldConfig(size=3, objects=(1, 2), walls=(0, 1)),
    agent=AgentConfig(channels=8, hidden_units=8, planner="value_iteration", planner_sweeps=4, init="he"),
    num_classes=6,
    qa_pretraining=QAPretrainingConfig(updates=1),
)

Record = dict[str, Any]
Tensors = dict[str, Tensor]
Damage = Callable[[Rng, Record, Tensors], str]
"""Changes a record and tensors in place; returns what was changed."""


def tiny_checkpoint(path: Path, method: str = "ours") -> Path:
    """A whole checkpoint of a very small model."""
    torch.manual_seed(0)
    teacher = TINY.teacher()
    config = TINY.to_dict() | {"agent": TINY.agent.to_dict() | {"method": method}}
    model = build(TrainConfig.of(config).agent, TINY.spec())
    save(
        path,
        Checkpoint(model, teacher.lexicon.words, teacher.catalog.hash, teacher.split.to_dict(), {"config": config}),
    )
    return path


def pack(record_text: str, tensors: Tensors) -> bytes:
    return to_bytes(tensors, {"groundling": record_text})


def change_lexicon(rng: Rng, record: Record, tensors: Tensors) -> str:
    words = record["lexicon"] or ["apple"]
    kind = rng.choice(["reversed", "short", "long", "foreign", "doubled", "numbers", "empty", "nested", "new word"])
    record["lexicon"] = {
        "reversed": words[::-1],
        "short": words[:-1],
        "long": [*words, "durian"],
        "foreign": [f"word{k}" for k in range(len(words))],
        "doubled": [*words[:-1], words[0]],
        "numbers": list(range(len(words))),
        "empty": [],
        "nested": [words],
        "new word": [*words[:-1], "durian"],
    }[kind]
    return f"lexicon: {kind}"


def change_size(rng: Rng, record: Record, tensors: Tensors) -> str:
    """Put a large or small number into an integer of the config."""
    parts = [part for part in ("config", "spec") if part in record]
    part = record[parts[rng.integers(len(parts))]]
    name = rng.choice([name for name, value in part.items() if type(value) is int])
    numbers = (0, 1, 2, 3, 5, 17, 127, 64, 10_000, 20_000, 10**5, 3 * 10**6, 10**7, 10**9, 1_000_001, *LARGE_INTEGERS)
    part[name] = numbers[rng.integers(len(numbers))]
    return f"{name} = {part[name]}"


def change_provenance(rng: Rng, record: Record, tensors: Tensors) -> str:
    """Put a number into the training config."""
    config = record["provenance"]["config"]
    part = config[rng.choice([name for name, value in config.items() if isinstance(value, dict)])]
    name = rng.choice(list(part))
    values: tuple[Any, ...] = (None, -1, 0, 1, 2, 3, 64, 1e9, 1e308, "x", [1, 2], [16, 16], {}, True, *LARGE_INTEGERS)
    part[name] = values[rng.integers(len(values))]
    return f"provenance.config: {name} = {part[name]}"


DTYPES = [torch.float64, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.int64, torch.uint8, torch.bool]
NUMBERS = [float("nan"), float("inf"), -float("inf"), 6e4, 3e38, 1e-45, 0.0]


def change_tensor(rng: Rng, record: Record, tensors: Tensors) -> str:
    """Change name, shape, type or a value of one tensor, with the right checksum."""
    name = sorted(tensors)[rng.integers(len(tensors))]
    tensor = tensors[name].clone()
    kind = rng.choice(["shape", "type", "value", "value", "all values", "large double", "missing", "extra", "renamed"])
    what = f"{name}: {kind}"
    if kind == "shape":
        shapes = [tensor.reshape(-1), tensor[None], tensor.new_zeros(0), tensor.new_zeros(()), tensor.reshape(-1)[:1]]
        tensors[name] = shapes[rng.integers(len(shapes))].contiguous()
    elif kind == "type":
        dtype = DTYPES[rng.integers(len(DTYPES))]
        what += f" {dtype}"
        tensors[name] = tensor.to(dtype)
    elif kind in ("value", "all values"):
        number = NUMBERS[rng.integers(len(NUMBERS))]
        what += f" {number}"
        tensor.reshape(-1)[int(rng.integers(tensor.numel())) if kind == "value" else slice(None)] = number
        tensors[name] = tensor
    elif kind == "large double":
        tensors[name] = torch.full_like(tensor, 1e300, dtype=torch.float64)
    elif kind == "extra":
        tensors[f"{name}_"] = tensor
    else:
        del tensors[name]
        if kind == "renamed":
            tensors["x" * 10_000] = tensor
    return what


def change_several(rng: Rng, record: Record, tensors: Tensors) -> str:
    return "; ".join(DAMAGES[k](rng, record, tensors) for k in rng.integers(len(DAMAGES), size=2))


DAMAGES: list[Damage] = [change_lexicon, change_size, change_provenance, change_tensor]
KINDS = ["header", "weights", *["record"] * 3, "file", *DAMAGES, change_size, change_tensor, change_several]


class Maker:
    """Makes damaged copies of some whole checkpoints."""

    def __init__(self, sources: Sequence[Path]) -> None:
        self.sources = [(path.name, path.read_bytes(), *read_tensors(path)) for path in sources]

    def __call__(self, rng: Rng, folder: Path) -> tuple[str, Path]:
        name, data, metadata, whole = self.sources[rng.integers(len(self.sources))]
        record, tensors = json.loads(metadata["groundling"]), dict(whole)
        kind = KINDS[rng.integers(len(KINDS))]
        path = folder / "agent.safetensors"
        header = 8 + struct.unpack("<Q", data[:8])[0]
        if kind == "header":
            what, damaged = mutate_bytes(rng, data, header)
        elif kind == "weights":
            what, tail = mutate_bytes(rng, data[header:])
            damaged = data[:header] + tail
        elif kind == "record":
            what, text = mutate_json(rng, record)
            damaged = pack(text, tensors)
        elif kind == "file":
            odd = str(rng.choice(FILE_KINDS))
            return f"{name}: {odd}", odd_file(odd, folder, path.name, data)
        else:
            assert callable(kind)
            what = kind(rng, record, tensors)
            record["sha256"] = checksum(tensors)
            damaged = pack(json.dumps(record), tensors)
        path.write_bytes(damaged)
        return f"{name}: {what}", path


def use(path: Path) -> None:
    """Load a checkpoint as a user does; if it is accepted, act once in its own world."""
    with without_root():
        agent = groundling.load(path)
    act(agent)


def act(agent: TrainedAgent) -> None:
    """One action in the world of an agent, and the teacher that would test it."""
    assert all(bool(torch.isfinite(part).all()) for part in agent.model.parameters()), "weights are not finite"
    world = agent.config.world
    env = NavQAEnv(size=world.size, objects=world.objects, walls=world.walls, max_steps=world.max_steps)
    observation, _ = env.reset(seed=0)
    action = agent.act(observation)
    assert env.action_space.contains(np.asarray(action)), f"action {action}"
    agent.teacher()


def main() -> int:
    options = arguments("Fuzz groundling.load.", 300).parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        tiny = [tiny_checkpoint(Path(folder) / f"{method}.safetensors", method) for method in ("ours", "ca", "vl")]
        old = REPOSITORY / "tests" / "data" / "agent-1.safetensors"
        pretrained = [WEIGHTS / f"{name}.safetensors" for name in ("normal", "zs2-50", "san")]
        maker = Maker([old, old, old, *tiny, *pretrained])
        act(groundling.load(tiny[0]))  # imports what is imported late, and could not be without root
        report = run("checkpoints", options, maker, use)
    return report.show()


if __name__ == "__main__":
    sys.exit(main())

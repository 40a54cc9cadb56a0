"""Damaged and hostile files: replay files, split files, scenarios of the page, and folders of training runs.

    python fuzz/files.py --count 500 --seed 0 [--kind replay|split|scenario|run]

Each is refused with an InputError (or, in training, a TrainingError), or read and used. `--count` is per kind. Bars: no
other exception, no crash, no blocking, and at most 60 s and 1 GB for each file.
"""

import json
import multiprocessing
import shutil
import signal
import struct
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import torch
from common import Make, Rng, Use, arguments, damaged_file, mutate_bytes, mutate_json, odd_file, run, without_root
from safetensors.torch import save as to_bytes

from groundling.agent import AgentConfig
from groundling.agent.checkpoint import read_tensors
from groundling.learn.config import TrainConfig
from groundling.learn.stage_config import ActorCriticConfig, PPOConfig, QAPretrainingConfig
from groundling.learn.trainer import Trainer, check_run, state_checksum
from groundling.page.limits import Limits
from groundling.page.message import Message, to_json
from groundling.page.scene import SceneReader
from groundling.page.uploads import png_base64
from groundling.read_json import read_json
from groundling.teacher.grammar import Grammar
from groundling.teacher.language import Language
from groundling.teacher.make_teacher import make_split, make_teacher
from groundling.teacher.splits import KINDS, PHASES, Split
from groundling.teacher.teacher import Teacher
from groundling.teacher.valid_sentences import valid_sentences
from groundling.world.catalog import Catalog
from groundling.world.scenario import Scenario
from groundling.world.scripted_episodes import replay_file
from groundling.world.types import WorldConfig

EPISODE = {
    "objects": [{"name": "apple", "color": "red", "at": [0, 1]}, {"name": "dog", "at": [2, 2], "icon": 0}],
    "walls": [[1, 1], [1, 2]],
    "agent": [3, 3],
}
SCRIPTED = EPISODE | {"target": [0, 1], "actions": ["up", "up", "left", "up", "left"], "max_steps": 9}
Change = Callable[[Rng, Path], str]
"""Damages the folder of a run; returns how."""


# Replay files


def make_replay(rng: Rng, folder: Path) -> tuple[str, Path]:
    return damaged_file(rng, folder, "episodes.jsonl", SCRIPTED, lines=3)


def use_replay(path: Path) -> None:
    with without_root():
        for _ in replay_file(path, Catalog.default().classes):
            pass


# Split files


@cache
def paper() -> Grammar:
    return Grammar(Language.paper(), Catalog.default())


def make_splits(rng: Rng, folder: Path) -> tuple[str, tuple[Path, str]]:
    """A split file with a change, or with other words and the right hash."""
    kind, catalog = str(rng.choice([*KINDS, "zs1+zs2"])), Catalog.default()
    split = make_split(kind, float(rng.choice([1, 10, 50, 99, 99.9])), int(rng.integers(100)), paper())
    phase = str(rng.choice(PHASES))
    if rng.integers(2):
        what, path = damaged_file(rng, folder, "split.json", split.to_dict())
        return f"{kind}: {what}", (path, phase)
    groups: list[tuple[str, ...]] = [(word,) for word in catalog.classes] + list(split.held_out)
    chosen = [groups[k] for k in rng.permutation(len(groups))[: rng.integers(1 + len(groups))]]
    odd = [("go",), ("north", "apple"), ("", ""), ("y" * 100_000,), ("\ud800",), ("apple", "apple"), ("nothing",)]
    if rng.integers(4) == 0:
        chosen.insert(0, odd[rng.integers(len(odd))])
    edited = Split(str(rng.choice(KINDS)), split.holdout, split.seed, tuple(chosen))
    edited.save(path := folder / "split.json")
    return f"{kind} as {edited.kind}: {len(chosen)} groups", (path, phase)


def use_split(made: tuple[Path, str]) -> None:
    """Read a split file directly and as an option, and begin episodes of a phase."""
    path, phase = made
    with without_root():
        Split.load(path)
        split = make_split(str(path), 50, 0, paper())
    make_teacher(WorldConfig(), split, phase=phase).begin(0, np.arange(4))


# Scenarios of the page


@cache
def scene_reader() -> SceneReader:
    return SceneReader(Teacher(), Limits())


def make_scenario(rng: Rng, folder: Path) -> tuple[str, str]:
    drawing = png_base64(rng.integers(0, 256, (64, 64, 3), np.uint8))
    scenario = EPISODE | {"format": "groundling-scenario-1", "sentence": "Go to the apple."}
    if rng.integers(2):
        scenario["drawings"] = {"durian": drawing}
    if rng.integers(4):
        return mutate_json(rng, scenario)
    what, data = mutate_bytes(rng, json.dumps(scenario).encode())
    return what, data.decode("utf-8", "replace")


def use_scenario(text: str) -> None:
    """Read a scenario as a message brings it, list its sentences, and send it back."""
    record = Message.parse(f'{{"scenario": {text}}}').required("scenario")
    scene = scene_reader().read(record)
    valid_sentences(scene.teacher, scene.scenario.state())
    again = json.loads(to_json(scene.to_dict()))
    assert scene_reader().read(again) == scene
    Scenario.of(record, scene.teacher.catalog, 7)


# Folders of training runs

_TINY = TrainConfig(
    world=WorldConfig(size=3, objects=(1, 2), walls=(0, 1)),
    agent=AgentConfig(channels=8, hidden_units=8, planner="value_iteration", planner_sweeps=4, init="he"),
    num_classes=6,
    qa_pretraining=QAPretrainingConfig(updates=50, batch_size=8, curriculum_episodes=100, target_accuracy=1.0),
    ppo=PPOConfig(iterations=4, num_envs=8, num_steps=4, envs_per_minibatch=4, balanced_types=("nav_obj",)),
    actor_critic=ActorCriticConfig(updates=500, batch_size=4, replay_size=100, target_update_interval=50),
    eval_episodes=10,
)
RUNS = {
    stage: TrainConfig.of(_TINY.to_dict() | {name: {} for name in _TINY.stages if name not in kept})
    for stage, kept in {
        "qa_pretraining": ("qa_pretraining", "ppo"),
        "ppo": ("ppo",),
        "actor_critic": ("actor_critic",),
    }.items()
}
"""A run that is interrupted in each stage."""
FILES = ("config.json", "metrics.jsonl", "state.safetensors")


def train_runs(folder: Path) -> None:
    """Train each run until its first line of metrics."""
    torch.set_num_threads(1)
    for name, config in RUNS.items():
        trainer = Trainer(config, folder / name)
        trainer.train(report=lambda *_, trainer=trainer: setattr(trainer, "signal", signal.SIGTERM))


class RunMaker:
    """Makes damaged copies of the folders of runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, rng: Rng, folder: Path) -> tuple[str, tuple[TrainConfig, Path]]:
        name = str(rng.choice(list(RUNS)))
        out = folder / "run"
        shutil.copytree(self.folder / name, out)
        for path in [out, *out.rglob("*")]:
            path.chmod(0o777)
        kinds: list[Change] = [change_bytes, change_json, change_progress, change_state, change_file]
        what = kinds[rng.choice(5, p=[0.2, 0.15, 0.25, 0.15, 0.25])](rng, out)
        return f"{name}: {what}", (RUNS[name], out)


def change_bytes(rng: Rng, out: Path) -> str:
    path = out / str(rng.choice([*FILES, "state.safetensors"]))
    data = path.read_bytes()
    start = 0
    if path.name == "state.safetensors" and rng.integers(2):  # only the values of its tensors
        start = 8 + struct.unpack("<Q", data[:8])[0]
    what, tail = mutate_bytes(rng, data[start:])
    path.write_bytes(data[:start] + tail)
    return f"{path.name}: {what}"


def change_json(rng: Rng, out: Path) -> str:
    path = out / "config.json"
    what, text = mutate_json(rng, json.loads(path.read_text()))
    path.write_text(text, "utf-8")
    return f"config.json: {what}"


def change_progress(rng: Rng, out: Path) -> str:
    path = out / "state.safetensors"
    metadata, tensors = read_tensors(path)
    progress = json.loads(metadata["progress"])
    if rng.integers(4) == 0:
        progress["stage"] = str(rng.choice(list(RUNS)))
        what, text = f"stage {progress['stage']}", json.dumps(progress)
    else:
        what, text = mutate_json(rng, progress)
    path.write_bytes(to_bytes(tensors, {"progress": text, "sha256": state_checksum(text, tensors)}))
    return f"progress: {what}"


def change_state(rng: Rng, out: Path) -> str:
    """Change name, shape, type or values of one tensor."""
    path = out / "state.safetensors"
    metadata, tensors = read_tensors(path)
    name = sorted(tensors)[rng.integers(len(tensors))]
    tensor = tensors[name].clone()
    kind = str(rng.choice(["shape", "type", "values", "values", "value", "missing", "renamed", "extra"]))
    what = f"{name}: {kind}"
    if kind == "shape":
        empty = [tensor.new_zeros(size) for size in ((0,), (), (2, 3))]
        shapes = [tensor.reshape(-1)[:1], tensor[None], *empty]
        tensors[name] = shapes[rng.integers(len(shapes))].contiguous()
        what += f" {list(tensors[name].shape)}"
    elif kind == "type":
        types = [torch.float64, torch.float16, torch.bfloat16, torch.float8_e5m2, torch.int64, torch.int16, torch.bool]
        dtype = types[rng.integers(len(types))]
        tensors[name] = tensor.to(dtype)
        what += f" {dtype}"
    elif kind in ("values", "value"):
        numbers: list[float] = [0, -1, 1, 2, 30_000]
        numbers += [1e30, float("nan"), float("inf")] if tensor.is_floating_point() else [(1 << 63) - 1, -(1 << 63)]
        number = numbers[rng.integers(len(numbers))]
        if tensor.dtype == torch.int16:
            number = max(-(1 << 15), min((1 << 15) - 1, number))
        if tensor.numel():
            tensor.reshape(-1)[slice(None) if kind == "values" else int(rng.integers(tensor.numel()))] = number
        tensors[name] = tensor
        what += f" {number}"
    elif kind == "extra":
        tensors[f"{name}.more"] = tensor
    else:
        del tensors[name]
        if kind == "renamed":
            tensors[f"{name}.renamed"] = tensor
    path.write_bytes(to_bytes(tensors, metadata))
    return what


def change_file(rng: Rng, out: Path) -> str:
    name = str(rng.choice([*FILES, "lock", "tensorboard"]))
    kind = str(rng.choice(["missing", "folder", "FIFO", "unreadable", "link to itself", "to /dev/zero", "empty"]))
    if name == "tensorboard":
        shutil.rmtree(out / name)
    if kind == "empty":
        (out / name).write_bytes(b"")
    else:
        odd_file(kind, out, name, b"")
    return f"{name}: {kind}"


def use_run(made: tuple[TrainConfig, Path]) -> None:
    """Resume a run, make one update, save; and check its log for leaks."""
    config, folder = made
    with without_root():
        trainer = Trainer(config, folder, resume=True, device="cpu")
    trainer.stage.update()
    trainer.train(minutes=1e-9)
    check_run(folder, TrainConfig.of(read_json(folder / "config.json", "config of the run")))


def load_kernels(folder: Path) -> None:
    """Load what is loaded late and could not be without root."""
    make_teacher(WorldConfig(), "normal").begin(0, np.arange(4))
    (path := folder / "episodes.jsonl").write_text(json.dumps(SCRIPTED))
    list(replay_file(path, Catalog.default().classes))
    for config in RUNS.values():  # imports PyTorch's optimizers
        Trainer(config, folder / "run").lock.release()
        shutil.rmtree(folder / "run")


def main() -> int:
    parser = arguments("Fuzz the readers of files.", 500)
    kinds: dict[str, tuple[Make, Use]] = {
        "replay": (make_replay, use_replay),
        "split": (make_splits, use_split),
        "scenario": (make_scenario, use_scenario),
    }
    parser.add_argument("--kind", choices=[*kinds, "run"], help="Only this kind of file.")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        runs = Path(name)
        load_kernels(runs)
        if options.kind in (None, "run"):
            # In a process of its own: PyTorch's gradients do not work in a fork of a process that has used them.
            training = multiprocessing.get_context("fork").Process(target=train_runs, args=(runs,))
            training.start()
            training.join()
        kinds["run"] = (RunMaker(runs), use_run)
        chosen = kinds if options.kind is None else {options.kind: kinds[options.kind]}
        return max(run(f"{kind} files", options, *functions).show() for kind, functions in chosen.items())


if __name__ == "__main__":
    sys.exit(main())

"""A training run: stages one after another, in a folder that holds all that is needed to go on after any crash.

config.json         what is being learned, and how
metrics.jsonl       one line for some updates, and one for each evaluation
state.safetensors   everything: weights, optimizer, worlds, replay, sentences heard
last.safetensors    the agent as it is
best.safetensors    the agent that did best in an evaluation
tensorboard/        the metrics again, as curves
"""

import hashlib
import json
import platform
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from types import FrameType
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import save as to_bytes
from torch import Tensor
from torch.utils.tensorboard.writer import SummaryWriter

import groundling
from groundling.agent import build
from groundling.agent.checkpoint import Checkpoint, read_tensors, save
from groundling.atomic_write import atomic_write
from groundling.errors import InputError, TrainingError
from groundling.evaluation.evaluator import Evaluator
from groundling.evaluation.leak_check import LeakCheck, check
from groundling.learn.actor_critic import ActorCritic
from groundling.learn.config import TrainConfig
from groundling.learn.ppo import PPO
from groundling.learn.qa_pretraining import QAPretraining
from groundling.learn.stage import RunningMeans, Stage
from groundling.teacher.grammar import Grammar
from groundling.teacher.lexicon import Lexicon
from groundling.teacher.teacher import Teacher

STAGES: dict[str, Callable[..., Stage]] = {"questions": QAPretraining, "ppo": PPO, "actor_critic": ActorCritic}
LOG_EVERY = {"questions": 25, "ppo": 1, "actor_critic": 250}
"""Updates that make a line of the metrics."""
VALIDATION = (1 << 40) + 1000
"""Seed of the episodes that a run is evaluated on as it goes; the final evaluation uses others."""


@dataclass
class Progress:
    """How far a run has come."""

    stage: str
    updates: int = 0
    """Of the stage."""
    lines: int = 0
    """Of the metrics."""
    frames: int = 0
    steps: int = 0
    episodes: int = 0
    seconds: float = 0.0
    """Spent on training, over all resumes."""
    best: float = -1.0
    evaluation: dict[str, float] = field(default_factory=dict)
    """The latest one."""
    unlogged: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Sums of the updates since the last line."""


Report = Callable[[Progress, float, dict[str, float]], None]
"""Told of the progress, the share of the stage that is done, and the latest metrics."""


class Trainer:
    """Goes through the stages of a config, and saves as it goes."""

    def __init__(
        self,
        config: TrainConfig,
        folder: Path,
        resume: bool = False,
        device: str = "auto",
        save_seconds: float = 30.0,
    ) -> None:
        self.config, self.folder, self.save_seconds = config, folder, save_seconds
        self.device = torch.device(choose_device(device))
        self.order = [name for name, stage in config.stages.items() if stage.updates]
        _prepare(folder, config, resume)
        with torch.random.fork_rng():
            torch.manual_seed(config.seed)
            self.model = build(config.agent).to(self.device)
        if not self.model.answers:
            self.order = [name for name in self.order if name != "questions"]
        self.progress = Progress(self.order[0])
        self.stage = STAGES[self.progress.stage](self.model, config)
        self.signal: int | None = None
        if resume and self.state_path.exists():
            self._restore()
        _cut(self.metrics_path, self.progress.lines)

    @property
    def state_path(self) -> Path:
        return self.folder / "state.safetensors"

    @property
    def metrics_path(self) -> Path:
        return self.folder / "metrics.jsonl"

    def train(self, minutes: float | None = None, report: Report | None = None) -> str:
        """Learn until the stages are through, and say why it ended: finished, target, minutes or signal."""
        limit = float("inf") if minutes is None else 60 * minutes
        writer = SummaryWriter(str(self.folder / "tensorboard"), purge_step=self.progress.lines)
        try:
            with self._signals():
                return self._loop(limit, report, writer)
        except OSError as error:
            raise TrainingError(
                f"{self.folder}: cannot be written ({error.strerror}); what was saved before is whole, "
                "and --resume goes on from there"
            ) from error
        finally:
            writer.close()

    def _loop(self, limit: float, report: Report | None, writer: SummaryWriter) -> str:
        saved = before = time.monotonic()
        while True:
            reason = self._reason(limit)
            if reason is not None or self.stage.finished:
                self.save()
                if reason is not None:
                    return reason
                self._next_stage()
            sums = RunningMeans(self.progress.unlogged)
            sums.merge(self.stage.update())
            self.progress.updates = self.stage.updates
            self.progress.unlogged = sums.pairs()
            line: dict[str, float] = {}
            if self.stage.updates % LOG_EVERY[self.progress.stage] == 0 or self.stage.finished:
                line = self._count(sums)
                walks = self.progress.stage != "questions"
                if walks and (self.progress.lines % self.config.eval_interval == 0 or self.stage.finished):
                    line |= self._evaluate()
            now = time.monotonic()
            self.progress.seconds += now - before
            before = now
            if line:
                self._log(line, writer)
                if report is not None:
                    report(self.progress, self.stage.progress, line)
            if now - saved >= self.save_seconds:
                self.save()
                saved = now

    def _reason(self, limit: float) -> str | None:
        """Why to end here, if so."""
        if self.signal is not None:
            return "signal"
        if self.progress.seconds >= limit:
            return "minutes"
        reached, config = self.progress.evaluation, self.config
        wanted = config.target_success
        if (
            reached
            and wanted is not None
            and reached["success"] >= wanted
            and reached.get("accuracy", 1.0) >= config.target_accuracy  # a method without answers has none
        ):
            return "target"
        return "finished" if self.stage.finished and self.progress.stage == self.order[-1] else None

    def _next_stage(self) -> None:
        heard, answered = self.stage.envs.heard, self.stage.envs.answered
        self.progress.stage = self.order[self.order.index(self.progress.stage) + 1]
        self.progress.updates = 0
        self.stage = STAGES[self.progress.stage](self.model, self.config)
        self.stage.envs.heard, self.stage.envs.answered = heard, answered

    def _count(self, sums: RunningMeans) -> dict[str, float]:
        progress = self.progress
        progress.lines += 1
        progress.unlogged = {}
        progress.frames += int(sums.total["frames"])
        progress.steps += int(sums.total["steps"])
        progress.episodes += int(sums.count["success"])
        return {name: mean for name, mean in sums.means().items() if name not in ("frames", "steps")}

    def _evaluate(self) -> dict[str, float]:
        """Success and accuracy in whole episodes at full difficulty, of sentences such as are trained."""
        trained = self.stage.envs.teacher
        teacher = Teacher(self.config.lessons, trained.split, "train", trained.catalog)
        record = Evaluator(self.model, teacher, greedy=True, attention=False).run(self.config.eval_episodes, VALIDATION)
        progress = self.progress
        found = {"success": record.success, "accuracy": record.right}
        progress.evaluation = {name: float(values.mean()) for name, values in found.items() if len(values)}
        score = fmean(progress.evaluation.values())
        if score > progress.best:
            progress.best = score
            self._save_agent("best")
        return {f"evaluation/{name}": value for name, value in progress.evaluation.items()}

    def _log(self, line: dict[str, float], writer: SummaryWriter) -> None:
        p = self.progress
        told = {"line": p.lines, "stage": p.stage, "update": p.updates, "seconds": round(p.seconds, 2)}
        counts = {"frames": p.frames, "steps": p.steps, "episodes": p.episodes}
        rounded = {name: float(f"{value:.5g}") for name, value in line.items()}
        with self.metrics_path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**told, **counts, **rounded}) + "\n")
        for name, value in line.items():
            writer.add_scalar(f"{p.stage}/{name}", value, p.lines)

    def save(self) -> None:
        """Write all that is needed to go on from here, and the agent as it is."""
        if not all(bool(torch.isfinite(parameter).all()) for parameter in self.model.parameters()):
            raise TrainingError(
                f"stage {self.progress.stage}, update {self.progress.updates}: weights are infinite or not numbers, "
                "and are not saved; a smaller learning rate may help"
            )
        weights = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        stage = {f"stage.{name}": tensor for name, tensor in self.stage.tensors().items()}
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in {**weights, **stage}.items()}
        atomic_write(self.state_path, to_bytes(tensors, {"progress": json.dumps(asdict(self.progress))}))
        self._save_agent("last")

    def _save_agent(self, name: str) -> None:
        save(self.folder / f"{name}.safetensors", self.checkpoint())

    def checkpoint(self) -> Checkpoint:
        """The agent as it is, with all that tells how it came to be."""
        teacher = self.stage.envs.teacher
        heard = np.sort(np.fromiter(self.stage.envs.heard, np.int64))
        progress = {name: value for name, value in asdict(self.progress).items() if name not in ("best", "unlogged")}
        provenance = {
            "config": self.config.to_dict(),
            "progress": progress,
            "sentences": {"heard": len(heard), "sha256": hashlib.sha256(heard.tobytes()).hexdigest()},
            "versions": {
                "groundling": groundling.__version__,
                "torch": torch.__version__,
                "python": platform.python_version(),
            },
        }
        return Checkpoint(self.model, teacher.lexicon.words, teacher.catalog.hash, teacher.split.to_dict(), provenance)

    def _restore(self) -> None:
        progress, tensors = read_state(self.folder)
        self.model.load_state_dict(_part(tensors, "model."))
        if progress.stage != self.progress.stage:
            self.stage = STAGES[progress.stage](self.model, self.config)
        self.progress = progress
        self.stage.restore(_part(tensors, "stage."), progress.updates)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM end the run after the current update, once; a second one ends it at once."""

        def note(number: int, frame: FrameType | None) -> None:
            self.signal = int(number)
            signal.signal(number, old[number])

        old: dict[int, Any] = {}
        for caught in (signal.SIGINT, signal.SIGTERM):
            old[caught] = signal.signal(caught, note)
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)


def choose_device(name: str) -> str:
    """`auto`: a GPU where there is one."""
    if name != "auto":
        return name
    return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"


def read_state(folder: Path) -> tuple[Progress, dict[str, Tensor]]:
    """What a run saved in its folder."""
    path = folder / "state.safetensors"
    try:
        metadata, tensors = read_tensors(path)
        return Progress(**json.loads(metadata["progress"])), tensors
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: not the state of a run ({error})") from error


def check_leaks(folder: Path, config: TrainConfig) -> LeakCheck:
    """Whether the run in a folder heard anything that its config holds out."""
    envs = _part(read_state(folder)[1], "stage.worlds.")
    grammar = Grammar(Lexicon(), config.catalog().pairs)
    return check(envs["heard"].numpy(), envs["answered"].numpy(), config.split_for(config.split), grammar)


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _prepare(folder: Path, config: TrainConfig, resume: bool) -> None:
    """Make the folder, or find in it the run to go on with."""
    path = folder / "config.json"
    try:
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            atomic_write(path, (json.dumps(config.to_dict(), indent=1) + "\n").encode())
            return
        found = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"folder {folder}: cannot be written ({error.strerror})") from error
    except ValueError as error:
        raise InputError(f"{path}: not a config ({error})") from error
    if not resume:
        raise InputError(f"folder {folder}: there is a run in it already; --resume goes on with it")
    wanted = json.loads(json.dumps(config.to_dict()))
    different = _differences(found, wanted)
    if different:
        raise InputError(f"folder {folder}: its run has another config: {'; '.join(different)}")


def _differences(found: Any, wanted: Any, name: str = "") -> list[str]:
    """In words: which fields of two configs are not the same."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        keys = sorted(found.keys() | wanted.keys())
        return [
            text for key in keys for text in _differences(found.get(key), wanted.get(key), f"{name}.{key}".strip("."))
        ]
    return [] if found == wanted else [f"{name} is {json.dumps(found)} there, and {json.dumps(wanted)} here"]


def _cut(path: Path, lines: int) -> None:
    """Keep the first lines of a log: what was logged after the last save will be logged again."""
    if path.exists():
        kept = path.read_text("utf-8").splitlines(keepends=True)[:lines]
        atomic_write(path, "".join(kept).encode())

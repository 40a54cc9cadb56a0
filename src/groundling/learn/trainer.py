"""A training run: stages one after another, in a folder that holds everything needed to resume after any crash.

config.json         the config
metrics.jsonl       one line of metrics per log interval
state.safetensors   everything: weights, optimizer, environments, replay buffer, log of sentences
last.safetensors    the latest agent
best.safetensors    the agent with the best evaluation
tensorboard/        the metrics as curves
"""

import contextlib
import hashlib
import json
import platform
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from types import FrameType
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save as to_bytes
from torch import Tensor
from torch.utils.tensorboard.writer import SummaryWriter

import groundling
from groundling import seeds
from groundling.agent import build
from groundling.agent.checkpoint import Checkpoint, checksum, read_tensors, save, weights
from groundling.atomic_write import atomic_write
from groundling.errors import InputError, TrainingError, check_choice, check_float, check_int, cut
from groundling.evaluation.evaluator import Evaluator
from groundling.evaluation.leak_check import LeakCheck, SentenceLog, check_leaks
from groundling.learn.actor_critic import ActorCritic
from groundling.learn.config import TrainConfig
from groundling.learn.device import choose_device, keep_freed_memory
from groundling.learn.ppo import PPO
from groundling.learn.progress import Progress
from groundling.learn.qa_pretraining import QAPretraining
from groundling.learn.run_lock import RunLock
from groundling.learn.stage import RunningMeans, Stage
from groundling.learn.workers import check_workers, shared
from groundling.read_json import from_plain, parse_json, read_json, read_text, reason

STAGES: dict[str, Callable[..., Stage]] = {stage.name: stage for stage in (QAPretraining, PPO, ActorCritic)}


Report = Callable[[Progress, float, dict[str, float]], None]
"""Called with the progress, the completed fraction of the stage, and the latest metrics."""


class Trainer:
    """Runs the stages of a config, and saves regularly."""

    def __init__(
        self,
        config: TrainConfig,
        folder: Path,
        resume: bool = False,
        device: str = "auto",
        save_seconds: float = 30.0,
        workers: int = 1,
    ) -> None:
        self.config, self.folder, self.save_seconds = config, folder, save_seconds
        self.device = torch.device(choose_device(device))
        self.workers = check_workers(workers, config, self.device)
        keep_freed_memory()
        self.order = [name for name, stage in config.stages.items() if stage.length]
        _check_folder(folder, config, resume)
        with torch.random.fork_rng():
            torch.manual_seed(config.seed)
            self.model = build(config.agent, config.spec()).to(self.device)
        if not self.model.has_answer_head:
            self.order = [name for name in self.order if name != QAPretraining.name]
            if not self.order:
                raise InputError("a model without an answer head must have a stage other than qa_pretraining, got none")
        self.progress = Progress(self.order[0])
        self.log = SentenceLog(self.model.spec.words, len(config.catalog().icon_class))
        self.stage = self._make_stage(self.progress.stage)
        self.signal: int | None = None
        self.before_update: Callable[[Trainer], None] | None = None
        self.lock = _claim_folder(folder, config)  # not earlier: bad input above leaves no folder behind
        if resume and self.state_path.exists():
            self._restore()
        _truncate_log(self.metrics_path, self.progress.lines)

    @property
    def state_path(self) -> Path:
        return self.folder / "state.safetensors"

    @property
    def metrics_path(self) -> Path:
        return self.folder / "metrics.jsonl"

    def train(self, minutes: float | None = None, report: Report | None = None) -> str:
        """Train until the last stage ends; return why: finished, target, plateau, frames, minutes or signal."""
        limit = float("inf") if minutes is None else 60 * check_float("minutes", minutes, 0, above=True)
        try:
            writer = SummaryWriter(str(self.folder / "tensorboard"), purge_step=self._global_step)
            with contextlib.closing(writer), self._signals(), shared(self.workers, self.stage):
                return self._loop(limit, report, writer)
        except OSError as error:
            raise TrainingError(
                f"folder {self.folder}: cannot be written ({error.strerror}); what was saved before is intact, and "
                "--resume continues from there"
            ) from error
        finally:
            self.lock.release()

    def _loop(self, limit: float, report: Report | None, writer: SummaryWriter) -> str:
        saved = before = time.monotonic()
        cpu_before = time.process_time()
        while True:
            reason = self._reason(limit)
            if reason is not None or self.stage.finished:
                self.save()
                if reason is not None:
                    return reason
                self._next_stage()
            if self.before_update is not None:
                self.before_update(self)
            metrics = RunningMeans(self.progress.unlogged)
            metrics.merge(self.stage.update())
            self.progress.updates = self.stage.updates
            self.progress.unlogged = metrics.pairs()
            line: dict[str, float] = {}
            if self.stage.updates % self.stage.log_interval == 0 or self.stage.finished:
                line = self._count(metrics)
                navigates = self.progress.stage != QAPretraining.name
                if navigates and (self.progress.lines % self.config.eval_interval == 0 or self.stage.finished):
                    line |= self._evaluate()
            now = time.monotonic()
            cpu_now = time.process_time()
            self.progress.seconds += now - before
            self.progress.cpu_seconds += cpu_now - cpu_before
            before, cpu_before = now, cpu_now
            if line:
                self._log(line, writer)
                if report is not None:
                    report(self.progress, self.stage.progress, line)
            if now - saved >= self.save_seconds:
                self.save()
                saved = now

    def _reason(self, limit: float) -> str | None:
        """The reason to end training now, if there is one."""
        if self.signal is not None:
            return "signal"
        if self.progress.seconds >= limit:
            return "minutes"
        reached, config = self.progress.evaluation, self.config
        wanted = config.target_success_rate
        if (
            reached
            and wanted is not None
            and reached["success_rate"] >= wanted
            and reached.get("qa_accuracy", 1.0) >= config.target_qa_accuracy  # absent for models without an answer head
        ):
            return "target"
        if config.patience is not None and self.progress.stale >= config.patience:
            return "plateau"
        if config.max_frames is not None and self.progress.frames >= config.max_frames:
            return "frames"
        return "finished" if self.stage.finished and self.progress.stage == self.order[-1] else None

    def _next_stage(self) -> None:
        self.progress.stage = self.order[self.order.index(self.progress.stage) + 1]
        self.progress.updates = 0
        workers = self.stage.workers
        self.stage = self._make_stage(self.progress.stage)
        self.stage.workers = workers

    def _make_stage(self, name: str) -> Stage:
        return STAGES[name](self.model, self.config, self.log)

    def _count(self, metrics: RunningMeans) -> dict[str, float]:
        progress = self.progress
        progress.lines += 1
        progress.unlogged = {}
        progress.frames += int(metrics.total["frames"])
        progress.env_steps += int(metrics.total["env_steps"])
        progress.episodes += int(metrics.count["success_rate"])
        return {name: mean for name, mean in metrics.means().items() if name not in ("frames", "env_steps")}

    def _evaluate(self) -> dict[str, float]:
        """Success rate and QA accuracy on training sentences: whole episodes, natural distribution, full difficulty."""
        evaluator = Evaluator(self.model.eval(), self.config.teacher(), greedy=True, attention=False)
        record = evaluator.run(self.config.eval_episodes, seeds.VALIDATION)
        self.model.train()
        progress = self.progress
        found = {"success_rate": record.success, "qa_accuracy": record.correct}
        progress.evaluation = {name: float(values.mean()) for name, values in found.items() if len(values)}
        score = fmean(progress.evaluation.values())
        progress.stale += 1
        if score > progress.best:
            progress.best, progress.stale = score, 0
            self._save_agent("best")
        return {f"eval/{name}": value for name, value in progress.evaluation.items()}

    def _log(self, line: dict[str, float], writer: SummaryWriter) -> None:
        p = self.progress
        position = {"line": p.lines, "stage": p.stage, "update": p.updates}
        time_spent = {"seconds": round(p.seconds, 2), "cpu_seconds": round(p.cpu_seconds, 2)}
        counts = {"frames": p.frames, "env_steps": p.env_steps, "episodes": p.episodes}
        rounded = {name: float(f"{value:.5g}") for name, value in line.items()}
        with self.metrics_path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**position, **time_spent, **counts, **rounded}) + "\n")
        for name, value in line.items():
            writer.add_scalar(f"{p.stage}/{name}", value, self._global_step)

    @property
    def _global_step(self) -> int:
        """The x axis of TensorBoard: environment steps of navigation, and before them the observations of QA."""
        return self.progress.env_steps or self.progress.frames

    def save(self) -> None:
        """Write everything needed to resume, and the latest agent."""
        if not all(bool(torch.isfinite(parameter).all()) for parameter in self.model.parameters()):
            raise TrainingError(
                f"stage {self.progress.stage}, update {self.progress.updates}: weights must be finite, got infinite or "
                "undefined ones, which are not saved; try a smaller learning rate"
            )
        model = {f"model.{name}": tensor for name, tensor in weights(self.model).items()}
        stage = {f"stage.{name}": tensor for name, tensor in self.stage.tensors().items()}
        log = {f"log.{name}": torch.from_numpy(array) for name, array in self.log.arrays().items()}
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in {**model, **stage, **log}.items()}
        progress = json.dumps(asdict(self.progress))
        metadata = {"progress": progress, "sha256": state_checksum(progress, tensors)}
        atomic_write(self.state_path, to_bytes(tensors, metadata))
        self._save_agent("last")

    def _save_agent(self, name: str) -> None:
        save(self.folder / f"{name}.safetensors", self.checkpoint())

    def checkpoint(self) -> Checkpoint:
        """The latest agent with its provenance."""
        teacher = self.stage.envs.teacher
        hashes = self.log.arrays()["hashes"]
        progress = {
            name: value for name, value in asdict(self.progress).items() if name not in ("best", "stale", "unlogged")
        }
        provenance = {
            "config": self.config.portable().to_dict(),
            "progress": progress,
            "sentences": {"seen": len(hashes), "sha256": hashlib.sha256(hashes.tobytes()).hexdigest()},
            "versions": {
                "groundling": groundling.__version__,
                "torch": torch.__version__,
                "python": platform.python_version(),
            },
        }
        return Checkpoint(self.model, teacher.lexicon.words, teacher.catalog.hash, teacher.split.to_dict(), provenance)

    def _restore(self) -> None:
        progress, tensors = read_state(self.folder)
        try:
            self._continue(progress, tensors)
        except (KeyError, ValueError, TypeError, RuntimeError) as error:
            raise InputError(f"{self.state_path}: it does not fit the config of the run ({cut(str(error))})") from None

    def _continue(self, progress: Progress, tensors: dict[str, Tensor]) -> None:
        check_choice("stage", progress.stage, self.order)
        check_int("updates", progress.updates, 0, self.config.stages[progress.stage].length)
        for name in ("lines", "frames", "env_steps", "episodes", "stale"):
            check_int(name, getattr(progress, name), 0, 1 << 62)
        self.model.load_state_dict(_part(tensors, "model."))
        if progress.stage != self.progress.stage:
            self.stage = self._make_stage(progress.stage)
        self.progress = progress
        self.log.restore({name: tensor.numpy() for name, tensor in _part(tensors, "log.").items()})
        self.stage.restore(_part(tensors, "stage."), progress.updates)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """The first Ctrl-C or SIGTERM ends the run after the current update; a second one ends it immediately."""

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


def state_checksum(progress: str, tensors: dict[str, Tensor]) -> str:
    """A hash of everything in a state file."""
    return hashlib.sha256(f"{progress} {checksum(tensors)}".encode()).hexdigest()


def read_state(folder: Path) -> tuple[Progress, dict[str, Tensor]]:
    """The saved progress and tensors of the run in a folder."""
    path = folder / "state.safetensors"
    try:
        if not path.is_file():  # opening anything else, such as a pipe, could block
            raise InputError(f"{path}: no such file")
        metadata, tensors = read_tensors(path)
    except (SafetensorError, OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not the state of a training run ({cut(str(error))})") from None
    text = metadata.get("progress", "null")
    if metadata.get("sha256") != state_checksum(text, tensors):
        raise InputError(f"{path}: its content does not match its checksum; it is damaged, or of another version")
    progress = from_plain(Progress, parse_json(text, f"{path}: progress"), f"{path}: progress")
    check_choice(f"{path}: stage", progress.stage, STAGES)
    return progress, tensors


def check_run(folder: Path, config: TrainConfig) -> LeakCheck:
    """Check whether the run in a folder was trained on anything that its config holds out."""
    log = _part(read_state(folder)[1], "log.")
    if not log:
        raise InputError(f"folder {folder}: its state has no log of sentences; it was saved by another version")
    teacher = config.teacher()
    return check_leaks({name: tensor.numpy() for name, tensor in log.items()}, teacher.split, teacher.grammar)


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _claim_folder(folder: Path, config: TrainConfig) -> RunLock:
    """Create the folder with its config, unless it is there, and lock it."""
    path = folder / "config.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = RunLock(folder)
        if not path.exists():
            atomic_write(path, (json.dumps(config.to_dict(), indent=1) + "\n").encode())
        return lock
    except OSError as error:
        raise InputError(f"folder {folder}: cannot be written ({reason(error)})") from None


def _check_folder(folder: Path, config: TrainConfig, resume: bool) -> None:
    """Check that the folder has no run, or the run to resume."""
    path = folder / "config.json"
    if not path.exists():
        if (folder / "state.safetensors").exists():
            raise InputError(f"folder {folder}: it holds the state of a run without config.json; choose another --out")
        return
    found = read_json(path, "config of the run")
    with contextlib.suppress(InputError):  # fields that were added since then have their defaults
        found = TrainConfig.of(found).to_dict()
    if not resume:
        raise InputError(f"folder {folder}: it already holds a run; resume it with --resume, or choose another --out")
    different = _differences(json.loads(json.dumps(found)), json.loads(json.dumps(config.to_dict())))
    if different:
        raise InputError(f"folder {folder}: its run has another config: {cut('; '.join(different), 400)}")


def _differences(found: Any, wanted: Any, name: str = "") -> list[str]:
    """The fields in which two configs differ, in words."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        keys = sorted(found.keys() | wanted.keys())
        return [
            text for key in keys for text in _differences(found.get(key), wanted.get(key), f"{name}.{key}".strip("."))
        ]
    return [] if found == wanted else [f"{name} is {json.dumps(found)} there and {json.dumps(wanted)} here"]


def _truncate_log(path: Path, lines: int) -> None:
    """Keep the first lines of a log: what was logged after the last save will be logged again on resume."""
    if not path.exists():
        return
    kept = read_text(path, "metrics file").splitlines(keepends=True)[:lines]
    try:
        atomic_write(path, "".join(kept).encode())
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({reason(error)})") from None

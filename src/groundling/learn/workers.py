"""Processes that share the work of an update: each computes the gradient of its part of a minibatch.

The first part is the main process's own; everything else, such as environments and optimizer, is there alone. Models
are in shared memory, gradients are added in a fixed order, and every part has a random generator of its own, so the
result depends only on the config and the number of workers.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.multiprocessing
from torch import Tensor

from groundling.agent import Model
from groundling.agent.language import WordDropout
from groundling.errors import InputError, TrainingError, check_int, cut
from groundling.learn.config import TrainConfig
from groundling.learn.device import keep_freed_memory

MAX_WORKERS, MAX_DEFAULT = 64, 4
SECONDS_TO_END = 5.0


class Part(NamedTuple):
    """A part of a minibatch, as everything of which its gradient is a function, besides the weights."""

    batch: Any
    """A NamedTuple of tensors, or of such NamedTuples"""
    weight: float
    """The fraction of the minibatch."""
    progress: float
    """Completed fraction of the stage."""
    seed: int
    """Of the part's word dropout, and of random layers."""
    answered: Tensor | None
    """[words]: which words were answers in training so far"""


Losses = Callable[[Model, TrainConfig, Tensor, Part, WordDropout | None, Any], dict[str, Tensor]]
"""The losses of a part, given the pictures of all cells; adds to the metrics, which come last."""
Pairs = dict[str, tuple[float, float]]
"""Sums and counts of metrics."""


def check_workers(count: int, config: TrainConfig, device: torch.device) -> int:
    """Check the number of workers of a run."""
    check_int("workers", count, 1, MAX_WORKERS)
    if count > 1 and device.type != "cpu":
        raise InputError(f"workers must be 1 on a {device.type} device, got {count}; use --device cpu")
    if count > 1 and config.actor_critic.updates:
        raise InputError(f"workers must be 1 for the stage actor_critic, whose minibatches are small, got {count}")
    return count


def default_workers(config: TrainConfig, device: torch.device) -> int:
    """One for each core, at most 4: more share minibatches of 16 environments badly.

    Threads of one process wait for each other after every operation, which a busy machine makes several times slower;
    workers wait for each other once per update.
    """
    if device.type != "cpu" or config.actor_critic.updates:
        return 1
    available = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(available, MAX_DEFAULT)


@contextmanager
def shared(count: int, stage: Any) -> Iterator[None]:
    """Give a Stage its workers, if there is more than one, and end them afterwards."""
    if count == 1:
        yield
        return
    stage.workers = Workers(count, stage.model, stage.config, stage.pictures, stage.envs.teacher.language.type_names)
    torch.set_num_threads(1)
    try:
        yield
    finally:
        stage.workers.close()


class Workers:
    """A pool of processes, one for each part but the first. `close` ends them."""

    def __init__(self, count: int, model: Model, config: TrainConfig, pictures: Tensor, types: Sequence[str]) -> None:
        """`count`: number of parts, with that of the main process."""
        self.count = count
        model.share_memory()
        context = torch.multiprocessing.get_context("spawn")
        self.parameters = [*model.parameters()]
        self.gradients: list[list[Tensor]] = []
        self.connections: list[Connection] = []
        self.processes: list[Any] = []
        try:
            for rank in range(1, count):
                gradients = [torch.zeros_like(p, requires_grad=False).share_memory_() for p in self.parameters]
                ours, theirs = context.Pipe()
                arguments = (theirs, model, config, pictures.numpy(), tuple(types), gradients)
                process = context.Process(target=_serve, args=arguments, name=f"worker {rank}", daemon=True)
                self.gradients.append(gradients)
                self.connections.append(ours)
                with _signals_blocked():
                    process.start()
                theirs.close()  # so that the end of the process closes the connection
                self.processes.append(process)
        except (AttributeError, TypeError, OSError, RuntimeError) as error:
            self.close()
            raise InputError(
                f"workers must be 1 for method {config.agent.method!r}: it cannot be sent to another process "
                f"({cut(str(error))})"
            ) from None

    def backward(self, kind: str, parts: Sequence[Part], own: Callable[[Part], Pairs]) -> list[Pairs]:
        """Compute the gradients of all parts and add them up; `own` does the first part. Returns their metrics."""
        for rank, part in enumerate(parts[1:]):
            self._exchange(rank, (kind, _to_numpy(part)))
        found = [own(parts[0])]
        for rank in range(len(parts) - 1):
            reply = self._exchange(rank)
            if isinstance(reply, str):
                raise TrainingError(f"worker {rank + 1}: {reply}")
            found.append(reply)
            for parameter, gradient in zip(self.parameters, self.gradients[rank], strict=True):
                parameter.grad = gradient.clone() if parameter.grad is None else parameter.grad.add_(gradient)
        return found

    def _exchange(self, rank: int, message: Any = None) -> Any:
        """Send a message, or receive one if none is given."""
        connection = self.connections[rank]
        try:
            return connection.recv() if message is None else connection.send(message)
        except (EOFError, OSError):
            process = self.processes[rank]
            process.join(SECONDS_TO_END)
            raise TrainingError(
                f"worker {rank + 1} ended with exit code {process.exitcode}; --resume continues from what was saved"
            ) from None

    def close(self) -> None:
        """End all processes: they end when their connections are closed."""
        for connection in self.connections:
            connection.close()
        for process in self.processes:
            process.join(SECONDS_TO_END)
            if process.is_alive():
                process.kill()
                process.join()
        self.connections, self.processes = [], []


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block signals that are sent to the whole group, in processes started here for good: the main process decides."""
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # which is started with the first process, and unblocks them
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def part_of(model: Model, config: TrainConfig, pictures: Tensor, losses: Losses, part: Part, metrics: Any) -> Pairs:
    """Add the gradient of a part to those of the model; return the metrics."""
    rng = np.random.Generator(np.random.Philox(part.seed))
    torch.default_generator.manual_seed(part.seed)
    dropout = make_word_dropout(model, config, part.answered, rng)
    found = losses(model, config, pictures, part, dropout, metrics)
    (part.weight * torch.stack([*found.values()]).sum()).backward()
    for name, loss in found.items():
        metrics.add(name, part.weight * loss.item(), part.weight)
    pairs: Pairs = metrics.pairs()
    return pairs


def make_word_dropout(
    model: Model, config: TrainConfig, answered: Tensor | None, rng: np.random.Generator
) -> WordDropout | None:
    """The word dropout of the config, if there is one and the model supports it."""
    if not config.word_dropout or not model.supports_word_dropout:
        return None
    if config.word_dropout_words == "all":
        return WordDropout(config.word_dropout, rng)
    if not model.has_answer_head or answered is None:  # it is never told an answer
        return None
    return WordDropout(config.word_dropout, rng, answered)


def _serve(
    connection: Connection, model: Model, config: TrainConfig, pictures: Any, types: tuple[str, ...], gradients: Any
) -> None:
    """The main loop of a worker, until its connection is closed."""
    from groundling.learn.ppo import ppo_losses
    from groundling.learn.qa_pretraining import qa_losses
    from groundling.learn.stage import RunningMeans

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on systems without masks of signals
    torch.set_num_threads(1)
    keep_freed_memory()
    cells = torch.from_numpy(pictures)
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        parameter.grad = gradient
    while True:
        try:
            kind, arrays = connection.recv()
        except (EOFError, OSError):
            return
        try:
            model.zero_grad(set_to_none=False)
            losses = {"ppo": ppo_losses, "qa_pretraining": qa_losses}[kind]
            reply: Any = part_of(model, config, cells, losses, _to_tensors(arrays), RunningMeans(types=types))
        except Exception as error:  # the main process reports it
            reply = f"{type(error).__name__}: {cut(str(error), 400)}"
        try:
            connection.send(reply)
        except OSError:
            return


def _to_numpy(value: Any) -> Any:
    """The same with arrays in place of tensors, because tensors would be sent through files."""
    if isinstance(value, Tensor):
        return value.numpy()
    return type(value)(*map(_to_numpy, value)) if isinstance(value, tuple) else value


def _to_tensors(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value)
    return type(value)(*map(_to_tensors, value)) if isinstance(value, tuple) else value

"""A thread in which agents think. What waits at the same time is thought together, in hardly more time than one takes.

A thought is hundreds of operations on tiny tensors, and their cost is to be started at all.
"""

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundling.agent import Model

MOST = 32
Intermediates = dict[str, NDArray[np.float32]]


class _Job(NamedTuple):
    model: Model
    image: NDArray[np.uint8]
    tokens: Sequence[int]
    result: "Future[Insides]"


class BatchedInference:
    """Threads that answer clients ask it and wait."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True, name="thinker").start()

    def explain(self, model: Model, image: NDArray[np.uint8], tokens: Sequence[int]) -> Intermediates:
        """What `model.explain` gives."""
        job = _Job(model, image, tokens, Future())
        self._jobs.put(job)
        return job.result.result()

    def _work(self) -> None:
        while True:
            jobs = [self._jobs.get()]
            while len(jobs) < MOST and not self._jobs.empty():
                jobs.append(self._jobs.get())
            for model in {id(job.model): job.model for job in jobs}.values():
                _think([job for job in jobs if job.model is model])


def _think(jobs: list[_Job]) -> None:
    """Thoughts of one model; if they fail, whoever waits is told."""
    try:
        thoughts = jobs[0].model.explain_all([job.image for job in jobs], [job.tokens for job in jobs])
    except Exception as error:
        for job in jobs:
            job.result.set_exception(error)
        return
    for job, thought in zip(jobs, thoughts, strict=True):
        job.result.set_result(thought)

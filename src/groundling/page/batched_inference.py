"""Batched inference: one thread runs the models; requests that wait at the same time share one batch.

One request is hundreds of operations on tiny tensors, dominated by their launch cost, so a batch of many takes hardly
longer than a batch of one.
"""

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundling.agent import Model

MAX_BATCH = 32
Intermediates = dict[str, NDArray[np.float32]]


class _Job(NamedTuple):
    model: Model
    image: NDArray[np.uint8]
    tokens: Sequence[int]
    result: Future[Intermediates]


class BatchedInference:
    """An inference thread; the threads that answer clients submit jobs to it and wait for the results."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True, name="inference").start()

    def explain(self, model: Model, image: NDArray[np.uint8], tokens: Sequence[int]) -> Intermediates:
        """The result of `model.explain(image, tokens)`."""
        job = _Job(model, image, tokens, Future())
        self._jobs.put(job)
        return job.result.result()

    def _work(self) -> None:
        while True:
            jobs = [self._jobs.get()]
            while len(jobs) < MAX_BATCH and not self._jobs.empty():
                jobs.append(self._jobs.get())
            for model in {id(job.model): job.model for job in jobs}.values():
                _run_batch([job for job in jobs if job.model is model])


def _run_batch(jobs: list[_Job]) -> None:
    """Run the jobs of one model; an exception is passed to every waiting thread."""
    try:
        results = jobs[0].model.explain_batch([job.image for job in jobs], [job.tokens for job in jobs])
    except Exception as error:
        for job in jobs:
            job.result.set_exception(error)
        return
    for job, result in zip(jobs, results, strict=True):
        job.result.set_result(result)

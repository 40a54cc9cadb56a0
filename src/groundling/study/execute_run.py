"""One run of the study: trained, or gone on with, then tested; its result is one file."""

import json
import time
from typing import Any

import torch

from groundling.learn.trained_agent import load_agent
from groundling.learn.trainer import Trainer
from groundling.study.grid import Run
from groundling.study.metrics import read_metrics
from groundling.study.model_card import account
from groundling.study.result_store import Store

KEEP_SECONDS = 60.0
"""Between copies of a run's state to a store that is elsewhere: what is lost at most when a machine is."""
CURVE = ("seconds", "steps", "reward", "success", "accuracy", "evaluation/success", "evaluation/accuracy")


def execute_run(run: Run, out: str, work: str, threads: int, keep_seconds: float = KEEP_SECONDS) -> None:
    """Make the result of a run in the store `out`, if it is not there, by training in the store `work`."""
    results, works = Store(out), Store(work)
    if results.read(run.file) is not None:
        return
    torch.set_num_threads(threads)
    with works.folder_of(run.folder) as folder:
        trainer = Trainer(run.config, folder, resume=True)
        kept = time.monotonic()

        def report(*_: Any) -> None:
            nonlocal kept
            if time.monotonic() - kept >= keep_seconds:
                works.keep(run.folder, folder)
                kept = time.monotonic()

        reason = trainer.train(report=report)
        works.keep(run.folder, folder)
        if reason == "signal":
            raise KeyboardInterrupt
        result = {
            "name": run.name,
            "key": run.key,
            "method": run.config.agent.method,
            "seed": run.config.seed,
            **account(folder, load_agent(str(folder / "last.safetensors")), run.episodes, run.episodes_per_type),
            "curve": [
                {name: line[name] for name in CURVE if name in line} for line in read_metrics(folder / "metrics.jsonl")
            ],
        }
    results.write(run.file, (json.dumps(result) + "\n").encode())

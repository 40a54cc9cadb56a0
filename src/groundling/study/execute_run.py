"""One run of the study: trained or resumed, then evaluated; its result is one file."""

import json
import time
from typing import Any

import torch

from groundling.agent import find_model
from groundling.learn.trained_agent import load_agent
from groundling.learn.trainer import Trainer
from groundling.study.grid import Run
from groundling.study.metrics import read_metrics
from groundling.study.model_card import report
from groundling.study.result_store import FORMAT, Store

BACKUP_SECONDS = 60.0
"""Seconds between copies of a run's state to a remote store: the training lost at most when a machine is lost."""
CURVE = (
    "seconds",
    "cpu_seconds",
    "frames",
    "env_steps",
    "reward",
    "success_rate",
    "qa_accuracy",
    "eval/success_rate",
    "eval/qa_accuracy",
)


def execute_run(run: Run, results: str, work: str, threads: int, backup_seconds: float = BACKUP_SECONDS) -> None:
    """Write the result of a run to the store `results`, unless it is there; train in the store `work`."""
    done, works = Store(results), Store(work)
    if done.read(run.file) is not None:
        return
    torch.set_num_threads(threads)
    find_model(run.config.agent.method, allow_import=True)  # the user has named it; this may be another process
    with works.folder_of(run.folder) as folder:
        trainer = Trainer(run.config, folder, resume=True)
        saved = time.monotonic()

        def back_up(*_: Any) -> None:
            nonlocal saved
            if time.monotonic() - saved >= backup_seconds:
                works.back_up(run.folder, folder)
                saved = time.monotonic()

        reason = trainer.train(report=back_up)
        works.back_up(run.folder, folder)
        if reason == "signal":
            raise KeyboardInterrupt
        result = {
            "format": FORMAT,
            "name": run.name,
            "key": run.key,
            "method": run.method,
            "seed": run.config.seed,
            "ended": reason,
            **report(folder, load_agent(folder / agent_file(run)), run.episodes, run.episodes_per_type),
            "curve": [
                {name: line[name] for name in CURVE if name in line} for line in read_metrics(folder / "metrics.jsonl")
            ],
        }
    done.write(run.file, (json.dumps(result) + "\n").encode())


def agent_file(run: Run) -> str:
    """The last agent, or the best one on validation episodes if that is what ends training."""
    return "last.safetensors" if run.config.patience is None else "best.safetensors"

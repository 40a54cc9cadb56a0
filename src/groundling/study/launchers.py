"""Launchers of the study's runs: processes of this machine, or a Ray cluster."""

import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from typing import Any

from groundling.errors import InputError
from groundling.study.execute_run import BACKUP_SECONDS, execute_run
from groundling.study.grid import Run

Log = Callable[[str], None]


def run_locally(runs: Sequence[Run], results: str, work: str, workers: int, threads: int, log: Log) -> list[Run]:
    """Execute runs in `workers` processes at a time; return those that failed. An interrupt lets each process save."""
    spawn = multiprocessing.get_context("spawn")
    waiting, failed = list(runs), []
    working: dict[int, tuple[SpawnProcess, Run]] = {}
    try:
        while waiting or working:
            while waiting and len(working) < workers:
                run = waiting.pop(0)
                process = spawn.Process(target=_execute, args=(run, results, work, threads), name=run.name)
                process.start()
                working[process.sentinel] = process, run
                log(f"{run.name}: started")
            for sentinel in wait(list(working)):
                assert isinstance(sentinel, int)
                process, run = working.pop(sentinel)
                process.join()
                log(f"{run.name}: {'failed' if process.exitcode else 'done'}")
                if process.exitcode:
                    failed.append(run)
    finally:
        for process, _ in working.values():
            process.terminate()
        for process, _ in working.values():
            process.join()
    return failed


def _execute(run: Run, results: str, work: str, threads: int) -> None:
    """The target of a worker process; an interrupt is not an error."""
    try:
        execute_run(run, results, work, threads)
    except KeyboardInterrupt:
        sys.exit(1)


def run_on_ray(
    runs: Sequence[Run],
    results: str,
    work: str,
    threads: int,
    address: str | None,
    log: Log,
    backup_seconds: float = BACKUP_SECONDS,
) -> list[Run]:
    """Execute runs on a Ray cluster (None: a local one that only this machine can reach); return those that failed.

    A run whose node is lost is restarted elsewhere and resumes from the state in the store `work`.
    """
    os.environ.setdefault(
        "RAY_AUTH_MODE", "token"
    )  # before Ray is imported; without it, anybody who can connect can run code
    if address is None:
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # Ray's name for: listen on loopback only
    import ray
    from ray.exceptions import RayError

    try:
        if address is None:
            ray.init(include_dashboard=False, log_to_driver=False)
        else:
            ray.init(address=address, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise InputError(f"address must be that of a running Ray cluster, got {address!r} ({error})") from error
    task: Any = ray.remote(num_cpus=threads, max_retries=-1)(execute_run)
    waiting = {task.remote(run, results, work, threads, backup_seconds): run for run in runs}
    failed = []
    try:
        while waiting:
            (done,), _ = ray.wait(list(waiting), num_returns=1)
            run = waiting.pop(done)
            try:
                ray.get(done)
                log(f"{run.name}: done")
            except RayError as error:
                log(f"{run.name}: failed ({str(error).splitlines()[-1]})")
                failed.append(run)
    finally:
        ray.shutdown()
    return failed

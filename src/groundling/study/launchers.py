"""Where the runs of the study are made: in processes of this machine, or on a Ray cluster."""

import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from typing import Any

from groundling.errors import InputError
from groundling.study.execute_run import KEEP_SECONDS, execute_run
from groundling.study.grid import Run

Log = Callable[[str], None]


def run_locally(runs: Sequence[Run], out: str, work: str, workers: int, threads: int, told: Log) -> list[Run]:
    """Make runs in so many processes at once; return those that failed. Interrupted, it lets each process save."""
    spawn = multiprocessing.get_context("spawn")
    waiting, failed = list(runs), []
    working: dict[int, tuple[SpawnProcess, Run]] = {}
    try:
        while waiting or working:
            while waiting and len(working) < workers:
                run = waiting.pop(0)
                process = spawn.Process(target=_perform, args=(run, out, work, threads), name=run.name)
                process.start()
                working[process.sentinel] = process, run
                told(f"{run.name}: begun")
            for sentinel in wait(list(working)):
                assert isinstance(sentinel, int)
                process, run = working.pop(sentinel)
                process.join()
                told(f"{run.name}: {'failed' if process.exitcode else 'done'}")
                if process.exitcode:
                    failed.append(run)
    finally:
        for process, _ in working.values():
            process.terminate()
        for process, _ in working.values():
            process.join()
    return failed


def _perform(run: Run, out: str, work: str, threads: int) -> None:
    """Of a process of its own, which is told to stop as a matter of course."""
    try:
        execute_run(run, out, work, threads)
    except KeyboardInterrupt:
        sys.exit(1)


def run_on_ray(
    runs: Sequence[Run],
    out: str,
    work: str,
    threads: int,
    address: str | None,
    told: Log,
    keep_seconds: float = KEEP_SECONDS,
) -> list[Run]:
    """Make runs on a cluster, or on one of this machine alone that only it can reach; return those that failed.

    A run whose node is lost is begun again elsewhere, and goes on from the state that the store `work` keeps.
    """
    os.environ.setdefault("RAY_AUTH_MODE", "token")  # before Ray is loaded; without it, any visitor can run code
    if address is None:
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # its name for: on loopback, for nobody else
    import ray
    from ray.exceptions import RayError

    try:
        if address is None:
            ray.init(include_dashboard=False, log_to_driver=False)
        else:
            ray.init(address=address, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise InputError(f"address {address!r}: no Ray cluster answers there ({error})") from error
    task: Any = ray.remote(num_cpus=threads, max_retries=-1)(execute_run)
    waiting = {task.remote(run, out, work, threads, keep_seconds): run for run in runs}
    failed = []
    try:
        while waiting:
            (done,), _ = ray.wait(list(waiting), num_returns=1)
            run = waiting.pop(done)
            try:
                ray.get(done)
                told(f"{run.name}: done")
            except RayError as error:
                told(f"{run.name}: failed ({str(error).splitlines()[-1]})")
                failed.append(run)
    finally:
        ray.shutdown()
    return failed

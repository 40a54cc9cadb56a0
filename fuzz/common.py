"""What the fuzzing scripts share: workers that survive a crash of the tested code, bars, and ways to damage input.

Input k of a script is a function of (seed, k). It is made and used in a worker process, which the main process replaces
when it dies or takes too long. Needs a Unix system.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from groundling.errors import InputError, TrainingError

MAX_SECONDS = 60.0
"""For one input, unless a script needs more."""
MAX_MEMORY_MB = 1024
"""Peak memory of a worker, interpreter and libraries included."""
MAX_SHOWN = 200
"""Failures in a report."""
MAX_MESSAGE = 1000
"""Characters of an error message."""
ADDRESS_SPACE = 4 << 30
"""Bytes that a worker may map beyond what it starts with; more is a MemoryError."""
NOBODY = 65534
"""The user for whom files can be unreadable if the script runs as root."""

Rng = np.random.Generator
Make = Callable[[Rng, Path], tuple[str, Any]]
"""Make an input, in an empty folder; returns what is odd about it, and the input."""
Use = Callable[[Any], str | None]
"""Use an input; raises InputError if it is refused, otherwise may return a remark."""


@dataclass(frozen=True)
class Result:
    """What happened to one input."""

    index: int
    what: str
    outcome: str
    """refused, accepted, traceback, crash or over time."""
    text: str = ""
    """The error message, the traceback or the remark."""
    seconds: float = 0.0
    memory_mb: int = 0


@dataclass
class Report:
    """The results of a script, and whether they meet the bars."""

    title: str
    results: list[Result] = field(default_factory=list)

    def count(self, outcome: str) -> int:
        return sum(result.outcome == outcome for result in self.results)

    @property
    def failures(self) -> list[Result]:
        return [
            result
            for result in self.results
            if result.outcome not in ("refused", "accepted") or result.memory_mb > MAX_MEMORY_MB
        ]

    def show(self) -> int:
        """Print the counts and the failures; return the exit code."""
        slowest = max((result.seconds for result in self.results), default=0.0)
        memory = max((result.memory_mb for result in self.results), default=0)
        print(
            f"{self.title}: {len(self.results)} inputs, {self.count('refused')} refused, "
            f"{self.count('accepted')} accepted, {self.count('traceback')} tracebacks, {self.count('crash')} crashes, "
            f"{self.count('over time')} over time; slowest {slowest:.1f} s, memory at most {memory} MB"
        )
        for result in self.failures[:MAX_SHOWN]:
            print(f"FAIL  --only {result.index}: {result.what}: {result.outcome}, {result.memory_mb} MB")
            print(f"      {result.text.partition(chr(10))[0]}")
        return 1 if self.failures else 0

    def show_reasons(self, outcome: str, most: int = 10) -> None:
        """Print the most frequent texts of an outcome, without their numbers."""
        texts = Counter(_without_numbers(result.text) for result in self.results if result.outcome == outcome)
        for text, count in texts.most_common(most):
            print(f"{count:6}  {text}")


def arguments(description: str, count: int) -> argparse.ArgumentParser:
    """The options of every script."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--count", type=int, default=count, help="Number of inputs.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of all inputs.")
    parser.add_argument("--seconds", type=float, default=MAX_SECONDS, help="Time limit for one input.")
    parser.add_argument("--only", type=int, help="Index of a single input to repeat, with its traceback.")
    return parser


def run(title: str, options: argparse.Namespace, make: Make, use: Use) -> Report:
    """Make and use every input in a worker."""
    report = Report(title)
    only = getattr(options, "only", None)
    worker: _Worker | None = None
    for index in range(options.count) if only is None else [only]:
        worker = worker or _Worker(options.seed, make, use)
        result = worker.result(index, options.seconds)
        report.results.append(result)
        if result.outcome in ("crash", "over time"):
            worker = None
        if only is not None:
            print(f"{result.what}: {result.outcome}\n{result.text}")
    if worker is not None:
        worker.end()
    return report


class _Worker:
    """A forked process that makes and uses inputs by their index."""

    def __init__(self, seed: int, make: Make, use: Use) -> None:
        fork = multiprocessing.get_context("fork")
        self.pipe, theirs = fork.Pipe()
        self.process = fork.Process(target=_work, args=(theirs, seed, make, use), daemon=True)
        self.process.start()
        theirs.close()

    def result(self, index: int, max_seconds: float) -> Result:
        """The result of one input; after a crash or a timeout, the worker is gone."""
        what, start = "making the input", time.monotonic()
        self.pipe.send(index)
        try:
            while self.pipe.poll(max_seconds):
                message = self.pipe.recv()
                if isinstance(message, Result):
                    return message
                what, start = message, time.monotonic()
            outcome = "over time"
        except (EOFError, ConnectionError):
            outcome = "crash"
        seconds = time.monotonic() - start
        if outcome == "over time":
            self.process.kill()
        self.process.join()
        return Result(index, what, outcome, f"exit code {self.process.exitcode}", seconds)

    def end(self) -> None:
        self.pipe.send(None)
        self.process.join()


def _work(pipe: Connection, seed: int, make: Make, use: Use) -> None:
    """Answer indices with results until there is none."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    warnings.simplefilter("ignore")
    _limit_address_space()
    while (index := pipe.recv()) is not None:
        folder = Path(tempfile.mkdtemp(prefix="groundling-fuzz-"))
        folder.chmod(0o777)  # for `without_root`
        try:
            pipe.send(_try(index, np.random.default_rng([seed, index]), folder, make, use, pipe))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _try(index: int, rng: Rng, folder: Path, make: Make, use: Use, pipe: Connection) -> Result:
    what, made = make(rng, folder)
    pipe.send(what)
    _reset_peak_memory()
    start = time.monotonic()
    try:
        text = use(made) or ""
        outcome = "accepted"
    except (InputError, TrainingError) as error:
        text, outcome = str(error), "refused"
        try:
            check_message(text)
        except AssertionError as fault:
            text, outcome = f"{fault}", "traceback"
    except BaseException as error:
        text, outcome = _in_one_line(error) + "\n" + traceback.format_exc(), "traceback"
    return Result(index, what, outcome, text[:20_000], time.monotonic() - start, _peak_memory_mb())


def check_message(text: str) -> None:
    """Raise unless an error message is short and can be printed."""
    assert len(text) <= MAX_MESSAGE, f"an error message of {len(text)} characters: {text[:200]}..."
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise AssertionError(f"an error message that cannot be printed: {error}") from None


def _limit_address_space() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc").is_dir() else 0
    limit = pages * resource.getpagesize() + ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _reset_peak_memory() -> None:
    with contextlib.suppress(OSError):  # only Linux can
        Path("/proc/self/clear_refs").write_text("5")


def _peak_memory_mb() -> int:
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line[:6] == "VmHWM:") // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1 << 20)  # bytes on macOS


def _in_one_line(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "groundling" in frame.filename] or frames
    where = f"{Path(own[-1].filename).name}:{own[-1].lineno}"
    return f"{type(error).__name__} at {where}: {str(error)[:200]}".replace("\n", " ")


def _without_numbers(text: str) -> str:
    return re.sub(r"\d+(\.\d+)?", "N", text.partition("\n")[0])[:160]


# Damage to bytes, JSON and files.

LARGE_INTEGERS = (1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, 1 << 64, 10**12, 10**30)
JSON_VALUES = (
    *("null", "true", "false", "0", "-1", "1", "2", "7", "1.5", "-0.0", "1e-320", "1e308", "1e400", "-1e400"),
    *(str(sign * n) for n in LARGE_INTEGERS for sign in (1, -1)),
    *("NaN", "Infinity", "-Infinity", "9" * 400, "9" * 4000, "9" * 5000, "-" + "9" * 5000),
    *('""', '"x"', '"apple"', '"zs1"', '"\\u0000"', '"\\ud800"', '"\\n"', '"' + "y" * 100_000 + '"', '"1"', '"NaN"'),
    *("[]", "{}", "[null]", "[[]]", '{"": 0}', "[1, 2]", "[" + "0, " * 20_000 + "0]", '{"a": {"b": [1]}}'),
    *("[" * depth + "]" * depth for depth in (60, 70, 990, 100_000)),
    '{"a":' * 2000 + "1" + "}" * 2000,
)
"""Values as JSON text, because some of them are no values in Python."""
_MARK = "@value@"


def mutate_json(rng: Rng, value: Any) -> tuple[str, str]:
    """Change one part of a JSON value; returns what was changed, and the JSON text."""
    paths = [path for path in _paths(value) if path] or [()]
    path = paths[rng.integers(len(paths))]
    copy = json.loads(json.dumps(value))
    parent = copy
    for key in path[:-1]:
        parent = parent[key]
    name = ".".join(map(str, path))
    kind = rng.choice(["replace", "replace", "replace", "remove", "add", "whole"] if path else ["whole"])
    text = JSON_VALUES[rng.integers(len(JSON_VALUES))]
    if kind == "whole":
        return f"{text[:20]} in place of everything", text
    if kind == "remove":
        del parent[path[-1]]
        return f"without {name}", json.dumps(copy)
    if kind == "replace":
        parent[path[-1]] = _MARK
    elif isinstance(parent, dict):
        parent[f"{path[-1]}_"] = _MARK
    else:
        parent.insert(0, _MARK)
    return f"{kind} {name}: {text[:20]}", json.dumps(copy).replace(f'"{_MARK}"', text)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all parts of a JSON value; of a long list, only those of the first parts."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from _paths(value[key], (*path, key))
    elif isinstance(value, list):
        for k in range(min(len(value), 3)):
            yield from _paths(value[k], (*path, k))


def mutate_bytes(rng: Rng, data: bytes, end: int | None = None) -> tuple[str, bytes]:
    """Change some bytes, only before `end` if it is given."""
    end = len(data) if end is None else min(end, len(data))
    at, length = int(rng.integers(max(end, 1))), int(rng.integers(1, 20))
    noise = rng.bytes(length)
    kind = rng.choice(["flip", "flip", "flip", "cut", "insert", "delete", "double", "not UTF-8", "zeros", "empty"])
    changed = bytearray(data)
    if kind == "flip" and changed:
        changed[at] ^= 1 << int(rng.integers(8))
    elif kind == "cut":
        changed = changed[:at]
    elif kind == "insert":
        changed[at:at] = noise
    elif kind == "delete":
        del changed[at : at + length]
    elif kind == "double":
        changed[at:at] = changed[at : at + 10 * length]
    elif kind == "not UTF-8":
        changed[at:at] = b"\xff\xfe\xc0"
    elif kind == "zeros":
        changed[at : at + length] = bytes(length)
    elif kind == "empty":
        changed = bytearray()
    return f"bytes: {kind} at {at}", bytes(changed)


FILE_KINDS = ("missing", "folder", "FIFO", "unreadable", "in a locked folder", "link to itself", "to /dev/zero", "long")


def odd_file(kind: str, folder: Path, name: str, content: bytes) -> Path:
    """A path at which there is no ordinary file, or one that cannot be read."""
    path = folder / name
    path.unlink(missing_ok=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "FIFO":
        os.mkfifo(path)
        path.chmod(0o666)
    elif kind == "unreadable":
        path.write_bytes(content)
        path.chmod(0)
    elif kind == "in a locked folder":
        path = folder / "locked" / name
        path.parent.mkdir()
        path.write_bytes(content)
        path.parent.chmod(0)
    elif kind == "link to itself":
        path.symlink_to(path)
    elif kind == "to /dev/zero":
        path.symlink_to("/dev/zero")
    elif kind == "long":
        return folder / (name * 200)
    return path


def damaged_file(
    rng: Rng, folder: Path, name: str, value: Any, lines: int = 1, odd_files: bool = True
) -> tuple[str, Path]:
    """A file of JSON with a change of its bytes, of its value, or (with `odd_files`) of the file itself."""
    path = folder / name
    text = json.dumps(value)
    kind = str(rng.choice(["bytes", "value", "value", "value", *["file"] * odd_files]))
    if kind == "file":
        odd = str(rng.choice(FILE_KINDS))
        return odd, odd_file(odd, folder, name, text.encode())
    what, changed = mutate_json(rng, value) if kind == "value" else ("", text)
    data = "\n".join([text] * (lines - 1) + [changed]).encode()
    if kind == "bytes":
        what, data = mutate_bytes(rng, data)
    path.write_bytes(data)
    return what, path


@contextlib.contextmanager
def without_root() -> Iterator[None]:
    """Act as a user for whom permissions count: root reads everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def finish(reports: Sequence[Report]) -> None:
    """Print all reports; exit with code 1 if one misses a bar."""
    sys.exit(max(report.show() for report in reports))

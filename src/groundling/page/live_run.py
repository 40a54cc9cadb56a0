"""A training run shown while it learns: its latest agent and metrics are read from its folder."""

import json
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

from groundling.errors import InputError
from groundling.learn.trained_agent import load_agent
from groundling.page.app_state import AppState, ServedAgent

LAST = "last.safetensors"
METRICS = ("seconds", "stage", "success_rate", "qa_accuracy", "eval/success_rate", "eval/qa_accuracy")
"""The metrics that the page shows."""
SHOWN_LINES = 200
POLL_SECONDS = 1.0


class LiveRun:
    """The folder of a run. `wait` until it has an agent; `follow` replaces the served agent whenever it is saved."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read = 0
        self._lines: deque[dict[str, Any]] = deque(maxlen=SHOWN_LINES)
        self._lock = threading.Lock()
        self._saved = 0

    def wait(self, seconds: float, is_running: "threading.Event | None" = None) -> ServedAgent:
        """The first agent of the run, after at most `seconds`."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and (is_running is None or is_running.is_set()):
            if (agent := self._latest()) is not None:
                return agent
            time.sleep(POLL_SECONDS / 5)
        raise InputError(f"folder {self.folder} must get a file {LAST} of a training run, but has none")

    def follow(self, state: AppState, index: int) -> None:
        """Replace an agent of the server in a thread, until the process ends."""

        def poll() -> None:
            while True:
                time.sleep(POLL_SECONDS)
                if (agent := self._latest()) is not None:
                    state.replace_agent(index, agent)

        threading.Thread(target=poll, daemon=True, name="live run").start()

    def metrics(self) -> list[dict[str, Any]]:
        """The metrics that were logged so far, the latest SHOWN_LINES of them."""
        with self._lock:
            try:
                with (self.folder / "metrics.jsonl").open(encoding="utf-8") as file:
                    file.seek(self._read)
                    for line in iter(file.readline, ""):
                        if not line.endswith("\n"):  # still being written
                            break
                        self._read += len(line.encode())
                        self._lines.append({k: v for k, v in json.loads(line).items() if k in METRICS})
            except (OSError, ValueError):
                pass  # there is none yet
            return list(self._lines)

    def _latest(self) -> ServedAgent | None:
        """The agent in the folder if it was saved since the last call."""
        path = self.folder / LAST
        try:
            saved = path.stat().st_mtime_ns
            if saved == self._saved:
                return None
            agent = ServedAgent(self.folder.name, load_agent(path), is_live=True)
        except (OSError, InputError):
            return None
        self._saved = saved
        return agent

"""The real server in a process of its own, and a real browser."""

import base64
import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Self

from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_ARGUMENTS = """
--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update
--disable-sync
"""


class Site:
    """A running server: `with Site("normal") as site`. It can be killed and started again at the same address."""

    def __init__(self, *arguments: str, stderr: int | None = None) -> None:
        self.arguments, self.stderr = arguments, stderr
        self.port = "0"
        self.address = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start the server, at first on a free port, later on the same one."""
        arguments = [sys.executable, "-m", "groundling", "play", *self.arguments, "--port", self.port, "--no-browser"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=self.stderr, text=True, env=environment
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split()[-1]
        self.port = self.address.rstrip("/").rpartition(":")[2]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_ARGUMENTS.split())
        yield browser
        browser.close()


def open_world(page: Page, site: Site, scene: dict[str, Any]) -> None:
    """Open a link that contains a world."""
    text = base64.urlsafe_b64encode(json.dumps(scene).encode()).decode().rstrip("=")
    page.goto(f"{site.address}#world={text}")
    page.locator("body[data-ready=yes]").wait_for()


def run_sentence(page: Page, sentence: str) -> None:
    page.get_by_label("Command or question").fill(sentence)
    page.get_by_role("button", name="Run", exact=True).click()

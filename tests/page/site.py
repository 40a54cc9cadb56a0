"""The real server in a process of its own, and a real browser."""

import base64
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Self

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

TIMEOUT_MS = 30_000
"""Long, because the machine may be busy."""
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_ARGUMENTS = """
--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update
--disable-sync
"""


expect.set_options(timeout=TIMEOUT_MS)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


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


def new_page(browser: Browser, width: int = 1280, height: int = 900, **options: Any) -> Page:
    """A page in a context of its own, with deterministic random numbers."""
    context = browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce", **options)
    context.add_init_script("let draw = 0; Math.random = () => (draw = (draw + 0.61803) % 1);")
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    return page


def wait_until_ready(page: Page) -> None:
    """Wait for the world and for the examples made from it."""
    page.locator("body[data-ready=yes]").wait_for()
    wait_for_examples(page)


def wait_for_examples(page: Page) -> None:
    """Wait for the examples of the shown world, so that no control is added afterwards."""
    expect(page.locator("#chips")).to_have_attribute("aria-busy", "false")


@contextlib.contextmanager
def open_scene(browser: Browser, site: Site, scene: dict[str, Any], *size: int, **options: Any) -> Iterator[Page]:
    """The page with a world; any error in the browser's console fails the test."""
    page = new_page(browser, *size, **options)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    open_world(page, site, scene)
    page.get_by_label("Speed").select_option("fast")
    yield page
    page.context.close()
    expected = ("WebSocket connection", "Failed to load resource")  # some tests kill the server
    unexpected = [text for text in errors if not any(part in text for part in expected)]
    assert not unexpected, unexpected


def is_in_viewport(page: Page, locator: Locator) -> bool:
    """Whether the whole element is on the screen."""
    box, size = locator.bounding_box(), page.viewport_size
    assert box is not None
    assert size is not None
    bottom, right = box["y"] + box["height"], box["x"] + box["width"]
    return box["y"] >= 0 and bottom <= size["height"] + 1 and box["x"] >= 0 and right <= size["width"] + 1


def cell(page: Page, row: int, column: int) -> Locator:
    return page.locator(f".board.live .cell[data-position='{7 * row + column}']").first


def expect_result(page: Page, text: str | re.Pattern[str]) -> None:
    """Wait for a text in the result beside the sentence."""
    expect(page.locator("#result")).to_contain_text(text)


def link_text(scene: dict[str, Any]) -> str:
    """A world as it is in a link."""
    return base64.urlsafe_b64encode(json.dumps(scene).encode()).decode().rstrip("=")


def open_world(page: Page, site: Site, scene: dict[str, Any]) -> None:
    """Open a link that contains a world."""
    page.goto(f"{site.address}#world={link_text(scene)}")
    wait_until_ready(page)


def run_sentence(page: Page, sentence: str) -> None:
    page.get_by_label("Command or question").fill(sentence)
    page.get_by_role("button", name="Run", exact=True).click()

"""The examples for the shown world: they may come late or not at all, and the page stays usable meanwhile."""

import json
import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from tests.page.conftest import SCENE
from tests.page.site import (
    Site,
    cell,
    expect_result,
    link_text,
    needs_chromium,
    new_page,
    open_world,
    run_sentence,
    wait_for_examples,
)

pytestmark = needs_chromium
SPECIAL = "a word it never heard"


def chips(page: Page) -> list[str]:
    return page.locator("#chips button").all_inner_texts()


def intercept_examples(page: Page, answer: Callable[[WebSocketRoute, WebSocketRoute, str], None]) -> None:
    """Let `answer(page, server, message)` treat the requests for examples; all others reach the server."""

    def connect(route: WebSocketRoute) -> None:
        server = route.connect_to_server()

        def forward(message: str | bytes) -> None:
            if json.loads(message)["request"] == "examples":
                answer(route, server, str(message))
            else:
                server.send(message)

        route.on_message(forward)

    page.route_web_socket(re.compile("/ws$"), connect)


def open_ready(page: Page, site: Site) -> None:
    """Open a world without waiting for its examples."""
    page.goto(f"{site.address}#world={link_text(SCENE)}")
    page.locator("body[data-ready=yes]").wait_for()


def test_examples_that_come_late_take_no_focus_and_the_toolbar_always_has_a_tab_stop(
    browser: Browser, site: Site
) -> None:
    page = new_page(browser)
    held: list[tuple[WebSocketRoute, str]] = []
    intercept_examples(page, lambda _, server, message: held.append((server, message)))
    open_ready(page, site)
    expect(page.locator("#chips")).to_have_attribute("aria-busy", "true")
    assert chips(page) == ["Teach it a word"]
    page.locator("#chips button").focus()
    while not held:
        page.wait_for_timeout(20)
    [(server, message)] = held
    server.send(message)
    wait_for_examples(page)
    assert chips(page)[0].startswith(SPECIAL)
    expect(page.get_by_role("button", name="Teach it a word")).to_be_focused()
    assert page.locator("#chips button[tabindex='0']").count() == 1
    page.context.close()


def test_examples_are_asked_for_again_after_an_error(browser: Browser, site: Site) -> None:
    page = new_page(browser)
    failures: list[str] = []

    def answer(route: WebSocketRoute, server: WebSocketRoute, message: str) -> None:
        if failures:
            server.send(message)
        else:
            failures.append(message)
            route.send(json.dumps({"id": json.loads(message)["id"], "error": "too many messages"}))

    intercept_examples(page, answer)
    open_ready(page, site)
    wait_for_examples(page)
    assert len(failures) == 1
    assert chips(page)[0].startswith(SPECIAL)
    page.context.close()


def test_same_world_has_the_same_examples(page: Page) -> None:
    first = chips(page)
    assert first[0].startswith(SPECIAL)
    run_sentence(page, "What is in the west?")
    expect_result(page, "“giraffe”")
    wait_for_examples(page)
    assert chips(page) == first
    cell(page, 6, 6).focus()
    page.keyboard.press("Delete")
    wait_for_examples(page)
    assert chips(page) != first
    page.get_by_role("button", name="Undo").click()
    wait_for_examples(page)
    assert chips(page) == first
    page.reload()
    wait_for_examples(page)
    assert chips(page) == first


def test_examples_are_of_the_world_to_which_the_agent_walked(browser: Browser, site: Site) -> None:
    scene: dict[str, Any] = {**SCENE, "objects": [{"name": "giraffe", "at": [3, 4]}], "walls": []}
    page = new_page(browser)
    open_world(page, site, scene)
    first = chips(page)
    run_sentence(page, "Go to the south of the giraffe.")
    expect_result(page, "Success")
    wait_for_examples(page)
    assert chips(page) != first  # what is in the east, for example
    assert chips(page)[0].startswith(SPECIAL)
    page.context.close()

"""What a user made is kept: over a reload, by undo and redo, in a link, and over a restart of the server."""

import base64
import re
from typing import Any

from playwright.sync_api import Browser, Page, expect

from tests.page.conftest import SCENE, png
from tests.page.site import (
    Site,
    cell,
    expect_result,
    needs_chromium,
    new_page,
    open_scene,
    run_sentence,
    wait_for_examples,
    wait_until_ready,
)

pytestmark = needs_chromium


def shown(page: Page) -> dict[str, Any]:
    """Everything that a user sees of the state."""
    wait_for_examples(page)
    cells = page.locator(".board.live .cell").evaluate_all("(all) => all.map((cell) => cell.ariaLabel)")
    return {
        "cells": cells,
        "sentence": page.get_by_label("Command or question").input_value(),
        "result": page.locator("#result").inner_text(),
        "step": page.locator(".counter").inner_text(),
        "words": page.locator(".words").inner_text() if page.locator(".words").is_visible() else "",
        "examples": page.locator("#chips button").all_inner_texts(),
        "number": page.get_by_label("number").input_value(),
        "taught": page.locator("#teaching [role=status]").inner_text(),
        "before and after": page.locator(".before-after").inner_text(),
        "history": page.locator("#history").inner_text(),
    }


def teach_gizmo(page: Page) -> None:
    image: Any = {"name": "gizmo.png", "mimeType": "image/png", "buffer": base64.b64decode(png())}
    page.get_by_label("Picture file or camera").set_input_files([image])
    page.get_by_label("Its name").fill("gizmo")
    page.get_by_role("button", name="Teach it", exact=True).click()
    expect(page.locator("#teaching [role=status]")).to_contain_text("Taught “gizmo” with 1 example")


def test_reload_brings_back_the_state(page: Page) -> None:
    cell(page, 1, 1).drag_to(cell(page, 5, 1))
    run_sentence(page, "Go to the giraffe.")
    expect_result(page, "Success")
    before = shown(page)
    page.reload()
    wait_until_ready(page)
    assert shown(page) == before
    page.get_by_role("button", name="Copy link").click()
    page.get_by_role("button", name="New world").click()
    expect(page.locator(".words")).to_be_hidden()
    before = shown(page)
    page.reload()  # the address is that of the link, but the world is the one that was shown
    wait_until_ready(page)
    assert shown(page) == before


def test_reload_brings_back_what_was_taught(page: Page) -> None:
    teach_gizmo(page)
    before = shown(page)
    assert "gizmo" in before["before and after"]
    page.reload()
    wait_until_ready(page)
    assert shown(page) == before
    page.get_by_role("button", name="“Go to the gizmo.”").click()
    expect_result(page, "Success: target reached")


def test_undo_and_redo_restore_each_state(page: Page) -> None:
    states = [shown(page)]
    cell(page, 1, 1).drag_to(cell(page, 3, 2))  # on another object: they change places
    expect(cell(page, 3, 2)).to_have_attribute("aria-label", "row 4, column 3: red apple")
    expect(cell(page, 1, 1)).to_have_attribute("aria-label", "row 2, column 2: yellow giraffe")
    page.get_by_label("Command or question").fill("What is in the west?")
    states.append(shown(page))
    run_sentence(page, "What is in the west?")
    expect_result(page, "“apple”")
    states.append(shown(page))
    page.get_by_role("button", name="New world").click()
    expect(page.locator(".words")).to_be_hidden()
    states.append(shown(page))

    def visible(state: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in state.items() if name != "history"}

    for k in (2, 1, 0):
        page.get_by_role("button", name="Undo").click()
        assert visible(shown(page)) == visible(states[k]), k
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    for k in (1, 2, 3):
        page.get_by_role("button", name="Redo").click()
        assert visible(shown(page)) == visible(states[k]), k


def test_link_opens_world_agent_and_taught_words_and_plays_from_the_start(
    browser: Browser, site: Site, page: Page
) -> None:
    teach_gizmo(page)
    page.get_by_role("button", name="“Go to the gizmo.”").click()
    expect_result(page, "Success: target reached")
    start = page.locator("#history .said").count()
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#notice")).to_contain_text("contains the world, the sentence, the agent and what was taught")
    assert len(page.url) < 8000
    other = new_page(browser)
    other.goto(page.url)
    wait_until_ready(other)
    expect_result(other, "Success: target reached")
    assert start == 2
    assert other.locator("#result").inner_text() == page.locator("#result").inner_text()
    other.get_by_role("button", name="Back to the start").click()
    page.get_by_role("button", name="Back to the start").click()
    opened, linked = shown(other), shown(page)
    for part in ("cells", "sentence", "result", "step", "words", "examples", "taught"):
        assert opened[part] == linked[part], part
    other.context.close()


def test_link_of_a_line_of_the_history(browser: Browser, page: Page) -> None:
    run_sentence(page, "What is in the west?")
    expect_result(page, "“giraffe”")
    page.get_by_role("button", name="New world").click()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy a link: What is in the west?").click()
    expect(page.locator("#notice")).to_contain_text("Link copied")
    link = page.evaluate("navigator.clipboard.readText()")
    other = new_page(browser)
    other.goto(link)
    expect_result(other, "“giraffe”")
    other.context.close()


def test_state_and_taught_words_survive_a_server_restart(page: Page, site: Site) -> None:
    teach_gizmo(page)
    before = shown(page)
    site.kill()
    expect(page.locator("#connection")).to_contain_text("Reconnecting")
    run_sentence(page, "What is in the west?")
    expect_result(page, "no connection")
    page.get_by_role("button", name="Undo").click()
    site.start()
    expect(page.locator("#connection")).to_be_empty()
    page.get_by_label("Command or question").fill(before["sentence"])
    assert shown(page) == before
    page.get_by_role("button", name="“Go to the gizmo.”").click()
    expect_result(page, "Success: target reached")


def test_page_shows_the_agents_of_a_restarted_server(browser: Browser) -> None:
    with Site("novel-12") as site, open_scene(browser, site, SCENE) as page:
        expect(page.get_by_role("region", name="novel-12", exact=True)).to_be_visible()
        site.kill()
        site.arguments = ("normal", "--compare", "san")
        site.start()
        expect(page.get_by_role("region", name=re.compile("^normal"))).to_be_visible()
        expect(page.get_by_role("region", name=re.compile("^san"))).to_be_visible()
        expect(page.get_by_role("region", name="novel-12", exact=True)).to_have_count(0)
        run_sentence(page, "What is in the west?")
        expect(page.locator("#result .verdict", has_text="“giraffe”")).to_have_count(2)

"""Accessibility: axe finds nothing, everything works by keyboard, and the tab stops are few."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.conftest import SCENE
from tests.page.site import Site, cell, expect_result, needs_chromium, open_scene, run_sentence, wait_for_examples

pytestmark = needs_chromium
AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
MAX_TAB_STOPS = 40


def violations(page: Page) -> list[str]:
    """What axe finds; its script runs beside the page, whose own policy stays as it is."""
    page.evaluate(AXE.read_text("utf-8") + "; undefined")
    found: list[dict[str, Any]] = page.evaluate("axe.run({ resultTypes: ['violations'] }).then((r) => r.violations)")
    return [f"{entry['id']}: {[node['html'] for node in entry['nodes']][:3]}" for entry in found]


def test_axe_finds_nothing_with_one_agent(browser: Browser, site: Site) -> None:
    for scheme in ("light", "dark"):
        options: dict[str, Any] = {"color_scheme": scheme}
        with open_scene(browser, site, SCENE, **options) as page:
            assert violations(page) == [], f"{scheme}, at the start"
            run_sentence(page, "Go to the apple.")
            expect_result(page, "Success")
            assert violations(page) == [], f"{scheme}, after a walk"
            page.get_by_label("Command or question").fill("go to the gi")
            run_sentence(page, "go to the aple")
            expect_result(page, "Not said")
            assert violations(page) == [], f"{scheme}, after a refusal"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_with_two_agents(browser: Browser, two_agents: Site, scheme: Any) -> None:
    with open_scene(browser, two_agents, SCENE, color_scheme=scheme) as page:
        run_sentence(page, "What is in the west?")
        expect_result(page, "giraffe")
        assert violations(page) == []


@pytest.mark.parametrize(
    ("agents", "results"),
    [
        ("site", ("", "Correct", "Success", "It understood", "")),
        ("two_agents", ("", "normal: “apple”", "normal: ✓ Success", "normal: ✓ Success", "")),
    ],
)
def test_axe_finds_nothing_in_the_tour(
    browser: Browser, agents: str, results: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    with open_scene(browser, request.getfixturevalue(agents), SCENE) as page:
        page.get_by_role("button", name="Tour", exact=True).click()
        tour = page.get_by_role("region", name="Tour")
        for step, result in enumerate(results, start=1):
            expect(tour).to_contain_text(f"step {step} of 5")
            assert violations(page) == [], f"step {step}, at its start"
            if result:
                expect_result(page, result)
            wait_for_examples(page)
            assert violations(page) == [], f"step {step}"
            tour.get_by_role("button").first.click()
        expect(tour).to_be_hidden()


def focused(page: Page) -> str:
    text: str = page.evaluate("""
        (() => { const e = document.activeElement; return e.id || e.ariaLabel || e.textContent.trim() || e.tagName; })()
    """)
    return text


def test_tab_stops_are_few(page: Page) -> None:
    run_sentence(page, "Go to the apple.")
    expect_result(page, "Success")
    page.locator("#skip").focus()
    stops = ["skip"]
    for _ in range(MAX_TAB_STOPS + 10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        stops.append(focused(page))
    assert 15 < len(stops) <= MAX_TAB_STOPS, stops


def tab_to(page: Page, name: str) -> None:
    """Press Tab until an element has the focus; once around the page, from the controls of the shown world."""
    wait_for_examples(page)
    for _ in range(MAX_TAB_STOPS + 2):
        if focused(page).startswith(name):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{name} has no tab stop")


def test_everything_works_by_keyboard_alone(page: Page) -> None:
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the skip link
    assert focused(page) == "sentence"
    page.keyboard.press("Control+A")
    page.keyboard.type("What is in the west?")
    page.keyboard.press("Enter")
    expect_result(page, "giraffe")
    tab_to(page, "a word it never heard")
    page.keyboard.press("End")
    page.keyboard.press("Enter")  # the last example
    expect(page.get_by_label("Command or question")).not_to_have_value("What is in the west?")
    tab_to(page, "Search objects")
    page.keyboard.type("zebra")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")  # the second zebra
    expect(page.locator("#notice")).to_contain_text("selected; now select a cell")
    tab_to(page, "row 1, column 1")
    page.keyboard.press("Enter")
    expect(cell(page, 0, 0)).to_have_attribute("aria-label", "row 1, column 1: zebra")
    page.keyboard.press("Control+z")
    expect(cell(page, 0, 0)).to_have_attribute("aria-label", re.compile("row 1, column 1: empty"))
    page.keyboard.press("Control+y")
    expect(cell(page, 0, 0)).to_have_attribute("aria-label", "row 1, column 1: zebra")
    tab_to(page, "Break it")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    page.keyboard.press("Enter")
    for name in ("share", "gif", "html", "save", "load"):
        tab_to(page, name)


def test_tour_history_and_player_work_by_keyboard_alone(page: Page) -> None:
    tour = page.get_by_role("region", name="Tour")
    tab_to(page, "start-tour")
    for step, result in enumerate(("", "Correct", "Success", "It understood", ""), start=1):
        page.keyboard.press("Enter")  # the focus is on the button of the next step
        expect(tour).to_contain_text(f"step {step} of 5")
        if result:
            expect_result(page, result)
    page.keyboard.press("Enter")
    expect(tour).to_be_hidden()
    assert focused(page) == "start-tour"
    tab_to(page, "Replay: Go to the seahorse.")
    page.keyboard.press("Enter")
    expect_result(page, "Success")
    expect(page.locator("#history .said")).to_have_count(4)
    tab_to(page, "Back to the start")
    page.keyboard.press("Enter")
    expect(page.locator(".counter")).to_contain_text("step 0 of 6")
    tab_to(page, "Step")
    page.keyboard.press("Enter")
    expect(page.locator(".counter")).to_contain_text("step 1 of 6")


def test_controls_have_names(page: Page) -> None:
    run_sentence(page, "What is in the west?")
    expect_result(page, "giraffe")
    unnamed = page.evaluate("""
        [...document.querySelectorAll("button, select, input, [role=gridcell], [role=option]")]
            .filter((element) => !(element.ariaLabel || element.textContent.trim() || element.labels?.length))
            .map((element) => element.outerHTML)
    """)
    assert unnamed == []


def test_terms_are_explained_in_place(page: Page) -> None:
    run_sentence(page, "Go to the apple.")
    expect_result(page, "Success")
    for term, part in (("interpretation steps", "gate says how much"), ("terrain and value", "Terrain is where")):
        button = page.get_by_role("button", name=f"What is {term}?")
        button.focus()
        page.keyboard.press("Enter")
        expect(button).to_have_attribute("aria-expanded", "true")
        expect(page.get_by_text(part)).to_be_visible()
    assert "nav_" not in page.locator("body").inner_text()

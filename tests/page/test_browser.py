"""End-to-end tests of the page with a real browser and a real server."""

import base64
import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.conftest import SCENE, png
from tests.page.site import CHROMIUM, Site, chromium, open_world, run_sentence

TIMEOUT_MS = 20_000
"""Long, because the machine may be busy."""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site("normal") as site:
        yield site


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    with open_scene(browser, site) as page:
        yield page


@contextlib.contextmanager
def open_scene(browser: Browser, site: Site) -> Iterator[Page]:
    """The page with SCENE as its world; any error in the browser's console fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    context.add_init_script("let draw = 0; Math.random = () => (draw = (draw + 0.61803) % 1);")  # deterministic
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    open_world(page, site, SCENE)
    page.get_by_label("Speed").select_option("fast")
    yield page
    context.close()
    expected = ("WebSocket connection", "Failed to load resource")  # some tests kill the server
    assert [text for text in errors if not any(part in text for part in expected)] == []


def verdict(page: Page) -> Any:
    return expect(page.locator(".verdict").first)


def cell(page: Page, row: int, column: int) -> Any:
    return page.locator(f".board.live .cell[data-position='{7 * row + column}']").first


def test_command_reaches_the_target(page: Page) -> None:
    run_sentence(page, "Go to the apple.")
    verdict(page).to_contain_text("Success: target reached", timeout=TIMEOUT_MS)
    expect(page.locator(".words .word")).to_have_count(5)
    expect(page.locator(".steps .board")).to_have_count(3)
    expect(page.locator(".maps .board")).to_have_count(2)
    page.get_by_role("button", name="Back to the start").click()
    expect(page.locator(".counter")).to_contain_text("step 0 of")
    expect(cell(page, 3, 3)).to_have_attribute("aria-label", "row 4, column 4: the agent, 0 %")
    page.get_by_role("button", name="Step", exact=True).click()
    expect(page.locator(".counter")).to_contain_text("step 1 of")
    page.get_by_role("button", name="Step back").click()
    expect(page.locator(".counter")).to_contain_text("step 0 of")


def test_question_is_answered(page: Page) -> None:
    run_sentence(page, "What is in the west?")
    verdict(page).to_contain_text("“giraffe”")
    verdict(page).to_contain_text("Correct")
    expect(page.get_by_label("The five most probable answers").get_by_role("listitem")).to_have_count(5)


def test_random_question_of_the_teacher_is_run(page: Page) -> None:
    page.get_by_role("button", name="question", exact=True).click()
    verdict(page).to_contain_text("“")
    assert page.get_by_label("Command or question").input_value()


def test_two_agents_run_the_same_sentence_side_by_side(browser: Browser) -> None:
    with Site("normal", "--compare", "san") as site, open_scene(browser, site) as page:
        ours, san = (page.get_by_role("region", name=name, exact=True) for name in ("normal", "san"))
        run_sentence(page, "Go to the northwest of the cat.")
        expect(ours.locator(".verdict")).to_contain_text("Success: target reached", timeout=TIMEOUT_MS)
        expect(san.locator(".verdict")).to_contain_text(re.compile("Success|Failure"), timeout=TIMEOUT_MS)
        expect(ours.locator(".steps .board")).to_have_count(3)
        expect(san.locator(".steps .board")).to_have_count(1)
        run_sentence(page, "What is in the west?")
        for pane in (ours, san):
            expect(pane.locator(".verdict")).to_contain_text("“giraffe”")


def test_words_are_completed_and_unknown_words_are_marked(page: Page) -> None:
    field = page.get_by_label("Command or question")
    field.fill("")
    field.press_sequentially("go to the gir")
    expect(page.get_by_role("option", name="giraffe", exact=True)).to_be_visible()
    field.press("ArrowDown")
    field.press("Enter")
    expect(field).to_have_value("go to the giraffe ")
    field.fill("go to the aple")
    expect(page.locator("mark.unknown")).to_have_text("aple")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Words must be known to the agent, got 'aple'")
    page.locator("#feedback").get_by_role("button", name="apple").click()
    expect(field).to_have_value("go to the apple")
    expect(page.locator("mark.unknown")).to_have_count(0)


def test_free_form_sentence_is_run(page: Page) -> None:
    run_sentence(page, "apple please go")
    expect(page.locator("#feedback")).to_contain_text("the agent can run it")
    verdict(page).to_contain_text("Answer if read as a question")
    page.get_by_role("button", name="Pause").click()


def test_pointing_at_a_word_or_a_cell_shows_detections_and_answers(page: Page) -> None:
    run_sentence(page, "What is in the west?")
    verdict(page).to_contain_text("giraffe")
    page.locator(".words .word", has_text="west").hover()
    expect(page.locator(".caption").first).to_contain_text("detection of “west”")
    page.locator(".words .word", has_text="west").blur()
    cell(page, 1, 1).hover()
    expect(page.locator(".readout").first).to_contain_text("apple")
    cell(page, 3, 2).focus()
    expect(page.locator(".readout").first).to_contain_text("giraffe")


def test_edited_world_is_saved_and_loaded(page: Page, tmp_path: Path) -> None:
    cell(page, 1, 1).drag_to(cell(page, 5, 1))
    expect(cell(page, 5, 1)).to_have_attribute("aria-label", "row 6, column 2: red apple")
    cell(page, 3, 3).drag_to(cell(page, 2, 2))
    expect(cell(page, 2, 2)).to_have_attribute("aria-label", "row 3, column 3: the agent")
    cell(page, 6, 6).focus()
    page.keyboard.press("Delete")
    expect(cell(page, 6, 6)).to_have_attribute("aria-label", "row 7, column 7: empty")
    cell(page, 3, 2).focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(cell(page, 3, 3)).to_have_attribute("aria-label", "row 4, column 4: yellow giraffe")
    page.get_by_role("button", name="Wall", exact=True).click()
    cell(page, 0, 0).click()
    expect(cell(page, 0, 0)).to_have_attribute("aria-label", "row 1, column 1: wall")
    page.get_by_label("Search objects").fill("zebra")
    page.locator(".object-kind").nth(1).click()
    cell(page, 0, 6).click()
    expect(cell(page, 0, 6)).to_have_attribute("aria-label", "row 1, column 7: zebra")

    with page.expect_download() as download:
        page.get_by_role("button", name="Save world").click()
    path = tmp_path / "world.json"
    download.value.save_as(path)
    saved = json.loads(path.read_text("utf-8"))
    assert saved["agent"] == [2, 2]
    assert {(entry["name"], *entry["at"]) for entry in saved["objects"]} == {
        ("apple", 5, 1), ("giraffe", 3, 3), ("zebra", 0, 6),
    }  # fmt: skip
    page.get_by_role("button", name="New world").click()
    expect(cell(page, 0, 6)).not_to_have_attribute("aria-label", "row 1, column 7: zebra")
    page.locator("#load").set_input_files(path)
    expect(cell(page, 0, 6)).to_have_attribute("aria-label", "row 1, column 7: zebra")

    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("alert")).to_contain_text("whole world")
    assert "#world=" in page.url
    page.reload()
    expect(cell(page, 0, 6)).to_have_attribute("aria-label", "row 1, column 7: zebra")


def test_invalid_file_or_link_is_refused_and_the_page_still_works(page: Page, tmp_path: Path) -> None:
    alert = expect(page.get_by_role("alert"))
    for name, content, error in (
        ("cut.json", json.dumps(SCENE)[:40], "scenario must be valid JSON"),
        ("list.json", "[1, 2]", "scenario must be a JSON object"),
        ("outside.json", json.dumps({**SCENE, "agent": [70, 0]}), "[70, 0]"),
    ):
        (tmp_path / name).write_text(content)
        page.locator("#load").set_input_files(tmp_path / name)
        alert.to_contain_text(f"File {name}: ")
        alert.to_contain_text(error)
    page.goto(page.url.split("#")[0] + "#world=!!!")
    alert.to_contain_text("Cannot read the world in this link")
    page.get_by_role("button", name="question", exact=True).click()
    verdict(page).to_contain_text("“")


def teach_selected(page: Page, count: int) -> None:
    """Show the selected object and teach its name, `count` times."""
    for k in range(1, count + 1):
        page.get_by_role("button", name="1. Show").click()
        verdict(page).to_contain_text("“")
        page.get_by_role("button", name="2. Teach").click()
        examples = "1 example" if k == 1 else f"{k} examples"
        expect(page.locator("#teaching [role=status]")).to_contain_text(f"Taught with {examples}", timeout=TIMEOUT_MS)


def teach_gizmo(page: Page, tmp_path: Path) -> None:
    """Upload an image, and teach its name with four examples."""
    image = tmp_path / "gizmo.png"
    image.write_bytes(base64.b64decode(png()))
    page.get_by_label("Your own image").set_input_files(image)
    page.get_by_label("Its name").fill("gizmo")
    page.get_by_role("button", name="Add image").click()
    expect(page.locator("#teach-object")).to_have_value("gizmo/0")
    teach_selected(page, 4)


def test_uploaded_object_is_taught_and_forgotten(page: Page, tmp_path: Path) -> None:
    teach_gizmo(page, tmp_path)
    verdict(page).to_contain_text("“gizmo”")
    page.get_by_role("button", name="3. “Go to the gizmo.”").click()
    verdict(page).to_contain_text("Success: target reached", timeout=TIMEOUT_MS)
    page.get_by_role("button", name="Reset", exact=True).click()
    expect(page.locator("#teaching [role=status]")).to_be_empty()
    run_sentence(page, "Go to the gizmo.")
    expect(page.get_by_role("alert")).to_contain_text("got 'gizmo', which was not seen in training")


def test_novel_word_is_taught(browser: Browser) -> None:
    with Site("novel-12") as site, open_scene(browser, site) as page:
        page.locator("#teach-object").select_option("eggplant/0")
        page.get_by_label("Command or question").fill("Go to the eggplant.")
        expect(page.locator("#feedback")).to_contain_text("eggplant was not seen in training")
        teach_selected(page, 4)
        verdict(page).to_contain_text("“eggplant”")
        page.get_by_role("button", name="3. “Go to the eggplant.”").click()
        verdict(page).to_contain_text("Success: target reached", timeout=TIMEOUT_MS)


def test_walk_is_exported_as_gif_and_html(page: Page, tmp_path: Path) -> None:
    run_sentence(page, "Go to the apple.")
    verdict(page).to_contain_text("Success", timeout=TIMEOUT_MS)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export GIF").click()
    assert Path(download.value.path()).read_bytes().startswith(b"GIF89a")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export HTML").click()
    download.value.save_as(tmp_path / "walk.html")
    page.goto((tmp_path / "walk.html").as_uri())
    page.get_by_role("button", name="Play").click()
    verdict(page).to_contain_text("Success: target reached", timeout=TIMEOUT_MS)
    expect(page.locator(".steps .board")).to_have_count(3)


def test_page_reconnects_to_a_restarted_server(page: Page, site: Site) -> None:
    site.kill()
    expect(page.locator("#connection")).to_contain_text("Reconnecting")
    run_sentence(page, "What is in the west?")
    expect(page.get_by_role("alert")).to_contain_text("no connection")
    site.start()
    expect(page.locator("#connection")).to_be_empty(timeout=TIMEOUT_MS)
    run_sentence(page, "What is in the west?")
    verdict(page).to_contain_text("giraffe")


def test_taught_words_are_restored_after_a_server_restart(page: Page, site: Site, tmp_path: Path) -> None:
    teach_gizmo(page, tmp_path)
    site.kill()
    expect(page.locator("#connection")).to_contain_text("Reconnecting")
    site.start()
    expect(page.locator("#connection")).to_be_empty(timeout=TIMEOUT_MS)
    page.get_by_role("button", name="3. “Go to the gizmo.”").click()
    verdict(page).to_contain_text("Success: target reached", timeout=TIMEOUT_MS)


def test_object_is_moved_by_touch(browser: Browser, site: Site) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    open_world(page, site, SCENE)
    cell(page, 1, 1).tap()
    expect(page.get_by_role("alert")).to_contain_text("Picked up")
    cell(page, 1, 5).tap()
    expect(cell(page, 1, 5)).to_have_attribute("aria-label", "row 2, column 6: red apple")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_fits_a_narrow_screen(browser: Browser, site: Site, scheme: Any) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    open_world(page, site, SCENE)
    run_sentence(page, "What is the color of the apple?")
    verdict(page).to_contain_text("“red”")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


def test_page_is_usable_with_the_keyboard_and_has_labels(page: Page) -> None:
    field = page.get_by_label("Command or question")
    field.focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("What is in the west?")
    page.keyboard.press("Enter")
    verdict(page).to_contain_text("giraffe")
    unnamed = page.evaluate("""
        [...document.querySelectorAll("button, select, input, [role=gridcell]")]
            .filter((element) => !(element.ariaLabel || element.textContent.trim() || element.labels?.length))
            .map((element) => element.outerHTML)
    """)
    assert unnamed == []

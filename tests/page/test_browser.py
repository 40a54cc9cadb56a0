"""The page as a person meets it: a real browser, a real server, and nothing between them."""

import base64
import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.conftest import SCENE
from tests.page.site import CHROMIUM, Site, chromium, open_world, say
from tests.page.test_protocol import png

PATIENCE = 20_000
"""Milliseconds: the machine may be busy."""

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium here: the tests of the page in a browser are left out"
)


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
    with visit(browser, site) as page:
        yield page


@contextlib.contextmanager
def visit(browser: Browser, site: Site) -> Iterator[Page]:
    """The page with SCENE as its world; whatever the browser complains of fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    context.add_init_script("let draw = 0; Math.random = () => (draw = (draw + 0.61803) % 1);")  # the same each time
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    open_world(page, site, SCENE)
    page.get_by_label("Speed").select_option("fast")
    yield page
    context.close()
    expected = ("WebSocket connection", "Failed to load resource")  # a server that is killed on purpose
    assert [text for text in complaints if not any(part in text for part in expected)] == []


def verdict(page: Page) -> Any:
    return expect(page.locator(".verdict").first)


def cell(page: Page, row: int, column: int) -> Any:
    return page.locator(f".board.live .cell[data-place='{7 * row + column}']").first


def test_a_command_is_obeyed(page: Page) -> None:
    say(page, "Go to the apple.")
    verdict(page).to_contain_text("Right: it reached the target", timeout=PATIENCE)
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


def test_a_question_is_answered(page: Page) -> None:
    say(page, "What is in the west?")
    verdict(page).to_contain_text("“giraffe”")
    verdict(page).to_contain_text("Right")
    expect(page.get_by_label("The five likeliest answers").get_by_role("listitem")).to_have_count(5)


def test_the_teacher_speaks(page: Page) -> None:
    page.get_by_role("button", name="a question").click()
    verdict(page).to_contain_text("“")
    assert page.get_by_label("Command or question").input_value()


def test_two_agents_do_as_they_are_told_side_by_side(browser: Browser) -> None:
    with Site("normal", "--compare", "san") as site, visit(browser, site) as page:
        ours, san = (page.get_by_role("region", name=name, exact=True) for name in ("normal", "san"))
        say(page, "Go to the northwest of the cat.")
        expect(ours.locator(".verdict")).to_contain_text("Right: it reached the target", timeout=PATIENCE)
        expect(san.locator(".verdict")).to_contain_text(re.compile("Right|Wrong"), timeout=PATIENCE)
        expect(ours.locator(".steps .board")).to_have_count(3)
        expect(san.locator(".steps .board")).to_have_count(1)
        say(page, "What is in the west?")
        for pane in (ours, san):
            expect(pane.locator(".verdict")).to_contain_text("“giraffe”")


def test_words_are_completed_and_unknown_ones_marked(page: Page) -> None:
    field = page.get_by_label("Command or question")
    field.fill("")
    field.press_sequentially("go to the gir")
    expect(page.get_by_role("option", name="giraffe", exact=True)).to_be_visible()
    field.press("ArrowDown")
    field.press("Enter")
    expect(field).to_have_value("go to the giraffe ")
    field.fill("go to the aple")
    expect(page.locator("mark.unknown")).to_have_text("aple")
    page.get_by_role("button", name="Say it").click()
    expect(page.get_by_role("alert")).to_contain_text("does not know the word 'aple'")
    page.locator("#marks").get_by_role("button", name="apple").click()
    expect(field).to_have_value("go to the apple")
    expect(page.locator("mark.unknown")).to_have_count(0)


def test_a_free_sentence_is_run(page: Page) -> None:
    say(page, "apple please go")
    expect(page.locator("#marks")).to_contain_text("run all the same")
    verdict(page).to_contain_text("As a question it would answer")
    page.get_by_role("button", name="Pause").click()


def test_pointing_at_words_and_cells(page: Page) -> None:
    say(page, "What is in the west?")
    verdict(page).to_contain_text("giraffe")
    page.locator(".words .word", has_text="west").hover()
    expect(page.locator(".caption").first).to_contain_text("where it sees “west”")
    page.locator(".words .word", has_text="west").blur()
    cell(page, 1, 1).hover()
    expect(page.locator(".readout").first).to_contain_text("apple")
    cell(page, 3, 2).focus()
    expect(page.locator(".readout").first).to_contain_text("giraffe")


def test_editing_saving_and_loading(page: Page, tmp_path: Path) -> None:
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
    page.locator(".kind").nth(1).click()
    cell(page, 0, 6).click()
    expect(cell(page, 0, 6)).to_have_attribute("aria-label", "row 1, column 7: zebra")

    with page.expect_download() as saving:
        page.get_by_role("button", name="Save the world").click()
    path = tmp_path / "world.json"
    saving.value.save_as(path)
    saved = json.loads(path.read_text("utf-8"))
    assert saved["agent"] == [2, 2]
    assert {(entry["name"], *entry["at"]) for entry in saved["objects"]} == {
        ("apple", 5, 1), ("giraffe", 3, 3), ("zebra", 0, 6),
    }  # fmt: skip
    page.get_by_role("button", name="New world").click()
    expect(cell(page, 0, 6)).not_to_have_attribute("aria-label", "row 1, column 7: zebra")
    page.locator("#load").set_input_files(path)
    expect(cell(page, 0, 6)).to_have_attribute("aria-label", "row 1, column 7: zebra")

    page.get_by_role("button", name="Copy a link").click()
    expect(page.get_by_role("alert")).to_contain_text("whole world")
    assert "#world=" in page.url
    page.reload()
    expect(cell(page, 0, 6)).to_have_attribute("aria-label", "row 1, column 7: zebra")


def test_a_broken_file_is_refused_and_the_page_goes_on(page: Page, tmp_path: Path) -> None:
    alert = expect(page.get_by_role("alert"))
    for name, content, complaint in (
        ("cut.json", json.dumps(SCENE)[:40], "it is not JSON"),
        ("list.json", "[1, 2]", "a scenario is a JSON object"),
        ("far.json", json.dumps({**SCENE, "agent": [70, 0]}), "the agent at [70, 0]"),
    ):
        (tmp_path / name).write_text(content)
        page.locator("#load").set_input_files(tmp_path / name)
        alert.to_contain_text(f"The file {name}: ")
        alert.to_contain_text(complaint)
    page.goto(page.url.split("#")[0] + "#world=!!!")
    alert.to_contain_text("The world in this link cannot be read")
    page.get_by_role("button", name="a question").click()
    verdict(page).to_contain_text("“")


def teach(page: Page, times: int) -> None:
    """Show the object that is chosen, and tell its name, so many times."""
    for count in range(1, times + 1):
        page.get_by_role("button", name="1. Show it").click()
        verdict(page).to_contain_text("“")
        page.get_by_role("button", name="2. Tell it").click()
        told = "once" if count == 1 else f"{count} times"
        expect(page.locator("#lessons [role=status]")).to_contain_text(f"Told {told}", timeout=PATIENCE)


def tell_of_a_gizmo(page: Page, tmp_path: Path) -> None:
    """Bring a picture, and tell its name four times."""
    picture = tmp_path / "gizmo.png"
    picture.write_bytes(base64.b64decode(png()))
    page.get_by_label("A picture of your own").set_input_files(picture)
    page.get_by_label("Its name").fill("gizmo")
    page.get_by_role("button", name="Add it").click()
    expect(page.locator("#pupil-object")).to_have_value("gizmo/0")
    teach(page, 4)


def test_a_new_thing_is_named_and_walked_to(page: Page, tmp_path: Path) -> None:
    tell_of_a_gizmo(page, tmp_path)
    verdict(page).to_contain_text("“gizmo”")
    page.get_by_role("button", name="3. “Go to the gizmo.”").click()
    verdict(page).to_contain_text("Right: it reached the target", timeout=PATIENCE)
    page.get_by_role("button", name="Forget all").click()
    expect(page.locator("#lessons [role=status]")).to_be_empty()
    say(page, "Go to the gizmo.")
    expect(page.get_by_role("alert")).to_contain_text("was never told the word 'gizmo'")


def test_an_object_that_was_seen_but_never_named_is_walked_to(browser: Browser) -> None:
    with Site("novel-12") as site, visit(browser, site) as page:
        page.locator("#pupil-object").select_option("eggplant/0")
        page.get_by_label("Command or question").fill("Go to the eggplant.")
        expect(page.locator("#marks")).to_contain_text("eggplant was never told to the agent")
        teach(page, 4)
        verdict(page).to_contain_text("“eggplant”")
        page.get_by_role("button", name="3. “Go to the eggplant.”").click()
        verdict(page).to_contain_text("Right: it reached the target", timeout=PATIENCE)


def test_a_walk_is_taken_home(page: Page, tmp_path: Path) -> None:
    say(page, "Go to the apple.")
    verdict(page).to_contain_text("Right", timeout=PATIENCE)
    with page.expect_download() as writing:
        page.get_by_role("button", name="Walk as GIF").click()
    assert Path(writing.value.path()).read_bytes().startswith(b"GIF89a")
    with page.expect_download() as writing:
        page.get_by_role("button", name="Walk as a page").click()
    writing.value.save_as(tmp_path / "walk.html")
    page.goto((tmp_path / "walk.html").as_uri())
    page.get_by_role("button", name="Play").click()
    verdict(page).to_contain_text("Right: it reached the target", timeout=PATIENCE)
    expect(page.locator(".steps .board")).to_have_count(3)


def test_a_server_that_comes_back_is_found_again(page: Page, site: Site) -> None:
    site.kill()
    expect(page.locator("#connection")).to_contain_text("Trying again")
    say(page, "What is in the west?")
    expect(page.get_by_role("alert")).to_contain_text("no connection")
    site.start()
    expect(page.locator("#connection")).to_be_empty(timeout=PATIENCE)
    say(page, "What is in the west?")
    verdict(page).to_contain_text("giraffe")


def test_what_was_taught_outlives_the_server(page: Page, site: Site, tmp_path: Path) -> None:
    """A server that comes back knows of no lessons: the page gives them again."""
    tell_of_a_gizmo(page, tmp_path)
    site.kill()
    expect(page.locator("#connection")).to_contain_text("Trying again")
    site.start()
    expect(page.locator("#connection")).to_be_empty(timeout=PATIENCE)
    page.get_by_role("button", name="3. “Go to the gizmo.”").click()
    verdict(page).to_contain_text("Right: it reached the target", timeout=PATIENCE)


def test_a_thing_is_moved_by_touch(browser: Browser, site: Site) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    open_world(page, site, SCENE)
    cell(page, 1, 1).tap()
    expect(page.get_by_role("alert")).to_contain_text("Picked up")
    cell(page, 1, 5).tap()
    expect(cell(page, 1, 5)).to_have_attribute("aria-label", "row 2, column 6: red apple")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_a_narrow_screen(browser: Browser, site: Site, scheme: Any) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    open_world(page, site, SCENE)
    say(page, "What is the color of the apple?")
    verdict(page).to_contain_text("“red”")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


def test_the_page_can_be_used_with_the_keyboard_alone(page: Page) -> None:
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

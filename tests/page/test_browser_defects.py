"""Behavior that was once wrong: the end of a walk, messages out of sight, pictures, punctuation, hints, and more."""

import io
import math
import re
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.page.conftest import SCENE
from tests.page.site import (
    TIMEOUT_MS,
    Site,
    cell,
    expect_result,
    is_in_viewport,
    needs_chromium,
    new_page,
    open_scene,
    open_world,
    run_sentence,
    wait_until_ready,
)

pytestmark = needs_chromium
ALONE: dict[str, Any] = {"objects": [{"name": "cat", "at": [3, 4]}], "walls": [], "agent": [3, 3]}


def test_end_of_a_walk_shows_target_attention_and_object(page: Page) -> None:
    run_sentence(page, "Go to the apple.")
    expect_result(page, "Success")
    robot, target = page.locator(".board.live .robot").bounding_box(), cell(page, 1, 1).bounding_box()
    assert robot is not None
    assert target is not None
    assert robot["width"] * robot["height"] < 0.4 * target["width"] * target["height"]
    expect(cell(page, 1, 1)).to_have_attribute("aria-label", re.compile(r"the agent, on red apple, (9\d|100) %"))
    expect(page.locator(".caption")).to_have_text("where it looked last")
    expect(page.get_by_text("this is what it computed for its last move")).to_be_visible()
    expect(page.get_by_label("Probability of each action")).to_be_hidden()  # there is no next action


def test_saved_world_has_the_agent_where_the_sentence_was_said(page: Page) -> None:
    run_sentence(page, "Go to the apple.")
    expect_result(page, "Success")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save world").click()
    assert '"agent": [\n  3,\n  3\n ]' in download.value.path().read_text()


@pytest.mark.parametrize("button", ["Copy link", "Save world", "Export GIF"])
def test_message_appears_on_the_screen(browser: Browser, site: Site, button: str) -> None:
    with open_scene(browser, site, SCENE, 1280, 800) as page:
        page.get_by_role("button", name=button).click()
        message = page.locator(".toast:not(:empty)")
        expect(message).to_be_visible()
        assert is_in_viewport(page, message)


def picture(size: tuple[int, int], file_format: str) -> dict[str, Any]:
    out = io.BytesIO()
    image = Image.effect_noise(size, 90).convert("RGB")
    image.paste((200, 20, 120), (size[0] // 4, size[1] // 4, size[0] // 2, size[1] // 2))
    image.save(out, file_format)
    name = file_format.lower()
    return {"name": f"photo.{name}", "mimeType": f"image/{name}", "buffer": out.getvalue()}


@pytest.mark.parametrize(("size", "file_format"), [((3000, 2000), "JPEG"), ((1600, 1200), "PNG"), ((40, 60), "WEBP")])
def test_picture_of_any_type_and_size_is_taken(page: Page, size: tuple[int, int], file_format: str) -> None:
    image: Any = picture(size, file_format)
    page.get_by_label("Picture file or camera").set_input_files([image])
    page.get_by_label("Its name").fill("photo")
    page.get_by_role("button", name="Teach it", exact=True).click()
    expect(page.locator("#teaching [role=status]")).to_contain_text("Taught “photo”")
    expect(page.get_by_role("alert")).to_be_empty()
    expect(page.locator(".before-after")).to_be_in_viewport()  # teaching happens in sight
    assert is_in_viewport(page, page.locator("#result .verdict"))


def test_dropped_and_pasted_pictures_are_taken(page: Page) -> None:
    for event in ("drop", "paste"):
        page.evaluate(
            """async (name) => {
                const canvas = document.createElement("canvas");
                canvas.getContext("2d").fillRect(0, 0, 300, 150);
                const blob = await new Promise((done) => canvas.toBlob(done));
                const data = new DataTransfer();
                data.items.add(new File([blob], `${name}.png`, { type: "image/png" }));
                const event = name === "drop"
                    ? new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true })
                    : new ClipboardEvent("paste", { clipboardData: data, bubbles: true });
                document.querySelector(".picture").dispatchEvent(event);
            }""",
            event,
        )
        opaque = "document.querySelector('.pad').getContext('2d').getImageData(96, 96, 1, 1).data[3] === 255"
        for _ in range(TIMEOUT_MS // 100):  # wait_for_function would use eval, which the page does not allow
            if page.evaluate(opaque):
                break
            page.wait_for_timeout(100)
        assert page.evaluate(opaque)
        page.get_by_role("button", name="Clear").first.click()


def test_skip_link_and_foreign_fragments_keep_the_world(page: Page) -> None:
    page.locator("#skip").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Command or question")).to_be_focused()
    page.evaluate("location.hash = '#elsewhere'")
    page.wait_for_timeout(500)
    expect(cell(page, 1, 1)).to_have_attribute("aria-label", "row 2, column 2: red apple")


def test_refused_sentence_leaves_no_old_result(page: Page) -> None:
    run_sentence(page, "What is in the west?")
    expect_result(page, "Correct")
    run_sentence(page, "what is in the zoo?")
    expect_result(page, "Not said: “zoo” is not a word of the agent.")
    assert "Correct" not in page.locator("#result").inner_text()
    expect(page.locator(".explanation")).to_be_hidden()


@pytest.mark.parametrize("sentence", ["Go to the apple!", "Go to the apple, please.", "  GO TO the “apple” "])
def test_punctuation_and_case_do_not_matter(page: Page, sentence: str) -> None:
    run_sentence(page, sentence)
    expect_result(page, "Success")


def test_contraction_and_broken_word_are_read(page: Page) -> None:
    run_sentence(page, "What's in the west?")
    expect_result(page, "“giraffe”")
    page.get_by_label("Command or question").fill("go to the (aple")
    page.locator("#feedback").get_by_role("button", name="apple").click()
    expect(page.get_by_label("Command or question")).to_have_value("go to the apple")


TWO_CATS = {**ALONE, "objects": [*ALONE["objects"], {"name": "cat", "at": [0, 0]}]}
CLOSED = {
    **ALONE,
    "walls": [[2, 3], [4, 3], [3, 2], [2, 4], [4, 4], [3, 5]],
    "objects": [{"name": "cat", "at": [6, 6]}],
}


@pytest.mark.parametrize(
    ("scene", "sentence", "why"),
    [
        (ALONE, "Go to the tiger.", "There is no tiger in this world."),
        (TWO_CATS, "Go to the cat.", "There are 2 objects called “cat”: any of them would do."),
        (CLOSED, "Go to the cat.", "No way leads there: walls are around it."),
        ({**ALONE, "agent": [3, 4]}, "Go to the cat.", "The agent is already there."),
        (ALONE, "What is purple?", "Nothing in this world is purple."),
    ],
)
def test_result_says_why_nothing_is_right_or_wrong(
    browser: Browser, site: Site, scene: dict[str, Any], sentence: str, why: str
) -> None:
    with open_scene(browser, site, scene) as page:
        run_sentence(page, sentence)
        expect_result(page, why)


def test_headline_is_on_the_first_screen_and_in_the_verdict(browser: Browser, site: Site) -> None:
    page = new_page(browser, 1280, 800)
    page.goto(site.address)
    wait_until_ready(page)
    assert is_in_viewport(page, page.locator("#claim"))
    expect(page.locator("#claim")).to_contain_text("107 of its 119 nouns never occurred in a command or question")
    expect(page.get_by_role("region", name="Tour")).to_contain_text("step 1 of 5")
    page.get_by_role("button", name="Skip the tour").click()
    open_world(page, site, SCENE)
    page.get_by_label("Command or question").fill("Go to the giraffe.")
    expect(page.locator("#feedback .unheard")).to_have_text("giraffe")
    run_sentence(page, "Go to the giraffe.")
    expect_result(page, "Nobody ever used the word “giraffe” in a command or question to it. It understood.")
    expect(page.get_by_role("heading", name="zs2-90")).to_be_visible()
    page.context.close()


def test_diffuse_attention_is_visible(page: Page) -> None:
    run_sentence(page, "Go to the apple.")
    expect_result(page, "Success")
    page.get_by_role("button", name="Back to the start").click()
    opacity = "(cell) => Number(getComputedStyle(cell.querySelector('.heat')).opacity)"
    apple = cell(page, 1, 1)
    label = apple.get_attribute("aria-label") or ""
    fraction = float(label.split(", ")[-1].removesuffix(" %")) / 100
    assert apple.evaluate(opacity) == pytest.approx(0.75 * math.sqrt(fraction), abs=0.02)
    expect(page.locator(".gate").first).to_contain_text(re.compile("spread over about|on one cell"))


def test_free_question_is_answered_and_not_walked(page: Page) -> None:
    run_sentence(page, "what is your name?")
    expect_result(page, "Not a sentence of the teacher")
    page.wait_for_timeout(700)
    expect(page.locator(".counter")).to_have_text("step 0")
    page.get_by_role("button", name="Walk it").click()
    expect(page.locator(".counter")).not_to_have_text("step 0")


def test_object_is_dragged_from_the_list_and_the_limit_is_said_at_once(page: Page) -> None:
    page.get_by_label("Search objects").fill("zebra")
    option = page.locator(".object-kind").first
    option.drag_to(cell(page, 0, 0))
    expect(cell(page, 0, 0)).to_have_attribute("aria-label", re.compile("zebra"))
    option.click()
    free = [(row, column) for row in (4, 5) for column in range(7)]
    for row, column in free[:12]:
        cell(page, row, column).click()
    expect(cell(page, 5, 4)).to_have_attribute("aria-label", re.compile("zebra"))
    cell(page, 5, 5).click()
    expect(page.locator("#notice")).to_contain_text("A world holds at most 16 objects")
    expect(cell(page, 5, 5)).to_have_attribute("aria-label", re.compile("empty"))


def test_controls_are_off_before_the_connection_and_a_broken_link_is_explained(browser: Browser, site: Site) -> None:
    page = new_page(browser)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.route_web_socket(re.compile("/ws$"), lambda _: None)  # connects, but never says anything
    page.goto(site.address)
    expect(page.locator("#main")).to_have_attribute("inert", "")
    for name in ("share", "save", "gif", "undo", "start-tour"):
        page.evaluate(f"document.getElementById({name!r}).click()")
    page.wait_for_timeout(300)
    assert errors == []
    page.context.close()
    page = new_page(browser)
    page.goto(f"{site.address}#state=!!!")
    expect(page.get_by_role("alert")).to_contain_text("Cannot open this link: it is incomplete or damaged")
    run_sentence(page, "What is in the west?")
    expect_result(page, "“")
    page.context.close()

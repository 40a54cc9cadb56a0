"""End-to-end tests of the page with a real browser and a real server."""

import base64
import json
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect

from tests.page.conftest import SCENE, png
from tests.page.site import Site, cell, expect_result, needs_chromium, new_page, open_scene, run_sentence

pytestmark = needs_chromium


def test_command_reaches_the_target(page: Page) -> None:
    run_sentence(page, "Go to the apple.")
    expect_result(page, "Success: target reached")
    expect_result(page, "4 steps (shortest path: 4), reward 0.6")
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
    expect_result(page, "“giraffe”")
    expect_result(page, "Correct")
    expect(page.get_by_label("The five most probable answers").get_by_role("listitem")).to_have_count(5)


def test_examples_are_made_from_the_world_and_run(page: Page) -> None:
    chips = page.locator(".chip")
    expect(chips.first).to_contain_text("a word it never heard")
    expect(page.get_by_role("button", name="Teach it a word")).to_be_visible()
    types = page.locator(".chip.command, .chip.question")
    assert types.count() >= 6
    sentence = types.last.inner_text()
    types.last.click()
    expect(page.get_by_label("Command or question")).to_have_value(sentence)
    expect_result(page, re.compile("“|Success|Failure"))


def test_two_agents_run_the_same_sentence_side_by_side(browser: Browser) -> None:
    with Site("normal", "--compare", "san") as site, open_scene(browser, site, SCENE) as page:
        expect(page.locator(".compared")).to_contain_text("Comparison: two agents")
        ours = page.get_by_role("region", name="normal (this project's model)", exact=True)
        san = page.get_by_role("region", name="san (other model: san)", exact=True)
        run_sentence(page, "Go to the northwest of the cat.")
        expect_result(page, re.compile("normal: .*Success: target reached.*san: .*(Success|Failure)", re.DOTALL))
        expect(ours.locator(".steps .board")).to_have_count(3)
        expect(san.locator(".steps .board")).to_have_count(1)
        expect(san.get_by_text("This agent has no attention over words.")).to_be_visible()
        run_sentence(page, "What is in the west?")
        expect(page.locator("#result .verdict", has_text="“giraffe”")).to_have_count(2)


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
    expect_result(page, "Not said: “aple” is not a word of the agent")
    page.locator("#feedback").get_by_role("button", name="apple").click()
    expect(field).to_have_value("go to the apple")
    expect(page.locator("mark.unknown")).to_have_count(0)


def test_free_form_sentence_is_run(page: Page) -> None:
    run_sentence(page, "apple please go")
    expect(page.locator("#feedback")).to_contain_text("the agent can run it")
    expect_result(page, "Answer if it is a question")


def test_commands_joined_by_then_are_done_in_turn(page: Page) -> None:
    run_sentence(page, "go to the giraffe, then the cat")
    expect(page.locator("#notice")).to_contain_text("The page splits this into 2 commands")
    expect(page.locator("#history .said")).to_have_count(2)
    expect(page.locator("#history .said.correct")).to_have_count(2)
    expect(cell(page, 6, 6)).to_have_attribute("aria-label", re.compile("the agent, on gray cat"))


def test_pointing_at_a_word_or_a_cell_shows_detections_and_answers(page: Page) -> None:
    run_sentence(page, "What is in the west?")
    expect_result(page, "giraffe")
    page.locator(".words .word", has_text="west").hover()
    expect(page.locator(".caption").first).to_contain_text("detection: “west”")
    page.mouse.move(0, 0)
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
    run_sentence(page, "What is in the west?")
    expect_result(page, "“giraffe”")


def teach(page: Page, name: str, examples: int = 1) -> None:
    """Teach the picture or object that was chosen."""
    page.get_by_label("Its name").fill(name)
    page.get_by_role("button", name="Teach it", exact=True).click()
    for k in range(1, examples + 1):
        count = "1 example" if k == 1 else f"{k} examples"
        expect(page.locator("#teaching [role=status]")).to_contain_text(f"with {count}")
        if k < examples:
            page.get_by_role("button", name="Another example").click()


def teach_gizmo(page: Page) -> None:
    """Upload a picture, and teach its name with one example."""
    image: Any = {"name": "gizmo.png", "mimeType": "image/png", "buffer": base64.b64decode(png())}
    page.get_by_label("Picture file or camera").set_input_files([image])
    teach(page, "gizmo")


def test_picture_is_taught_with_one_example_and_taken_back(page: Page) -> None:
    teach_gizmo(page)
    expect_result(page, "“gizmo”")
    before, after = page.locator(".before-after .bars").all()
    assert "gizmo" not in before.inner_text()
    expect(after).to_contain_text("gizmo")
    page.get_by_role("button", name="“Go to the gizmo.”").click()
    expect_result(page, "Success: target reached")
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Undo").click()
    run_sentence(page, "Go to the gizmo.")
    expect_result(page, "Not said: “gizmo” is not a word of the agent")


def test_drawing_is_taught(page: Page) -> None:
    pad = page.locator(".pad")
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    assert box is not None
    page.get_by_label("Pen #7c3fb0").click()
    for x in (40, 80, 120):
        page.mouse.move(box["x"] + x, box["y"] + 30)
        page.mouse.down()
        page.mouse.move(box["x"] + x, box["y"] + 130, steps=3)
        page.mouse.up()
    teach(page, "fence")
    expect_result(page, "“fence”")


def test_novel_word_is_taught(browser: Browser) -> None:
    with Site("novel-12") as site, open_scene(browser, site, SCENE) as page:
        page.get_by_label("Command or question").fill("Go to the eggplant.")
        expect(page.locator("#feedback")).to_contain_text("eggplant was never seen in training")
        page.locator("#teach-object").select_option("eggplant")
        teach(page, "eggplant", examples=3)
        expect_result(page, "“eggplant”")
        page.get_by_role("button", name="“Go to the eggplant.”").click()
        expect_result(page, "Success: target reached")


def test_walk_is_exported_as_gif_and_html(page: Page, tmp_path: Path) -> None:
    run_sentence(page, "Go to the apple.")
    expect_result(page, "Success")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export GIF").click()
    assert Path(download.value.path()).read_bytes().startswith(b"GIF89a")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export HTML").click()
    download.value.save_as(tmp_path / "walk.html")
    page.goto((tmp_path / "walk.html").as_uri())
    expect(page.get_by_role("heading", level=1)).to_have_text("Go to the apple.")
    expect(page.locator("#verdict")).to_contain_text("Success: target reached")
    assert page.title() == "Go to the apple. — Groundling"
    page.get_by_role("button", name="Play").click()
    expect(page.locator("#verdict.reached")).to_be_visible()
    expect(page.locator(".steps .board")).to_have_count(3)


def test_random_sentences_are_fired_at_the_agent(page: Page) -> None:
    page.get_by_role("button", name="Break it").click()
    score = page.locator("#break-it .score")
    expect(score).to_have_attribute("data-tried", re.compile(r"[6-9]|\d\d"))
    page.get_by_role("button", name="Stop").click()
    expect(score).to_contain_text(re.compile(r"\d+ tried, \d+ failures? found"))


def test_failure_is_kept_with_a_link(browser: Browser) -> None:
    with Site("san") as site, open_scene(browser, site, SCENE) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.get_by_role("button", name="Break it").click()
        failure = page.locator("#break-it .said").first
        expect(failure).to_be_visible()
        page.get_by_role("button", name="Stop").click()
        sentence = failure.locator(".said-sentence").inner_text().removeprefix("✗ ")
        failure.get_by_role("button", name="Copy a link to the failure").click()
        expect(page.locator("#notice")).to_contain_text("Link copied")
        failure.get_by_role("button", name="Show").click()
        expect_result(page, re.compile("Failure|Wrong"))
        other = new_page(browser)
        other.goto(page.evaluate("navigator.clipboard.readText()"))
        expect_result(other, re.compile("Failure|Wrong"))
        expect(other.get_by_label("Command or question")).to_have_value(re.compile(re.escape(sentence), re.IGNORECASE))
        other.context.close()


def test_history_replays_a_line_and_keeps_the_score(page: Page) -> None:
    run_sentence(page, "What is in the west?")
    expect_result(page, "“giraffe”")
    run_sentence(page, "Go to the cat.")
    expect_result(page, "Success")
    expect(page.locator("#history .score")).to_have_text("2 of 2 right")
    page.get_by_role("button", name="Replay: What is in the west?").click()
    expect_result(page, "“giraffe”")
    expect(cell(page, 3, 3)).to_have_attribute("aria-label", re.compile("the agent"))


def test_object_is_moved_by_touch(browser: Browser, site: Site) -> None:
    with open_scene(browser, site, SCENE, 390, 844, has_touch=True) as page:
        cell(page, 1, 1).tap()
        expect(page.locator("#notice")).to_contain_text("Picked up")
        cell(page, 1, 5).tap()
        expect(cell(page, 1, 5)).to_have_attribute("aria-label", "row 2, column 6: red apple")


def test_tour_shows_what_the_agent_was_never_told(browser: Browser, site: Site) -> None:
    with open_scene(browser, site, SCENE) as page:
        page.get_by_role("button", name="Tour", exact=True).click()
        tour = page.get_by_role("region", name="Tour")
        expect(tour).to_contain_text("107 of its 119 nouns never occurred in a command or question")
        tour.get_by_role("button", name="Next: ask it").click()
        expect_result(page, "Correct")
        tour.get_by_role("button", name="Next: send it somewhere").click()
        expect_result(page, "Success")
        tour.get_by_role("button", name="Next: a word it never heard").click()
        expect_result(page, "Nobody ever used the word “seahorse” in a command or question to it. It understood.")
        tour.get_by_role("button", name="Next: teach it").click()
        expect(page.locator("#teach")).to_be_in_viewport()
        tour.get_by_role("button", name="End of the tour").click()
        expect(tour).to_be_hidden()

"""The page at the sizes of usual screens: nothing is cut off, and the result of each action is on the screen."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.conftest import SCENE
from tests.page.site import Site, expect_result, is_in_viewport, needs_chromium, open_scene, run_sentence

pytestmark = needs_chromium

VIEWPORTS = [
    (320, 640), (390, 844), (768, 1024), (920, 700), (960, 700), (1024, 768), (1280, 665), (1280, 800), (1440, 900),
    (1920, 950), (500, 800),
]  # fmt: skip


def zero_width_bars(page: Page) -> list[str]:
    bars: list[str] = page.evaluate("""
        [...document.querySelectorAll(".track")]
            .filter((track) => track.checkVisibility() && track.getBoundingClientRect().width < 20)
            .map((track) => track.parentElement.textContent)
    """)
    return bars


@pytest.mark.parametrize(("width", "height"), VIEWPORTS)
def test_result_is_on_the_screen_and_nothing_is_cut_off(browser: Browser, site: Site, width: int, height: int) -> None:
    with open_scene(browser, site, SCENE, width, height) as page:
        verdict = page.locator("#result .verdict")
        for sentence, result in (("What is in the west?", "giraffe"), ("Go to the apple.", "Success")):
            run_sentence(page, sentence)
            expect_result(page, result)
            assert is_in_viewport(page, verdict), sentence
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert zero_width_bars(page) == []
        page.locator("#html").scroll_into_view_if_needed()
        assert is_in_viewport(page, verdict), "after scrolling down"


@pytest.mark.parametrize(("width", "height"), [(390, 844), (768, 1024), (1280, 800)])
def test_tour_board_and_result_are_on_the_screen_together(
    browser: Browser, site: Site, width: int, height: int
) -> None:
    with open_scene(browser, site, SCENE, width, height) as page:
        page.get_by_role("button", name="Tour", exact=True).click()
        tour = page.get_by_role("region", name="Tour")
        for result in ("", "Correct", "Success", "It understood"):
            if result:
                expect_result(page, result)
                assert is_in_viewport(page, page.locator("#result .verdict")), result
            assert is_in_viewport(page, page.locator(".board.live")), result
            assert is_in_viewport(page, tour), result
            board, card = page.locator(".board.live").bounding_box(), tour.bounding_box()
            assert board is not None
            assert card is not None
            assert card["y"] >= board["y"] + board["height"] or card["x"] >= board["x"] + board["width"], result
            tour.get_by_role("button").first.click()
        assert is_in_viewport(page, page.locator(".pad"))
        assert is_in_viewport(page, tour)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_result_of_two_agents_is_on_the_screen(browser: Browser, two_agents: Site, scheme: Any) -> None:
    for width, height in ((390, 844), (1280, 800)):
        with open_scene(browser, two_agents, SCENE, width, height, color_scheme=scheme) as page:
            run_sentence(page, "What is the color of the apple?")
            expect(page.locator("#result .verdict", has_text="“red”")).to_have_count(2)
            for verdict in page.locator("#result .verdict").all():
                assert is_in_viewport(page, verdict)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert zero_width_bars(page) == []


def test_board_and_list_of_objects_are_on_the_screen_together(browser: Browser, site: Site) -> None:
    with open_scene(browser, site, SCENE, 1280, 800) as page:
        assert is_in_viewport(page, page.locator(".board.live"))
        assert is_in_viewport(page, page.locator(".palette"))


def test_dark_boards_are_dark(browser: Browser, site: Site) -> None:
    with open_scene(browser, site, SCENE, color_scheme="dark") as page:
        color = page.locator(".board.live").evaluate("(board) => getComputedStyle(board).backgroundColor")
        assert color == "rgb(91, 96, 104)"

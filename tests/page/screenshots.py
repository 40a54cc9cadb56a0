"""Screenshots of the page for the README: `python -m tests.page.screenshots docs`"""

import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect

from tests.page.site import Site, chromium, open_world, run_sentence

WORLD: dict[str, Any] = {
    "objects": [
        {"name": "apple", "color": "red", "at": [1, 1]},
        {"name": "apple", "color": "green", "at": [5, 5]},
        {"name": "giraffe", "at": [2, 4]},
        {"name": "cat", "at": [5, 1]},
        {"name": "strawberry", "at": [0, 5]},
    ],
    "walls": [[1, 2], [2, 2], [3, 4], [4, 4], [5, 3], [6, 0], [0, 0], [3, 0]],
    "agent": [4, 2],
}


def open_at(browser: Browser, site: Site, width: int, height: int) -> Page:
    context = browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce")
    page = context.new_page()
    open_world(page, site, WORLD)
    return page


def main(out: Path) -> None:
    with Site("normal") as site, chromium() as browser:
        page = open_at(browser, site, 1280, 840)
        run_sentence(page, "Could you please go to the north of the giraffe?")
        expect(page.locator(".verdict")).to_contain_text("Success", timeout=60_000)
        page.get_by_role("button", name="Back to the start").click()
        page.get_by_role("button", name="Step", exact=True).click()
        page.screenshot(path=out / "page.png")

        page = open_at(browser, site, 390, 1560)
        run_sentence(page, "What is the color of the cat?")
        expect(page.locator(".verdict")).to_contain_text("Correct", timeout=60_000)
        page.locator(".words .word", has_text="cat").focus()
        expect(page.locator(".caption")).to_contain_text("cat")
        page.screenshot(path=out / "page-narrow.png")

    with Site("normal", "--compare", "san") as site, chromium() as browser:
        page = open_at(browser, site, 1280, 1330)
        run_sentence(page, "Could you please go to the north of the giraffe?")
        for pane, verdict in (("normal", "Success"), ("san", "Failure")):
            expect(page.get_by_role("region", name=pane).locator(".verdict")).to_contain_text(verdict, timeout=60_000)
        page.get_by_role("button", name="Back to the start").click()
        page.screenshot(path=out / "page-compare.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

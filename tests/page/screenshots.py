"""Screenshots of the page for the README: `python -m tests.page.screenshots docs`"""

import re
import sys
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, expect

from tests.page.site import Site, chromium, expect_result, open_scene, run_sentence, wait_for_examples

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


def take(page: Page, path: Path) -> None:
    """A screenshot of the top of the page, as a small file."""
    wait_for_examples(page)
    page.evaluate("window.scrollTo(0, 0)")
    page.screenshot(path=path)
    with Image.open(path) as image:
        image.convert("RGB").save(path, optimize=True)


def main(out: Path) -> None:
    with Site() as site, chromium() as browser:
        with open_scene(browser, site, WORLD, 1280, 840) as page:
            run_sentence(page, "Could you please go to the north of the giraffe?")
            expect_result(page, "Success")
            page.get_by_role("button", name="Back to the start").click()
            page.get_by_role("button", name="Step", exact=True).click()
            take(page, out / "page.png")
        with open_scene(browser, site, WORLD, 390, 1480) as page:
            run_sentence(page, "What is the color of the cat?")
            expect_result(page, "Correct")
            page.locator(".words .word", has_text="cat").focus()
            expect(page.locator(".caption")).to_contain_text("cat")
            take(page, out / "page-narrow.png")
    with (
        Site("normal", "--compare", "san") as site,
        chromium() as browser,
        open_scene(browser, site, WORLD, 1280, 1240) as page,
    ):
        run_sentence(page, "Could you please go to the north of the giraffe?")
        expect_result(page, re.compile("Success.*Failure", re.DOTALL))
        page.get_by_role("button", name="Back to the start").click()
        take(page, out / "page-compare.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

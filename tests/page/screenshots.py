"""The pictures of the page in the README, from the real page: `python -m tests.page.screenshots docs`"""

import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, expect

from tests.page.site import Site, chromium, open_world, say

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


def shoot(browser: Browser, site: Site, out: Path, width: int, height: int, scheme: Any) -> None:
    """The first step of a walk, and an answer."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    open_world(page, site, WORLD)
    for name, sentence, seen in (
        ("command", "Could you please go to the north of the giraffe?", "Right: it reached the target"),
        ("question", "What is the color of the object in the west of giraffe?", "“"),
        ("question", "Where is the cat?", "“"),
    ):
        say(page, sentence)
        expect(page.locator(".verdict").first).to_contain_text(seen, timeout=60_000)
        page.get_by_role("button", name="Back to the start").or_(page.locator(".verdict")).first.focus()
        page.screenshot(path=out / f"page-{name}-{width}-{scheme}.png", full_page=True)
    context.close()


def main(out: Path) -> None:
    with Site("normal") as site, chromium() as browser:
        for width, height in ((1280, 900), (390, 844)):
            for scheme in ("light", "dark"):
                shoot(browser, site, out, width, height, scheme)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

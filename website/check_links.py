"""Check the links of a built site: every page, anchor and file must exist, and nothing is loaded from another site.

python -m website.check_links out/site
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("video", "src")}
"""Elements and attributes that load a file when a page is opened."""


class _Page(HTMLParser):
    """The links, the loaded files and the anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name in ("id", "name"):
                self.anchors.add(value)
            if (tag, name) in LOADED and ("rel", "canonical") not in attrs:
                self.loaded.append(value)
            elif name == "href":
                self.links.append(value)


def broken_links(site: Path) -> list[str]:
    """What is wrong, one line for each link."""
    pages = {path: _Page(path) for path in sorted(site.rglob("*.html"))}
    if not pages:
        return [f"{site}: there is no page"]
    found = []
    for path, page in pages.items():
        name = path.relative_to(site)
        if name == Path("404.html"):  # its links begin at the root of the host
            continue
        for address in [*page.loaded, *page.links]:
            url = urlsplit(address)
            if url.scheme or url.netloc:
                if address in page.loaded and url.scheme != "data":
                    found.append(f"{name}: loads {address}")
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                found.append(f"{name}: no such file: {address}")
            elif url.fragment and target in pages and unquote(url.fragment) not in pages[target].anchors:
                found.append(f"{name}: no such anchor: {address}")
    return sorted(set(found))


if __name__ == "__main__":
    problems = broken_links(Path(sys.argv[1]).resolve())
    print("\n".join(problems) or "No broken links.")
    sys.exit(bool(problems))

"""The static files of the page, read once. Requested names are looked up here; no requested path is ever opened."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from importlib import resources

_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class StaticFile:
    """The content of a file and its media type."""

    data: bytes
    media_type: str

    @cached_property
    def etag(self) -> str:
        """Identifies the content, so that a browser does not load it again."""
        return f'"{hashlib.sha256(self.data).hexdigest()[:20]}"'

    @property
    def text(self) -> str:
        return self.data.decode()


STATIC: dict[str, StaticFile] = {
    entry.name: StaticFile(entry.read_bytes(), _MEDIA_TYPES[suffix])
    for entry in resources.files("groundling.page").joinpath("static").iterdir()
    if (suffix := "." + entry.name.rpartition(".")[2]) in _MEDIA_TYPES
}
STYLE_SHEETS = ("page.css", "talk.css", "world.css", "explanation.css", "sections.css")
"""In the order in which the page loads them."""


def style() -> str:
    """All style sheets, for pages without a server."""
    return "\n".join(STATIC[name].text for name in STYLE_SHEETS)

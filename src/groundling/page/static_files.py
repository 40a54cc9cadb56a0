"""The files of the page, read once: what a client asks for is looked up here, and no path of its is ever opened."""

from dataclasses import dataclass
from importlib import resources

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class File:
    """One file and how a browser is told of it."""

    data: bytes
    media_type: str

    @property
    def text(self) -> str:
        return self.data.decode()


STATIC: dict[str, File] = {
    entry.name: File(entry.read_bytes(), _TYPES[ending])
    for entry in resources.files("groundling.page").joinpath("static").iterdir()
    if (ending := "." + entry.name.rpartition(".")[2]) in _TYPES
}

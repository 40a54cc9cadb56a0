"""Tables in README and documentation that come from result files: `make tables` writes them again.

A table stands between `<!-- begin: groundling COMMAND -->` and `<!-- end -->`: what the command prints.
"""

import contextlib
import io
import re
from pathlib import Path

from website.source import ROOT

BLOCK = re.compile(r"^<!-- begin: groundling (.*?) -->\n(.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """The pages that have such tables."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in found if BLOCK.search(path.read_text("utf-8"))]


def written(text: str) -> str:
    """A page with its tables written again."""
    return BLOCK.sub(lambda m: f"<!-- begin: groundling {m[1]} -->\n\n{printed(m[1].split())}\n\n<!-- end -->", text)


def printed(arguments: list[str]) -> str:
    """What a command prints; result files are those of the repository."""
    from groundling.cli import main

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.chdir(ROOT):
        try:
            main(arguments)
        except SystemExit as stop:
            if stop.code:
                raise
    return re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).strip()


if __name__ == "__main__":
    for path in pages():
        path.write_text(written(path.read_text("utf-8")), "utf-8")
        print(f"Written: {path.relative_to(ROOT)}")

"""Build the documentation site: `python -m website.build`, or `make docs`.

Pages are the Markdown files in `docs/`. What would drift if it were written by hand is put in at this point: a line
`<!-- website: NAME ARGUMENTS -->` is replaced by the output of the function NAME below. Links to files that are not
pages lead to the repository; pictures are copied. Formulas, `$$...$$` and `$...$`, become MathML, without a script.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from html import escape
from pathlib import Path

from latex2mathml.converter import convert

from groundling.study import ablation_tables, tables
from groundling.study.result_store import Store
from website import pictures, source
from website.check_links import broken_links
from website.source import REPOSITORY, ROOT
from website.tables import printed

DOCS = ROOT / "docs"
PAGES, SITE = ROOT / "out" / "pages", ROOT / "out" / "site"
PICTURES = (".png", ".svg", ".gif")


def main() -> None:
    shutil.rmtree(PAGES, ignore_errors=True)
    for path in sorted(DOCS.rglob("*.md")):
        write(path)
    shutil.copy(ROOT / "website" / "style.css", PAGES / "style.css")
    config = (ROOT / "website" / "zensical.toml").read_text("utf-8")
    (PAGES.parent / "zensical.toml").write_text(config, "utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=PAGES.parent, text=True, capture_output=True, check=False)
    if done.returncode:
        sys.exit(re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr))
    broken = broken_links(SITE)
    if broken:
        sys.exit("\n".join(["broken links, or assets from other sites:", *broken]))
    print(f"Built {len([*SITE.rglob('*.html')])} pages without broken links in {SITE}")
    print(f"To read them: python3 -m http.server --directory {SITE}")


def write(path: Path) -> None:
    """Write a page with everything put in."""
    page = PAGES / path.relative_to(DOCS)
    page.parent.mkdir(parents=True, exist_ok=True)
    text = re.sub(
        r"^<!-- website: (\S+) ?(.*?) ?-->$", lambda m: insert(page, m[1], m[2]), path.read_text("utf-8"), flags=re.M
    )
    page.write_text(outside_code(text, lambda part: links(formulas(part), path, page)), "utf-8")


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """A text with everything changed that is not in a fenced block or between backquotes."""
    parts = re.split(r"(^```.*?^```$|`[^`\n]+`)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if k % 2 else change(part) for k, part in enumerate(parts))


def formulas(text: str) -> str:
    """TeX formulas as MathML."""
    text = re.sub(r"\$\$(.+?)\$\$", lambda m: f"\n\n{convert(m[1], display='block')}\n\n", text, flags=re.DOTALL)
    return re.sub(r"(?<![\w$])\$([^$\n]+)\$(?![\w$])", lambda m: convert(m[1]), text)


def links(text: str, path: Path, page: Path) -> str:
    """Links of a page of `docs/`, as they are on the site."""

    def link(match: re.Match[str]) -> str:
        target, _, anchor = match[1].partition("#")
        found = (path.parent / target).resolve()
        if not target or ":" in target or not found.exists():
            return match[0]  # an address, or what is broken and will be reported
        if found.suffix in PICTURES:
            name = "_".join(found.relative_to(ROOT).parts)
            shutil.copy(found, PAGES / name)
            return f"]({'../' * (len(page.relative_to(PAGES).parts) - 1)}{name})"
        if found.suffix == ".md" and found.is_relative_to(DOCS):
            return match[0]
        return f"]({REPOSITORY}{found.relative_to(ROOT)}{'#' + anchor if anchor else ''})"

    return re.sub(r"\]\(([^)\s]+)\)", link, text)


def insert(page: Path, name: str, argument: str) -> str:
    """What a line of a page is replaced by."""
    if name == "example":
        return drawn_example(page, argument)
    if name == "walks":
        return gallery(page)
    inserted: dict[str, Callable[[str], str]] = {
        "code": source.code,
        "sections": source.sections,
        "fields": source.fields,
        "file": source.file,
        "output": output,
        "commands": commands,
        "ablations": ablations,
    }
    return inserted[name](argument)


def drawn_example(page: Path, type_: str) -> str:
    """A sentence of a type, with its picture."""
    drawn = pictures.example(type_)
    drawn.picture.quantize(64).save(page.parent / f"{type_}.png", optimize=True)
    answer = f"<br><em>{drawn.answer}</em>" if drawn.answer else ""
    return (
        f'<figure markdown="1" class="example">\n![A map; the cell that the sentence refers to is blue]({type_}.png)\n'
        f"<figcaption>{escape(drawn.sentence)}{answer}</figcaption>\n</figure>\n"
    )


def gallery(page: Path) -> str:
    """Walks of a pretrained agent as animations, each with a link to a page that shows every step."""
    items = []
    for k, walk in enumerate(pictures.walks(), 1):
        (page.parent / f"walk-{k}.gif").write_bytes(walk.gif)
        (page.parent / f"walk-{k}.html").write_text(walk.html, "utf-8")
        items.append(
            f'<figure markdown="1" class="walk">\n[![{escape(walk.sentence)}](walk-{k}.gif)](walk-{k}.html)\n'
            f"<figcaption>{escape(walk.verdict)}</figcaption>\n</figure>\n"
        )
    return '<div markdown="1" class="walks">\n' + "\n".join(items) + "</div>\n"


def output(command: str) -> str:
    """What a command prints."""
    return f"```console\n$ groundling {command}\n{printed(command.split())}\n```\n"


def commands(names: str) -> str:
    """The help of some commands."""
    return "\n".join(f"## {name}\n\n```text\n{printed([*name.split(), '--help'])}\n```\n" for name in names.split(", "))


def ablations(_: str) -> str:
    """The table of the ablations that have results."""
    rows = ablation_tables.rows([*Store(str(ROOT / "results" / "study")).results().values()])
    return tables.markdown(ablation_tables.HEADER, rows) if rows else "*No result file of an ablation is there yet.*\n"


if __name__ == "__main__":
    main()

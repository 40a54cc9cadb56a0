"""Tables in README and documentation are those of the committed results; `make tables` writes them again."""

from pathlib import Path

import pytest

from website.tables import pages, written


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_tables_are_those_of_the_results(path: Path) -> None:
    text = path.read_text("utf-8")
    assert written(text) == text, f"{path.name}: run `make tables`"


def test_front_page_and_results_have_tables() -> None:
    assert {"README.md", "results.md"} <= {path.name for path in pages()}


def test_an_old_table_would_be_found() -> None:
    text = next(path for path in pages() if path.name == "README.md").read_text("utf-8")
    changed = text.replace("| chance | 2", "| chance | 3")
    assert changed != text
    assert written(changed) == text

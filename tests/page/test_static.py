"""The static files: modules that can be joined into an exported walk, and one list of style sheets."""

import re

from groundling.page.export import SCRIPTS
from groundling.page.static_files import STATIC, STYLE_SHEETS


def top_level_names(script: str) -> list[str]:
    """The names that a module declares at its top level."""
    found = re.findall(r"^(?:export )?(?:async )?(?:const|let|class|function) (\w+|\[[^\]]*\])", script, re.MULTILINE)
    return [name for entry in found for name in re.findall(r"\w+", entry)]


def test_joined_modules_have_no_name_twice() -> None:
    names = [name for script in SCRIPTS for name in top_level_names(STATIC[script].text)]
    assert len(names) > 30
    assert sorted(names) == sorted(set(names))


def test_joined_modules_import_only_earlier_ones() -> None:
    for k, script in enumerate(SCRIPTS):
        imported = re.findall(r'^import [^;]* from "\./(\w+\.js)";', STATIC[script].text, re.MULTILINE)
        assert set(imported) <= set(SCRIPTS[:k]), script


def test_page_loads_every_style_sheet_and_module() -> None:
    index = STATIC["index.html"].text
    assert re.findall(r'href="/static/(\w+\.css)"', index) == list(STYLE_SHEETS)
    assert {name for name in STATIC if name.endswith(".css")} == set(STYLE_SHEETS)
    reached, waiting = set(), ["main.js"]
    while waiting:
        name = waiting.pop()
        reached.add(name)
        imported = re.findall(r'^import [^;]* from "\./(\w+\.js)";', STATIC[name].text, re.MULTILINE)
        waiting += [other for other in imported if other not in reached]
    assert reached == {name for name in STATIC if name.endswith(".js")} - {"export.js"}

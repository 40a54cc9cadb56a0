"""The static files: modules that can be joined into an exported walk, and one list of style sheets."""

import base64
import io
import re

from PIL import Image

from groundling.page.export import SCRIPTS
from groundling.page.static_files import STATIC, STYLE_SHEETS
from tests.page.conftest import SCENE, SocketClient


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


def test_exported_walk_carries_sentence_verdict_and_project(client: SocketClient) -> None:
    path = [[3, 3], [2, 3], [2, 2]]
    fields = {"agent": 0, "scene": SCENE, "sentence": "go to the apple", "path": path}
    html_reply = client.request("export", format="html", verdict="✗ Failure: <b>not</b> reached.", **fields)
    html = base64.b64decode(html_reply["base64"]).decode()
    assert "<title>Go to the apple. — Groundling</title>" in html
    assert "✗ Failure: &lt;b&gt;not&lt;/b&gt; reached." in html
    plain = client.request("export", format="gif", **fields)
    long = client.request("export", format="gif", verdict="Success. " * 30, **fields)
    heights = []
    for reply in (plain, long):
        with Image.open(io.BytesIO(base64.b64decode(reply["base64"]))) as image:
            heights.append(image.height)
    assert heights[1] > heights[0], "the caption is not cut off"
    too_long = client.request("export", format="gif", verdict="x" * 301, **fields)
    assert too_long["error"] == "verdict must have at most 300 characters, got 301"

"""A walk to take home: as a moving picture, or as one HTML file that plays alone."""

import base64
import io
import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from groundling.page.scene import Scene
from groundling.page.sentence_check import QUESTION, Reading
from groundling.page.static_files import STATIC
from groundling.page.uploads import png
from groundling.study.pictures import over_text, save_gif, warmed
from groundling.world.catalog import AGENT, FIRST_ICON, FLOOR, PERSON_PIXELS, WALL
from groundling.world.rendering import draw, map_cells

SCRIPTS = ("dom.js", "scene.js", "board.js", "inside.js", "player.js", "pane.js", "souvenir.js")
"""Modules of the page, in the order in which they need each other."""


@dataclass(frozen=True)
class WalkRecording:
    """A episode as it was: one scene and one thought for each step."""

    agent: str
    scenes: list[Scene]
    reading: Reading
    thoughts: list[dict[str, Any]]


def gif(recording: WalkRecording) -> bytes:
    """Each step's map, colored by attention, over what was said."""
    size = recording.scenes[0].scenario.size
    frames = []
    for scene, thought in zip(recording.scenes, recording.thoughts, strict=True):
        pixels = draw(map_cells(scene.scenario.state()), scene.teacher.catalog.pictures[PERSON_PIXELS])[0]
        x_loc = thought["inside"]["x_loc"]
        if x_loc is not None:
            pixels = warmed(pixels, np.array(x_loc, np.float32).reshape(size, size))
        lines = [" ".join(recording.reading.words)]
        if recording.reading.kind == QUESTION and thought["inside"]["answers"]:
            lines.append(f"{recording.agent}: {thought['inside']['answers'][0]['word']}")
        frames.append(over_text(pixels, lines))
    out = io.BytesIO()
    save_gif(frames, out, milliseconds=700)
    return out.getvalue()


def html(recording: WalkRecording) -> str:
    """One file: the page's own style and the modules that show a walk, with the walk and its icons as data."""
    first = recording.scenes[0]
    scene = first.to_dict()
    pictures = first.teacher.catalog.pictures[PERSON_PIXELS]
    numbers = {"agent": AGENT, "wall": WALL, "floor": FLOOR}
    for entry, (_, icon) in zip(scene["objects"], first.scenario.objects, strict=True):
        numbers[f"{entry['name']}/{entry['icon']}"] = FIRST_ICON + icon
    record = {
        "agent": recording.agent,
        "size": first.scenario.size,
        "scene": scene,
        "icons": {key: _data_url(png(pictures[cell])) for key, cell in numbers.items()},
        "reading": recording.reading.to_dict(first),
        "frames": [
            {"at": scene.scenario.at(scene.scenario.agent), **thought}
            for scene, thought in zip(recording.scenes, recording.thoughts, strict=True)
        ],
    }
    parts = {
        "STYLE": STATIC["page.css"].text,
        "DATA": json.dumps(record).replace("<", "\\u003c"),  # or a `</script>` in it would end it
        "SCRIPT": "\n".join(_without_imports(STATIC[name].text) for name in SCRIPTS),
    }
    return re.sub(r"\{\{(STYLE|DATA|SCRIPT)\}\}", lambda match: parts[match[1]], STATIC["souvenir.html"].text)


def _without_imports(script: str) -> str:
    """A module as a part of a longer one: what it imports stands before it."""
    script = re.sub(r"^import [^;]*;\n", "", script, flags=re.MULTILINE)
    return re.sub(r"^export ", "", script, flags=re.MULTILINE)


def _data_url(data: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(data).decode()

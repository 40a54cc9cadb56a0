"""Export of a walk as a GIF animation, or as one HTML file that needs no server."""

import io
import re
import textwrap
from collections.abc import Callable
from html import escape

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from groundling.page.message import to_json
from groundling.page.sentence_check import QUESTION
from groundling.page.static_files import STATIC, style
from groundling.page.uploads import cut_out, png_base64
from groundling.page.walk import WalkRecording
from groundling.study.pictures import overlay_attention, save_gif
from groundling.world.catalog import AGENT, DISPLAY_PIXELS, FIRST_ICON, FLOOR, WALL
from groundling.world.rendering import draw, map_cells

PROJECT = "Groundling: an agent that learns language by living in a 2D world"
ROW_PIXELS = 22
SCRIPTS = ("dom.js", "scene.js", "board.js", "explanation.js", "player.js", "agent_pane.js", "export.js")
"""Modules of the page that show a walk; each one imports only from earlier ones."""


def to_gif(recording: WalkRecording, before_frame: Callable[[], None]) -> bytes:
    """An animation of the map with the agent's attention, and the sentence as a caption."""
    size = recording.scenes[0].scenario.size
    images, captions = [], []
    for scene, step in zip(recording.scenes, recording.steps, strict=True):
        before_frame()
        pixels = draw(map_cells(scene.scenario.state()), scene.teacher.catalog.pictures[DISPLAY_PIXELS])[0]
        x_loc, answers = step["explanation"]["x_loc"], step["explanation"]["answers"]
        if x_loc is not None:
            pixels = overlay_attention(pixels, np.array(x_loc, np.float32).reshape(size, size))
        lines = [sentence_text(recording)]
        if "end" in step or recording.check.kind == QUESTION:
            verdict = re.sub("[✓✗] ", "", recording.verdict)  # the font does not have these
            lines.append(verdict or (f"{recording.agent}: {answers[0]['word']}" if answers else ""))
        images.append(pixels)
        captions.append([wrapped for line in [*lines, PROJECT] for wrapped in textwrap.wrap(line, len(pixels) // 9)])
    rows = max(len(lines) for lines in captions)
    frames = [_with_caption(pixels, lines, rows) for pixels, lines in zip(images, captions, strict=True)]
    out = io.BytesIO()
    save_gif(frames, out, milliseconds=700)
    return out.getvalue()


def _with_caption(pixels: NDArray[np.uint8], lines: list[str], rows: int) -> Image.Image:
    """An image of a map with lines of text under it, and space for `rows` of them."""
    height, width = pixels.shape[:2]
    image = Image.new("RGB", (width + 16, height + 20 + rows * ROW_PIXELS), "white")
    image.paste(Image.fromarray(pixels), (8, 8))
    text = ImageDraw.Draw(image)
    text.multiline_text((10, height + 12), "\n".join(lines), "black", ImageFont.load_default(17), spacing=3)
    return image


def sentence_text(recording: WalkRecording) -> str:
    """The sentence of a walk, capitalized and punctuated."""
    text = " ".join(recording.check.words).replace(" .", ".").replace(" ?", "?")
    return text[:1].upper() + text[1:]


def to_html(recording: WalkRecording) -> str:
    """One file with the page's style sheet, the modules that show a walk, and the walk and its icons as data."""
    first = recording.scenes[0]
    scene = first.to_dict()
    pictures = first.teacher.catalog.pictures[DISPLAY_PIXELS]
    cells = {"agent": AGENT, "wall": WALL, "floor": FLOOR}
    for entry, (_, icon) in zip(scene["objects"], first.scenario.objects, strict=True):
        cells[f"{entry['name']}/{entry['icon']}"] = FIRST_ICON + icon
    pictures_of = {key: png_base64(cut_out(pictures[cell], pictures[FLOOR])) for key, cell in cells.items()}
    walk = {
        "agent": recording.agent,
        "size": first.scenario.size,
        "scene": scene,
        "icons": {key: "data:image/png;base64," + text for key, text in pictures_of.items()},
        "sentence_check": recording.check.to_dict(first),
        "frames": [
            {"at": scene.scenario.at(scene.scenario.agent), **step}
            for scene, step in zip(recording.scenes, recording.steps, strict=True)
        ],
    }
    parts = {
        "SENTENCE": escape(sentence_text(recording)),
        "VERDICT": escape(recording.verdict),
        "STYLE": style(),
        "DATA": to_json(walk).replace("<", "\\u003c"),  # `</script>` in the data would end the element
        "SCRIPT": "\n".join(_without_imports(STATIC[name].text) for name in SCRIPTS),
    }
    return re.sub(
        r"\{\{(STYLE|DATA|SCRIPT|SENTENCE|VERDICT)\}\}", lambda match: parts[match[1]], STATIC["export.html"].text
    )


def _without_imports(script: str) -> str:
    """A module without `import` and `export`, to be concatenated after the modules that it imports."""
    script = re.sub(r"^import [^;]*;\n", "", script, flags=re.MULTILINE)
    return re.sub(r"^export ", "", script, flags=re.MULTILINE)

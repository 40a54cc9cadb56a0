"""Render the vector sources in this folder into the sheets that the package ships, and a picture to look at.

python icons/build.py
"""

import io
import json
from pathlib import Path

import numpy as np
import resvg_py
from PIL import Image, ImageDraw

from groundling.world.catalog import CELL_PIXELS, PERSON_PIXELS, Pixels, flatten, read_folder, stack_cells

SOURCES = Path(__file__).parent
DATA = SOURCES.parent / "src/groundling/world/data"
PICTURE = SOURCES.parent / "docs/icons.png"
COLUMNS = 19
OVERSAMPLING = 8


def render(path: Path, side: int) -> Pixels:
    """Average down from a larger rendering: at 12 pixels a renderer's own anti-aliasing loses thin lines."""
    size = side * OVERSAMPLING
    png = resvg_py.svg_to_bytes(svg_path=str(path), width=size, height=size)
    return flatten(Image.open(io.BytesIO(bytes(png))), side)


def sheet(cells: Pixels) -> Image.Image:
    """[cell, side, side, 3] -> one picture, row by row."""
    count, side = len(cells), cells.shape[1]
    rows = -(-count // COLUMNS)
    padded = np.zeros((rows * COLUMNS, side, side, 3), np.uint8)
    padded[:count] = cells
    grid = padded.reshape(rows, COLUMNS, side, side, 3).swapaxes(1, 2)
    return Image.fromarray(grid.reshape(rows * side, COLUMNS * side, 3))


def main() -> None:
    goals, drawn = read_folder(SOURCES)
    sheets = {side: stack_cells([render(path, side) for path in drawn], side) for side in (CELL_PIXELS, PERSON_PIXELS)}
    seen: dict[bytes, str] = {}
    for path, cell in zip(drawn, sheets[CELL_PIXELS][2:], strict=True):
        if (twin := seen.setdefault(cell.tobytes(), path.name)) != path.name:
            raise SystemExit(f"{path.name} and {twin} look the same at {CELL_PIXELS} pixels: redraw one")
    DATA.mkdir(exist_ok=True)
    for side, cells in sheets.items():
        sheet(cells).save(DATA / f"icons{side}.png", optimize=True)
    entries = [{"class": goal.name, "color": goal.color} for goal in goals]
    (DATA / "icons.json").write_text("[\n" + ",\n".join(json.dumps(entry) for entry in entries) + "\n]\n", "utf-8")
    names = ["", "", *(path.stem for path in drawn)]
    picture(sheets, names).save(PICTURE, optimize=True)
    print(f"{len(goals)} icons, {len({goal.name for goal in goals})} classes")


def picture(sheets: dict[int, Pixels], names: list[str]) -> Image.Image:
    """All icons with their names, large and as the agent sees them."""
    width, height = PERSON_PIXELS + 16, PERSON_PIXELS + CELL_PIXELS + 20
    columns = 3 * 6
    cells = range(2, len(names))
    rows = -(-len(cells) // columns)
    image = Image.new("RGB", (columns * width, rows * height), "white")
    draw = ImageDraw.Draw(image)
    for position, cell in enumerate((*cells[2:], *cells[:2])):
        x, y = position % columns * width, position // columns * height
        image.paste(Image.fromarray(sheets[PERSON_PIXELS][cell]), (x + 8, y))
        image.paste(Image.fromarray(sheets[CELL_PIXELS][cell]), (x + width // 2 - 6, y + PERSON_PIXELS + 2))
        draw.text((x + width // 2, y + PERSON_PIXELS + CELL_PIXELS + 3), names[cell], "black", anchor="mt", font_size=9)
    return image


if __name__ == "__main__":
    main()

"""Render the SVG sources in this folder into the icon sheets of the package and an overview image.

python icons/build.py
"""

import io
import json
from pathlib import Path

import numpy as np
import resvg_py
from PIL import Image, ImageDraw

from groundling.world.catalog import CELL_PIXELS, DISPLAY_PIXELS, Pixels, flatten, read_folder, stack_cells

SOURCES = Path(__file__).parent
DATA = SOURCES.parent / "src/groundling/world/data"
OVERVIEW = SOURCES.parent / "docs/icons.png"
SHEET_COLUMNS = 19
OVERSAMPLING = 8


def render(path: Path, side: int) -> Pixels:
    """Render an SVG at a larger size and average: at 12 pixels the renderer's own anti-aliasing loses thin lines."""
    size = side * OVERSAMPLING
    png = resvg_py.svg_to_bytes(svg_path=str(path), width=size, height=size)
    return flatten(Image.open(io.BytesIO(bytes(png))), side)


def sheet(cells: Pixels) -> Image.Image:
    """Tile [cell id, side, side, 3] into one image, row by row."""
    count, side = len(cells), cells.shape[1]
    rows = -(-count // SHEET_COLUMNS)
    padded = np.zeros((rows * SHEET_COLUMNS, side, side, 3), np.uint8)
    padded[:count] = cells
    grid = padded.reshape(rows, SHEET_COLUMNS, side, side, 3).swapaxes(1, 2)
    return Image.fromarray(grid.reshape(rows * side, SHEET_COLUMNS * side, 3))


def main() -> None:
    icons, paths = read_folder(SOURCES)
    sheets = {side: stack_cells([render(path, side) for path in paths], side) for side in (CELL_PIXELS, DISPLAY_PIXELS)}
    seen: dict[bytes, str] = {}
    for path, cell in zip(paths, sheets[CELL_PIXELS][2:], strict=True):
        if (other := seen.setdefault(cell.tobytes(), path.name)) != path.name:
            raise SystemExit(f"{path.name} and {other} must differ at {CELL_PIXELS} pixels; redraw one of them")
    DATA.mkdir(exist_ok=True)
    for side, cells in sheets.items():
        sheet(cells).save(DATA / f"icons{side}.png", optimize=True)
    entries = [{"class": icon.name, "color": icon.color, "category": icon.path.parent.name} for icon in icons]
    (DATA / "icons.json").write_text("[\n" + ",\n".join(json.dumps(entry) for entry in entries) + "\n]\n", "utf-8")
    names = ["", "", *(path.stem for path in paths)]
    flat = overview(sheets, names).quantize(dither=Image.Dither.NONE)  # a palette: a third of the size
    flat.save(OVERVIEW, optimize=True)
    print(f"{len(icons)} icons, {len({icon.name for icon in icons})} classes")


def overview(sheets: dict[int, Pixels], names: list[str]) -> Image.Image:
    """Show all icons with their names, at display size and at the size of the agent's view."""
    width, height = DISPLAY_PIXELS + 16, DISPLAY_PIXELS + CELL_PIXELS + 20
    columns = 3 * 6
    cells = range(2, len(names))
    rows = -(-len(cells) // columns)
    image = Image.new("RGB", (columns * width, rows * height), "white")
    draw = ImageDraw.Draw(image)
    for index, cell in enumerate((*cells[2:], *cells[:2])):  # wall and agent last
        x, y = index % columns * width, index // columns * height
        image.paste(Image.fromarray(sheets[DISPLAY_PIXELS][cell]), (x + 8, y))
        image.paste(Image.fromarray(sheets[CELL_PIXELS][cell]), (x + width // 2 - 6, y + DISPLAY_PIXELS + 2))
        draw.text(
            (x + width // 2, y + DISPLAY_PIXELS + CELL_PIXELS + 3), names[cell], "black", anchor="mt", font_size=9
        )
    return image


if __name__ == "__main__":
    main()

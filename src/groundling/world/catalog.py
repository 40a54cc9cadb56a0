"""What can stand in a cell: the object classes, their icons and colors, and the picture of every cell.

A cell is a number into `Catalog.pictures`: outside the map, floor, wall, agent, then one number per icon.
"""

import hashlib
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from groundling.errors import InputError, nearest

OUTSIDE, FLOOR, WALL, AGENT, FIRST_ICON = range(5)
CELL_PIXELS = 12
"""Side of a cell in the agent's view."""
PERSON_PIXELS = 64
"""Side of a cell in pictures for people."""
FLOOR_COLOR = (0xF2, 0xEF, 0xE9)
COLOR_NAMES = ("blue", "brown", "gray", "green", "orange", "purple", "red", "yellow")
NO_COLOR = -1

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Goal:
    """One icon of an object, as `properties.txt` lists it."""

    path: Path
    name: str
    """The object's class."""
    color: int
    """Index into COLOR_NAMES, or NO_COLOR."""


@dataclass(frozen=True)
class Catalog:
    """The icons of a world. Icons of a class stand together; classes are in the order of `classes`."""

    classes: tuple[str, ...]
    icon_class: NDArray[np.int16]
    """[icon]: index into `classes`."""
    icon_color: NDArray[np.int16]
    """[icon]: index into COLOR_NAMES, or NO_COLOR."""
    pictures: dict[int, Pixels] = field(repr=False)
    """Per cell side in pixels: [cell, side, side, 3], the picture of every cell number."""

    @classmethod
    @cache
    def default(cls) -> "Catalog":
        """The icons that this package ships, as `icons/build.py` made them."""
        data = resources.files("groundling.world").joinpath("data")
        entries = json.loads(data.joinpath("icons.json").read_text("utf-8"))
        pictures = {}
        for side in (CELL_PIXELS, PERSON_PIXELS):
            with data.joinpath(f"icons{side}.png").open("rb") as file:
                sheet = np.asarray(Image.open(file).convert("RGB"))
            pictures[side] = _cut(sheet, side)[: FIRST_ICON + len(entries)]
        return cls._of([(entry["class"], entry["color"]) for entry in entries], pictures)

    @classmethod
    def from_folder(cls, folder: str | Path) -> "Catalog":
        """A user's icons: `goal/<category>/<class>_<n>.jpg|png`, `agent/`, `block/` and `properties.txt`."""
        goals, drawn = read_folder(Path(folder))
        pictures = {
            side: stack_cells([load_cell(path, side) for path in drawn], side) for side in (CELL_PIXELS, PERSON_PIXELS)
        }
        return cls._of([(goal.name, goal.color) for goal in goals], pictures)

    @classmethod
    def _of(cls, icons: list[tuple[str, int]], pictures: dict[int, Pixels]) -> Self:
        classes = tuple(dict.fromkeys(name for name, _ in icons))
        return cls(
            classes=classes,
            icon_class=np.array([classes.index(name) for name, _ in icons], np.int16),
            icon_color=np.array([color for _, color in icons], np.int16),
            pictures=pictures,
        )

    def only(self, names: Collection[str]) -> "Catalog":
        """A catalog of some of the classes, for a smaller world."""
        for name in names:
            if name not in self.classes:
                raise InputError(f"class {name!r}: these icons have none{nearest(name, self.classes)}")
        icons = [k for k, c in enumerate(self.icon_class) if self.classes[c] in names]
        cells = [*range(FIRST_ICON), *(FIRST_ICON + k for k in icons)]
        return Catalog._of(
            [(self.classes[self.icon_class[k]], int(self.icon_color[k])) for k in icons],
            {side: pictures[cells] for side, pictures in self.pictures.items()},
        )

    def with_class(self, name: str, image: Image.Image) -> "Catalog":
        """One more class, of one icon that has no color."""
        if name in self.classes:
            raise InputError(f"class {name!r}: these icons have it already")
        icons = [(self.classes[c], int(color)) for c, color in zip(self.icon_class, self.icon_color, strict=True)]
        return Catalog._of(
            [*icons, (name, NO_COLOR)],
            {side: np.concatenate([cells, flatten(image, side)[None]]) for side, cells in self.pictures.items()},
        )

    def __reduce__(self) -> Any:
        """Copies and pickles of the shipped icons are a reference to them, not five megabytes of pictures."""
        if self is Catalog.default():
            return Catalog.default, ()
        return Catalog, (self.classes, self.icon_class, self.icon_color, self.pictures)

    @property
    def cells(self) -> int:
        """How many different cells there are: every icon, agent, wall, floor and the outside."""
        return FIRST_ICON + len(self.icon_class)

    @cached_property
    def first_icon(self) -> NDArray[np.int16]:
        """[class]: its first icon; one more entry than classes, so that class c has icons first[c] .. first[c+1]-1."""
        return np.searchsorted(self.icon_class, np.arange(len(self.classes) + 1)).astype(np.int16)

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The (color, class) pairs that some icon shows."""
        icons = zip(self.icon_class, self.icon_color, strict=True)
        return frozenset((COLOR_NAMES[color], self.classes[c]) for c, color in icons if color != NO_COLOR)

    @cached_property
    def hash(self) -> str:
        """Changes whenever a class, a color or a picture that the agent sees changes."""
        digest = hashlib.sha256(" ".join(self.classes).encode())
        for array in (self.icon_class, self.icon_color, self.pictures[CELL_PIXELS]):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def describe(self, cell: int) -> str:
        """A cell in words, such as `red apple`."""
        if cell < FIRST_ICON:
            return ("outside", "floor", "wall", "agent")[cell]
        icon = cell - FIRST_ICON
        color, name = self.icon_color[icon], self.classes[self.icon_class[icon]]
        return name if color == NO_COLOR else f"{COLOR_NAMES[color]} {name}"


def read_folder(folder: Path) -> tuple[list[Goal], list[Path]]:
    """The icons of a folder, class by class, and the pictures to draw cells of: wall, agent, then the icons."""
    goals = sorted(_read_properties(folder), key=lambda goal: (goal.name, goal.path))
    if not goals:
        raise InputError(f"icon folder {folder}: properties.txt lists no picture in goal/")
    special = []
    for kind in ("block", "agent"):
        found = sorted(path for path in (folder / kind).rglob("*.*") if path.is_file())
        if not found:
            raise InputError(f"icon folder {folder}: there is no picture in {kind}/, and one is needed")
        special.append(found[0])
    return goals, [*special, *(goal.path for goal in goals)]


def _read_properties(folder: Path) -> Iterator[Goal]:
    """The icons that `properties.txt` lists. Fails where list and folder disagree."""
    listing = folder / "properties.txt"
    if not listing.is_file():
        raise InputError(f"icon folder {folder}: it has no properties.txt (lines of `path color`)")
    listed = set()
    for number, line in enumerate(listing.read_text("utf-8").splitlines(), 1):
        fields = line.split("//")[0].split()
        if not fields:
            continue
        where = f"{listing}, line {number}"
        if len(fields) != 2:
            raise InputError(f"{where}: {line.strip()!r} is not `path color`")
        path, color = folder / fields[0], fields[1]
        parts = Path(fields[0]).parts
        if color != "na" and color not in COLOR_NAMES:
            raise InputError(f"{where}: unknown color {color!r}{nearest(color, COLOR_NAMES)} (or na for none)")
        if not path.is_file():
            raise InputError(f"{where}: there is no file {path}")
        if parts[0] not in ("goal", "agent", "block") or (parts[0] == "goal" and len(parts) != 3):
            raise InputError(f"{where}: {fields[0]!r} is not goal/<category>/<class>_<n>, agent/... or block/...")
        listed.add(path)
        if parts[0] == "goal":
            name = path.stem.rpartition("_")[0] or path.stem
            yield Goal(path, name, NO_COLOR if color == "na" else COLOR_NAMES.index(color))
    for path in sorted(folder.glob("goal/*/*_*.*")):
        if path not in listed:
            raise InputError(f"icon folder {folder}: properties.txt gives no color for {path.relative_to(folder)}")


def load_cell(path: Path, side: int) -> Pixels:
    """One picture file as a cell of `side` pixels, on the floor where it is transparent."""
    try:
        with Image.open(path) as image:
            return flatten(image, side)
    except (UnidentifiedImageError, OSError, SyntaxError) as error:
        raise InputError(f"icon {path}: not a readable picture ({error})") from error


def flatten(image: Image.Image, side: int) -> Pixels:
    """Put a picture on the floor and average it down (or up) to `side` pixels."""
    floor = Image.new("RGBA", image.size, FLOOR_COLOR)
    floor.alpha_composite(image.convert("RGBA"))
    return np.asarray(floor.convert("RGB").resize((side, side), Image.Resampling.BOX))


def stack_cells(drawn: list[Pixels], side: int) -> Pixels:
    """Every cell's picture in the order of the cell numbers, from those of wall, agent and icons."""
    outside = np.zeros((side, side, 3), np.uint8)
    floor = np.broadcast_to(np.array(FLOOR_COLOR, np.uint8), outside.shape)
    return np.stack([outside, floor, *drawn])


def _cut(sheet: Pixels, side: int) -> Pixels:
    """[rows * side, columns * side, 3] -> [rows * columns, side, side, 3]"""
    rows, columns = sheet.shape[0] // side, sheet.shape[1] // side
    cells = sheet.reshape(rows, side, columns, side, 3).swapaxes(1, 2)
    return np.ascontiguousarray(cells.reshape(rows * columns, side, side, 3))

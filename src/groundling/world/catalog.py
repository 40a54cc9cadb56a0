"""The contents of a cell: object classes, their icons and colors, and the image of every cell id.

A cell id is an index into `Catalog.pictures`: outside the map, floor, wall, agent, then one id per icon.
"""

import hashlib
import itertools
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from groundling.errors import InputError, check_choice, cut, nearest, quote
from groundling.imports import import_name, names_code
from groundling.read_json import read_text, reason

OUTSIDE, FLOOR, WALL, AGENT, FIRST_ICON = range(5)
CELL_PIXELS = 12
"""Side of a cell in the agent's view, in pixels."""
DISPLAY_PIXELS = 64
"""Side of a cell in images for display to people, in pixels."""
FLOOR_COLOR = (0xF2, 0xEF, 0xE9)
COLOR_NAMES = ("blue", "brown", "gray", "green", "orange", "purple", "red", "yellow")
NO_COLOR = -1
MAX_ICON_PIXELS = 2048
PROCEDURAL = "procedural:"
"""Begins the name of a generated catalog, see `procedural_icons`."""
MAX_PATH = 200
"""Length of a path in properties.txt."""
MAX_ICONS = (1 << 15) - 1 - FIRST_ICON
"""Cell ids are 16-bit integers."""

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class IconEntry:
    """One icon of an object class, as listed in `properties.txt`."""

    path: Path
    name: str
    """The object class."""
    color: int
    """Index into COLOR_NAMES, or NO_COLOR."""
    attributes: dict[str, str] = field(default_factory=dict)
    """Further attributes, such as {"size": "big"}."""


@dataclass(frozen=True)
class Catalog:
    """The object classes and icons of a world. Icons are grouped by class, in the order of `classes`."""

    classes: tuple[str, ...]
    icon_class: NDArray[np.int16]
    """[icon]: index into `classes`."""
    icon_color: NDArray[np.int16]
    """[icon]: index into COLOR_NAMES, or NO_COLOR."""
    pictures: dict[int, Pixels] = field(repr=False)
    """Side of a cell in pixels -> [cell id, side, side, 3], the image of every cell id."""
    categories: tuple[str, ...] = ()
    """The category of each class, such as `animal`; may be empty."""
    attributes: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    """Further attributes by name: a word, or None, for each icon."""

    @classmethod
    @cache
    def default(cls) -> "Catalog":
        """The icons included in this package, rendered by `icons/build.py`."""
        data = resources.files("groundling.world").joinpath("data")
        entries = json.loads(data.joinpath("icons.json").read_text("utf-8"))
        pictures = {}
        for side in (CELL_PIXELS, DISPLAY_PIXELS):
            with data.joinpath(f"icons{side}.png").open("rb") as file:
                sheet = np.asarray(Image.open(file).convert("RGB"))
            pictures[side] = _cut(sheet, side)[: FIRST_ICON + len(entries)]
        return cls._of([(entry["class"], entry["color"], entry["category"]) for entry in entries], pictures)

    @classmethod
    def load(cls, icons: str | Path | None) -> "Catalog":
        """The built-in icons (None), those of a folder, with `+FOLDER` both, `procedural:N`, or the catalog of
        `module:function`."""
        if icons is None:
            return cls.default()
        if str(icons).startswith(PROCEDURAL):
            from groundling.world.procedural_icons import load_procedural

            return load_procedural(str(icons))
        if isinstance(icons, str) and names_code(icons):
            made = import_name(icons, "icons")()
            if not isinstance(made, Catalog):
                raise InputError(f"icons {cut(icons)!r} must return a Catalog, got {made!r:.80}")
            return made
        added = str(icons).startswith("+")
        own = cls.from_folder(str(icons).removeprefix("+"))
        return cls.default().joined(own) if added else own

    def joined(self, other: "Catalog") -> "Catalog":
        """The icons of both; a class of both has the icons of both. Floor, wall and agent are those of this one."""
        names = sorted({*self.classes, *other.classes})
        indices = [{name: c for c, name in enumerate(part.classes)} for part in (self, other)]
        entries, cells = [], {side: [pictures[:FIRST_ICON]] for side, pictures in self.pictures.items()}
        attributes: dict[str, list[str | None]] = {name: [] for name in {*self.attributes, *other.attributes}}
        for name in names:
            for part, index in zip((self, other), indices, strict=True):
                if name not in index:
                    continue
                c = index[name]
                first, end = int(part.first_icon[c]), int(part.first_icon[c + 1])
                category = part.categories[c] if part.categories else ""
                entries += [(name, int(color), category) for color in part.icon_color[first:end]]
                for key, values in attributes.items():
                    values += part.attributes.get(key, (None,) * len(part.icon_class))[first:end]
                for side, parts in cells.items():
                    parts.append(part.pictures[side][FIRST_ICON + first : FIRST_ICON + end])
        pictures = {side: np.concatenate(parts) for side, parts in cells.items()}
        return Catalog._of(entries, pictures, {key: tuple(values) for key, values in attributes.items()})

    def with_variants(self, name: str, variants: Mapping[str, Callable[[Pixels], Pixels]]) -> "Catalog":
        """Each icon once for each variant, which is a word of the attribute `name` and a change of the image."""
        entries, chosen, values = [], [], []
        for k, (entry, word) in enumerate(itertools.product(self._entries, variants)):
            entries.append(entry)
            chosen.append((k // len(variants), word))
            values.append(word)
        pictures = {
            side: np.concatenate(
                [cells[:FIRST_ICON], np.stack([variants[word](cells[FIRST_ICON + icon]) for icon, word in chosen])]
            )
            for side, cells in self.pictures.items()
        }
        kept = {key: tuple(row[icon] for icon, _ in chosen) for key, row in self.attributes.items()}
        return Catalog._of(entries, pictures, {**kept, name: tuple(values)})

    @classmethod
    def from_folder(cls, folder: str | Path) -> "Catalog":
        """Load a user's icons: `goal/<category>/<class>_<n>.jpg|png`, `agent/`, `block/` and `properties.txt`."""
        try:
            icons, paths = read_folder(Path(folder))
        except OSError as error:  # a name that is too long, or a part of the folder that may not be read
            raise InputError(f"icon folder {quote(str(folder), 400)}: cannot be read ({reason(error)})") from None
        pictures = {
            side: stack_cells([load_cell(path, side) for path in paths], side) for side in (CELL_PIXELS, DISPLAY_PIXELS)
        }
        names = {name for icon in icons for name in icon.attributes}
        attributes = {name: tuple(icon.attributes.get(name) for icon in icons) for name in sorted(names)}
        return cls._of([(icon.name, icon.color, icon.path.parent.name) for icon in icons], pictures, attributes)

    @classmethod
    def _of(
        cls,
        icons: list[tuple[str, int, str]],
        pictures: dict[int, Pixels],
        attributes: Mapping[str, tuple[str | None, ...]] | None = None,
    ) -> Self:
        """The catalog of (class, color, category) of each icon."""
        categories = {name: category for name, _, category in icons}
        index = {name: c for c, name in enumerate(categories)}
        return cls(
            classes=tuple(categories),
            icon_class=np.array([index[name] for name, _, _ in icons], np.int16),
            icon_color=np.array([color for _, color, _ in icons], np.int16),
            pictures=pictures if DISPLAY_PIXELS in pictures else Upscaled(pictures),
            categories=tuple(categories.values()),
            attributes=attributes or {},
        )

    @property
    def _entries(self) -> list[tuple[str, int, str]]:
        """(class, color, category) of each icon."""
        icons = zip(self.icon_class.tolist(), self.icon_color.tolist(), strict=True)
        return [(self.classes[c], color, self.categories[c] if self.categories else "") for c, color in icons]

    def only(self, names: Collection[str]) -> "Catalog":
        """Return a catalog with only the classes in `names`, for a smaller world."""
        wanted, known = set(names), set(self.classes)
        for name in names:
            if name not in known:
                raise InputError(
                    f"class must be one of the {len(self.classes)} in the catalog, "
                    f"got {name!r:.80}{nearest(name[:40], self.classes)}"
                )
        return self.select([k for k, c in enumerate(self.icon_class) if self.classes[c] in wanted])

    def select(self, icons: Sequence[int]) -> "Catalog":
        """Return a catalog with only these icons."""
        entries = self._entries
        cells = [*range(FIRST_ICON), *(FIRST_ICON + k for k in icons)]
        return Catalog._of(
            [entries[k] for k in icons],
            {side: pictures[cells] for side, pictures in self.pictures.items()},
            {key: tuple(values[k] for k in icons) for key, values in self.attributes.items()},
        )

    def with_class(self, name: str, image: Image.Image) -> "Catalog":
        """Return a catalog with one more class, which has a single icon without a color name."""
        if name in self.classes:
            raise InputError(f"class must not be in the catalog already, got {name!r:.80}; choose another name")
        return Catalog._of(
            [*self._entries, (name, NO_COLOR, "")],
            {side: np.concatenate([cells, flatten(image, side)[None]]) for side, cells in self.pictures.items()},
            {key: (*values, None) for key, values in self.attributes.items()},
        )

    def __reduce__(self) -> Any:
        """Pickle the default catalog as a reference instead of five megabytes of images."""
        if self is Catalog.default():
            return Catalog.default, ()
        parts = (self.classes, self.icon_class, self.icon_color, self.pictures, self.categories, dict(self.attributes))
        return Catalog, parts

    @property
    def cells(self) -> int:
        """Number of cell ids: outside, floor, wall, agent and one per icon."""
        return FIRST_ICON + len(self.icon_class)

    @cached_property
    def first_icon(self) -> NDArray[np.int16]:
        """[number of classes + 1]: class c has the icons first_icon[c] .. first_icon[c + 1] - 1."""
        return np.searchsorted(self.icon_class, np.arange(len(self.classes) + 1)).astype(np.int16)

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The (color, class) pairs for which an icon exists."""
        icons = zip(self.icon_class, self.icon_color, strict=True)
        return frozenset((COLOR_NAMES[color], self.classes[c]) for c, color in icons if color != NO_COLOR)

    def attribute(self, name: str, words: Sequence[str]) -> list[str | None]:
        """[icon]: the word of an attribute, or None; `words` are the language's, colors in the catalog's order."""
        if name == "color":
            return [None if color == NO_COLOR else words[color] for color in self.icon_color.tolist()]
        if name not in self.attributes:
            raise InputError(f"icons must have the attribute {name!r}, got {', '.join(self.attributes) or 'none'}")
        return [word if word in words else None for word in self.attributes[name]]

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the classes, the attributes and the images in the agent's view."""
        digest = hashlib.sha256(" ".join(self.classes).encode())
        for array in (self.icon_class, self.icon_color, self.pictures[CELL_PIXELS]):
            digest.update(np.ascontiguousarray(array).tobytes())
        if self.attributes:
            digest.update(json.dumps(sorted(self.attributes.items())).encode())
        return digest.hexdigest()

    def describe(self, cell: int) -> str:
        """Describe a cell id in words, such as `red apple`, after the words of other attributes, such as `small`."""
        if cell < FIRST_ICON:
            return ("outside", "floor", "wall", "agent")[cell]
        icon = cell - FIRST_ICON
        words = [values[icon] for values in self.attributes.values()]
        color = self.icon_color[icon]
        words += [] if color == NO_COLOR else [COLOR_NAMES[color]]
        return " ".join([*filter(None, words), self.classes[self.icon_class[icon]]])


class Upscaled(dict[int, Pixels]):
    """Pictures in the agent's view; larger ones are made when somebody looks, because thousands take much memory."""

    def __missing__(self, side: int) -> Pixels:
        nearest_pixel = (np.arange(side) * CELL_PIXELS + CELL_PIXELS // 2) // side
        self[side] = np.ascontiguousarray(self[CELL_PIXELS][:, nearest_pixel][:, :, nearest_pixel])
        return self[side]


def read_folder(folder: Path) -> tuple[list[IconEntry], list[Path]]:
    """Return the icons of a folder, grouped by class, and the image files of wall, agent and icons, in this order."""
    icons = sorted(_read_properties(folder), key=lambda icon: (icon.name, icon.path))
    if not icons:
        raise InputError(f"icon folder {folder}: properties.txt must list at least one image in goal/, got none")
    if len(icons) > MAX_ICONS:
        raise InputError(f"icon folder {folder}: properties.txt must list at most {MAX_ICONS} images, got {len(icons)}")
    wall_and_agent = []
    for kind in ("block", "agent"):
        found = _image_files(folder, f"{kind}/**/*.*")
        if not found:
            raise InputError(f"icon folder {folder}: {kind}/ must contain an image, got none")
        wall_and_agent.append(found[0])
    return icons, [*wall_and_agent, *(icon.path for icon in icons)]


def _read_properties(folder: Path) -> Iterator[IconEntry]:
    """Yield the icons listed in `properties.txt`; raise if the list and the files in the folder differ."""
    listing = folder / "properties.txt"
    if not listing.exists():
        raise InputError(f"icon folder {folder} must contain properties.txt; write one line `path color` per image")
    listed = set()
    for number, line in enumerate(read_text(listing, "icon list").splitlines(), 1):
        fields = line.split("//")[0].split()
        if not fields:
            continue
        where = f"{listing}, line {number}"
        attributes = dict(part.partition("=")[::2] for part in fields[2:])
        if len(fields) < 2 or not all(name.isidentifier() and word.isalpha() for name, word in attributes.items()):
            raise InputError(
                f"{where}: a line must be `path color`, and perhaps attributes such as `size=big`, got "
                f"{line.strip()!r:.80}"
            )
        path, color = folder / fields[0], fields[1]
        parts = Path(fields[0]).parts
        check_choice(f"{where}: color", color, (*COLOR_NAMES, "na"))
        if len(fields[0]) > MAX_PATH or not path.is_file():
            raise InputError(f"{where}: file {cut(fields[0])!r} does not exist")
        if parts[0] not in ("goal", "agent", "block") or (parts[0] == "goal" and len(parts) != 3):
            raise InputError(
                f"{where}: path must be goal/<category>/<class>_<n>, agent/... or block/..., got {fields[0]!r:.80}"
            )
        listed.add(path)
        if parts[0] == "goal":
            name = path.stem.rpartition("_")[0] or path.stem
            yield IconEntry(path, name, NO_COLOR if color == "na" else COLOR_NAMES.index(color), attributes)
    for path in _image_files(folder, "goal/*/*_*.*"):
        if path not in listed:
            raise InputError(
                f"icon folder {folder}: properties.txt must list every image in goal/, "
                f"got no line for {path.relative_to(folder)}; add `{path.relative_to(folder)} <color or na>`"
            )


def _image_files(folder: Path, pattern: str) -> list[Path]:
    """The files of a pattern, without hidden ones such as `.DS_Store`."""
    return sorted(path for path in folder.glob(pattern) if path.is_file() and not path.name.startswith("."))


def load_cell(path: Path, side: int) -> Pixels:
    """Load a PNG or JPEG file as a cell of `side` x `side` pixels; transparent pixels show the floor."""
    try:
        with Image.open(path, formats=("PNG", "JPEG")) as image:
            if max(image.size) <= MAX_ICON_PIXELS:  # known before any pixel is decoded
                return flatten(image, side)
            size = f"{image.width} x {image.height}"
    except Exception as error:  # a decoder that is given garbage can fail in any way
        raise InputError(f"icon {path}: not a complete PNG or JPEG file ({cut(str(error))})") from None
    raise InputError(f"icon {path}: it must have at most {MAX_ICON_PIXELS} pixels per side, got {size}")


def flatten(image: Image.Image, side: int) -> Pixels:
    """Composite an image onto the floor color and resize it to `side` x `side` pixels with a box filter."""
    floor = Image.new("RGBA", image.size, FLOOR_COLOR)
    floor.alpha_composite(image.convert("RGBA"))
    return np.asarray(floor.convert("RGB").resize((side, side), Image.Resampling.BOX))


def stack_cells(images: list[Pixels], side: int) -> Pixels:
    """[cell id, side, side, 3]: the images of all cell ids, given those of wall, agent and icons."""
    outside = np.zeros((side, side, 3), np.uint8)
    floor = np.broadcast_to(np.array(FLOOR_COLOR, np.uint8), outside.shape)
    return np.stack([outside, floor, *images])


def _cut(sheet: Pixels, side: int) -> Pixels:
    """[rows * side, columns * side, 3] -> [rows * columns, side, side, 3]"""
    rows, columns = sheet.shape[0] // side, sheet.shape[1] // side
    cells = sheet.reshape(rows, side, columns, side, 3).swapaxes(1, 2)
    return np.ascontiguousarray(cells.reshape(rows * columns, side, side, 3))

"""A catalog of any number of classes: shape x pattern x mark, each in several colors; all generated from a seed.

`procedural:5000` names a catalog of 5,000 classes, `procedural:5000:7` another one with seed 7. A class has a shape, a
pattern of its color and a lighter tint, and a mark in the center: a code word of 4 x 4 black and white pixels. Any two
marks differ in at least four pixels, so classes are distinct in the agent's view.
"""

import re
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groundling.errors import InputError, check_int, cut
from groundling.world.catalog import (
    CELL_PIXELS,
    COLOR_NAMES,
    FIRST_ICON,
    FLOOR_COLOR,
    MAX_ICONS,
    PROCEDURAL,
    Catalog,
    Pixels,
)
from groundling.world.pseudo_words import pseudo_words
from groundling.world.types import Bools

ICONS_PER_CLASS = 3
"""Each in another color; fewer if cell ids run out."""
PALETTE = {
    "blue": (40, 84, 216),
    "brown": (122, 74, 34),
    "gray": (128, 128, 128),
    "green": (38, 150, 58),
    "orange": (245, 134, 24),
    "purple": (132, 48, 170),
    "red": (216, 32, 36),
    "yellow": (248, 214, 36),
}
WHITE, BLACK = (255, 255, 255), (16, 16, 16)
MARK = slice(4, 8)
"""Rows and columns of the mark."""

_Y, _X = (np.indices((CELL_PIXELS, CELL_PIXELS)) - (CELL_PIXELS - 1) / 2) / (CELL_PIXELS / 2)
_ROW, _COLUMN = np.indices((CELL_PIXELS, CELL_PIXELS))
_CORE = (np.abs(_X) < 0.45) & (np.abs(_Y) < 0.45)
"""Part of every shape, so that a mark is surrounded by color."""
SHAPES: dict[str, Bools] = {
    name: mask | _CORE
    for name, mask in {
        "disk": _X**2 + _Y**2 < 0.85,
        "square": (np.abs(_X) < 0.8) & (np.abs(_Y) < 0.8),
        "diamond": np.abs(_X) + np.abs(_Y) < 1.05,
        "up": (_Y > -0.95) & (_Y < 0.8) & (np.abs(_X) < (_Y + 1.05) / 1.9),
        "down": (_Y < 0.95) & (_Y > -0.8) & (np.abs(_X) < (1.05 - _Y) / 1.9),
        "left": (_X > -0.95) & (_X < 0.8) & (np.abs(_Y) < (_X + 1.05) / 1.9),
        "right": (_X < 0.95) & (_X > -0.8) & (np.abs(_Y) < (1.05 - _X) / 1.9),
        "plus": (np.abs(_X) < 0.3) | (np.abs(_Y) < 0.3),
        "cross": (np.abs(_X - _Y) < 0.4) | (np.abs(_X + _Y) < 0.4),
        "wide": (np.abs(_X) < 0.95) & (np.abs(_Y) < 0.5),
        "tall": (np.abs(_X) < 0.5) & (np.abs(_Y) < 0.95),
        "hourglass": (np.abs(_X) < np.abs(_Y) + 0.2) & (np.abs(_Y) < 0.95),
        "bow": (np.abs(_Y) < np.abs(_X) + 0.2) & (np.abs(_X) < 0.95),
        "roof": (np.abs(_X) < 0.9) & (_Y > -0.9) & (_Y < 0.9) & ((_Y < -0.3) | (np.abs(_X) > 0.6)),
        "cup": (np.abs(_X) < 0.9) & (_Y > -0.9) & (_Y < 0.9) & ((_Y > 0.3) | (np.abs(_X) > 0.6)),
        "stairs": (_X < _Y + 0.3) & (np.abs(_X) < 0.95) & (np.abs(_Y) < 0.95),
    }.items()
}
PATTERNS: dict[str, Bools] = {
    "plain": _X > 9,
    "rows": _ROW // 2 % 2 == 0,
    "columns": _COLUMN // 2 % 2 == 0,
    "rising": (_ROW + _COLUMN) // 2 % 3 == 0,
    "falling": (_ROW - _COLUMN) // 2 % 3 == 0,
    "checks": (_ROW // 2 + _COLUMN // 2) % 2 == 0,
    "top": _Y < 0,
    "side": _X < 0,
}
"""Where the tint is."""


class _Look(NamedTuple):
    """The image of a class, up to its color."""

    shape: Bools
    tint: Bools
    mark: Bools


def load_procedural(name: str) -> Catalog:
    """The catalog of `procedural:CLASSES` or `procedural:CLASSES:SEED`."""
    found = re.fullmatch(rf"{PROCEDURAL}(\d{{1,9}})(?::(\d{{1,9}}))?", name)
    if found is None:
        raise InputError(f"icons must be procedural:CLASSES or procedural:CLASSES:SEED, got {cut(name)!r}")
    return procedural_catalog(int(found[1]), int(found[2] or 0))


@cache
def marks() -> NDArray[np.bool_]:
    """[2048, 4, 4]: the code words of the extended Hamming code of 16 bits; any two differ in at least four."""
    words = np.arange(1 << 11)
    bits = np.zeros((len(words), 16), np.int64)
    data = [k for k in range(1, 16) if k & (k - 1)]  # the other positions, powers of two, hold parities
    bits[:, data] = words[:, None] >> np.arange(11) & 1
    for parity in (1, 2, 4, 8):
        bits[:, parity] = bits[:, [k for k in data if k & parity]].sum(1) % 2
    bits[:, 0] = bits.sum(1) % 2
    return bits.reshape(-1, 4, 4).astype(np.bool_)


@cache
def procedural_catalog(classes: int, seed: int = 0) -> Catalog:
    """A catalog of some number of classes with pronounceable names; the category of a class is its shape."""
    check_int("number of procedural classes", classes, 1, MAX_ICONS)
    check_int("seed of procedural classes", seed, 0)
    rng = np.random.Generator(np.random.Philox(seed))
    sizes = (len(SHAPES), len(PATTERNS), len(marks()))
    looks = np.stack(np.unravel_index(rng.permutation(int(np.prod(sizes)))[:classes], sizes), 1)
    builtin = Catalog.default()
    words = pseudo_words(rng, {*builtin.classes, *COLOR_NAMES}, syllables=3)
    names = sorted(next(words) for _ in range(classes))
    icons: list[tuple[str, int, str]] = []
    cells = [builtin.pictures[CELL_PIXELS][:FIRST_ICON]]
    shapes, patterns = list(SHAPES), list(PATTERNS)
    for name, (shape, pattern, mark) in zip(names, looks.tolist(), strict=True):
        look = _Look(SHAPES[shapes[shape]], PATTERNS[patterns[pattern]], marks()[mark])
        colors = rng.permutation(len(COLOR_NAMES))[: min(ICONS_PER_CLASS, MAX_ICONS // classes)]
        for color in sorted(colors.tolist()):
            icons.append((name, color, shapes[shape]))
            cells.append(_picture(look, COLOR_NAMES[color])[None])
    return Catalog._of(icons, {CELL_PIXELS: np.concatenate(cells)})


def _picture(look: _Look, color: str) -> Pixels:
    """[side, side, 3]: an icon in the agent's view."""
    main = np.array(PALETTE[color])
    image = np.empty((CELL_PIXELS, CELL_PIXELS, 3), np.uint8)
    image[:] = FLOOR_COLOR
    image[look.shape] = main
    surround = look.shape.copy()
    surround[MARK, MARK] = False
    is_most = (surround & look.tint).sum() > surround.sum() / 2  # the tint is never more than the color
    image[look.shape & (look.tint != is_most)] = (main + 2 * np.array(WHITE)) // 3
    image[MARK, MARK] = np.where(look.mark[..., None], BLACK, WHITE)
    return image

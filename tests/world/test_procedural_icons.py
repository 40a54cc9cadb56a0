"""Generated catalogs: any number of classes that are distinct in the agent's view, with colors and names."""

import re

import numpy as np
import pytest
from numpy.typing import NDArray

from groundling.env_options import EnvOptions
from groundling.errors import InputError
from groundling.teacher.language import Language
from groundling.world.catalog import CELL_PIXELS, COLOR_NAMES, DISPLAY_PIXELS, FIRST_ICON, MAX_ICONS, Catalog
from groundling.world.procedural_icons import MARK, PALETTE, marks, procedural_catalog
from groundling.world.rendering import draw, view_cells


def min_distance(catalog: Catalog) -> float:
    """The smallest Euclidean distance of icons of two classes, in the pixel values 0 .. 1 that agents get."""
    images = catalog.pictures[CELL_PIXELS][FIRST_ICON:].reshape(len(catalog.icon_class), -1).astype(np.float32) / 255
    squares = (images**2).sum(1)
    smallest = np.inf
    for first in range(0, len(images), 1000):
        part = slice(first, first + 1000)
        distance: NDArray[np.float32] = squares[part, None] + squares - 2 * images[part] @ images.T
        distance[catalog.icon_class[part, None] == catalog.icon_class] = np.inf
        smallest = min(smallest, float(distance.min()))
    return float(np.sqrt(smallest))


def test_classes_are_distinct_at_the_agents_resolution() -> None:
    """Two icons of different classes differ at least as much as by two pixels from black to white."""
    assert min_distance(procedural_catalog(3000)) > 1.9
    assert min_distance(procedural_catalog(500, seed=1)) > 1.9


def test_marks_differ_in_four_pixels() -> None:
    words = marks().reshape(-1, 16).astype(np.int64)
    assert len(words) == 2048
    distance = words @ (1 - words).T + (1 - words) @ words.T
    np.fill_diagonal(distance, 16)
    assert distance.min() == 4


def test_names_are_new_pronounceable_words() -> None:
    for seed in range(3):
        names = procedural_catalog(5000, seed).classes
        assert len(set(names)) == 5000
        assert not set(names) & set(Language.paper().words)
        assert all(re.fullmatch(r"([bdfgklmnprstvwz][lr]?[aeiou])+[klmnprstx]?", name) for name in names)


def test_seed_decides_and_size_and_seed_are_read_from_the_name() -> None:
    first, same = Catalog.load("procedural:40"), procedural_catalog(40, 0)
    assert first.hash == same.hash
    other = Catalog.load("procedural:40:3")
    assert other.hash == procedural_catalog(40, 3).hash != first.hash
    assert len(first.classes) == len(other.classes) == 40


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("procedural:0", f"number of procedural classes must be an integer from 1 to {MAX_ICONS}, got 0"),
        ("procedural:40000", f"must be an integer from 1 to {MAX_ICONS}, got 40000"),
        ("procedural:many", "icons must be procedural:CLASSES or procedural:CLASSES:SEED, got 'procedural:many'"),
        ("procedural:5:-1", "got 'procedural:5:-1'"),
    ],
)
def test_wrong_names_are_refused(name: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        Catalog.load(name)


def test_icons_show_the_color_of_their_name() -> None:
    """Apart from floor and mark, every pixel is the named color or its tint, and at least half are the color."""
    catalog = procedural_catalog(200)
    assert (np.diff(catalog.first_icon) == 3).all()
    for icon, color in enumerate(catalog.icon_color.tolist()):
        image = catalog.pictures[CELL_PIXELS][FIRST_ICON + icon].astype(np.int64)
        painted = (image != catalog.pictures[CELL_PIXELS][1]).any(-1)
        painted[MARK, MARK] = False
        main = np.array(PALETTE[COLOR_NAMES[color]])
        is_main, is_tint = ((image[painted] == shade).all(-1) for shade in (main, (main + 510) // 3))
        assert (is_main | is_tint).all()
        assert is_main.mean() >= 0.5
    for c in range(200):
        own = catalog.icon_color[catalog.first_icon[c] : catalog.first_icon[c + 1]]
        assert len(set(own.tolist())) == 3


def test_larger_pictures_and_derived_catalogs() -> None:
    catalog = procedural_catalog(20)
    chosen = catalog.only(catalog.classes[:5])
    joined = Catalog.default().joined(chosen)
    for made in (catalog, chosen, joined, chosen.joined(Catalog.default())):
        assert made.pictures[DISPLAY_PIXELS].shape == (made.cells, DISPLAY_PIXELS, DISPLAY_PIXELS, 3)
    assert set(joined.classes) == {*Catalog.default().classes, *chosen.classes}
    corner = catalog.pictures[DISPLAY_PIXELS][FIRST_ICON, ::16, ::16]
    np.testing.assert_array_equal(corner, catalog.pictures[CELL_PIXELS][FIRST_ICON, ::3, ::3])


def test_as_many_classes_as_there_are_cell_ids() -> None:
    catalog = procedural_catalog(MAX_ICONS)
    assert catalog.cells == np.iinfo(np.int16).max
    with pytest.raises(InputError, match="words must be at most 32766, got 32948; use fewer classes"):
        EnvOptions(icons=catalog).teacher()
    assert catalog.icon_class.max() == len(catalog.classes) - 1 == MAX_ICONS - 1


def test_envs_speak_about_thousands_of_classes() -> None:
    teacher = EnvOptions(icons="procedural:5000").teacher()
    episode = teacher.begin(0, np.arange(500))
    said = set(episode.command.tokens.ravel().tolist())
    assert len([k for k in said if k > len(Language.paper().words)]) > 300
    assert teacher.text(episode.command, 0)
    frames = draw(view_cells(episode.state), teacher.catalog.pictures[CELL_PIXELS])
    cells = view_cells(episode.state)
    for b, row, column in ((0, 6, 6), (3, 2, 9), *np.argwhere(cells > 1000)[:50].tolist()):
        part = frames[b, 12 * row : 12 * row + 12, 12 * column : 12 * column + 12]
        np.testing.assert_array_equal(part, teacher.catalog.pictures[CELL_PIXELS][cells[b, row, column]])

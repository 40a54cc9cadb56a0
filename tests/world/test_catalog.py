"""The icon catalog: the packaged icons are complete and distinct, and user icons can replace them."""

import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from groundling.errors import InputError
from groundling.teacher.language import Language
from groundling.world.catalog import AGENT, CELL_PIXELS, DISPLAY_PIXELS, FIRST_ICON, OUTSIDE, WALL, Catalog


def test_default_catalog_is_complete(catalog: Catalog) -> None:
    assert len(catalog.icon_class) == 357
    assert len(catalog.pairs) == 221
    assert set(catalog.classes) == set(Language.paper().word_classes["object"])
    assert set(Counter(catalog.icon_class.tolist()).values()) == {3}
    assert catalog.cells == 361


@pytest.mark.parametrize("side", [CELL_PIXELS, DISPLAY_PIXELS])
def test_all_cell_images_differ(catalog: Catalog, side: int) -> None:
    images = catalog.pictures[side]
    assert images.shape == (361, side, side, 3)
    assert len({image.tobytes() for image in images}) == 361
    assert not images[OUTSIDE].any()


def test_icons_are_distinguishable_in_the_agents_view(catalog: Catalog) -> None:
    """The two most similar icons differ by more than 8 of 255 levels per channel, averaged over the cell."""
    cells = catalog.pictures[CELL_PIXELS][FIRST_ICON:].reshape(357, -1).astype(np.float32)
    smallest = min(np.abs(cells[k + 1 :] - cells[k]).mean(axis=1).min() for k in range(356))
    assert smallest > 8


def write_icons(folder: Path) -> None:
    """Write a user's icon folder: two apples, a unicorn, an agent and a wall."""
    (folder / "goal" / "fruit").mkdir(parents=True)
    lines = ["// user icons", "agent/me.png na", "block/brick.png na"]
    shades = iter(range(40, 250, 20))
    for kind, name in (("agent", "me"), ("block", "brick")):
        (folder / kind).mkdir()
        Image.new("RGB", (30, 30), (next(shades), 0, 0)).save(folder / kind / f"{name}.png")
    for name, color in (("apple_1", "red"), ("apple_2", "green"), ("unicorn_1", "na")):
        suffix = "jpg" if name == "apple_2" else "png"
        Image.new("RGB", (48, 48), (next(shades), 80, 0)).save(folder / "goal" / "fruit" / f"{name}.{suffix}")
        lines.append(f"goal/fruit/{name}.{suffix} {color} // {name}")
    (folder / "properties.txt").write_text("\n".join(lines) + "\n\n")


def test_user_icons(tmp_path: Path) -> None:
    write_icons(tmp_path)
    user_catalog = Catalog.from_folder(tmp_path)
    assert user_catalog.classes == ("apple", "unicorn")
    assert user_catalog.pairs == {("red", "apple"), ("green", "apple")}
    assert user_catalog.cells == FIRST_ICON + 3
    assert user_catalog.pictures[CELL_PIXELS][WALL, 0, 0].tolist() == [60, 0, 0]
    assert user_catalog.pictures[DISPLAY_PIXELS][AGENT, 0, 0].tolist() == [40, 0, 0]
    assert user_catalog.hash != Catalog.default().hash
    assert pickle.loads(pickle.dumps(user_catalog)).hash == user_catalog.hash
    assert pickle.loads(pickle.dumps(Catalog.default())) is Catalog.default()
    assert [user_catalog.describe(cell) for cell in range(3, 7)] == ["agent", "red apple", "green apple", "unicorn"]


def edit_properties(folder: Path, old: str, new: str) -> None:
    path = folder / "properties.txt"
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("apple_1.png red", "apple_1.png rde", "line 4: color must be one of .*, got 'rde', did you mean 'red'"),
        ("goal/fruit/apple_1.png", "goal/fruit/pear_1.png", "line 4: file .*pear_1.png.* does not exist"),
        ("goal/fruit/apple_1.png", "x" * 300, r"line 4: file 'x+\.\.\.' does not exist"),
        (
            "apple_1.png red",
            "apple_1.png",
            "line 4: a line must be `path color`, .*, got 'goal/fruit/apple_1.png ",
        ),
        ("goal/fruit/apple_1.png red", "", "must list every image in goal/, got no line for goal/fruit/apple_1.png"),
        ("agent/me.png", "agents/me.png", "line 2: file .*agents/me.png.* does not exist"),
        ("goal/fruit/apple_1.png", "properties.txt", "line 4: path must be goal/.*, got 'properties.txt'"),
    ],
)
def test_invalid_properties_file_is_rejected(tmp_path: Path, old: str, new: str, message: str) -> None:
    write_icons(tmp_path)
    edit_properties(tmp_path, old, new)
    with pytest.raises(InputError, match=message):
        Catalog.from_folder(tmp_path)


def test_invalid_icon_folder_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must contain properties\.txt"):
        Catalog.from_folder(tmp_path)
    write_icons(tmp_path)
    (tmp_path / "goal" / "fruit" / "apple_1.png").write_bytes(b"not an image")
    with pytest.raises(InputError, match=r"apple_1\.png: not a complete PNG or JPEG file"):
        Catalog.from_folder(tmp_path)
    edit_properties(tmp_path, "agent/me.png na", "")
    (tmp_path / "agent" / "me.png").unlink()
    with pytest.raises(InputError, match="agent/ must contain an image, got none"):
        Catalog.from_folder(tmp_path)


def test_catalog_with_fewer_or_more_classes(catalog: Catalog) -> None:
    fewer = catalog.only(["apple", "cat"])
    assert (fewer.classes, fewer.cells) == (("apple", "cat"), FIRST_ICON + 6)
    with pytest.raises(
        InputError, match="class must be one of the 119 in the catalog, got 'aple', did you mean 'apple'"
    ):
        catalog.only(["aple"])
    image = Image.new("RGB", (CELL_PIXELS, CELL_PIXELS), (1, 2, 3))
    more = fewer.with_class("unicorn", image)
    assert (more.classes, more.describe(more.cells - 1)) == (("apple", "cat", "unicorn"), "unicorn")
    with pytest.raises(InputError, match="class must not be in the catalog already, got 'apple'"):
        fewer.with_class("apple", image)


def test_joined_catalogs(catalog: Catalog, tmp_path: Path) -> None:
    """A class of both has the icons of both; wall and agent stay those of the first."""
    write_icons(tmp_path)
    own = Catalog.from_folder(tmp_path)
    joined = Catalog.load(f"+{tmp_path}")
    assert joined.classes == tuple(sorted({*catalog.classes, "unicorn"}))
    assert joined.cells == catalog.cells + 3
    assert joined.pairs == catalog.pairs | own.pairs
    category = dict(zip(joined.classes, joined.categories, strict=True))
    assert category["unicorn"] == "fruit"
    assert category["cat"] == dict(zip(catalog.classes, catalog.categories, strict=True))["cat"]
    for side in (CELL_PIXELS, DISPLAY_PIXELS):
        cells = joined.pictures[side]
        np.testing.assert_array_equal(cells[:FIRST_ICON], catalog.pictures[side][:FIRST_ICON])
        for name, expected in (
            ("cat", icons_of(catalog, "cat", side)),
            ("apple", np.concatenate([icons_of(catalog, "apple", side), icons_of(own, "apple", side)])),
            ("unicorn", icons_of(own, "unicorn", side)),
        ):
            np.testing.assert_array_equal(icons_of(joined, name, side), expected)
    own_first = own.joined(catalog)
    np.testing.assert_array_equal(own_first.pictures[12][:FIRST_ICON], own.pictures[12][:FIRST_ICON])
    assert own_first.cells == joined.cells
    assert len({catalog.hash, own.hash, joined.hash, own_first.hash}) == 4
    assert pickle.loads(pickle.dumps(joined)).hash == joined.hash


def icons_of(catalog: Catalog, name: str, side: int) -> NDArray[np.uint8]:
    """The images of a class."""
    icons = np.flatnonzero(catalog.icon_class == catalog.classes.index(name))
    return catalog.pictures[side][FIRST_ICON + icons]


def test_variants_of_icons(catalog: Catalog) -> None:
    """Each icon in each variant, with the word of the variant; the catalog stays grouped by class."""
    few = catalog.only(["apple", "cat"])
    both = few.with_variants("shade", {"bright": lambda image: image, "dark": lambda image: image // 2})
    assert both.classes == few.classes
    assert both.categories == few.categories
    assert both.cells == FIRST_ICON + 2 * 6
    assert both.first_icon.tolist() == [0, 6, 12]
    assert both.icon_color.tolist() == np.repeat(few.icon_color, 2).tolist()
    assert both.attribute("shade", ("dark", "bright")) == ["bright", "dark"] * 6
    assert both.attribute("shade", ("dark",)) == [None, "dark"] * 6  # a language need not have all words
    for side in (CELL_PIXELS, DISPLAY_PIXELS):
        old, new = few.pictures[side], both.pictures[side]
        np.testing.assert_array_equal(new[:FIRST_ICON], old[:FIRST_ICON])
        np.testing.assert_array_equal(new[FIRST_ICON::2], old[FIRST_ICON:])
        np.testing.assert_array_equal(new[FIRST_ICON + 1 :: 2], old[FIRST_ICON:] // 2)
    again = both.with_variants("side", {"left": lambda image: image, "right": lambda image: image[:, ::-1]})
    assert again.attribute("shade", ("bright", "dark")) == ["bright", "bright", "dark", "dark"] * 6
    assert again.attribute("side", ("left", "right")) == ["left", "right"] * 12
    assert both.hash != few.hash
    assert pickle.loads(pickle.dumps(both)).attributes == both.attributes


def test_attributes_are_kept_by_every_change_of_a_catalog(catalog: Catalog) -> None:
    few = catalog.only(["apple", "cat"]).with_variants("shade", {"bright": lambda image: image})
    assert few.only(["cat"]).attribute("shade", ("bright",)) == ["bright"] * 3
    image = Image.new("RGB", (CELL_PIXELS, CELL_PIXELS), (1, 2, 3))
    assert few.with_class("unicorn", image).attribute("shade", ("bright",)) == ["bright"] * 6 + [None]
    joined = catalog.only(["cat", "dog"]).joined(few)
    assert joined.classes == ("apple", "cat", "dog")
    shades = joined.attribute("shade", ("bright",))
    assert shades == ["bright"] * 3 + [None] * 3 + ["bright"] * 3 + [None] * 3
    assert joined.attribute("color", tuple("abcdefgh"))[:3] == few.attribute("color", tuple("abcdefgh"))[:3]
    with pytest.raises(InputError, match="icons must have the attribute 'size', got shade"):
        few.attribute("size", ("big",))
    with pytest.raises(InputError, match="icons must have the attribute 'size', got none"):
        catalog.attribute("size", ("big",))


def test_attributes_in_the_properties_file(tmp_path: Path) -> None:
    write_icons(tmp_path)
    edit_properties(tmp_path, "apple_1.png red", "apple_1.png red size=big shape=round")
    edit_properties(tmp_path, "apple_2.jpg green", "apple_2.jpg green size=small")
    own = Catalog.from_folder(tmp_path)
    assert own.attributes == {"size": ("big", "small", None), "shape": ("round", None, None)}
    assert own.attribute("size", ("big", "small")) == ["big", "small", None]
    edit_properties(tmp_path, "size=small", "size=")
    with pytest.raises(InputError, match="line 5: a line must be `path color`, and perhaps attributes such as"):
        Catalog.from_folder(tmp_path)

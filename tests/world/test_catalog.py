"""The icons: complete, all different, and a user's own in their place."""

import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from groundling.errors import InputError
from groundling.teacher.lexicon import OBJECTS
from groundling.world.catalog import AGENT, CELL_PIXELS, FIRST_ICON, OUTSIDE, PERSON_PIXELS, WALL, Catalog


def test_shipped_icons(catalog: Catalog) -> None:
    assert len(catalog.icon_class) == 357
    assert len(catalog.pairs) == 221
    assert set(catalog.classes) == set(OBJECTS)
    assert set(Counter(catalog.icon_class.tolist()).values()) == {3}
    assert catalog.cells == 361


@pytest.mark.parametrize("side", [CELL_PIXELS, PERSON_PIXELS])
def test_no_two_cells_look_the_same(catalog: Catalog, side: int) -> None:
    pictures = catalog.pictures[side]
    assert pictures.shape == (361, side, side, 3)
    assert len({picture.tobytes() for picture in pictures}) == 361
    assert not pictures[OUTSIDE].any()


def test_icons_are_told_apart_at_the_agents_size(catalog: Catalog) -> None:
    """Not by a stray pixel: the nearest two icons differ by 8 levels a channel and more, in the mean."""
    cells = catalog.pictures[CELL_PIXELS][FIRST_ICON:].reshape(357, -1).astype(np.float32)
    nearest = min(np.abs(cells[k + 1 :] - cells[k]).mean(axis=1).min() for k in range(356))
    assert nearest > 8


def write_icons(folder: Path) -> None:
    (folder / "goal" / "fruit").mkdir(parents=True)
    lines = ["// my icons", "agent/me.png na", "block/brick.png na"]
    shades = iter(range(40, 250, 20))
    for kind, name in (("agent", "me"), ("block", "brick")):
        (folder / kind).mkdir()
        Image.new("RGB", (30, 30), (next(shades), 0, 0)).save(folder / kind / f"{name}.png")
    for name, color in (("apple_1", "red"), ("apple_2", "green"), ("unicorn_1", "na")):
        suffix = "jpg" if name == "apple_2" else "png"
        Image.new("RGB", (48, 48), (next(shades), 80, 0)).save(folder / "goal" / "fruit" / f"{name}.{suffix}")
        lines.append(f"goal/fruit/{name}.{suffix} {color} // {name}")
    (folder / "properties.txt").write_text("\n".join(lines) + "\n\n")


def test_users_icons(tmp_path: Path) -> None:
    write_icons(tmp_path)
    own = Catalog.from_folder(tmp_path)
    assert own.classes == ("apple", "unicorn")
    assert own.pairs == {("red", "apple"), ("green", "apple")}
    assert own.cells == FIRST_ICON + 3
    assert own.pictures[CELL_PIXELS][WALL, 0, 0].tolist() == [60, 0, 0]
    assert own.pictures[PERSON_PIXELS][AGENT, 0, 0].tolist() == [40, 0, 0]
    assert own.hash != Catalog.default().hash
    assert pickle.loads(pickle.dumps(own)).hash == own.hash
    assert pickle.loads(pickle.dumps(Catalog.default())) is Catalog.default()
    assert [own.describe(cell) for cell in range(3, 7)] == ["agent", "red apple", "green apple", "unicorn"]


def edit(folder: Path, old: str, new: str) -> None:
    path = folder / "properties.txt"
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("apple_1.png red", "apple_1.png rde", "line 4: unknown color 'rde', did you mean 'red'"),
        ("goal/fruit/apple_1.png", "goal/fruit/pear_1.png", "line 4: there is no file"),
        ("apple_1.png red", "apple_1.png", "line 4: .* is not `path color`"),
        ("goal/fruit/apple_1.png red", "", "gives no color for goal/fruit/apple_1.png"),
        ("agent/me.png", "agents/me.png", "line 2: there is no file"),
    ],
)
def test_broken_properties(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    write_icons(tmp_path)
    edit(tmp_path, old, new)
    with pytest.raises(InputError, match=complaint):
        Catalog.from_folder(tmp_path)


def test_broken_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no properties\.txt"):
        Catalog.from_folder(tmp_path)
    write_icons(tmp_path)
    (tmp_path / "goal" / "fruit" / "apple_1.png").write_bytes(b"not a picture")
    with pytest.raises(InputError, match=r"apple_1\.png: not a readable picture"):
        Catalog.from_folder(tmp_path)
    edit(tmp_path, "agent/me.png na", "")
    (tmp_path / "agent" / "me.png").unlink()
    with pytest.raises(InputError, match="no picture in agent/"):
        Catalog.from_folder(tmp_path)

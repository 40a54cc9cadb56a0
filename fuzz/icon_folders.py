"""Damaged and hostile icon folders: refused with an InputError, or an env with these icons plays an episode.

    python fuzz/icon_folders.py --count 500 --seed 0

Bars: no exception other than InputError, and at most 60 s and 1 GB for each folder.
"""

import io
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from common import Rng, arguments, mutate_bytes, run
from PIL import Image

from groundling.env import NavVectorEnv

LINES = ("goal/fruit/apple_1.png red", "goal/fruit/apple_2.jpg na", "goal/toy/robot_1.png blue", "agent/me.png na")
FORMATS = ("GIF", "BMP", "TIFF", "WEBP", "PPM", "ICO", "EPS", "TGA", "DDS")


def picture(rng: Rng, form: str, side: int = 16) -> bytes:
    """A random image in a format, as a file."""
    out = io.BytesIO()
    mode = "RGB" if form in ("JPEG", "EPS", "PPM", "BMP") else "RGBA"
    Image.fromarray(rng.integers(0, 256, (side, side, len(mode)), np.uint8), mode).save(out, form)
    return out.getvalue()


def huge_png(side: int) -> bytes:
    """A small file that says it is an image of side x side pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    data = zlib.compress(bytes(1 << 20))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def text_bomb(rng: Rng) -> bytes:
    """A PNG with a compressed text chunk that unpacks to many megabytes."""
    good = picture(rng, "PNG")
    data = b"comment\0\0" + zlib.compress(bytes(80 << 20), 9)
    chunk = struct.pack(">I", len(data)) + b"zTXt" + data + struct.pack(">I", zlib.crc32(b"zTXt" + data))
    return good[:33] + chunk + good[33:]


def make(rng: Rng, folder: Path) -> tuple[str, Any]:
    """A valid folder, then one to three changes."""
    for line in (*LINES, "block/wall.png na"):
        path = folder / line.split()[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(rng, "JPEG" if path.suffix == ".jpg" else "PNG"))
    listing = "\n".join(LINES) + "\n// a comment\n"
    (folder / "properties.txt").write_text(listing)
    changes = [change(rng, folder, listing) for _ in range(int(rng.choice([1, 1, 1, 2, 3])))]
    return "; ".join(changes), folder


def change(rng: Rng, folder: Path, listing: str) -> str:
    """Damage the folder; returns how."""
    icon = folder / str(rng.choice([line.split()[0] for line in LINES]))
    if icon.is_symlink() or icon.is_dir():  # by an earlier change
        return "nothing more"
    kind = int(rng.integers(14))
    if kind == 0:
        what, data = mutate_bytes(rng, listing.encode())
        (folder / "properties.txt").write_bytes(data)
        return f"properties.txt: {what}"
    if kind == 1:
        (folder / "properties.txt").write_text(listing + str(rng.choice(ODD_LINES)) + "\n")
        return "an odd line in properties.txt"
    if kind == 2:
        form = str(rng.choice(FORMATS))
        icon.write_bytes(picture(rng, form))
        return f"{icon.name} is {form}"
    if kind == 3:
        what, data = mutate_bytes(rng, picture(rng, str(rng.choice(["PNG", "JPEG"]))))
        icon.write_bytes(data)
        return f"{icon.name}: {what}"
    if kind == 4:
        icon.write_bytes(huge_png(int(rng.choice([3000, 13_000, 60_000]))))
        return f"{icon.name} is huge"
    if kind == 5:
        icon.write_bytes(text_bomb(rng))
        return f"{icon.name} has a text bomb"
    if kind == 6:
        (icon.parent / ".DS_Store").write_bytes(b"\0\1")
        return "a hidden file"
    if kind == 7:
        (folder / "properties.txt").unlink(missing_ok=True)
        return "no properties.txt"
    if kind == 8:
        for file in (folder / "block").glob("*"):
            file.unlink()
        return "no image of a wall"
    if kind == 9:
        icon.unlink(missing_ok=True)
        icon.symlink_to(icon)
        return f"{icon.name} is a symbolic link to itself"
    if kind == 10:
        (folder / "goal" / "fruit" / f"{rng.choice(['kiwi', 'Kiwi', 'ki wi', 'red', 'the'])}_1.png").write_bytes(
            picture(rng, "PNG")
        )
        return "an image that is not listed"
    if kind == 11:
        icon.unlink(missing_ok=True)
        icon.mkdir(exist_ok=True)
        return f"{icon.name} is a folder"
    if kind == 12:
        icon.write_bytes(b"<svg/>" if rng.integers(2) else b"")
        return f"{icon.name} is text or empty"
    (folder / "properties.txt").write_bytes(bytes(rng.integers(0, 256, 300, np.uint8)))
    return "properties.txt is random bytes"


ODD_LINES = (
    "goal/fruit/none_1.png red",
    "../../../etc/passwd na",
    "/etc/passwd na",
    "goal/fruit/apple_1.png pink",
    "goal/apple_1.png red",
    "goal/fruit/" + "x" * 5000 + "_1.png red",
    "goal/fruit/apple_1.png red red",
    "\0 na",
)


def use(folder: Path) -> str:
    """Play one episode with the icons."""
    envs = NavVectorEnv(2, icons=folder, objects=(1, 2), observation="pixels")
    envs.reset(seed=0)
    envs.step(np.zeros(2, np.int64))
    return "played"


def main() -> int:
    options = arguments("Fuzz icon folders.", 500).parse_args()
    envs = NavVectorEnv(2)  # compile before the workers are forked
    envs.reset(seed=0)
    envs.step(np.zeros(2, np.int64))
    report = run("icon folders", options, make, use)
    code = report.show()
    report.show_reasons("refused", 5)
    return code


if __name__ == "__main__":
    sys.exit(main())

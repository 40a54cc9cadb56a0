"""Damaged and hostile icon folders: refused with an InputError, or an env with these icons can be reset and played.

    python fuzz/icon_folders.py --count 500 --seed 0

Bars: no exception other than InputError, no blocking, and at most 60 s and 1 GB for each folder.
"""

import io
import os
import shutil
import struct
import sys
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from common import FILE_KINDS, Rng, arguments, mutate_bytes, odd_file, run, without_root
from PIL import Image

from groundling.vector_env import NavVectorEnv
from groundling.world.catalog import Catalog

LINES = (
    "goal/fruit/apple_1.png red",
    "goal/fruit/apple_2.jpg green",
    "goal/toy/robot_1.png na // new",
    "agent/me.png na",
    "block/wall.png na",
)
ICONS = [line.split()[0] for line in LINES]
FORMATS = (
    "GIF",
    "BMP",
    "TIFF",
    "WEBP",
    "PPM",
    "ICO",
    "EPS",
    "TGA",
    "DDS",
    "PCX",
    "SGI",
    "JPEG2000",
    "PDF",
    "IM",
    "MPO",
)
MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16", "CMYK")
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def picture(rng: Rng, form: str = "PNG", mode: str = "RGB", side: int = 16) -> bytes:
    """A file with a random image."""
    image = Image.fromarray(rng.integers(0, 256, (side, side, 3), np.uint8))
    out = io.BytesIO()
    (image.convert("L").convert("I;16") if mode == "I;16" else image.convert(mode)).save(out, form)
    return out.getvalue()


def write_icons(rng: Rng, folder: Path) -> None:
    """A valid folder of icons."""
    for name in ICONS:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(rng, "JPEG" if path.suffix == ".jpg" else "PNG"))
    (folder / "properties.txt").write_text("// icons\n" + "\n".join(LINES) + "\n")


def chunk(name: bytes, data: bytes) -> bytes:
    """A chunk of a PNG file."""
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


@cache
def large_png(width: int, height: int) -> bytes:
    """A small file that says that it is a large image."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return PNG_SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1 << 20))) + chunk(b"IEND", b"")


@cache
def chunk_bomb(name: bytes) -> bytes:
    """A PNG file with a compressed chunk that unpacks to 80 MB."""
    start = {b"zTXt": b"note\0\0", b"iTXt": b"note\0\1\0\0\0", b"iCCP": b"profile\0\0"}[name]
    good = picture(np.random.default_rng(0))
    return good[:33] + chunk(name, start + zlib.compress(bytes(80 << 20), 9)) + good[33:]


# Each of these damages a folder of icons, and says how.


def change_list(rng: Rng, folder: Path) -> str:
    path = folder / "properties.txt"
    if rng.integers(2):
        what, data = mutate_bytes(rng, path.read_bytes())
        path.write_bytes(data)
        return f"properties.txt: {what}"
    apple = "goal/fruit/apple_1.png"
    odd = (
        *("goal/fruit/none_1.png red", "../../../etc/passwd na", "/etc/passwd na", f"{apple} pink", f"{apple} red red"),
        *("goal/apple_1.png red", apple, "\0 na", ". na", "/ na", "goal/../goal/fruit/apple_1.png na", "//", "a//b"),
        *("goal/fruit/" + "x" * 250 + "_1.png red", "x" * 5000 + " na", f"{apple} na\n" * 20_000, "agent/me.png red"),
        *("\ufeff", "\u2028goal/x na", "\ud800 na"),
    )
    line = odd[rng.integers(len(odd))]
    with path.open("ab") as file:
        file.write(line.encode("utf-8", "surrogatepass") + b"\n")
    return f"line {line[:30]!r}"


def change_image(rng: Rng, folder: Path) -> str:
    path = folder / ICONS[rng.integers(len(ICONS))]
    form = str(rng.choice(["PNG", "JPEG"]))
    what, data = mutate_bytes(rng, picture(rng, form))
    path.write_bytes(data)
    return f"{path.name}: {form}, {what}"


def change_header(rng: Rng, folder: Path) -> str:
    """Other sizes, depths and colors in the header of a PNG file, with the right checksum."""
    path = folder / ICONS[rng.integers(len(ICONS))]
    sizes = [0, 1, 16, 2048, 2049, 13_000, (1 << 31) - 1, 1 << 31, (1 << 32) - 1]
    width, height = (sizes[k] for k in rng.integers(len(sizes), size=2))
    fields = [int(rng.choice([1, 2, 4, 8, 16, 3])), *rng.integers(0, 7, 1).tolist(), *rng.integers(0, 2, 3).tolist()]
    good = picture(rng)
    path.write_bytes(PNG_SIGNATURE + chunk(b"IHDR", struct.pack(">II5B", width, height, *fields)) + good[33:])
    return f"{path.name}: {width} x {height}, {fields}"


def change_format(rng: Rng, folder: Path) -> str:
    path = folder / ICONS[rng.integers(len(ICONS))]
    kind = str(rng.choice(["format", "format", "mode", "SVG", "text", "large", "bomb"]))
    if kind == "format":
        kind = str(rng.choice(FORMATS))
        path.write_bytes(picture(rng, kind))
    elif kind == "mode":
        kind = str(rng.choice(MODES))
        path.write_bytes(picture(rng, "JPEG" if kind == "CMYK" else "PNG", kind, int(rng.choice([1, 5, 64, 500]))))
    elif kind == "SVG":
        path.write_bytes(b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')
    elif kind == "text":
        path.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(x) run\n")
    elif kind == "large":
        path.write_bytes(large_png(*(int(side) for side in rng.choice([2000, 2049, 13_000, 60_000], 2))))
    else:
        path.write_bytes(chunk_bomb((b"zTXt", b"iTXt", b"iCCP")[rng.integers(3)]))
    return f"{path.name}: {kind}"


def change_names(rng: Rng, folder: Path) -> str:
    """More files and folders, with odd names; some of them listed."""
    names = [
        ".DS_Store",
        ".hidden_1.png",
        "kiwi_1.png",
        "Kiwi_1.png",
        "ki-wi_1.png",
        "red_1.png",
        "the_1.png",
        "_1.png",
    ]
    names += [
        "_.png",
        "x_1",
        "é_1.png",
        "ß_1.png",
        "ａ_1.png",
        "\u0301_1.png",
        "line\nbreak_1.png",
        "x" * 240 + "_1.png",
    ]
    names += [os.fsdecode(b"bad\xff_1.png"), "apple_3.png/x_1.png", "(_1.png", "a_b_1.png", "kiwi_1.png~"]
    name = names[rng.integers(len(names))]
    path = folder / str(rng.choice(["goal/fruit", "goal", "goal/new", "agent", "block"])) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(picture(rng))
    if rng.integers(2):
        with (folder / "properties.txt").open("ab") as file:
            file.write(os.fsencode(f"{path.relative_to(folder)} na\n"))
    return f"file {name!r:.40}"


def change_files(rng: Rng, folder: Path) -> str:
    """No ordinary file where one is listed."""
    path = folder / str(rng.choice([*ICONS, "properties.txt"]))
    kind = str(rng.choice([*FILE_KINDS, "empty"]))
    content = path.read_bytes() if path.is_file() else b""
    if path.is_dir():
        shutil.rmtree(path)
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "in a locked folder":
        path.write_bytes(content)
        path.parent.chmod(0)
    else:
        odd_file(kind, path.parent, path.name, content)
    return f"{path.name}: {kind}"


def change_folders(rng: Rng, folder: Path) -> str:
    part = folder / str(rng.choice(["goal", "goal/fruit", "agent", "block"]))
    kind = str(rng.choice(["missing", "loop", "deep", "file"]))
    if kind in ("missing", "file"):
        shutil.rmtree(part, ignore_errors=True)
        if kind == "file" and part.parent.is_dir():
            part.write_bytes(b"")
    elif kind == "loop":
        (part / "loop").symlink_to(part)
    else:
        (part / "/".join("d" * 60)).mkdir(parents=True)
    return f"{part.name}: {kind}"


def add_classes(rng: Rng, folder: Path) -> str:
    """Many classes, all with the same image."""
    count = int(rng.choice([10, 150, 900, 3000]))
    lines = []
    for k in range(count):
        name = f"goal/toy/q{''.join('abcdefghij'[int(digit)] for digit in str(k))}_1.png"
        (folder / name).symlink_to(folder / ICONS[0])
        lines.append(f"{name} {'red' if k % 2 else 'na'}\n")
    with (folder / "properties.txt").open("a") as file:
        file.writelines(lines)
    return f"{count} classes"


CHANGES: list[Callable[[Rng, Path], str]] = [
    *(change_list, change_list, change_image, change_image, change_header, change_format, change_format),
    *(change_names, change_names, change_files, change_folders),
]
"""In this order, because nothing can be written to what the last ones leave."""


def make(rng: Rng, folder: Path) -> tuple[str, Path]:
    """A valid folder with one or two changes, or something that is no folder of icons."""
    icons = folder / "icons"
    icons.mkdir()
    write_icons(rng, icons)
    if rng.integers(20) == 0:
        odd = [folder / "none", folder / ("x" * 300), folder / "null\0", icons / "properties.txt", Path("/dev/null")]
        return "no folder", odd[rng.integers(len(odd))]
    if rng.integers(50) == 0:
        return add_classes(rng, icons), icons
    chosen = sorted(rng.choice(len(CHANGES), size=int(rng.choice([1, 1, 2]))))
    try:
        return "; ".join(CHANGES[k](rng, icons) for k in chosen), icons
    except OSError as error:  # the second change meets what the first one left
        return f"changes until {type(error).__name__}", icons


def use(folder: Path) -> None:
    """Read the folder; if it is accepted, begin an episode with its icons."""
    with without_root():
        Catalog.from_folder(folder)
    envs = NavVectorEnv(2, icons=folder, objects=(1, 2), observation="pixels")
    envs.reset(seed=0)
    envs.step(np.zeros(2, np.int64))


def main() -> int:
    options = arguments("Fuzz icon folders.", 500).parse_args()
    envs = NavVectorEnv(2)  # compile before the workers are forked
    envs.reset(seed=0)
    envs.step(np.zeros(2, np.int64))
    Image.init()  # imports all formats
    return run("icon folders", options, make, use).show()


if __name__ == "__main__":
    sys.exit(main())

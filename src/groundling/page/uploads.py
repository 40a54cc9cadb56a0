"""Images uploaded by users: decoded under strict limits and converted to icons."""

import base64
import binascii
import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from groundling.errors import InputError
from groundling.world.catalog import DISPLAY_PIXELS, flatten

ICON_COLORS = 64
FLOOR_TOLERANCE = 6


def decode_png(text: str, max_bytes: int, max_pixels: int) -> Image.Image:
    """An image from a PNG in base64. Its size is checked before any pixel is decoded."""
    if len(text) > max_bytes * 4 // 3 + 4:
        raise InputError(f"image must have at most {max_bytes // 1024:,} KB, got {len(text) * 3 // 4 // 1024:,} KB")
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InputError("image must be encoded in base64") from None
    try:
        image = Image.open(io.BytesIO(data), formats=("PNG",))
        if max(image.size) <= max_pixels:
            return image.convert("RGBA")
    except Exception:  # Pillow raises many kinds of exceptions on corrupt files
        raise InputError("image must be a complete PNG file") from None
    raise InputError(f"image must have at most {max_pixels} pixels per side, got {image.width} x {image.height}")


def to_icon(image: Image.Image) -> Image.Image:
    """The whole image, padded to a square, at the size of a cell and with the floor as its background."""
    side = max(image.size)
    square = Image.new("RGBA", (side, side), (0, 0, 0, 0))
    square.paste(image, ((side - image.width) // 2, (side - image.height) // 2))
    return Image.fromarray(flatten(square, DISPLAY_PIXELS))


def png_bytes(pixels: NDArray[np.uint8]) -> bytes:
    """Pixels [H, W, 3] or [H, W, 4] as a PNG file."""
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def webp_bytes(pixels: NDArray[np.uint8]) -> bytes:
    """Pixels [H, W, 4] as a WebP file, a third of the size of a PNG file."""
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "WEBP", quality=75, alpha_quality=60, method=6)
    return out.getvalue()


def cut_out(icons: NDArray[np.uint8], floor: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Icons [..., H, W, 3] with an alpha channel that is transparent where floor surrounds them."""
    is_floor = np.abs(icons.astype(np.int16) - floor).max(axis=-1) <= FLOOR_TOLERANCE
    outside = np.zeros_like(is_floor)
    outside[..., [0, -1], :] = outside[..., :, [0, -1]] = True
    outside &= is_floor
    while True:  # grow from the edges; floor color within an icon stays
        grown = outside.copy()
        grown[..., 1:, :] |= outside[..., :-1, :]
        grown[..., :-1, :] |= outside[..., 1:, :]
        grown[..., :, 1:] |= outside[..., :, :-1]
        grown[..., :, :-1] |= outside[..., :, 1:]
        grown &= is_floor
        if (grown == outside).all():
            break
        outside = grown
    alpha = np.where(outside, 0, 255).astype(np.uint8)
    return np.concatenate([icons, alpha[..., None]], axis=-1)


def png_base64(pixels: NDArray[np.uint8]) -> str:
    """Pixels [H, W, 3] or [H, W, 4] as a PNG file in base64."""
    return base64.b64encode(png_bytes(pixels)).decode()


def icon_base64(image: Image.Image) -> str:
    """The icon of an image as a PNG file in base64, with few colors, so that links with it stay short."""
    out = io.BytesIO()
    to_icon(image).quantize(ICON_COLORS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode()

"""Images uploaded by users: decoded under strict limits and converted to icons."""

import base64
import binascii
import io

import numpy as np
from PIL import Image

from groundling.errors import InputError
from groundling.world.catalog import DISPLAY_PIXELS, Pixels, flatten


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


def png_bytes(pixels: Pixels) -> bytes:
    """Pixels [H, W, 3] as a PNG file."""
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def png_base64(pixels: Pixels) -> str:
    """Pixels [H, W, 3] as a PNG file in base64."""
    return base64.b64encode(png_bytes(pixels)).decode()


def icon_base64(image: Image.Image) -> str:
    """The icon of an image as a PNG file in base64."""
    return png_base64(np.asarray(to_icon(image)))

"""Pictures that users upload: decoded under strict limits, and made into icons like any other."""

import base64
import binascii
import io

import numpy as np
from PIL import Image

from groundling.errors import InputError
from groundling.world.catalog import PERSON_PIXELS, Pixels, flatten


def decode(text: str, most_bytes: int, most_pixels: int) -> Image.Image:
    """A PNG in base64 as a picture. Its size is known, and refused if too large, before any pixel is decoded."""
    if len(text) > most_bytes * 4 // 3 + 4:
        raise InputError(f"picture: it has more than {most_bytes // 1024:,} KB")
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InputError("picture: it is not base64") from None
    try:
        image = Image.open(io.BytesIO(data), formats=("PNG",))
        if max(image.size) <= most_pixels:
            return image.convert("RGBA")
    except Exception:  # a decoder that is fed with garbage can fail in any way
        raise InputError("picture: it is not a whole PNG file") from None
    raise InputError(f"picture of {image.width} x {image.height}: {most_pixels} pixels a side at the most")


def icon(image: Image.Image) -> Image.Image:
    """The picture, whole, in a square of a cell's size on the floor."""
    side = max(image.size)
    square = Image.new("RGBA", (side, side), (0, 0, 0, 0))
    square.paste(image, ((side - image.width) // 2, (side - image.height) // 2))
    return Image.fromarray(flatten(square, PERSON_PIXELS))


def png(pixels: Pixels) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def png_text(image: Image.Image) -> str:
    """A picture as a PNG in base64."""
    return base64.b64encode(png(np.asarray(image))).decode()

"""Words of your own with a meaning in the world: "Go to the big apple." and "What is the size of the apple?"

    python examples/own_words.py                     # shows an episode with small and big objects
    cd examples && groundling train fast --language own_words.toml --icons own_words:sized_icons \
        --size 5 --num-classes 20 --split zs1 --holdout 20
    groundling evaluate runs/fast-zs1-20-0 --allow-import   # on pairs such as (big, apple) that training held out

Every icon exists twice, small and big; `size` is an attribute of icons, as color is.
"""

from pathlib import Path

import gymnasium as gym
import numpy as np
from PIL import Image

import groundling  # noqa: F401 - registers the environments
from groundling.world.catalog import FLOOR_COLOR, Catalog, Pixels

LANGUAGE = Path(__file__).with_suffix(".toml")


def shrunk(icon: Pixels) -> Pixels:
    """The icon at 60 % of its size, in the middle of the cell."""
    side = len(icon)
    inner = round(0.6 * side)
    start = (side - inner) // 2
    small = np.full_like(icon, FLOOR_COLOR)
    resized = Image.fromarray(icon).resize((inner, inner), Image.Resampling.BOX)
    small[start : start + inner, start : start + inner] = np.asarray(resized)
    return small


def sized_icons() -> Catalog:
    """The built-in icons, each small and big."""
    return Catalog.default().with_variants("size", {"small": shrunk, "big": lambda icon: icon})


def main() -> None:
    env = gym.make(
        "groundling/NavQA-v0",
        language=LANGUAGE,
        icons=sized_icons(),
        types=("nav_size_obj",),
        type_balanced_fraction=1.0,  # every episode begins with a command about a size
        render_mode="ansi",
    )
    env.reset(seed=0)
    print(env.render())


if __name__ == "__main__":
    main()

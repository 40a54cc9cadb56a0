"""The curriculum: the paper's five quantities grow with G'/G, the fraction of the curriculum completed.

G' is the episode's own index, so the difficulty does not depend on the batch size or the number of workers.
"""

from typing import NamedTuple

from groundling.jit import kernel

EASIEST_OPEN_SIZE = 3
EASIEST_OBJECTS = 1
EASIEST_WALLS = 0
EASIEST_CLASSES = 12
"""More, if the split allows no command about the first twelve."""
EASIEST_WORDS = 5
"""Enough for the shortest templates of eight types; the other types follow as sentences get longer."""


class Difficulty(NamedTuple):
    """Upper limits of the quantities sampled for one episode."""

    open_size: int
    objects: int
    walls: int
    classes: int
    words: int


@kernel
def difficulty(
    index: int, curriculum: int, size: int, objects: int, walls: int, classes: int, words: int, easiest_classes: int,
    easiest_words: int,
) -> Difficulty:  # fmt: skip
    """The limits of episode G' = `index` in a curriculum of G episodes (0: none), given those at full difficulty."""
    if index >= curriculum:
        return Difficulty(size, objects, walls, classes, words)
    return Difficulty(
        grown(min(EASIEST_OPEN_SIZE, size), size, index, curriculum),
        grown(min(EASIEST_OBJECTS, objects), objects, index, curriculum),
        grown(min(EASIEST_WALLS, walls), walls, index, curriculum),
        grown(min(easiest_classes, classes), classes, index, curriculum),
        grown(min(easiest_words, words), words, index, curriculum),
    )


@kernel
def grown(low: int, high: int, part: int, whole: int) -> int:
    """Interpolate from `low` to `high`, each value for an equal part of the whole."""
    return low + (high - low + 1) * part // whole

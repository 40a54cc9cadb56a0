"""How difficult a episode is: the paper's five quantities grow with G'/G, the share of the curriculum gone through.

G' is the episode's own index, so that difficulty too is the same whatever the batch size or the number of workers.
"""

from typing import NamedTuple

from groundling.jit import kernel
from groundling.teacher.grammar import MAX_WORDS

EASIEST_OPEN_SIZE = 3
EASIEST_OBJECTS = 1
EASIEST_WALLS = 0
EASIEST_CLASSES = 12
EASIEST_WORDS = 5
"""Enough for the shortest templates of eight types; the others join in as sentences grow."""


class Difficulty(NamedTuple):
    """The limits of one episode: each quantity is drawn up to here."""

    open_size: int
    objects: int
    walls: int
    classes: int
    words: int


@kernel
def difficulty(episode: int, episodes: int, size: int, objects: int, walls: int, classes: int) -> Difficulty:
    """The limits of episode G' of a curriculum of G = `episodes` (0: none), given those of the full world."""
    if episode >= episodes:
        return Difficulty(size, objects, walls, classes, MAX_WORDS)
    return Difficulty(
        grown(min(EASIEST_OPEN_SIZE, size), size, episode, episodes),
        grown(min(EASIEST_OBJECTS, objects), objects, episode, episodes),
        grown(min(EASIEST_WALLS, walls), walls, episode, episodes),
        grown(min(EASIEST_CLASSES, classes), classes, episode, episodes),
        grown(EASIEST_WORDS, MAX_WORDS, episode, episodes),
    )


@kernel
def grown(low: int, high: int, part: int, whole: int) -> int:
    """From `low` to `high` in equal shares of the whole, so that `high` too has its share."""
    return low + (high - low + 1) * part // whole

"""How difficult a session is: the paper's five quantities grow with G'/G, the share of the curriculum gone through.

G' is the session's own index, so that difficulty too is the same whatever the batch size or the number of workers.
"""

from typing import NamedTuple

from groundling.kernel import kernel
from groundling.teacher.grammar import MAX_WORDS

EASIEST_OPEN_SIZE = 3
EASIEST_OBJECTS = 1
EASIEST_WALLS = 0
EASIEST_CLASSES = 12
EASIEST_WORDS = 5
"""Enough for the shortest templates of eight types; the others join in as sentences grow."""


class Difficulty(NamedTuple):
    """The limits of one session: each quantity is drawn up to here."""

    open_size: int
    objects: int
    walls: int
    classes: int
    words: int


@kernel
def difficulty(session: int, sessions: int, size: int, objects: int, walls: int, classes: int) -> Difficulty:
    """The limits of session G' of a curriculum of G = `sessions` (0: none), given those of the full world."""
    if session >= sessions:
        return Difficulty(size, objects, walls, classes, MAX_WORDS)
    return Difficulty(
        grown(min(EASIEST_OPEN_SIZE, size), size, session, sessions),
        grown(min(EASIEST_OBJECTS, objects), objects, session, sessions),
        grown(min(EASIEST_WALLS, walls), walls, session, sessions),
        grown(min(EASIEST_CLASSES, classes), classes, session, sessions),
        grown(EASIEST_WORDS, MAX_WORDS, session, sessions),
    )


@kernel
def grown(low: int, high: int, part: int, whole: int) -> int:
    """From `low` to `high` in equal shares of the whole, so that `high` too has its share."""
    return low + (high - low + 1) * part // whole

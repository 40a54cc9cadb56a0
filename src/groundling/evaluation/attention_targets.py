"""The cells that a sentence refers to: the ground truth for attention maps."""

import numpy as np

from groundling.teacher.sentence_types import OFFSETS
from groundling.teacher.types import SentenceBatch
from groundling.world.catalog import FIRST_ICON, Catalog
from groundling.world.types import Bools, State

BETWEEN = ((0, 1), (1, 0))


def attention_targets(state: State, sentences: SentenceBatch, catalog: Catalog) -> Bools:
    """[B, N]: the cells of the agent's view, row by row, that each sentence refers to; none without a sentence."""
    size = state.size
    side = 2 * size - 1
    seen = np.zeros((len(sentences.type), side, side), np.bool_)
    for b in np.flatnonzero(sentences.type >= 0):
        row, column = divmod(int(state.agent[b]), size)
        cells = _on_map(state.grid[b].reshape(size, size), (row, column), sentences.slots[b].tolist(), catalog)
        seen[b, size - 1 - row : side - row, size - 1 - column : side - column] = cells
    return seen.reshape(len(seen), -1)


def _on_map(grid: np.ndarray, agent: tuple[int, int], slots: list[int], catalog: Catalog) -> Bools:
    """[size, size]: the cells that a sentence with these slots refers to."""
    obj, obj2, color, loc, _ = slots
    icon = grid - FIRST_ICON
    is_object = icon >= 0
    is_object[agent] = False  # the agent hides the object under it
    classes = np.where(is_object, catalog.icon_class[icon], -1)
    colors = np.where(is_object, catalog.icon_color[icon], -2)
    if obj2 >= 0:
        between = np.zeros(grid.shape, np.bool_)
        for down, right in BETWEEN:
            for a, b in ((obj, obj2), (obj2, obj)):
                between |= _shift(classes == a, down, right) & _shift(classes == b, -down, -right)
        return between
    if obj < 0 and color < 0:  # a cell next to the agent
        named = np.zeros(grid.shape, np.bool_)
        named[agent] = True
    else:
        named = is_object & ((classes == obj) | (obj < 0)) & ((colors == color) | (color < 0))
    return _shift(named, *OFFSETS[loc]) if loc >= 0 else named


def _shift(cells: Bools, down: int, right: int) -> Bools:
    """The given cells moved down and to the right; cells moved in over the edge are False."""
    padded = np.pad(cells, 1)
    rows, columns = cells.shape
    return padded[1 - down : 1 - down + rows, 1 - right : 1 - right + columns]

"""Rendering: the agent's egocentric view, and images and text for people. Rendering never changes a state."""

import numpy as np
from numpy.typing import NDArray

from groundling.jit import kernel
from groundling.world.catalog import AGENT, FIRST_ICON, FLOOR, OUTSIDE, WALL, Catalog, Pixels
from groundling.world.types import Int16s, State


def view_cells(state: State, out: Int16s | None = None) -> Int16s:
    """[B, 2 size - 1, 2 size - 1]: the cell ids around the agent, which is at the center; OUTSIDE beyond the map.

    They are written into `out` if given.
    """
    side = 2 * state.size - 1
    shape = (len(state.agent), side, side)
    cells = np.empty(shape, np.int16) if out is None else out
    if cells.shape != shape or cells.dtype != np.int16:
        raise ValueError(f"out must be an int16 array of shape {shape}, got {cells.dtype} {cells.shape}")
    _view_cells(state.grid, state.agent, state.size, cells)
    return cells


@kernel
def _view_cells(grid: Int16s, agent: Int16s, size: int, cells: Int16s) -> None:
    for b in range(len(agent)):
        top, left = agent[b] // size - (size - 1), agent[b] % size - (size - 1)
        cells[b] = OUTSIDE
        for row in range(size):
            for column in range(size):
                cells[b, row - top, column - left] = grid[b, row * size + column]
        cells[b, size - 1, size - 1] = AGENT


def map_cells(state: State) -> Int16s:
    """[B, size, size]: the cell ids of the whole map, including the agent."""
    cells = state.grid.copy()
    cells[np.arange(len(cells)), state.agent] = AGENT
    return cells.reshape(-1, state.size, state.size)


def on_map(values: NDArray[np.float32], size: int, agent: int) -> NDArray[np.float32]:
    """[size, size]: the part of `values`, one per cell of the agent's view ([(2 size - 1)^2]), that is on the map."""
    row, column = divmod(agent, size)
    view = values.reshape(2 * size - 1, 2 * size - 1)
    return view[size - 1 - row : 2 * size - 1 - row, size - 1 - column : 2 * size - 1 - column]


def draw(cells: Int16s, pictures: Pixels, out: Pixels | None = None) -> Pixels:
    """Render cell ids [B, rows, columns] as pixels [B, rows * side, columns * side, 3], into `out` if given."""
    batch, rows, columns = cells.shape
    side = pictures.shape[1]
    shape = (batch, rows * side, columns * side, 3)
    if out is None:
        out = np.empty(shape, np.uint8)
    elif out.shape != shape or out.dtype != np.uint8 or not out.flags.c_contiguous:
        raise ValueError(f"out must be a contiguous uint8 array of shape {shape}, got {out.dtype} {out.shape}")
    # Copy 32-bit words, which is faster: one pixel row of a cell has 3 * side bytes, a multiple of 4 for 12 and 64.
    words = pictures.reshape(len(pictures), side, -1).view(np.uint32)
    _draw(cells, words, out.reshape(batch, rows * side, -1).view(np.uint32))
    return out


MAX_CACHED = 1000
"""Pictures that stay in the processor's cache."""


@kernel
def _draw(cells: Int16s, pictures: NDArray[np.uint32], out: NDArray[np.uint32]) -> None:
    batch, rows, columns = cells.shape
    side, words = pictures.shape[1:]
    for b in range(batch):
        if len(pictures) > MAX_CACHED:  # read all icons at once before they are drawn, not one after another
            touched = np.uint32(0)
            for row in range(rows):
                for column in range(columns):
                    cell = cells[b, row, column]
                    if cell > FIRST_ICON:
                        for y in range(0, side, 2):
                            touched ^= pictures[cell, y, 0]
            out[b, 0, 0] = touched  # overwritten below
        for row in range(rows):
            for y in range(side):
                for column in range(columns):
                    cell = cells[b, row, column]
                    for i in range(words):
                        out[b, row * side + y, column * words + i] = pictures[cell, y, i]


def ansi(state: State, catalog: Catalog, mark_target: bool = False) -> list[str]:
    """Render each map as text: `@` agent, `#` wall, `.` floor, `a`, `b`, ... objects, explained in a legend.

    With `mark_target` the target is `X`, or the capital letter of the object there.
    """
    texts = []
    for cells, target in zip(map_cells(state), state.target, strict=True):
        marks: list[str] = []
        legend: list[str] = []
        for position, cell in enumerate(cells.ravel().tolist()):
            if cell >= FIRST_ICON:
                mark = chr(ord("a") + len(legend))
                legend.append(f"    {mark} {catalog.describe(cell)}")
            else:
                mark = {FLOOR: ".", WALL: "#", AGENT: "@"}[cell]
            if mark_target and position == target:
                mark = mark.upper() if mark.isalpha() else "X"
            marks.append(mark)
        rows = [" ".join(marks[i : i + len(cells)]) for i in range(0, len(marks), len(cells))]
        rows += [" " * len(rows[0])] * (len(legend) - len(rows))
        legend += [""] * (len(rows) - len(legend))
        texts.append("\n".join(row + name for row, name in zip(rows, legend, strict=True)))
    return texts

"""A batch of images with each distinct cell stored once (an identity, not an approximation).

The paper's CNN has stride = kernel size in every layer, so each cell of 12 x 12 pixels is processed independently; and
a batch of images has few distinct cells. A view is the images of those cells, and which of them is at each position.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from groundling.errors import InputError

CELL_PIXELS = 12
"""Side of a cell; the CNN's strides of 3, 2 and 2 map it to one position."""


class View(NamedTuple):
    """A batch of B images of N cells each, of which U are distinct."""

    pictures: Tensor
    """[U, side, side, 3] uint8"""
    cells: Tensor
    """[B, N] int64: which picture is at each position, row by row"""

    @classmethod
    def of_images(cls, images: Tensor) -> "View":
        """Cut images [B, H, W, 3] uint8 into cells; equal cells are found by comparing pixels."""
        side = CELL_PIXELS
        whole = images.ndim == 4 and images.shape[3] == 3 and not any(n % side for n in images.shape[1:3])
        if not whole or images.dtype != torch.uint8:
            raise InputError(
                f"images must be uint8 of shape [B, H, W, 3] with H and W multiples of {side}, got {images.dtype} of "
                f"shape {tuple(images.shape)}"
            )
        batch, height, width, _ = images.shape
        rows, columns = height // side, width // side
        cut = images.reshape(batch, rows, side, columns, side, 3).transpose(2, 3)
        flat = cut.reshape(batch * rows * columns, side * side * 3)
        first, which = _distinct(flat)
        return cls(flat[first].reshape(-1, side, side, 3), which.reshape(batch, rows * columns))

    @classmethod
    def of_cells(cls, cells: Tensor, table: Tensor) -> "View":
        """From cell ids [B, rows, columns] and all their pictures [cells, side, side, 3]; unused ones are dropped."""
        flat = cells.reshape(len(cells), -1).long()
        used = torch.bincount(flat.reshape(-1), minlength=len(table)) > 0
        number = used.cumsum(0) - 1
        return cls(table[used], number[flat])

    def images(self) -> Tensor:
        """The whole images [B, 3, H, W] uint8, for models without a per-cell CNN."""
        batch, positions = self.cells.shape
        side = self.pictures.shape[1]
        rows = round(positions**0.5)
        cut = self.pictures[self.cells].reshape(batch, rows, rows, side, side, 3)
        return cut.permute(0, 5, 1, 3, 2, 4).reshape(batch, 3, rows * side, rows * side)

    @property
    def side(self) -> int:
        """Side of the square images, in cells; odd, because the agent is in the center."""
        count = self.cells.shape[1]
        side = math.isqrt(count)
        if side**2 != count or side % 2 == 0:
            raise InputError(f"images must be squares with an odd number of cells on a side, got {count} cells")
        return side

    def check_side(self, side: int) -> None:
        """Raise unless the images have this side, in cells."""
        if self.side != side:
            raise InputError(
                f"images must have the {side} x {side} cells that this model was built for, got {self.side} x "
                f"{self.side}; only models with an interpreter and the planner value_iteration work on other sizes"
            )

    def select(self, rows: Tensor) -> "View":
        """Some images of the batch."""
        return View(self.pictures, self.cells[rows])


def distinct_rows(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct rows of [B, L] integers, and [B]: the index of each row among them."""
    first, which = _distinct(rows)
    return rows[first], which


def _distinct(rows: Tensor) -> tuple[Tensor, Tensor]:
    """[U]: one row of each kind; [R]: the kind of each row.

    Rows are grouped by a hash, because sorting whole rows is slow; then each row is compared with the first of its
    group. If two different rows ever share a hash, whole rows are sorted instead.
    """
    bytes_whole = rows.dtype == torch.uint8 and rows.shape[1] % 8 == 0
    numbers = rows.contiguous().view(torch.int64) if bytes_whole else rows.long()  # eight bytes as one integer
    generator = torch.Generator().manual_seed(0)
    weights = torch.randint(-(1 << 62), 1 << 62, (numbers.shape[1],), generator=generator).to(rows.device)
    hashes = (numbers * weights).sum(1)
    kinds, which = torch.unique(hashes, return_inverse=True)
    first = _firsts(which, len(kinds))
    if not torch.equal(numbers, numbers[first][which]):
        kinds, which = torch.unique(rows, dim=0, return_inverse=True)
        first = _firsts(which, len(kinds))
    return first, which


def _firsts(which: Tensor, kinds: int) -> Tensor:
    """[kinds]: the first row of each kind."""
    rows = torch.arange(len(which), device=which.device)
    return torch.full((kinds,), len(which), device=which.device).scatter_reduce(0, which, rows, "amin")

"""What a model sees, with each distinct cell kept once (an equality, not an approximation).

The paper's CNN has stride = kernel in every layer, so each 12 x 12 cell is seen alone; and a batch of pictures holds
few distinct cells. A view is the pictures of those, and which of them stands where.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from groundling.errors import InputError


class View(NamedTuple):
    """A batch of B pictures of N cells each, of which U are distinct."""

    pictures: Tensor
    """[U, side, side, 3] uint8"""
    cells: Tensor
    """[B, N] int64: which picture is at each place, row by row"""

    @classmethod
    def of_images(cls, images: Tensor, side: int = 12) -> "View":
        """From pixels [B, H, W, 3] uint8: cut into cells, and equal ones found by comparing pixels."""
        whole = images.ndim == 4 and images.shape[3] == 3 and not any(n % side for n in images.shape[1:3])
        if not whole or images.dtype != torch.uint8:
            raise InputError(
                f"images of shape {tuple(images.shape)} and {images.dtype}: they are uint8 [B, H, W, 3], H and W "
                f"multiples of {side}"
            )
        batch, height, width, _ = images.shape
        rows, columns = height // side, width // side
        cut = images.reshape(batch, rows, side, columns, side, 3).transpose(2, 3)
        flat = cut.reshape(batch * rows * columns, side * side * 3)
        first, which = _distinct(flat)
        return cls(flat[first].reshape(-1, side, side, 3), which.reshape(batch, rows * columns))

    @classmethod
    def of_cells(cls, cells: Tensor, table: Tensor) -> "View":
        """From cell numbers [B, rows, columns] into a table [cells, side, side, 3] of pictures: only those in use."""
        flat = cells.reshape(len(cells), -1).long()
        used = torch.bincount(flat.reshape(-1), minlength=len(table)) > 0
        number = used.cumsum(0) - 1
        return cls(table[used], number[flat])

    def images(self) -> Tensor:
        """Back to pixels, [B, 3, H, W] uint8, for models that look at whole pictures."""
        batch, positions = self.cells.shape
        side = self.pictures.shape[1]
        rows = round(positions**0.5)
        cut = self.pictures[self.cells].reshape(batch, rows, rows, side, side, 3)
        return cut.permute(0, 5, 1, 3, 2, 4).reshape(batch, 3, rows * side, rows * side)

    def select(self, rows: Tensor) -> "View":
        """Some pictures of the batch."""
        return View(self.pictures, self.cells[rows])


def distinct_rows(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct rows of [B, L] integers, and [B]: which of them each row is."""
    first, which = _distinct(rows)
    return rows[first], which


def _distinct(rows: Tensor) -> tuple[Tensor, Tensor]:
    """[U]: a row of each kind; [R]: the kind of each row.

    Rows are sorted by a hash, because comparing whole rows is slow; then each is compared with its kind's first, and if
    a hash ever put two different rows together, whole rows are compared after all.
    """
    bytes_whole = rows.dtype == torch.uint8 and rows.shape[1] % 8 == 0
    numbers = rows.contiguous().view(torch.int64) if bytes_whole else rows.long()  # eight pixels' bytes are one number
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

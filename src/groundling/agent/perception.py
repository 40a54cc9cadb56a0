"""h = CNN(e): the feature cube, stored as the features of distinct cells and of positions, and never built whole."""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from groundling.agent.config import AgentConfig, ModelConfig
from groundling.agent.types import EnvSpec
from groundling.agent.view import View


class Cube(NamedTuple):
    """h [B, N, D] of a batch: h[b, n] = (feature of the cell at n, feature of the position n)."""

    features: Tensor
    """[U, D/2]: the CNN's output for each distinct cell"""
    positions: Tensor
    """[N, D/2]: the parametric cube"""
    cells: Tensor
    """[B, N]: which distinct cell is at each position"""

    def detect(self, u: Tensor) -> Tensor:
        """Eq. 3 with x_feat = 1: phi(h, 1, u) = h u, for K words u [B, K, D] per image -> [B, K, N]"""
        by_cell, by_position = u.chunk(2, dim=-1)
        scores = by_cell @ self.features.T  # [B, K, U]
        cells = self.cells[:, None].expand(-1, u.shape[1], -1)
        return scores.gather(2, cells) + by_position @ self.positions.T

    def detect_each(self, table: Tensor, tokens: Tensor) -> Tensor:
        """The same for all words of sentences: [words, D], [B, L] -> [B, L, N]. Scores are computed once per word."""
        by_cell, by_position = table.chunk(2, dim=-1)
        scores = F.embedding(tokens, by_cell @ self.features.T)  # [B, L, U]
        cells = self.cells[:, None].expand(-1, tokens.shape[1], -1)
        return scores.gather(2, cells) + F.embedding(tokens, by_position @ self.positions.T)

    def pool(self, x_loc: Tensor) -> Tensor:
        """x_loc^T h: the attention-weighted features, [B, N] -> [B, D]."""
        mass = sum_by_kind(x_loc, self.cells, len(self.features))
        return torch.cat([mass @ self.features, x_loc @ self.positions], dim=1)

    def project(self, weight: Tensor) -> Tensor:
        """h W for a matrix [D, K] shared by all images -> [B, N, K]."""
        by_cell, by_position = weight.chunk(2, dim=0)
        return (self.features @ by_cell)[self.cells] + self.positions @ by_position

    def distinct(self) -> tuple[Tensor, Tensor]:
        """h of each distinct (cell, position) pair [P, D], and which of them is at each position [B, N].

        For functions that are not linear in h and so cannot be computed for cells and positions separately; P is far
        smaller than B N.
        """
        count = len(self.positions)
        pairs = self.cells * count + torch.arange(count, device=self.cells.device)
        kinds, which = torch.unique(pairs, return_inverse=True)
        return torch.cat([self.features[kinds // count], self.positions[kinds % count]], dim=1), which

    def select(self, rows: Tensor) -> "Cube":
        """The cubes of some images of the batch."""
        return Cube(self.features, self.positions, self.cells[rows])


def sum_by_kind(x_loc: Tensor, which: Tensor, kinds: int) -> Tensor:
    """The attention on each kind of cell, whose indices are `which`: [B, N], [B, N] -> [B, kinds]"""
    return x_loc.new_zeros(len(x_loc), kinds).scatter_add(1, which, x_loc)


def scale_pixels(config: ModelConfig, pixels: Tensor) -> Tensor:
    """Pixels 0 .. 255 as inputs of a CNN."""
    return (pixels.to(torch.get_default_dtype()) - config.pixel_offset) / config.pixel_scale


class Perception(nn.Module):
    """The CNN (3,3,64) (2,2,64) (2,2,256) (1,1,256) with ReLU, run on one cell at a time, and the parametric cube."""

    def __init__(self, config: AgentConfig, spec: EnvSpec) -> None:
        super().__init__()
        self.config = config
        c = config.channels
        self.features = nn.Conv2d(c, c, 1)
        self.cnn = nn.Sequential(
            nn.Conv2d(3, 64, 3, stride=3),  # 12 x 12 -> 4 x 4
            nn.ReLU(),
            nn.Conv2d(64, 64, 2, stride=2),  # -> 2 x 2
            nn.ReLU(),
            nn.Conv2d(64, c, 2, stride=2),  # -> 1 x 1
            nn.ReLU(),
        )
        self.positions = nn.Parameter(torch.zeros(spec.positions, c))

    def forward(self, view: View) -> Cube:
        return Cube(self.features_of(view.pictures), self.positions_of(view.side), view.cells)

    def positions_of(self, side: int) -> Tensor:
        """[side * side, D/2]: the parametric cube of a view; the agent's position is always the center.

        A larger view than that of training has positions without a row. They carry no spatial meaning, and share one
        row: the mean of the outermost ring of the trained ones. A smaller view has the central part.
        """
        trained = math.isqrt(len(self.positions))
        if side == trained:
            return self.positions
        rows = self.positions.unflatten(0, (trained, trained))
        border = (trained - side) // 2
        if border > 0:
            center: Tensor = rows[border:-border, border:-border].flatten(0, 1)
            return center
        ring = torch.cat([rows[0], rows[-1], rows[1:-1, 0], rows[1:-1, -1]]).mean(0)
        extended: Tensor = ring.repeat(side, side, 1)
        extended[-border : side + border, -border : side + border] = rows
        return extended.flatten(0, 1)

    def features_of(self, pictures: Tensor) -> Tensor:
        """The CNN's output for cells [U, side, side, 3] uint8 -> [U, D/2]"""
        pixels = scale_pixels(self.config, pictures).permute(0, 3, 1, 2)  # [U, 3, side, side]
        return torch.relu(self.features(self.cnn(pixels))).flatten(1)

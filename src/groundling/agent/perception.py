"""h = CNN(e): the feature cube, held as the features of distinct cells and of places, and never built whole."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from groundling.agent.config import AgentConfig
from groundling.agent.view import View
from groundling.errors import InputError


class Cube(NamedTuple):
    """h [B, N, D] of a batch: h[b, n] = (feature of the cell at n, feature of the place n)."""

    features: Tensor
    """[U, D/2]: the CNN's output for each distinct cell"""
    positions: Tensor
    """[N, D/2]: the parametric cube"""
    cells: Tensor
    """[B, N]: which cell is where"""

    def detect(self, u: Tensor) -> Tensor:
        """Eq. 3 with x_feat = 1: phi(h, 1, u) = h u, for K words u [B, K, D] a picture -> [B, K, N]"""
        by_cell, by_place = u.chunk(2, dim=-1)
        scores = by_cell @ self.features.T  # [B, K, U]
        cells = self.cells[:, None].expand(-1, u.shape[1], -1)
        return scores.gather(2, cells) + by_place @ self.positions.T

    def detect_each(self, table: Tensor, tokens: Tensor) -> Tensor:
        """The same for all words of sentences: [words, D], [B, L] -> [B, L, N]. Scores are made once a word."""
        by_cell, by_place = table.chunk(2, dim=-1)
        scores = F.embedding(tokens, by_cell @ self.features.T)  # [B, L, U]
        cells = self.cells[:, None].expand(-1, tokens.shape[1], -1)
        return scores.gather(2, cells) + F.embedding(tokens, by_place @ self.positions.T)

    def pool(self, x_loc: Tensor) -> Tensor:
        """x_loc^T h: the features at the places attended to, [B, N] -> [B, D]."""
        mass = by_kind(x_loc, self.cells, len(self.features))
        return torch.cat([mass @ self.features, x_loc @ self.positions], dim=1)

    def project(self, weight: Tensor) -> Tensor:
        """h W for a matrix [D, K] that all pictures share -> [B, N, K]."""
        by_cell, by_place = weight.chunk(2, dim=0)
        return (self.features @ by_cell)[self.cells] + self.positions @ by_place

    def distinct(self) -> tuple[Tensor, Tensor]:
        """h of each distinct cell at each place that it has in some picture [P, D], and which of them is where [B, N].

        For what is not linear in h, and can thus not be made of cells and places apart: P is far below B N.
        """
        count = len(self.positions)
        pairs = self.cells * count + torch.arange(count, device=self.cells.device)
        kinds, which = torch.unique(pairs, return_inverse=True)
        return torch.cat([self.features[kinds // count], self.positions[kinds % count]], dim=1), which

    def select(self, rows: Tensor) -> "Cube":
        """The cubes of some pictures of the batch."""
        return Cube(self.features, self.positions, self.cells[rows])


def by_kind(x_loc: Tensor, which: Tensor, kinds: int) -> Tensor:
    """The attention on each kind of place, whose numbers are `which`: [B, N], [B, N] -> [B, kinds]"""
    return x_loc.new_zeros(len(x_loc), kinds).scatter_add(1, which, x_loc)


class Perception(nn.Module):
    """The CNN (3,3,64) (2,2,64) (2,2,256) (1,1,256), ReLU, run on one cell at a time, and the parametric cube."""

    def __init__(self, config: AgentConfig) -> None:
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
        self.positions = nn.Parameter(torch.zeros(config.positions, c))

    def forward(self, view: View) -> Cube:
        if view.cells.shape[1] != len(self.positions):
            raise InputError(f"{view.cells.shape[1]} cells a picture: this model sees {len(self.positions)}")
        pictures = self.config.scaled(view.pictures).permute(0, 3, 1, 2)  # [U, 3, side, side]
        features = torch.relu(self.features(self.cnn(pictures)))
        return Cube(features.flatten(1), self.positions, view.cells)

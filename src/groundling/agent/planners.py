"""M_A and A: from x_loc and the terrain to an action and a value. No language comes through but x_loc."""

import itertools
from typing import NamedTuple

import torch
from torch import Tensor, nn

from groundling.agent.config import AgentConfig
from groundling.agent.perception import Cube


class Decision(NamedTuple):
    """What a planner makes of the two maps."""

    logits: Tensor
    """[B, actions]"""
    value: Tensor
    """v [B]"""
    x_terr: Tensor
    """[B, N]: the terrain as the planner reads it"""
    value_map: Tensor | None
    """[B, N]: how good it is to be where, for planners that know"""


class SmallInitLinear(nn.Linear):
    """A last layer that starts small, so that a young agent tries everything and expects nothing."""

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, 0, 0.01)
        nn.init.zeros_(self.bias)


class Terrain(nn.Module):
    """x_terr = sigma(h f): which cells matter to one who walks, whatever the command."""

    def __init__(self, config: AgentConfig) -> None:
        super().__init__()
        self.depth = config.depth
        # Our planner needs a map on which a wall stays a wall wherever the agent stands, or it plans one way here and
        # another a step further: its terrain is told by looks alone, the first half of h.
        seen = config.channels if config.planner == "value_iteration" else config.depth
        self.f = nn.Parameter(0.01 * torch.randn(seen))  # a detector like a word; at first it tells nothing

    @property
    def detector(self) -> Tensor:
        """f [D]"""
        return nn.functional.pad(self.f, (0, self.depth - len(self.f)))

    def forward(self, cube: Cube) -> Tensor:
        """[B, N]"""
        return torch.sigmoid(cube.project(self.detector[:, None])[..., 0])


class MLPPlanner(nn.Module):
    """The paper's M_A and A: a CNN (3,1,64) (3,1,4) and three layers of 512, then one more and the softmax."""

    def __init__(self, config: AgentConfig) -> None:
        super().__init__()
        self.side = config.view
        self.m_a = nn.Sequential(
            nn.Conv2d(2, 64, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(64, 4, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            *mlp(4 * config.positions, 512, 512, 512),
        )
        self.action = nn.Sequential(*mlp(512, 512), SmallInitLinear(512, config.actions))
        self.critic = nn.Sequential(*mlp(512, 512), nn.Linear(512, 1))

    def forward(self, x_loc: Tensor, x_terr: Tensor) -> Decision:
        """Two maps [B, N] -> a decision for each picture"""
        maps = torch.stack([x_loc, x_terr], 1).reshape(-1, 2, self.side, self.side)
        features = self.m_a(maps)
        return Decision(self.action(features), self.critic(features)[:, 0], x_terr, None)


class ValueIterationPlanner(nn.Module):
    """Ours: K sweeps of one small convolution with a max over its channels, as value iteration makes on a map.

    It sees the same two maps as the paper's M_A and nothing else. The action is read from the 3 x 3 places around the
    agent.
    """

    MOVES = 4
    LEAST = 1e-6
    _near: Tensor

    def __init__(self, config: AgentConfig) -> None:
        super().__init__()
        self.side, self.sweeps = config.view, config.sweeps
        self.spread = nn.Parameter(torch.zeros(self.MOVES, 9))
        """How the worth of the 3 x 3 places around one adds to what each kind of move brings there."""
        self.register_buffer("_near", _neighbors(self.side), persistent=False)
        around = 9 * (1 + 2)
        self.action = nn.Sequential(nn.Linear(around, 64), nn.ReLU(), SmallInitLinear(64, config.actions))
        self.critic = nn.Sequential(nn.Linear(around, 64), nn.ReLU(), SmallInitLinear(64, 1))
        with torch.no_grad():  # each kind of move looks to another side, or worth would blur before it comes far
            for move, side in enumerate((1, 3, 5, 7)):
                self.spread[move, side] = 0.9

    def forward(self, x_loc: Tensor, x_terr: Tensor) -> Decision:
        """Two maps [B, N] -> a decision for each picture"""
        maps = torch.stack([x_loc, x_terr], 1).reshape(-1, 2, self.side, self.side)
        # The convolution as one matrix product: on maps so small, half the time of a convolution of one channel.
        spread = torch.einsum("mk,kij->imj", self.spread, self._near).flatten(1)  # [N, moves * N]
        # One who walks must make up his mind: beside the best place others count little, however near they are.
        goal = nn.functional.normalize(x_loc**2, p=1.0, dim=1)
        # The power forgives a faint mark, or many steps over faintly marked ground would cost as much as one through a
        # wall. A goal is where the way ends, and marked terrain lets no worth through.
        marked = x_terr**10
        through = (1 - goal) * (1 - marked)
        value = goal
        for _ in range(self.sweeps):
            best = (value @ spread).unflatten(1, (self.MOVES, -1)).amax(1)  # max over the kinds of move
            value = goal + through * best
        here = slice(self.side // 2 - 1, self.side // 2 + 2)
        around = maps[:, :, here, here].flatten(1)  # [B, 2 maps * 9 places]
        # In logarithms a step is worth the same near the target and far from it.
        worth = value.clamp(min=self.LEAST).log().view_as(maps[:, 0])[:, here, here].flatten(1)  # [B, 9 places]
        better = worth - worth[:, 4:5]  # than to be where the agent is
        logits = self.action(torch.cat([better, around], 1))
        return Decision(logits, self.critic(torch.cat([worth, around], 1))[:, 0], marked, value)


def _neighbors(side: int) -> Tensor:
    """[9, N, N]: whether place i is the k-th of the 3 x 3 around place j."""
    cells = torch.eye(side * side).reshape(-1, 1, side, side)  # each place alone on a map
    around = nn.functional.unfold(cells, 3, padding=1)  # [N of i, 9, N of j]
    return around.transpose(0, 1).contiguous()


def planner(config: AgentConfig) -> MLPPlanner | ValueIterationPlanner:
    return MLPPlanner(config) if config.planner == "mlp" else ValueIterationPlanner(config)


def mlp(*sizes: int) -> list[nn.Module]:
    """Layers with ReLU behind each."""
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return layers

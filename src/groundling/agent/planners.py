"""M_A and A: from x_loc and the terrain map to an action and a value. x_loc is the only language input."""

import itertools
import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from groundling.agent.config import AgentConfig
from groundling.agent.grounding import center
from groundling.agent.perception import Cube
from groundling.agent.types import EnvSpec

OBSTACLE_EXPONENT = 10
"""x_terr ** 10 marks obstacles: with a smaller exponent, many steps over faintly marked floor cost as much as one step
through a wall."""
GOAL_EXPONENT = 2
"""x_loc ** 2 marks the goal: the best position dominates rivals that are nearer to the agent."""
MAX_SCALE_EXPONENT = 100
"""Values of large maps are computed as multiples of 2 ** -100, of which floats represent 2 ** -126 and more."""
INITIAL_DISCOUNT = 0.9
"""How much of a neighbor's value an untrained planner with unconstrained kernels keeps."""
INITIAL_SIDE_LOGIT = 6.0
"""With a discount, each kernel is a softmax over 9 neighbors, which starts with 0.98 on one side."""


class Decision(NamedTuple):
    """What a planner computes from the two maps."""

    logits: Tensor
    """[B, actions]"""
    value: Tensor
    """v [B]"""
    x_terr: Tensor
    """[B, N]: the terrain as the planner uses it"""
    value_map: Tensor | None
    """[B, N]: the value of each position, for planners that compute it"""


class SmallInitLinear(nn.Linear):
    """An output layer with small initial weights: the initial policy is uniform and the initial value 0."""

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, 0, 0.01)
        nn.init.zeros_(self.bias)


class Terrain(nn.Module):
    """x_terr = sigma(h f): a map of obstacles, independent of the command."""

    def __init__(self, config: AgentConfig) -> None:
        super().__init__()
        self.depth = config.depth
        # Value iteration needs a map on which a wall is a wall wherever the agent is, otherwise its plan changes from
        # step to step: its terrain uses the visual features alone, the first half of h.
        used = config.channels if config.planner == "value_iteration" else config.depth
        self.f = nn.Parameter(0.01 * torch.randn(used))  # a detector like a word embedding; initially almost constant

    @property
    def detector(self) -> Tensor:
        """f [D]"""
        return nn.functional.pad(self.f, (0, self.depth - len(self.f)))

    def forward(self, cube: Cube) -> Tensor:
        """[B, N]"""
        return torch.sigmoid(cube.project(self.detector[:, None])[..., 0])


class MLPPlanner(nn.Module):
    """The paper's M_A and A: a CNN (3,1,64) (3,1,4) and three layers of 512, then one more and the softmax."""

    def __init__(self, config: AgentConfig, spec: EnvSpec) -> None:
        super().__init__()
        self.side = spec.view
        self.m_a = nn.Sequential(
            nn.Conv2d(2, 64, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(64, 4, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            *mlp(4 * spec.positions, 512, 512, 512),
        )
        self.action = nn.Sequential(*mlp(512, 512), SmallInitLinear(512, spec.actions))
        self.critic = nn.Sequential(*mlp(512, 512), nn.Linear(512, 1))

    def forward(self, x_loc: Tensor, x_terr: Tensor) -> Decision:
        """Two maps [B, N] -> a decision for each image"""
        maps = torch.stack([x_loc, x_terr], 1).reshape(-1, 2, self.side, self.side)
        features = self.m_a(maps)
        return Decision(self.action(features), self.critic(features)[:, 0], x_terr, None)


class ValueIterationPlanner(nn.Module):
    """Ours: K sweeps of a 3 x 3 convolution followed by a maximum over its channels, as in value iteration.

    It sees the same two maps as the paper's M_A and nothing else. The action is computed from the 3 x 3 positions
    around the agent.

    With a discount gamma < 1, each move's kernel is gamma times a distribution over the 9 neighbors. A sweep is then a
    contraction: kernels sum to gamma, and neither the maximum over moves nor the factor `passable` <= 1 enlarges the
    difference of two value maps. Values decay with the distance to the goal, whatever is learned.
    """

    MOVES = 4
    MIN_VALUE = 1e-6
    MAX_STEPS = 3.0

    def __init__(self, config: AgentConfig, spec: EnvSpec) -> None:
        super().__init__()
        self.sweeps, self.side = config.planner_sweeps, spec.view
        self.spread = nn.Parameter(torch.zeros(self.MOVES, 9))
        """[move, neighbor]: how much of the value of each of the 3 x 3 neighbors a move passes on; with a discount, the
        logits of these fractions"""
        self.discount, self.contrast = config.planner_discount, config.obstacle_contrast
        around = 9 * (1 + 2)
        self.action = nn.Sequential(nn.Linear(around, 64), nn.ReLU(), SmallInitLinear(64, spec.actions))
        self.critic = nn.Sequential(nn.Linear(around, 64), nn.ReLU(), SmallInitLinear(64, 1))
        with torch.no_grad():  # each move starts with another direct neighbor; otherwise values blur within a few cells
            for move, side in enumerate((1, 3, 5, 7)):
                self.spread[move, side] = INITIAL_DISCOUNT if self.discount is None else INITIAL_SIDE_LOGIT

    def kernels(self, growth: float = 1.0) -> Tensor:
        """[move, neighbor]: how much of the value of each of the 3 x 3 neighbors a move passes on.

        On a map that is `growth` times as large as those of training, the logits of the fractions are, too: otherwise
        what passes diagonally between two obstacles is more than what comes the long way around.
        """
        return self.spread if self.discount is None else self.discount * (growth * self.spread).softmax(dim=1)

    def forward(self, x_loc: Tensor, x_terr: Tensor) -> Decision:
        """Two maps [B, N] -> a decision for each image"""
        side = math.isqrt(x_loc.shape[1])
        growth = max(1.0, side / self.side)  # paths on a larger map than those of training are longer
        maps = torch.stack([x_loc, x_terr], 1).unflatten(2, (side, side))
        goal = nn.functional.normalize(x_loc**GOAL_EXPONENT, p=1.0, dim=1)
        # A wall passes on a little of the value behind it, which has to be less than what comes the long way around.
        obstacle = obstacles(x_terr, self.contrast, growth)
        if self.discount is not None:  # the agent stands on its own position, so that is no obstacle
            obstacle = obstacle * (1 - center(1, obstacle))
        passable = (1 - goal) * (1 - obstacle)  # an episode ends at the goal, and obstacles pass no value on
        # Values are multiplied by a power of 2, which rounds nothing: they decay far below the range of floats.
        scale = 2.0 ** (MAX_SCALE_EXPONENT if growth > 1 else 0)
        goal, kernels = scale * goal, self.kernels(growth)
        value = goal
        for _ in range(math.ceil(growth * self.sweeps)):
            moves = (kernels @ neighbors(value, side).flatten(1)).unflatten(1, goal.shape)  # [moves, B, N]
            value = goal + passable * moves.amax(0)  # maximum over moves
        here = slice(side // 2 - 1, side // 2 + 2)
        around = maps[:, :, here, here].flatten(1)  # [B, 2 maps * 9 positions]
        # In logarithms, one step changes the value by the same amount near the target and far from it.
        near = value.unflatten(1, (side, side))[:, here, here].flatten(1)
        log_value = near.clamp(min=scale * self.MIN_VALUE**growth).log() - math.log(scale)  # [B, 9]
        advantage = log_value - log_value[:, 4:5]  # over staying at the agent's position
        if self.discount is not None:  # in steps: 1 for one step nearer to the goal, -MAX_STEPS for an obstacle
            advantage = (advantage / -math.log(self.discount)).clamp(-self.MAX_STEPS, self.MAX_STEPS)
        logits = self.action(torch.cat([advantage, around], 1))
        return Decision(logits, self.critic(torch.cat([log_value, around], 1))[:, 0], obstacle, value / scale)


def obstacles(x_terr: Tensor, contrast: float | None, growth: float = 1.0) -> Tensor:
    """The probability that a position is an obstacle, as the planner uses it.

    x_terr ** 10 or, with a contrast c, the probability whose odds are those of x_terr to the power of c:
    x_terr^c / (x_terr^c + (1 - x_terr)^c). The odds are also to the power of `growth`; without a contrast, what an
    obstacle passes on is.
    """
    if contrast is None:
        obstacle = x_terr**OBSTACLE_EXPONENT
        return obstacle if growth == 1 else 1 - (1 - obstacle) ** growth
    obstacle = x_terr ** (contrast * growth)
    return obstacle / (obstacle + (1 - x_terr) ** (contrast * growth))


def neighbors(value: Tensor, side: int) -> Tensor:
    """[9, B, N]: the values of the 3 x 3 positions around each position, 0 outside the map.

    A product of kernels with these is a convolution, in half the time of one with a single input channel.
    """
    padded = nn.functional.pad(value.unflatten(1, (side, side)), (1, 1, 1, 1))
    shifts = [padded[:, row : row + side, column : column + side] for row in range(3) for column in range(3)]
    return torch.stack(shifts).flatten(2)


def build_planner(config: AgentConfig, spec: EnvSpec) -> MLPPlanner | ValueIterationPlanner:
    """The planner that the config names."""
    return MLPPlanner(config, spec) if config.planner == "mlp" else ValueIterationPlanner(config, spec)


def mlp(*sizes: int) -> list[nn.Module]:
    """Linear layers, each followed by ReLU."""
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return layers

"""Both planners and the terrain, by values computed by hand."""

import numpy as np
import pytest
import torch

from groundling.agent.config import AgentConfig
from groundling.agent.perception import Cube
from groundling.agent.planners import (
    INITIAL_DISCOUNT,
    Decision,
    MLPPlanner,
    Terrain,
    ValueIterationPlanner,
    build_planner,
    neighbors,
    obstacles,
)
from groundling.agent.types import EnvSpec
from groundling.errors import InputError

SIDE = 7
CENTER = SIDE // 2
SPEC = EnvSpec(words=10, view=SIDE)


def plan(goal: tuple[int, int] | None, walls: list[tuple[int, int]], sweeps: int = 20) -> tuple[Decision, torch.Tensor]:
    """The decision of an untrained value-iteration planner, and its value map [SIDE, SIDE]."""
    torch.manual_seed(0)
    planner = ValueIterationPlanner(AgentConfig(planner_sweeps=sweeps), SPEC)
    x_loc = torch.full((SIDE, SIDE), 1 / SIDE**2) if goal is None else torch.zeros(SIDE, SIDE)
    if goal is not None:
        x_loc[goal] = 1.0
    x_terr = torch.zeros(SIDE, SIDE)
    for wall in walls:
        x_terr[wall] = 1.0
    decision = planner(x_loc.reshape(1, -1), x_terr.reshape(1, -1))
    assert decision.value_map is not None
    return decision, decision.value_map.reshape(SIDE, SIDE).detach()


def test_value_of_a_position_is_the_discount_to_the_power_of_its_distance() -> None:
    goal = (1, 2)
    value = plan(goal, [])[1]
    rows, columns = np.indices((SIDE, SIDE))
    distance = abs(rows - goal[0]) + abs(columns - goal[1])
    np.testing.assert_allclose(value.numpy(), INITIAL_DISCOUNT**distance, rtol=1e-5)


def test_number_of_sweeps_is_how_far_value_spreads() -> None:
    value = plan((0, 0), [], sweeps=3)[1]
    assert value[0, 3] == pytest.approx(INITIAL_DISCOUNT**3)
    assert value[0, 4] == 0


def test_wall_stops_value() -> None:
    """A wall across the map leaves the other side without value; with a gap, value takes the way round."""
    across = [(3, column) for column in range(SIDE)]
    value = plan((1, 1), across)[1]
    assert value[2, 1] > 0
    assert (value[3:] == 0).all()
    gap = [cell for cell in across if cell != (3, 6)]
    value = plan((1, 1), gap, sweeps=30)[1]
    assert value[4, 1] == pytest.approx(INITIAL_DISCOUNT**13, rel=1e-4)  # 7 steps to the gap's column and row 4, 6 back


def test_faintly_marked_floor_is_not_an_obstacle() -> None:
    torch.manual_seed(0)
    planner = ValueIterationPlanner(AgentConfig(planner_sweeps=20), SPEC)
    x_loc = torch.zeros(1, SIDE**2)
    x_loc[0, 0] = 1
    clear = planner(x_loc, torch.zeros(1, SIDE**2))
    faint = planner(x_loc, torch.full((1, SIDE**2), 0.3))
    assert clear.value_map is not None
    assert faint.value_map is not None
    torch.testing.assert_close(faint.value_map, clear.value_map, rtol=1e-3, atol=0)


def test_stronger_of_two_goals_dominates() -> None:
    """Attention 0.6 and 0.3 becomes goals 0.8 and 0.2: squared, then normalized."""
    torch.manual_seed(0)
    planner = ValueIterationPlanner(AgentConfig(planner_sweeps=1), SPEC)
    x_loc = torch.zeros(1, SIDE**2)
    x_loc[0, 0], x_loc[0, 48] = 0.6, 0.3
    value = planner(x_loc, torch.zeros(1, SIDE**2)).value_map
    assert value is not None
    assert value[0, 0].item() == pytest.approx(0.8)
    assert value[0, 48].item() == pytest.approx(0.2)


def test_uniform_attention_on_an_empty_map_prefers_no_direction() -> None:
    value = plan(None, [])[1]
    neighbors = [value[CENTER + row, CENTER + column] for row, column in ((0, -1), (0, 1), (-1, 0), (1, 0))]
    assert max(neighbors) - min(neighbors) < 1e-6


def test_untrained_planners_have_a_uniform_policy_and_value_zero() -> None:
    for name in ("mlp", "value_iteration"):
        torch.manual_seed(0)
        planner = build_planner(AgentConfig(planner=name), SPEC)
        maps = torch.rand(2, 5, SIDE**2)
        decision: Decision = planner(maps[0] / maps[0].sum(1, keepdim=True), maps[1])
        probabilities = torch.softmax(decision.logits, dim=1)
        assert (probabilities - 0.25).abs().max() < 0.05
        assert isinstance(planner, MLPPlanner) == (name == "mlp")
        assert decision.logits.shape == (5, 4)
        assert decision.value.shape == (5,)
        assert (decision.value_map is None) == (name == "mlp")


def test_policy_reads_the_positions_around_the_agent_only() -> None:
    """Two maps with the same values and the same 3 x 3 around the agent give the same action."""
    near, far = plan((CENTER, CENTER + 1), [])[0], plan((CENTER, CENTER + 1), [(0, 0), (6, 6)])[0]
    torch.testing.assert_close(near.logits, far.logits)
    other = plan((CENTER + 1, CENTER), [])[0]
    assert not torch.equal(near.logits, other.logits)


def test_terrain_is_the_sigmoid_of_a_linear_detector() -> None:
    """With value iteration it depends on visual features alone; with the paper's planner also on positions."""
    features = torch.tensor([[1.0, 2.0], [0.0, -1.0]])
    positions = torch.tensor([[10.0, 0.0], [0.0, 20.0], [5.0, 5.0]])
    cube = Cube(features, positions, torch.tensor([[0, 1, 1]]))
    visual = Terrain(AgentConfig(channels=2, planner="value_iteration"))
    whole = Terrain(AgentConfig(channels=2, planner="mlp"))
    with torch.no_grad():
        visual.f.copy_(torch.tensor([0.5, 0.25]))
        whole.f.copy_(torch.tensor([0.5, 0.25, 0.1, 0.2]))
    expected = torch.tensor([[1.0, -0.25, -0.25]])
    torch.testing.assert_close(visual(cube), torch.sigmoid(expected))
    torch.testing.assert_close(whole(cube), torch.sigmoid(expected + torch.tensor([[1.0, 4.0, 1.5]])))


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
def test_sweeps_with_a_discount_are_a_contraction_whatever_is_learned(scale: float) -> None:
    """Kernels of any parameters sum to the discount, and two value maps approach each other with every sweep."""
    torch.manual_seed(0)
    planner = ValueIterationPlanner(AgentConfig(planner_discount=0.9), SPEC)
    with torch.no_grad():
        planner.spread.normal_(0, scale)
    kernels = planner.kernels()
    torch.testing.assert_close(kernels.sum(1), torch.full((4,), 0.9))
    assert (kernels >= 0).all()
    one, two = torch.rand(2, SIDE**2)
    for _ in range(5):
        distance = (one - two).abs().max()
        one, two = (
            torch.einsum("mk,kj->mj", kernels, neighbors(value[None], SIDE)[:, 0]).amax(0) for value in (one, two)
        )
        assert (one - two).abs().max() <= 0.9 * distance + 1e-6


def test_value_decays_with_the_distance_whatever_is_learned() -> None:
    """Unconstrained kernels with rows that sum to more than 1 let values grow away from the goal."""
    far = {}
    for discount in (None, 0.9):
        torch.manual_seed(0)
        planner = ValueIterationPlanner(AgentConfig(planner_sweeps=20, planner_discount=discount), SPEC)
        with torch.no_grad():
            planner.spread.fill_(1.25 / 9)
            planner.spread[:, 4] += 0.25
        x_loc = torch.zeros(1, SIDE**2)
        x_loc[0, 0] = 1
        value = planner(x_loc, torch.zeros(1, SIDE**2)).value_map
        assert value is not None
        far[discount] = value[0, 1:].max().item()
    assert far[None] > 1
    assert far[0.9] < 0.9


def test_discount_below_1_is_required() -> None:
    for wrong in (0.0, 1.0, 1.5):
        with pytest.raises(InputError, match=r"agent\.planner_discount must be"):
            AgentConfig(planner_discount=wrong)


def test_contrast_is_the_exponent_of_the_odds_of_an_obstacle() -> None:
    """Odds of 3 to 1 become 81 to 1; even odds stay even; and a wall of 0.96 stops value, unlike 0.96 ** 10 = 0.66."""
    x_terr = torch.tensor([0.75, 0.5, 0.25, 0.0, 1.0])
    torch.testing.assert_close(obstacles(x_terr, 4.0), torch.tensor([81 / 82, 0.5, 1 / 82, 0.0, 1.0]))
    torch.testing.assert_close(obstacles(x_terr, None), x_terr**10)
    assert obstacles(torch.tensor(0.96), 4.0) > 0.99999

"""Models on views of other sizes than that of training."""

import gymnasium as gym
import numpy as np
import pytest
import torch

import groundling
from groundling.agent import AgentConfig, EnvSpec, View, build
from groundling.agent.grounding import detection_map
from groundling.agent.model import InterpreterModel
from groundling.agent.perception import Perception
from groundling.agent.planners import ValueIterationPlanner
from groundling.agent.reference import ReferenceModel
from groundling.agent.view import CELL_PIXELS
from groundling.errors import InputError
from groundling.evaluation.evaluator import Evaluator
from groundling.world.catalog import FLOOR, WALL
from groundling.world.shortest_path import distances
from groundling.world.types import WorldConfig

SMALL = {"channels": 8, "hidden_units": 8, "planner": "value_iteration", "init": "he"}


def test_positions_beyond_the_trained_view_share_the_mean_of_its_border() -> None:
    perception = Perception(AgentConfig(channels=1), EnvSpec(words=2, view=3))
    with torch.no_grad():
        perception.positions.copy_(torch.arange(9.0)[:, None])  # center 4; the border 0 1 2 3 5 6 7 8 has mean 4
        perception.positions[8] = 16
    assert torch.equal(perception.positions_of(3), perception.positions)
    larger = perception.positions_of(7).reshape(7, 7)
    assert larger[2:5, 2:5].flatten().tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 16]
    larger[2:5, 2:5] = 5
    assert torch.equal(larger, torch.full((7, 7), 5.0))
    assert perception.positions_of(1).tolist() == [[4]]


@pytest.mark.parametrize("side", [5, 7, 11])
@pytest.mark.parametrize("discount", [None, 0.7])
def test_model_equals_reference_implementation_on_views_of_all_sizes(side: int, discount: float | None) -> None:
    torch.set_default_dtype(torch.float64)
    try:
        torch.manual_seed(0)
        config = AgentConfig.of({**SMALL, "word_detection": "per_word", "sharpness": 2.0, "planner_discount": discount})
        model = build(config, EnvSpec(words=10, view=7))
        assert isinstance(model, InterpreterModel)
        torch.nn.init.normal_(model.perception.positions)
        pixels = side * CELL_PIXELS
        images = torch.randint(0, 256, (4, pixels, pixels, 3), dtype=torch.uint8)
        commands, questions = torch.randint(0, 10, (2, 4, 6))
        found = model(View.of_images(images), commands, questions)[:-1]
        for value, expected in zip(found, ReferenceModel(model)(images, commands, questions), strict=True):
            torch.testing.assert_close(value, expected)
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("size", [31, 64])
def test_planner_finds_a_way_that_is_longer_than_the_map(size: int) -> None:
    """The advantage of each of the 3 x 3 positions is how many steps it is nearer to the goal."""
    view, center = 2 * size - 1, size - 1
    planner = ValueIterationPlanner(AgentConfig(planner_sweeps=20, planner_discount=0.7), EnvSpec(words=2, view=13))
    with torch.no_grad():
        planner.spread.copy_(torch.eye(9)[[1, 3, 5, 7]] * 100)  # each move takes all of one neighbor's value
    wall = np.zeros((view, view), bool)
    wall[center + 1, : center + size // 2] = True  # the goal is behind a wall, with a gap at its right end
    goal = (center + 2, center - size // 4)
    x_loc, x_terr = torch.full((2, 1, view**2), 1e-30)
    x_loc[0, goal[0] * view + goal[1]] = 1
    x_terr[0, torch.from_numpy(wall.flatten())] = 1
    seen: dict[str, torch.Tensor] = {}
    planner.action.register_forward_pre_hook(lambda _, inputs: seen.update(advantage=inputs[0][0, :9]))
    planner(x_loc, x_terr)

    grid = np.where(wall, WALL, FLOOR).astype(np.int16).flatten()
    steps, queue = np.zeros((2, view**2), np.int16)
    distances(grid, view, goal[0] * view + goal[1], steps, queue)
    around = steps.reshape(view, view)[center - 1 : center + 2, center - 1 : center + 2]
    expected = np.where(around < 0, -planner.MAX_STEPS, np.clip(around[1, 1] - around, -3, 3))
    assert around[1, 1] > size
    np.testing.assert_allclose(seen["advantage"].detach().reshape(3, 3), expected, atol=0.01)


def test_values_do_not_underflow() -> None:
    """0.4 ** 126 is 7e-51; single precision holds 1e-45 and more."""
    planner = ValueIterationPlanner(AgentConfig(planner_sweeps=20, planner_discount=0.4), EnvSpec(words=2, view=13))
    with torch.no_grad():
        planner.spread.copy_(torch.eye(9)[[1, 3, 5, 7]] * 100)
    x_loc = torch.zeros(1, 127**2)
    x_loc[0, 0] = 1  # 126 steps from the center
    seen: dict[str, torch.Tensor] = {}
    planner.critic.register_forward_pre_hook(lambda _, inputs: seen.update(log_value=inputs[0][0, :9]))
    planner(x_loc, torch.zeros_like(x_loc))
    assert seen["log_value"][4].item() == pytest.approx(126 * np.log(0.4), rel=1e-5)
    assert seen["log_value"][0].item() == pytest.approx(124 * np.log(0.4), rel=1e-5)


def test_attention_on_one_object_does_not_depend_on_the_number_of_positions() -> None:
    """A score of log 169 on an object and 0 elsewhere: 169 / (169 + 168), then 3721 / (3721 + 3720)."""
    for positions in (169, 3721):
        scores = torch.zeros(positions)
        scores[7] = np.log(169)
        found = detection_map(scores, trained=169)
        assert found[7].item() == pytest.approx(positions / (2 * positions - 1), rel=1e-4)
    assert torch.equal(detection_map(scores[:169], trained=169), detection_map(scores[:169]))


def test_size_scales_objects_and_walls_unless_they_are_given() -> None:
    world = WorldConfig()
    larger = world.resized(31)
    assert (larger.objects, larger.walls, larger.step_limit) == ((20, 98), (0, 294), 124)
    assert world.resized(31, objects=(3, 4), walls=(0, 0)) == WorldConfig(31, (3, 4), (0, 0))
    assert world.resized(None) == world.resized(7) == world
    assert WorldConfig(max_steps=14).resized(21).step_limit == 42
    assert world.resized(3).objects == (1, 1)
    assert world.resized(64).objects[1] == 418
    with pytest.raises(InputError, match="size must be an integer from 3 to 64, got 65"):
        world.resized(65)


@pytest.mark.parametrize("size", [5, 9, 15])
def test_pretrained_agent_acts_on_maps_of_all_sizes(size: int) -> None:
    agent = groundling.load("normal")
    env = gym.make_vec("groundling/NavQA-v0", num_envs=4, size=size)
    observation, _ = env.reset(seed=0)
    actions = agent.act(observation)
    assert actions.shape == (4, 2)
    assert actions[0].tolist() == agent.act({name: value[0] for name, value in observation.items()}).tolist()
    found = agent.explain(observation["image"][0], "Go to the apple.")
    assert found["x_loc"].shape == ((2 * size - 1) ** 2,)


def test_agent_trained_on_small_maps_succeeds_on_larger_ones() -> None:
    agent = groundling.load("normal").resized(11)
    record = Evaluator(agent.model, agent.teacher(), greedy=True, attention=False).run(40)
    assert agent.teacher().world.objects == (2, 12)
    assert record.success.mean() >= 0.9
    assert record.correct.mean() >= 0.98


def test_agents_without_an_interpreter_name_the_size_that_they_need() -> None:
    agent = groundling.load("san")
    with pytest.raises(InputError, match=r"size must be 7, that of the maps of training.*'san', got 9"):
        agent.resized(9)
    assert agent.resized(7, objects=(1, 1)).teacher().world.objects == (1, 1)
    observation, _ = gym.make("groundling/Nav-v0", size=9).reset(seed=0)
    with pytest.raises(InputError, match=r"images must have the 13 x 13 cells .*, got 17 x 17"):
        agent.act(observation)
    with pytest.raises(InputError, match=r"an odd number of cells on a side, got 4 cells"):
        groundling.load("normal").answer(np.zeros((24, 24, 3), np.uint8), "What is in the north?")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_larger_maps_on_a_gpu() -> None:
    agent, on_gpu = groundling.load("normal"), groundling.load("normal", device="cuda")
    observation, _ = gym.make_vec("groundling/NavQA-v0", num_envs=4, size=15).reset(seed=0)
    assert np.array_equal(agent.act(observation), on_gpu.act(observation))

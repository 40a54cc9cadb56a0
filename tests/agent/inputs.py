"""Models, sentences and observations for tests."""

import numpy as np
import torch
from torch import Tensor

from groundling.agent import AgentConfig, build
from groundling.agent.model import InterpreterModel
from groundling.agent.planners import ValueIterationPlanner
from groundling.teacher.teacher import Teacher
from groundling.world.catalog import CELL_PIXELS
from groundling.world.rendering import draw, view_cells

PAD = 185
OURS = {"temperature": 5.0, "word_detection": "per_word", "sharpness": 2.0, "gate_bound": 5.0}


def interpreter_model(**changes: object) -> InterpreterModel:
    torch.manual_seed(0)
    model = build(AgentConfig.of({"init": "he", **changes}))
    assert isinstance(model, InterpreterModel)
    torch.nn.init.normal_(model.perception.positions)  # initially zero, which would hide mistakes
    if isinstance(model.planner, ValueIterationPlanner):
        # Initially symmetric, so that moves have equal values, and the gradient of their maximum is not unique.
        torch.nn.init.uniform_(model.planner.spread, 0.0, 0.3)
    model.add_answer_words(torch.arange(PAD) % 3 == 0)
    return model


def random_sentences(batch: int, seed: int = 0) -> Tensor:
    """Sentences of 1 to 13 random words."""
    rng = torch.Generator().manual_seed(seed)
    tokens = torch.randint(0, PAD, (batch, 13), generator=rng)
    lengths = torch.randint(1, 14, (batch, 1), generator=rng)
    return torch.where(torch.arange(13) < lengths, tokens, PAD)


def noise_images(batch: int) -> Tensor:
    return torch.randint(0, 256, (batch, 156, 156, 3), generator=torch.Generator().manual_seed(1), dtype=torch.uint8)


def first_observations(batch: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Images, their cell ids, the picture of every cell id, commands and questions of the first steps of episodes."""
    teacher = Teacher()
    episode = teacher.begin(0, np.arange(batch))
    cells, pictures = view_cells(episode.state), teacher.catalog.pictures[CELL_PIXELS]
    commands, questions = (torch.from_numpy(part.tokens).long() for part in (episode.command, episode.question))
    images = torch.from_numpy(draw(cells, pictures))
    return images, torch.from_numpy(cells), torch.from_numpy(pictures), commands, questions


def assert_close(a: Tensor, b: Tensor, name: str = "") -> None:
    """Equal to 1e-4, relative to the largest value."""
    assert (a - b).abs().max() <= 1e-4 * b.abs().max(), name

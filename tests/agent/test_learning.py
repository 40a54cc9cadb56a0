"""A tiny world, 4 classes on a 3 x 3 map, is learned by every model in seconds on one core."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from groundling.agent import MODELS, AgentConfig, View, build
from groundling.agent.baselines import WholeImageModel
from groundling.teacher.grammar import SLOTS
from groundling.teacher.lexicon import DIRECTIONS
from groundling.teacher.teacher import Lessons, Teacher
from groundling.world.catalog import CELL_PIXELS, FIRST_ICON, Catalog
from groundling.world.rendering import view_cells
from groundling.world.shortest_path import best_actions


def few_classes(catalog: Catalog, n: int) -> Catalog:
    """The first n classes of a catalog."""
    icons = int(catalog.first_icon[n])
    return dataclasses.replace(
        catalog,
        classes=catalog.classes[:n],
        icon_class=catalog.icon_class[:icons],
        icon_color=catalog.icon_color[:icons],
        pictures={side: pictures[: FIRST_ICON + icons] for side, pictures in catalog.pictures.items()},
    )


def lessons(catalog: Catalog, answering: bool, batch: int) -> Iterator[tuple[View, Tensor, Tensor]]:
    """Pictures, sentences and what is right: `east ?` and which class it is, or a command and the way to go."""
    type_ = "rec_loc2obj" if answering else "nav_obj"
    teacher = Teacher(Lessons(size=3, objects=(1, 1), walls=(0, 0), balanced=1.0, types=(type_,)), catalog=catalog)
    words = teacher.lexicon.tokens_of((*DIRECTIONS, "?"))
    table = torch.from_numpy(catalog.pictures[CELL_PIXELS])
    for start in range(0, 10**9, batch):
        episode = teacher.begin(0, np.arange(start, start + batch))
        right = best_actions(episode.state)[0]
        sentences = episode.command.tokens
        keep = np.ones(batch, np.bool_)
        if answering:
            right = episode.question.answer.astype(np.int64)  # the four classes are the first words
            sentences = np.stack([words[episode.question.slots[:, SLOTS.index("loc")]], words[[-1] * batch]], axis=1)
            keep = right != teacher.lexicon.token["nothing"]
        view = View.of_cells(torch.from_numpy(view_cells(episode.state)[keep]), table)
        yield view, torch.from_numpy(sentences[keep]).long(), torch.from_numpy(right[keep])


@pytest.mark.slow
@pytest.mark.parametrize("method", list(MODELS))
def test_tiny_task(catalog: Catalog, method: str) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    # Walking without ever being asked depends much on the seed (the paper found so too): NAVA gets a good one.
    alone = method == "nava"
    torch.manual_seed(2 if alone else 0)
    planner = "value_iteration" if alone else "mlp"
    config = AgentConfig(method, view=5, channels=32, units=32, init="he", temperature=5.0, planner=planner)
    model = build(config)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3 if alone else 1e-3)
    recent = [0.0] * 10
    # Without attention, the loss over all 185 words drowns the picture: those models choose among the four names.
    whole = isinstance(model, WholeImageModel)
    for update, (view, sentences, right) in enumerate(
        lessons(few_classes(catalog, 4), model.answers, 32 if whole else 64)
    ):
        seen = model.perceive(view)
        scores = model.answer(seen, sentences) if model.answers else model.navigate(seen, sentences)[0]
        scores = scores[:, :4] if whole else scores
        optimizer.zero_grad()
        F.cross_entropy(scores, right).backward()
        optimizer.step()
        recent = [*recent[1:], (scores.argmax(1) == right).float().mean().item()]
        if np.mean(recent) > 0.95:
            break
        assert update < 900, f"only {np.mean(recent):.0%} after {update} updates"
    torch.set_num_threads(threads)

"""Models learn a tiny world, 4 classes on a 3 x 3 map, in seconds on one core."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from groundling.agent import AgentConfig, EnvSpec, Model, View, build
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import SamplingConfig
from groundling.world.catalog import CELL_PIXELS, Catalog
from groundling.world.rendering import view_cells
from groundling.world.shortest_path import best_actions
from groundling.world.types import DIRECTIONS, WorldConfig


def examples(catalog: Catalog, answering: bool, batch: int) -> Iterator[tuple[View, Tensor, Tensor]]:
    """Endless batches of images, sentences and labels.

    If `answering`, a sentence is a direction such as `east ?` and the label is the class there; otherwise a sentence is
    a command and the label is the first action of a shortest path.
    """
    type_ = "rec_loc2obj" if answering else "nav_obj"
    world = WorldConfig(size=3, objects=(1, 1), walls=(0, 0))
    sampling = SamplingConfig(type_balanced_fraction=1.0, types=(type_,))
    teacher = Teacher(world, catalog=catalog, sampling=sampling)
    words = teacher.lexicon.tokens_of((*DIRECTIONS, "?"))
    loc = list(teacher.language.slots).index("loc")
    pictures = torch.from_numpy(catalog.pictures[CELL_PIXELS])
    for start in range(0, 10**9, batch):
        episode = teacher.begin(0, np.arange(start, start + batch))
        labels = best_actions(episode.state)[0]
        sentences = episode.command.tokens
        keep = np.ones(batch, np.bool_)
        if answering:
            labels = episode.question.answer.astype(np.int64)  # the four classes are the first words
            sentences = np.stack([words[episode.question.slots[:, loc]], words[[-1] * batch]], axis=1)
            keep = labels != teacher.lexicon.token["nothing"]
        view = View.of_cells(torch.from_numpy(view_cells(episode.state)[keep]), pictures)
        yield view, torch.from_numpy(sentences[keep]).long(), torch.from_numpy(labels[keep])


def learns(model: Model, catalog: Catalog, lr: float, batch: int = 64, words: int | None = None) -> bool:
    """Whether a model reaches 95 % within 900 updates; its loss is over the first `words` words."""
    torch.set_num_threads(1)
    optimizer = torch.optim.Adam(model.parameters(), lr)
    recent = [0.0] * 10
    batches = examples(catalog.only(catalog.classes[:4]), model.has_answer_head, batch)
    for view, sentences, labels in itertools.islice(batches, 900):
        seen = model.perceive(view)
        scores = model.answer(seen, sentences).scores if model.has_answer_head else model.navigate(seen, sentences)[0]
        scores = scores[:, :words]
        optimizer.zero_grad()
        F.cross_entropy(scores, labels).backward()
        optimizer.step()
        recent = [*recent[1:], (scores.argmax(1) == labels).float().mean().item()]
        if np.mean(recent) > 0.95:
            return True
    return False


def tiny(method: str, seed: int = 0, planner: str = "mlp") -> Model:
    torch.manual_seed(seed)
    config = AgentConfig(method, channels=32, hidden_units=32, init="he", temperature=5.0, planner=planner)
    return build(config, EnvSpec(view=5))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ours", "ca", "san"])
def test_attention_models_learn_to_answer(catalog: Catalog, method: str) -> None:
    assert learns(tiny(method), catalog, lr=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["vl", "ce"])
def test_models_without_attention_learn_to_choose_among_four_words(catalog: Catalog, method: str) -> None:
    """With the loss over all 185 words they need far more updates."""
    assert learns(tiny(method), catalog, lr=1e-3, batch=32, words=4)


@pytest.mark.slow
def test_nav_only_model_learns_to_navigate_with_at_least_one_of_four_seeds(catalog: Catalog) -> None:
    """Learning from actions alone depends much on the seed, as the paper found."""
    assert any(learns(tiny("nava", seed, "value_iteration"), catalog, lr=3e-3) for seed in range(4))

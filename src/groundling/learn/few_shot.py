"""Learning one new word from a few examples: images with a question whose answer is the word.

Only one row of the word embeddings is learned. It is a detector like every other word's, so everything else that the
agent knows (sentences, positions, navigation) works with the new word at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from groundling.agent import View, build
from groundling.agent.model import InterpreterModel
from groundling.errors import Cancelled

STEPS = 200
LEARNING_RATE = 0.05
MIN_PROBABILITY = 1e-6


class Example(NamedTuple):
    """One example of a word."""

    image: NDArray[np.uint8]
    """[H, W, 3]: what the agent sees"""
    question: str
    """Such as `What is in the north?`"""
    answer: str
    """The word to learn."""


class _Encoded(NamedTuple):
    """The examples as the model perceives them before it knows the word."""

    cubes: Tensor
    """h [E, N, D]"""
    x_loc: Tensor
    """[E, N]: the cells that the questions refer to"""
    features: Tensor
    """[E, D]: x_feat o x_loc^T h, the input of the answer head"""
    x_feat: Tensor
    """[E, D]"""


def learn_word(
    model: InterpreterModel,
    token: int,
    known_objects: Sequence[int],
    images: NDArray[np.uint8],
    questions: Sequence[Sequence[int]],
    cancelled: Callable[[], bool] | None = None,
) -> None:
    """Learn the embedding of `token` in place, from images [E, H, W, 3] and the tokens of their questions.

    The loss has four terms of equal weight: the answer to the questions; the detection of what they refer to; no answer
    with the word for anything else in the image; and, divided by the number of examples, a Gaussian prior fitted to the
    embeddings of the objects that the model knows (`known_objects`).

    `cancelled` is called before each optimization step; if it returns true, Cancelled is raised.
    """
    encoded = _encode(model, images, questions)
    known = model.words.table.detach()[list(known_objects)]
    mean, deviation = known.mean(0), known.std(0)
    # Examples show the object next to the agent. Only the visual half of the embedding is learned; otherwise the word
    # would also mean a position.
    visual = mean[: model.config.channels].clone().requires_grad_()
    answers = torch.full((len(images),), token)
    optimizer = torch.optim.Adam([visual], LEARNING_RATE)
    for _ in range(STEPS):
        if cancelled is not None and cancelled():
            raise Cancelled
        row = torch.cat([visual, mean[model.config.channels :]])
        table = model.words.table.detach().clone()
        table[token] = row
        answer = F.cross_entropy(encoded.features @ table.T, answers)
        detection = -(encoded.x_loc * F.log_softmax(encoded.cubes @ row, dim=1)).sum(1).mean()  # phi(h, 1, u)
        elsewhere = F.softmax((encoded.x_feat[:, None] * encoded.cubes) @ table.T, dim=2)[..., token]  # [E, N]
        false_answer = -((1 - encoded.x_loc) * (1 - elsewhere).clamp(min=MIN_PROBABILITY).log()).sum(1).mean()
        prior = (((row - mean) / deviation) ** 2).mean()
        optimizer.zero_grad()
        (answer + detection + false_answer + prior / len(images)).backward()
        optimizer.step()
    with torch.no_grad():
        model.words.table[token] = row


def with_more_words(model: InterpreterModel, words: int) -> InterpreterModel:
    """A copy of a model with a larger lexicon; the new embeddings are the mean of the known ones."""
    larger = build(model.config, replace(model.spec, words=words))
    assert isinstance(larger, InterpreterModel)
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    table = weights["words.table"]
    weights["words.table"] = torch.cat([table, table.mean(0, keepdim=True).expand(words - len(table), -1)])
    larger.load_state_dict(weights)
    return larger.eval()


@torch.no_grad()
def _encode(model: InterpreterModel, images: NDArray[np.uint8], questions: Sequence[Sequence[int]]) -> _Encoded:
    device = next(model.parameters()).device
    cube = model.perceive(View.of_images(torch.from_numpy(images).to(device)))
    attention = model.attend(cube, model.tokens(questions))
    features = attention.x_feat * cube.pool(attention.x_loc)
    return _Encoded(cube.project(torch.eye(model.config.depth)), attention.x_loc, features, attention.x_feat)

"""Learning one new word from a few examples: images with a question whose answer is the word.

Only one row of the word embeddings is learned, in closed form. It is a detector like every other word's, so everything
else that the agent knows (sentences, positions, navigation) works with the new word at once.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from groundling.agent import View, build
from groundling.agent.model import InterpreterModel

RIDGE = 0.01
"""Regularization, relative to the mean variance of the remembered features."""
MARGIN = 9.0
"""Minimum lead over the best other answer; the median of the words that were learned in training."""
MIN_LEAD = 3.0
"""Lead of the best answer over the second best from which on the agent is certain of it."""
SAME_KIND = 0.95
"""Cosine of the channel masks of two questions that ask for the same kind of word."""
TOLERANCE = 1e-3
"""Relative noise of the examples' scores: examples that show the same icon repeat the same equation."""


class Example(NamedTuple):
    """One example of a word."""

    image: NDArray[np.uint8]
    """[H, W, 3]: what the agent sees"""
    question: str
    """Such as `What is in the north?`"""
    answer: str
    """The word to learn."""


def learn_word(
    model: InterpreterModel,
    token: int,
    known_objects: Sequence[int],
    background: NDArray[np.uint8],
    memory: NDArray[np.uint8],
    images: NDArray[np.uint8],
    questions: Sequence[Sequence[int]],
) -> NDArray[np.uint8]:
    """Set the embedding of `token` in place, from images [E, H, W, 3] and the tokens of their questions.

    Returns the pictures [E, side, side, 3] of the cells that the questions refer to.

    `background` and `memory` [M, side, side, 3]: pictures of cells that the agent has seen in training, those that no
    word names, such as floor and walls, and those that other words name, such as objects with tokens `known_objects`.

    The new embedding u differs as little as possible from mu, the mean embedding of known objects, on everything that
    the word does not name, and leads by r on what it names:

        minimize  mean_m (f_m (u - mu))^2 + lambda |u - mu|^2   over the features f_m of the remembered cells
        subject to  f_e (u - mu) = r_e                          for the features f_e of the examples,

        u = mu + A^-1 F^T (F A^-1 F^T)^-1 r,    A = mean_m f_m^T f_m + lambda I.

    Each cell counts twice for each question: with the features that the question selects by x_feat, in which the lead r
    of an example is the one that known words have on average, and more where another answer is near; and with all other
    features, where r = 0: the word names what the question asks for, not whatever else the example shows. Grounding
    (x_feat = 1) sees the sum of both. A remembered cell counts only if the agent has an answer for it to each of the
    questions: if it has never learned a word for the color orange, it does not know which objects are not orange.
    """
    with torch.no_grad():
        channels = model.config.channels
        view = View.of_images(torch.from_numpy(images).to(model.words.table.device))
        cube = model.perceive(view)
        attention = model.attend(cube, model.tokens(questions))
        seen = cube.pool(attention.x_loc)  # x_loc^T h [E, D]: what the questions refer to
        objects = model.words.table[list(known_objects)]
        mean = objects.mean(0)
        # Examples show the object next to the agent. Only the visual half of the embedding is learned; otherwise the
        # word would also mean a position.
        mu, rows = mean[:channels], model.words.table[:, :channels].clone()
        rows[token] = mu
        v, x_feat = seen[:, :channels], attention.x_feat[:, :channels]
        masks, kind = _kinds(x_feat)  # [Q, C], [E]
        behind, known = (
            model.perception.features_of(torch.from_numpy(cells).to(v.device)) for cells in (background, memory)
        )
        answers = ((known * masks[:, None]) @ rows.T).topk(2).values  # [Q, M, 2]: the best two for each remembered cell
        certain = answers[..., 0] - answers[..., 1] > MIN_LEAD
        lead = answers[..., 0] - (known * masks[:, None]) @ mu
        typical = (lead * certain).sum(1) / certain.sum(1).clamp(min=1)  # [Q]
        rival = model.words.table @ (attention.x_feat * seen).T  # [words, E]
        rival[token] = -torch.inf
        needed = rival.amax(0) - (attention.x_feat * seen) @ mean + MARGIN
        r = torch.cat([torch.maximum(typical[kind], needed), v.new_zeros(len(v))])
        examples = torch.cat([x_feat * v, (1 - x_feat) * v])  # F [2 E, C]
        remembered = torch.cat([behind, known[certain.all(0)]])
        others = torch.cat([remembered * masks[:, None], remembered * (1 - masks[:, None])]).flatten(0, 1)
        second_moment = others.T @ others / len(others)
        ridge = RIDGE * second_moment.diagonal().mean()
        solved = torch.linalg.solve(
            second_moment + ridge * torch.eye(channels, device=v.device), examples.T
        )  # A^-1 F^T [C, 2 E]
        gram = examples @ solved
        gram.diagonal().add_(TOLERANCE * gram.diagonal().mean())
        visual = mu + solved @ torch.linalg.solve(gram, r)
        model.words.table[token] = torch.cat([visual, mean[channels:]])
        model.add_answer_words(torch.arange(model.spec.words) == token)
        named = view.cells.gather(1, attention.x_loc.argmax(1, keepdim=True))[:, 0]
        return np.asarray(view.pictures[named].cpu().numpy())


def _kinds(x_feat: Tensor) -> tuple[Tensor, Tensor]:
    """Channel masks [E, C], grouped by similarity: the mask of each kind [Q, C], and the kind of each mask [E]."""
    kinds: list[Tensor] = []
    which = []
    for mask in x_feat:
        similar = [k for k, other in enumerate(kinds) if F.cosine_similarity(mask, other, dim=0) > SAME_KIND]
        which.append(similar[0] if similar else len(kinds))
        if not similar:
            kinds.append(mask)
    return torch.stack(kinds), torch.tensor(which, device=x_feat.device)


def with_more_words(model: InterpreterModel, words: int) -> InterpreterModel:
    """A copy of a model with a larger lexicon; the new embeddings are the mean of the known ones."""
    larger = build(model.config, replace(model.spec, words=words))
    assert isinstance(larger, InterpreterModel)
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    table = weights["words.table"]
    weights["words.table"] = torch.cat([table, table.mean(0, keepdim=True).expand(words - len(table), -1)])
    for name in ("words.answered", "interpreter.salience.others"):  # [words]; absent without salience
        if name in weights:
            weights[name] = torch.cat([weights[name], table.new_zeros(words - len(table))])
    larger.load_state_dict(weights)
    return larger.eval()

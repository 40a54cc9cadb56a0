"""Teaching a word: a few pictures, questions and answers, and one row of the word table that learns from them.

The row is a detector like every other word's, so what was learned of sentences, places and walking works with the new
word at once: nothing else is touched.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from groundling.agent import View, build
from groundling.agent.model import Agent
from groundling.errors import InputError
from groundling.learn.trained_agent import TrainedAgent
from groundling.teacher.lexicon import Lexicon


class Example(NamedTuple):
    """Something that a teacher shows and says."""

    image: NDArray[np.uint8]
    """[H, W, 3]: what the agent sees"""
    question: str
    """Such as `What is in the north?`"""
    answer: str
    """The word that is taught."""


def teach(
    agent: TrainedAgent, word: str, examples: Sequence[Example], steps: int = 200, rate: float = 0.05
) -> TrainedAgent:
    """An agent that knows the word, too, from examples whose answer it is; the one given stays as it was.

    The word is one of the agent's lexicon, or a new one. Its row minimises, over the examples, the loss of the answer
    and of detecting what the question points at; it answers for nothing else that is seen, and stays as near as it can
    to the rows of the words for objects.
    """
    if not examples:
        raise InputError(f"teach {word!r}: at least one example is needed")
    for example in examples:
        if example[2] != word:
            raise InputError(f"teach {word!r}: an example's answer is {example[2]!r}; it must be the word taught")
    taught = with_word(agent, word)
    model = taught.checkpoint.model
    if not isinstance(model, Agent):
        raise InputError(f"teach: a model of method {model.config.method!r} has no words that detect; use ours")
    number = taught.checkpoint.lexicon.index(word)
    seen = _look(taught, model, examples)
    others = _known_objects(taught, word, model.words.table.detach())
    mean, deviation = others.mean(0), others.std(0)
    # Examples show the thing beside the agent. Its looks alone are learned, or the word would mean a place as well.
    looks = mean[: model.config.channels].clone().requires_grad_()
    optimizer = torch.optim.Adam([looks], rate)
    for _ in range(steps):
        row = torch.cat([looks, mean[model.config.channels :]])
        table = model.words.table.detach().clone()
        table[number] = row
        answering = F.cross_entropy(seen.features @ table.T, torch.full((len(examples),), number))
        detected = F.log_softmax(seen.cubes @ row, dim=1)  # phi(h, 1, u) at every place
        detecting = -(seen.x_loc * detected).sum(1).mean()
        elsewhere = F.softmax((seen.x_feat[:, None] * seen.cubes) @ table.T, dim=2)[..., number]  # [E, N]
        meddling = -((1 - seen.x_loc) * (1 - elsewhere).clamp(min=1e-6).log()).sum(1).mean()
        unusual = (((row - mean) / deviation) ** 2).mean()
        optimizer.zero_grad()
        (answering + detecting + meddling + unusual / len(examples)).backward()
        optimizer.step()
    with torch.no_grad():
        model.words.table[number] = row
    return taught


def with_word(agent: TrainedAgent, word: str) -> TrainedAgent:
    """A copy of an agent, with one more word in its lexicon if it is new there."""
    checkpoint = agent.checkpoint
    if word in checkpoint.lexicon:
        return replace(agent, checkpoint=replace(checkpoint, model=copy.deepcopy(checkpoint.model)))
    known = Lexicon()
    words = Lexicon((*checkpoint.lexicon[len(known) :], word)).words  # checks that it can be one
    old = checkpoint.model
    model = build(replace(old.config, words=len(words)))
    weights = {name: tensor.clone() for name, tensor in old.state_dict().items()}
    table = weights["words.table"]
    weights["words.table"] = torch.cat([table, table.mean(0, keepdim=True)])
    model.load_state_dict(weights)
    return replace(agent, checkpoint=replace(checkpoint, model=model.eval(), lexicon=words))


class _Seen(NamedTuple):
    """What the agent makes of the examples before it knows the word."""

    cubes: Tensor
    """h [E, N, D]"""
    x_loc: Tensor
    """[E, N]: where the questions point"""
    features: Tensor
    """[E, D]: x_feat o x_loc^T h, what the answer is predicted from"""
    x_feat: Tensor
    """[E, D]"""


@torch.no_grad()
def _look(agent: TrainedAgent, model: Agent, examples: Sequence[Example]) -> _Seen:
    lexicon = Lexicon(agent.checkpoint.lexicon[len(Lexicon()) :])
    tokens = model.tokens([lexicon.tokens(example[1]) for example in examples])
    view = View.of_images(torch.from_numpy(np.stack([np.asarray(example[0]) for example in examples])))
    cube = model.perceive(view)
    x_loc, x_feat = model.attend(cube, tokens)
    return _Seen(cube.project(torch.eye(model.config.depth)), x_loc, x_feat * cube.pool(x_loc), x_feat)


def _known_objects(agent: TrainedAgent, word: str, table: Tensor) -> Tensor:
    """The rows of the words for objects that the agent has learned: not the one taught, nor any other novel one."""
    novel = {name for group in agent.split.held_out for name in group} if agent.split.kind == "novel" else set()
    objects = [name for name in agent.config.catalog().classes if name not in novel and name != word]
    return table[[agent.checkpoint.lexicon.index(name) for name in objects]]

"""The types that other packages use of the agent: what a model is built for, and what it returns."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor

from groundling.errors import InputError, check_int

MAX_VIEW = 127
"""The view of the largest map, 64 x 64."""


@dataclass(frozen=True)
class EnvSpec:
    """The sizes that the environment fixes for a model. The defaults are the paper's."""

    words: int = 185
    """Size of the lexicon; the token of this number is padding."""
    actions: int = 4
    view: int = 13
    """Side of the agent's view in cells, 2 x map size - 1; the agent is in the center."""

    def __post_init__(self) -> None:
        check_int("words", self.words, 1)
        check_int("actions", self.actions, 1)
        if check_int("view", self.view, 3, MAX_VIEW) % 2 == 0:
            raise InputError(f"view must be odd and at least 3, got {self.view}")

    @property
    def positions(self) -> int:
        """N: number of cells of the view."""
        return self.view**2

    @property
    def pad(self) -> int:
        """The padding token."""
        return self.words


class Output(NamedTuple):
    """What a model returns for a batch: action logits, values and answer scores."""

    action_logits: Tensor
    """[B, actions]"""
    value: Tensor
    """[B]"""
    answer_scores: Tensor | None
    """[B, words]; None for a model without an answer head, or where nothing was asked"""
    x_loc: Tensor | None = None
    """[B, N]: attention map of the command; None for a model without attention"""
    x_loc_question: Tensor | None = None
    """[B, N]: attention map of the question"""
    x_terr: Tensor | None = None
    """[B, N]: terrain map; None for a model without one"""
    extra: Any = None
    """Whatever else `Model.auxiliary_losses` needs of the forward pass"""


class Answer(NamedTuple):
    """What a model returns for questions alone."""

    scores: Tensor
    """[B, words]"""
    extra: Any = None
    """Whatever else `Model.auxiliary_losses` needs; of ours, the programs of the distinct sentences"""

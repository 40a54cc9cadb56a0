"""Grounding: executing a program on a feature cube gives the attention map x_loc. Equation numbers are the paper's."""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from groundling.agent.perception import Cube

SLOPE_ABOVE_BOUND = 0.1
"""How much of a detection score counts above the bound."""


class Program(NamedTuple):
    """The interpreter's output for S sentences: the only language input of grounding, planner and answer head."""

    attention: Tensor
    """o [S, I, L]: attention of each step on each word"""
    tokens: Tensor
    """[S, L]: the words"""
    words: Tensor
    """s [S, I, D]: the attended words' embeddings"""
    gates: Tensor
    """rho [S, I]: how much each step's map replaces the previous one"""
    x_feat: Tensor
    """[S, D]: the channel mask"""
    sharpness: Tensor | None = None
    """beta [S]: the exponent that sharpens the last map; None: no exponent, as in the paper"""

    def select(self, which: Tensor) -> "Program":
        """The programs of a batch, from those of its distinct sentences."""
        sharpness = None if self.sharpness is None else self.sharpness[which]
        return Program(
            attention=self.attention[which],
            tokens=self.tokens[which],
            words=self.words[which],
            gates=self.gates[which],
            x_feat=self.x_feat[which],
            sharpness=sharpness,
        )


class Grounding(NamedTuple):
    """The maps of a batch, step by step. x_loc, the grounding of the sentence, is the last of `x_loc_steps`."""

    detections: Tensor
    """y' [B, I, N]"""
    x_loc_steps: Tensor
    """x_loc^i [B, I, N]"""

    @property
    def x_loc(self) -> Tensor:
        return self.x_loc_steps[:, -1]


def center(batch: int, like: Tensor) -> Tensor:
    """y^0 [B, N]: one-hot at the center, the identity of the map transform; for maps such as `like`."""
    y = like.new_zeros(batch, like.shape[-1])
    y[:, like.shape[-1] // 2] = 1
    return y


def transform(a: Tensor, b: Tensor) -> Tensor:
    """a * b: 2D convolution of two maps [B, N], centerd and cropped to their size (Eq. 7, map transform).

    Computed by the convolution theorem, on a grid large enough that nothing wraps around.
    """
    batch, positions = a.shape
    side = round(positions**0.5)
    full = 2 * side  # 2 side - 1 would be enough; even sizes are faster
    maps = torch.stack([a, b]).reshape(2, batch, side, side)
    spectra = torch.fft.rfft2(maps, s=(full, full))
    product: Tensor = torch.fft.irfft2(spectra[0] * spectra[1], s=(full, full))
    start = side // 2
    return product[:, start : start + side, start : start + side].reshape(batch, positions)


def detection_map(scores: Tensor, bound: float | None = None, trained: int | None = None) -> Tensor:
    """y' = softmax(phi) of scores [..., N]; with a bound c, phi counts fully below c and by a tenth above c.

    Scores above c count almost alike: `red` is detected at all red objects, not only at the one with the largest score,
    so that `the red apple` is where the maps of both words overlap. A slope of 0 would leave no gradient to a wrong
    object whose score is above c.

    With more positions than the `trained` ones, scores are multiplied by log N / log trained: a score that is log
    trained above the others then has the same part of the attention whatever N is (Nakanishi, 2025).
    """
    if bound is not None:
        scores = scores - (1 - SLOPE_ABOVE_BOUND) * F.softplus(scores - bound)
    positions = scores.shape[-1]
    if trained is not None and positions > trained:
        scores = scores * (math.log(positions) / math.log(trained))
    return F.softmax(scores, dim=-1)


def ground(
    program: Program,
    cube: Cube,
    table: Tensor | None = None,
    bound: float | None = None,
    trained: int | None = None,
) -> Grounding:
    """Eq. 7 (Upsilon): detect each attended word, transform the map by it, and let the gate update the map.

    program: of the batch's sentences, [B, I, ...]; cube: of its images; table: the word embeddings if each word is
    detected by itself, see `AgentConfig.word_detection`; bound and trained: see `detection_map`.
    """
    if table is None:
        detections = detection_map(cube.detect(program.words), bound, trained)  # y' = softmax(phi(h, 1, s^i)) [B, I, N]
    else:
        each = detection_map(
            cube.detect_each(table, program.tokens), bound, trained
        )  # softmax(phi(h, 1, w_l)) [B, L, N]
        detections = program.attention @ each  # y' = sum_l o^i_l softmax(phi(h, 1, w_l))
    y = center(len(detections), detections)  # y^0
    maps: list[Tensor] = []
    for detected, rho in zip(detections.unbind(1), program.gates[..., None].unbind(1), strict=True):
        x_loc = transform(detected, y) if maps else detected  # x_loc^i = y' * y^{i-1}; y^0 is the identity
        y = rho * x_loc + (1 - rho) * y  # y^i
        maps.append(x_loc)
    if program.sharpness is not None:
        maps[-1] = sharpen(maps[-1], program.sharpness)
    return Grounding(detections, torch.stack(maps, 1))


def sharpen(x_loc: Tensor, beta: Tensor) -> Tensor:
    """x_loc ** beta, normalized to sum 1: [B, N], [B] -> [B, N].

    The cell between two objects has twice the attention of the other cells next to them, and no convolution can give it
    more.
    """
    return F.softmax(beta[:, None] * x_loc.clamp(min=1e-6).log(), dim=1)


def predict(cube: Cube, x_loc: Tensor, x_feat: Tensor, table: Tensor) -> Tensor:
    """Eq. 4: m[k] = x_loc^T phi(h, x_feat, u_k) = (x_feat o x_loc^T h) u_k, for every word k -> [B, words]."""
    return (x_feat * cube.pool(x_loc)) @ table.T

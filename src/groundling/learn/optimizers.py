"""The optimizers of the paper's algorithm."""

from collections.abc import Iterable

import torch
from torch import nn

from groundling.learn.stage_config import ActorCriticConfig


def make_optimizer(parameters: Iterable[nn.Parameter], settings: ActorCriticConfig) -> torch.optim.Optimizer:
    """The optimizer of the settings. All are fused: with minibatches of 16, separate passes take most of the time.

    `rmsprop` is Adam without momentum: a mean of squared gradients that forgets, with bias correction.
    """
    if settings.optimizer == "adagrad":
        return torch.optim.Adagrad(
            parameters,
            settings.lr,
            weight_decay=settings.weight_decay,
            initial_accumulator_value=settings.initial_accumulator,
            eps=settings.epsilon,
            fused=True,
        )
    momentum = settings.momentum if settings.optimizer == "adam" else 0.0
    betas = (momentum, settings.accumulator_decay)
    return torch.optim.Adam(parameters, settings.lr, betas, settings.epsilon, settings.weight_decay, fused=True)

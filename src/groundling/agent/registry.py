"""All models by name, and how one is built."""

import torch
from torch import nn

from groundling.agent.baselines import ConcatEmbed, ContextualAttention, StackedAttentionNet, VisLSTM
from groundling.agent.config import AgentConfig
from groundling.agent.language import Gate, WordEmbeddings
from groundling.agent.model import Agent, Model, NavOnlyModel
from groundling.agent.perception import Perception
from groundling.agent.planners import SmallInitLinear, Terrain, ValueIterationPlanner
from groundling.errors import InputError, nearest

MODELS: dict[str, type[Model]] = {
    "ours": Agent,
    "ca": ContextualAttention,
    "san": StackedAttentionNet,
    "vl": VisLSTM,
    "ce": ConcatEmbed,
    "nava": NavOnlyModel,
}
"""A model of your own joins by `MODELS["mine"] = Mine`."""


def build(config: AgentConfig) -> Model:
    """A new model of the method that the config names."""
    if config.method not in MODELS:
        known = ", ".join(MODELS)
        raise InputError(f"unknown method {config.method!r}{nearest(config.method, MODELS)}; there are {known}")
    model = MODELS[config.method](config)
    initialize = initialize_as_paper if config.init == "paper" else initialize_as_he
    initialize(model)
    return model


@torch.no_grad()
def initialize_as_paper(model: nn.Module) -> None:
    """Each layer: zero mean, deviation 1 / sqrt(K), where K is how many parameters the layer has.

    Word embeddings keep their deviation and the parametric cube its zeros; our planner is not the paper's.
    """
    if isinstance(model, WordEmbeddings | ValueIterationPlanner):
        return
    own = [
        p
        for name, p in model.named_parameters(recurse=False)
        if name not in ("places", "log_temperature", "log_sharpness")
    ]
    count = sum(p.numel() for p in own)
    for p in own:
        p.normal_(0, count**-0.5)
    for child in model.children():
        initialize_as_paper(child)


@torch.no_grad()
def initialize_as_he(model: nn.Module) -> None:
    """Deviation sqrt(2 / inputs), which keeps signals alive through layers of ReLU (He et al., 2015).

    The feature cube starts smaller, so that a word's detection scores have about unit deviation: larger ones would
    attend to one place from the start, and learning stalls (questions right after 400 updates of 128: 45 %, not 25 %).
    """
    for layer in model.modules():
        if (
            isinstance(layer, nn.Conv2d | nn.Linear)
            and not isinstance(layer, SmallInitLinear | Gate)
            and layer.bias is not None
        ):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            layer.bias.fill_(0.01)  # not zero: maps that are zero must not leave ReLUs on their kink
        elif isinstance(layer, nn.LSTM):  # it starts by remembering: the forget gates are open
            layer.get_parameter("bias_ih_l0")[layer.hidden_size : 2 * layer.hidden_size] = 1
    for part in model.modules():
        if isinstance(part, Perception):
            part.features.weight.mul_(part.features.out_channels**-0.5)
        elif isinstance(part, Terrain):  # blank: no place costs more than another before it is learned
            part.f.mul_(len(part.f) ** -0.5)

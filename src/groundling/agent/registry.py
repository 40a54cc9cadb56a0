"""All models by name, how a model of your own is found, and how one is built and initialized."""

import importlib
import json
import sys
from importlib.metadata import entry_points
from typing import Any

import torch
from torch import nn

from groundling.agent.baselines import ConcatEmbed, ContextualAttention, StackedAttentionNet, VisLSTM
from groundling.agent.config import AgentConfig, ModelConfig
from groundling.agent.language import Gate, RecurrentReader, Salience, WordEmbeddings
from groundling.agent.model import InterpreterModel, Model, NavOnlyModel
from groundling.agent.perception import Perception
from groundling.agent.planners import SmallInitLinear, Terrain, ValueIterationPlanner
from groundling.agent.types import EnvSpec
from groundling.errors import InputError, nearest, show

MODELS: dict[str, type[Model]] = {
    "ours": InterpreterModel,
    "ca": ContextualAttention,
    "san": StackedAttentionNet,
    "vl": VisLSTM,
    "ce": ConcatEmbed,
    "nava": NavOnlyModel,
}
"""Register a model of your own with `MODELS["mine"] = Mine`."""
ENTRY_POINTS = "groundling.models"
"""The entry points by which an installed package offers models."""


def model_names() -> list[str]:
    """The names of all models of this package, of installed packages, and of `MODELS`."""
    return list(dict.fromkeys([*MODELS, *(point.name for point in entry_points(group=ENTRY_POINTS))]))


def find_model(name: Any, allow_import: bool = False) -> type[Model]:
    """The class of a model: a name of `MODELS`, the name of an entry point, or `module:Class`.

    A module is imported only if `allow_import`, because importing runs its code, and the name may come from a file.
    """
    if not isinstance(name, str):
        raise InputError(f"agent.method must be a string, got {show(name)}")
    if name in MODELS:
        return _checked(MODELS[name], name)
    module, _, attribute = name.partition(":")
    if all(part.isidentifier() for part in (*module.split("."), attribute)):
        if module not in sys.modules:
            _import(module, name, allow_import)
        found = getattr(sys.modules[module], "__dict__", {})  # reading an attribute could run code of the module
        if attribute not in found:
            own = [key for key, value in found.items() if isinstance(value, type) and issubclass(value, Model)]
            raise InputError(
                f"agent.method must name a class of {module}, got {show(name)}{nearest(attribute[:40], own)}"
            )
        return _checked(found[attribute], name)
    for point in entry_points(group=ENTRY_POINTS, name=name):
        try:
            return _checked(point.load(), name)
        except (ImportError, AttributeError) as error:
            raise InputError(
                f"agent.method {name!r}: its entry point {point.value} cannot be loaded ({error})"
            ) from error
    known = model_names()
    raise InputError(
        f"agent.method must be one of {', '.join(known)}, or module:Class for a model of your own, got {show(name)}"
        f"{nearest(name[:40], known)}"
    )


def _import(module: str, name: str, allow_import: bool) -> None:
    """Import the module of a model, if that is allowed."""
    if not allow_import:
        raise InputError(
            f"agent.method {show(name)} needs the module {show(module)}, which is not imported, and importing it runs "
            "its code; if you trust it, use --allow-import or groundling.load(path, allow_import=True)"
        )
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):  # an import of the module itself failed
            raise
        raise InputError(f"agent.method {show(name)}: no module {error.name!r} on the Python path") from None


def _checked(kind: Any, name: str) -> type[Model]:
    """The class of a model, if it is one that can be built."""
    if not isinstance(kind, type) or not issubclass(kind, Model):
        raise InputError(f"agent.method must name a subclass of groundling.agent.Model, got {show(name)}")
    missing = ", ".join(sorted(kind.__abstractmethods__))
    if missing:
        raise InputError(
            f"agent.method must name a model with all abstract methods, got {show(name)} without {missing}"
        )
    config: Any = kind.Config
    if (
        not isinstance(config, type)
        or not issubclass(config, ModelConfig)
        or "__dataclass_fields__" not in vars(config)
    ):
        raise InputError(
            f"Config of {name} must be a dataclass that extends groundling.agent.ModelConfig, got {config}"
        )
    return kind


def config_of(record: Any, allow_import: bool = False) -> ModelConfig:
    """The config of plain data, as the dataclass of the model that it names."""
    method = record.get("method", ModelConfig.method) if isinstance(record, dict) else ModelConfig.method
    return find_model(method, allow_import).Config.of(record)


def build(config: ModelConfig, spec: EnvSpec | None = None) -> Model:
    """A new model of the method that the config names, for an environment with these sizes."""
    kind = find_model(config.method)
    _check_config(config, kind)
    model = kind(config, spec or EnvSpec())
    if isinstance(config, AgentConfig):  # other models initialize themselves
        INITIALIZE[config.init](model)
    return model


def _check_config(config: ModelConfig, kind: type[Model]) -> None:
    """Raise unless a config is of the model's dataclass, and can be stored and restored by a checkpoint."""
    if type(config) is not kind.Config:
        raise InputError(
            f"agent must be of class {kind.Config.__name__} for method {config.method!r}, got {type(config).__name__}"
        )
    try:
        restored = config.of(json.loads(json.dumps(config.to_dict())))
    except (TypeError, ValueError) as error:
        raise InputError(f"{type(config).__name__} must have fields that JSON can store ({error})") from None
    if restored != config:
        raise InputError(f"{type(config).__name__} must have fields that JSON can store, got {show(config)}")


@torch.no_grad()
def initialize_as_paper(model: nn.Module) -> None:
    """Each layer: zero mean, standard deviation 1 / sqrt(K), where K is its number of parameters.

    Word embeddings keep unit deviation and the parametric cube its zeros; our planner initializes itself.
    """
    if isinstance(model, WordEmbeddings | Salience | ValueIterationPlanner):
        return
    own = [
        p
        for name, p in model.named_parameters(recurse=False)
        if name not in ("positions", "log_temperature", "log_sharpness")
    ]
    count = sum(p.numel() for p in own)
    for p in own:
        p.normal_(0, count**-0.5)
    for child in model.children():
        initialize_as_paper(child)


@torch.no_grad()
def initialize_as_he(model: nn.Module) -> None:
    """Standard deviation sqrt(2 / inputs), which preserves the variance through ReLU layers (He et al., 2015).

    The feature cube starts smaller, so that detection scores have about unit deviation: larger ones attend to a single
    position from the start, and learning stalls (QA accuracy after 400 updates of size 128: 25 % instead of 45 %).
    """
    for layer in model.modules():
        if (
            isinstance(layer, nn.Conv2d | nn.Linear)
            and not isinstance(layer, SmallInitLinear | Gate)
            and layer.bias is not None
        ):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            layer.bias.fill_(0.01)  # not zero: an all-zero map would put ReLUs exactly at their kink
        elif isinstance(layer, nn.LSTM):  # forget gates start open
            layer.get_parameter("bias_ih_l0")[layer.hidden_size : 2 * layer.hidden_size] = 1
    for part in model.modules():
        if isinstance(part, Perception):
            part.features.weight.mul_(part.features.out_channels**-0.5)
        elif isinstance(part, Terrain):  # initially no position is an obstacle
            part.f.mul_(len(part.f) ** -0.5)


@torch.no_grad()
def initialize_by_inputs(model: nn.Module) -> None:
    """Standard deviation 1 / sqrt(inputs) and zero biases, the default of PaddlePaddle, the paper's framework.

    Word embeddings keep unit deviation and the parametric cube its zeros; so do the kernels and small outputs of ours.
    """
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            if not isinstance(layer, SmallInitLinear):
                layer.weight.normal_(0, layer.weight[0].numel() ** -0.5)
            if layer.bias is not None and not (isinstance(layer, Gate) and layer.bound is not None):
                layer.bias.zero_()
        elif isinstance(layer, RecurrentReader | nn.GRUCell | nn.LSTM):
            for name, p in layer.named_parameters(recurse=False):
                p.zero_() if name.startswith("bias") else p.normal_(0, p.shape[1] ** -0.5)
        elif isinstance(layer, Terrain):
            layer.f.normal_(0, len(layer.f) ** -0.5)


INITIALIZE = {"paper": initialize_as_paper, "he": initialize_as_he, "inputs": initialize_by_inputs}
"""How weights are initialized, by `AgentConfig.init`."""

"""Parameter groups: each parameter is optimized once, with the learning rate and weight decay of its group."""

import dataclasses

import pytest
import torch

from groundling.agent import MODELS, Model, build
from groundling.learn.config import TrainConfig
from groundling.learn.stage import adamw
from tests.learn.tiny import AGENT, FAST, SPEC

LR = 0.01
LRS = {"planner": 0.03, "sharpness": 0.05}
WORD_DECAY, READER_DECAY = 0.5, 2.0
ATTENTION_MODELS = ("ours", "nava", "ca", "san")
INTERPRETER_MODELS = ("ours", "nava")


def build_with_config(method: str) -> tuple[Model, TrainConfig]:
    config = dataclasses.replace(
        FAST,
        agent=dataclasses.replace(AGENT, method=method, sharpness=2.0),
        word_weight_decay=WORD_DECAY,
        reader_weight_decay=READER_DECAY,
    )
    return build(config.agent, SPEC), config


def expected_group(method: str, name: str) -> str:
    """The group of a parameter, by its name."""
    if name == "words.table":
        return "word_embeddings"
    if method in INTERPRETER_MODELS and name == "interpreter.rnn.weight_in":
        return "reader_input"
    if method in ATTENTION_MODELS and name.startswith(("planner.", "terrain.")):
        return "planner"
    if method in INTERPRETER_MODELS and name == "interpreter.log_sharpness":
        return "sharpness"
    return "default"


@pytest.mark.parametrize("method", list(MODELS))
def test_parameter_groups_are_disjoint_and_contain_only_parameters_of_the_model(method: str) -> None:
    model, _ = build_with_config(method)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    grouped = [id(parameter) for group in model.parameter_groups().values() for parameter in group]
    assert len(grouped) == len(set(grouped))
    assert set(grouped) <= names.keys()
    groups = {names[id(parameter)]: name for name, group in model.parameter_groups().items() for parameter in group}
    assert {name: groups.get(name, "default") for name in names.values()} == {
        name: expected_group(method, name) for name in names.values()
    }


@pytest.mark.parametrize("method", list(MODELS))
@pytest.mark.parametrize("lrs", [{}, LRS], ids=["one lr", "lr of groups"])
def test_adamw_optimizes_each_parameter_once_with_the_settings_of_its_group(method: str, lrs: dict[str, float]) -> None:
    model, config = build_with_config(method)
    optimizer = adamw(model, config, LR, lrs)
    optimized = [
        (id(p), group["lr"], group["weight_decay"]) for group in optimizer.param_groups for p in group["params"]
    ]
    assert len(optimized) == len({p for p, _, _ in optimized}) == len([*model.parameters()])
    found = {p: (lr, decay) for p, lr, decay in optimized}
    decays = {"word_embeddings": WORD_DECAY, "reader_input": READER_DECAY}
    for name, parameter in model.named_parameters():
        group = expected_group(method, name)
        assert found[id(parameter)] == (lrs.get(group, LR), decays.get(group, 0.0)), name


def test_adamw_step_changes_every_parameter_by_its_learning_rate() -> None:
    """The first update of Adam is the learning rate times the sign of the gradient, if nothing decays."""
    model, _ = build_with_config("ours")
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    adamw(model, FAST, LR, LRS).step()
    for name, parameter in model.named_parameters():
        lr = LRS.get(expected_group("ours", name), LR)
        torch.testing.assert_close(parameter, before[name] - lr, atol=1e-5, rtol=0, msg=name)

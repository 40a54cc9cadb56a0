"""How models are found: by a name of this package, of an installed package, or as module:Class of a user."""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from groundling.agent import MODELS, AgentConfig, Answer, EnvSpec, Model, ModelConfig, Output, View, build, find_model
from groundling.agent.checkpoint import Checkpoint, convert, load, save
from groundling.agent.model import InterpreterModel
from groundling.agent.registry import config_of, model_names
from groundling.errors import InputError
from tests.agent.own_modules import EXAMPLE, forget_modules, write_package

SPEC = EnvSpec(words=2, view=5)
NAME = "own_model:MyModel"
IMPORT_REFUSED = (
    "'own_model:MyModel' needs the module 'own_model', which is not imported, and importing it runs its code; if you "
    r"trust it, use --allow-import or groundling\.load\(path, allow_import=True\)"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the Python path with the example's module; modules imported by a test are forgotten after it."""
    shutil.copy(EXAMPLE, tmp_path / "own_model.py")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_model", raising=False)  # tests of the examples import it, too
    with forget_modules(tmp_path):
        yield tmp_path


def own_checkpoint(path: Path) -> Model:
    """A checkpoint of the example's model, whose module is not imported any more."""
    model = build(config_of({"method": NAME, "units": 6}, allow_import=True), SPEC)
    save(path, Checkpoint(model, ("apple", "bat"), "abc"))
    del sys.modules["own_model"]
    return model


def test_built_in_models_are_found_by_name() -> None:
    assert find_model("ours") is InterpreterModel
    assert [find_model(name) for name in model_names()] == [*MODELS.values()]


def test_registered_model_is_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS, "mine", InterpreterModel)
    assert find_model("mine") is InterpreterModel
    assert "mine" in model_names()


@pytest.mark.usefixtures("folder")
def test_module_is_imported_only_if_that_is_allowed() -> None:
    with pytest.raises(InputError, match=IMPORT_REFUSED):
        find_model(NAME)
    assert "own_model" not in sys.modules
    found = find_model(NAME, allow_import=True)
    assert (found.__name__, found.__module__) == ("MyModel", "own_model")
    assert find_model(NAME) is found  # its module is imported now


def test_model_of_an_installed_package_is_found_by_the_name_of_its_entry_point(folder: Path) -> None:
    write_package(folder, f"mine = {NAME}\nours = {NAME}\nbroken = nowhere:Model\nno-model = json:dumps")
    assert model_names() == [*MODELS, "mine", "broken", "no-model"]
    found = find_model("mine")
    assert found.__name__ == "MyModel"
    assert find_model("ours") is InterpreterModel  # a package cannot replace a built-in model
    assert build(found.Config(method="mine"), SPEC).config.method == "mine"
    with pytest.raises(InputError, match=r"'broken': its entry point nowhere:Model cannot be loaded \(No module"):
        find_model("broken")
    with pytest.raises(InputError, match=r"must name a subclass of groundling\.agent\.Model, got 'no-model'"):
        find_model("no-model")
    with pytest.raises(InputError, match="got 'mime', did you mean 'mine'"):
        find_model("mime")


MODULE = """
from dataclasses import dataclass
from groundling.agent import Model, ModelConfig
from groundling.agent.model import InterpreterModel

class Unfinished(Model):
    def perceive(self, view): ...

class ForgotDecorator(ModelConfig):
    units: int = 3

class Undecorated(InterpreterModel):
    Config = ForgotDecorator

class NoConfig(InterpreterModel):
    Config = {"units": 3}

def function(config, spec): ...
"""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("our", "must be one of ours, .*, or module:Class for a model of your own, got 'our', did you mean 'ours'"),
        ("telepathy", "must be one of ours, ca, san, vl, ce, nava, or module:Class for .*, got 'telepathy'$"),
        ("", "must be one of ours, .*, got ''"),
        (":", "must be one of ours"),
        ("a:b:c", "must be one of ours"),
        (".a:B", "must be one of ours"),
        ("a..b:C", "must be one of ours"),
        ("x" * 10_000, "must be one of ours"),
        (3, "must be a string, got 3"),
        (None, "must be a string, got None"),
        ("nowhere:Model", "'nowhere:Model': no module 'nowhere' on the Python path"),
        ("json.nowhere:Model", r"'json.nowhere:Model': no module 'json\.nowhere' on the Python path"),
        ("mine:Undecoratd", "must name a class of mine, got 'mine:Undecoratd', did you mean 'Undecorated'"),
        ("mine:function", r"must name a subclass of groundling\.agent\.Model, got 'mine:function'"),
        ("json:JSONDecoder", r"must name a subclass of groundling\.agent\.Model, got 'json:JSONDecoder'"),
        ("mine:Unfinished", "with all abstract methods, got 'mine:Unfinished' without answer, navigate"),
        ("mine:Undecorated", r"Config of mine:Undecorated must be a dataclass that extends \S+ModelConfig, got <class"),
        ("mine:NoConfig", "Config of mine:NoConfig must be a dataclass that extends"),
    ],
)
def test_name_of_no_usable_model_is_refused_with_the_reason(folder: Path, name: Any, message: str) -> None:
    (folder / "mine.py").write_text(MODULE)
    with pytest.raises(InputError, match=message):
        find_model(name, allow_import=True)


def test_missing_import_of_the_users_module_is_not_hidden(folder: Path) -> None:
    (folder / "mine.py").write_text("import nowhere")
    with pytest.raises(ModuleNotFoundError, match="No module named 'nowhere'"):
        find_model("mine:Model", allow_import=True)


@dataclass(frozen=True)
class Extended(AgentConfig):
    channels: int = 7
    more: int = 5


@dataclass(frozen=True)
class Separate(ModelConfig):
    hidden_units: str = "many"


def test_config_like_another_has_its_values_in_inherited_fields_only() -> None:
    other = AgentConfig(pixel_offset=3.0, channels=9, hidden_units=11)
    assert Extended.like(other, "x") == Extended("x", pixel_offset=3.0, hidden_units=11, channels=7, more=5)
    assert Separate.like(other, "x") == Separate("x", pixel_offset=3.0, hidden_units="many")
    assert AgentConfig.like(other, "ca") == replace(other, method="ca")


@dataclass(frozen=True)
class ConfigWithList(ModelConfig):
    sizes: list[int] | None = None
    either: int | str = 1


@dataclass(frozen=True)
class ConfigWithPath(ModelConfig):
    path: Path = Path("x")


def test_config_of_another_class_or_that_json_cannot_store_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before training: no checkpoint of such a model could be loaded."""
    with pytest.raises(InputError, match="agent must be of class AgentConfig for method 'ours', got ModelConfig"):
        build(ModelConfig())
    for config in (ConfigWithList("mine"), ConfigWithPath("mine")):
        monkeypatch.setitem(MODELS, "mine", type("Mine", (InterpreterModel,), {"Config": type(config)}))
        with pytest.raises(InputError, match=rf"{type(config).__name__} must have fields that JSON can store \("):
            build(config)


def test_checkpoint_of_an_own_model_loads_only_with_its_module_imported_or_allowed(folder: Path) -> None:
    path = folder / "mine.safetensors"
    model = own_checkpoint(path)
    with pytest.raises(InputError, match=rf"{path}: no model can be built from its config \(.*{IMPORT_REFUSED}"):
        load(path)
    with pytest.raises(InputError, match=IMPORT_REFUSED):
        convert(path, folder / "new.safetensors")
    assert "own_model" not in sys.modules
    loaded = load(path, allow_import=True).model
    assert loaded.config == find_model(NAME).Config.of({"method": NAME, "units": 6})
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, loaded.state_dict()[name]), name
    load(path)  # its module is imported now
    convert(path, folder / "new.safetensors")
    assert (folder / "new.safetensors").read_bytes() == path.read_bytes()


def test_checkpoint_cannot_run_code_of_an_imported_module(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even the function by which a module finds its attributes."""
    (folder / "lazy.py").write_text("def __getattr__(name):\n    raise AssertionError(name)\n")
    monkeypatch.setitem(sys.modules, "absent", None)
    __import__("lazy")
    for name in ("lazy:Model", "absent:Model"):
        with pytest.raises(InputError, match="must name a class of"):
            find_model(name)


class TiedModel(InterpreterModel):
    """A model with two names for one tensor, and with a counter."""

    def __init__(self, config: AgentConfig, spec: EnvSpec) -> None:
        super().__init__(config, spec)
        self.tied = self.words
        self.norm = torch.nn.BatchNorm1d(3)


def test_checkpoint_holds_tied_weights_and_integers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS, "tied", TiedModel)
    model = build(AgentConfig("tied", channels=8, hidden_units=8), SPEC)
    assert isinstance(model, TiedModel)
    model.norm(torch.randn(2, 3))
    save(tmp_path / "tied", Checkpoint(model, ("apple", "bat"), "abc"))
    loaded = load(tmp_path / "tied").model
    assert isinstance(loaded, TiedModel)
    assert loaded.tied.table is loaded.words.table
    assert loaded.state_dict()["norm.num_batches_tracked"] == 1
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, loaded.state_dict()[name]), name


class ConstantModel(Model):
    """A model with nothing but the abstract methods."""

    def perceive(self, view: View) -> View:
        return view

    def navigate(self, seen: View, commands: Tensor) -> tuple[Tensor, Tensor]:
        return torch.zeros(len(commands), 4), torch.zeros(len(commands))

    def answer(self, seen: View, questions: Tensor, word_dropout: object = None) -> Answer:
        return Answer(torch.eye(self.spec.words)[torch.ones(len(questions), dtype=torch.int64)], extra="more")


def test_explanation_and_losses_of_a_model_with_only_the_abstract_methods() -> None:
    model = ConstantModel(AgentConfig(), SPEC)
    model.register_parameter("unused", torch.nn.Parameter(torch.zeros(1)))
    image = torch.zeros(60, 60, 3, dtype=torch.uint8)
    explained = model.explain(image.numpy(), [0, 1])
    assert explained.keys() == {"action_probabilities", "value", "answer_scores"}
    assert explained["action_probabilities"].tolist() == [0.25] * 4
    assert explained["answer_scores"].tolist() == [0, 1]
    tokens = torch.tensor([[0, 1]])
    output = model(View.of_images(image[None]), tokens, tokens)
    assert output.extra == "more"
    assert model.auxiliary_losses(output, torch.tensor([1])) == {}


def test_auxiliary_losses_of_the_built_in_models() -> None:
    """Gate and reading loss of models with an interpreter."""
    tokens, answers = torch.tensor([[0, 1], [1, 0]]), torch.tensor([1, 0])
    view = View.of_images(torch.randint(0, 256, (2, 60, 60, 3), dtype=torch.uint8))
    for method in MODELS:
        model = build(AgentConfig(method, channels=8, hidden_units=8), SPEC)
        output: Output = model(view, tokens, tokens)
        names = ["gate_loss", "reading_loss"] if method in ("ours", "nava") else []
        assert list(model.auxiliary_losses(output, answers)) == names
        if model.has_answer_head:
            answer = model.answer(model.perceive(view), tokens)
            assert list(model.auxiliary_losses(answer, answers)) == names

"""Models of your own on the command line: the example trains, resumes, and loads where importing it is allowed."""

import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import groundling
from groundling.agent import MODELS, AgentConfig, EnvSpec, ModelConfig
from groundling.agent.model import InterpreterModel
from groundling.cli.own_models import current_folder_on_path
from groundling.cli.train import parse_train
from groundling.errors import InputError
from groundling.learn.config import TrainConfig
from groundling.learn.presets import PRESETS
from groundling.learn.trainer import Trainer
from groundling.study.grid import Run
from groundling.study.launchers import run_locally
from groundling.study.model_card import train_command
from groundling.study.tables import rows
from tests.agent.own_modules import EXAMPLE, forget_modules, write_package
from tests.cli.harness import Capture, one_line, refusal, run
from tests.learn.tiny import AGENT, FAST

NAME = "own_model:MyModel"
TINY = ("--agent.units", "8", "--threads", "1")
FEW_EPISODES = ("--episodes", "20", "--episodes-per-type", "5")
REFUSED = "'own_model:MyModel' needs the module 'own_model', which is not imported"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder has the example; it is not on the Python path, and imported modules are forgotten."""
    shutil.copy(EXAMPLE, tmp_path / "own_model.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PRESETS, "tiny", FAST)
    with forget_modules(tmp_path):
        yield tmp_path


def forget_example() -> None:
    """As in a new process."""
    sys.modules.pop("own_model", None)


def test_example_is_short() -> None:
    assert len(EXAMPLE.read_text("utf-8").splitlines()) <= 60


def test_example_trains_resumes_and_loads(capsys: Capture, folder: Path) -> None:
    """By the commands of its docstring, with a tiny world."""
    train = ("train", "tiny", "--agent.method", NAME, *TINY, "--out", "run")
    assert "Ended (minutes)" in run(capsys, *train, "--minutes", "0.0001")
    forget_example()
    assert "Ended (finished)" in run(capsys, *train, "--resume")  # the command names the model: no flag is needed
    config = json.loads((folder / "run" / "config.json").read_text("utf-8"))["agent"]
    assert config == {"method": NAME, "pixel_offset": 0.0, "pixel_scale": 255.0, "units": 8, "spread_coef": 0.1}
    lines = [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text("utf-8").splitlines()]
    assert all(0 < line["spread_loss"] < 0.1 for line in lines)
    assert {line["stage"] for line in lines} == {"qa_pretraining", "ppo"}

    for command in (("evaluate", "run"), ("package", "run", "mine"), ("convert", "run/last.safetensors", "new")):
        forget_example()
        assert REFUSED in one_line(refusal(capsys, *command))
        assert "own_model" not in sys.modules
    assert json.loads(run(capsys, "check-leaks", "run", "--json"))["clean"]  # needs no model
    report = json.loads(run(capsys, "evaluate", "run", *FEW_EPISODES, "--allow-import", "--json"))
    assert report["greedy"]["natural"]["success_rate"]["n"] == 20
    assert 0 <= report["greedy"]["natural"]["qa_accuracy"]["mean"] <= 1
    forget_example()
    run(capsys, "package", "run", "mine", *FEW_EPISODES, "--allow-import")
    assert json.loads((folder / "mine.json").read_text("utf-8"))["command"].startswith("groundling train")

    forget_example()
    with pytest.raises(InputError, match=REFUSED):
        groundling.load("run")
    with current_folder_on_path():
        agent = groundling.load("run", allow_import=True)
    assert type(agent.model).__name__ == "MyModel"
    assert groundling.load("mine.safetensors").config == agent.config  # its module is imported now
    image = torch.zeros(60, 60, 3, dtype=torch.uint8)
    assert agent.answer(image, "What is in the north?") in agent.words
    assert agent.explain(image, "Go to the apple.").keys() == {"action_probabilities", "value", "answer_scores"}
    assert not agent.teachable
    assert str(folder) not in sys.path


def test_example_is_served_by_the_page(folder: Path) -> None:
    """Every step has the generic part of an explanation, and no attention."""
    pytest.importorskip("starlette")
    from groundling.page.app_state import AppState, ServedAgent
    from groundling.page.client_agent import ClientAgent
    from groundling.page.limits import Limits

    _, config, _ = parse_train(["tiny", "--method", NAME, "--agent.units", "8"])
    Trainer(replace(config, ppo=replace(config.ppo, iterations=1)), folder / "run", device="cpu").train()
    served = ServedAgent("mine", groundling.load("run"))
    state = AppState([served], Limits())
    (described,) = state.hello()["agents"]
    assert (described["method"], described["teachable"]) == (NAME, False)
    scene, command, question = state.sample_world(0)
    agent = ClientAgent.of(served)
    for sentence in (command, question):
        step = agent.step(scene, agent.check(sentence, scene, state.limits), state.inference)
        assert sum(step["explanation"]["action_probabilities"].values()) == pytest.approx(1, abs=1e-3)
        assert len(step["explanation"]["answers"]) == 5
        assert step["explanation"]["x_loc"] is None
        assert (step["move"] is None) == (sentence == question)


@pytest.mark.parametrize("option", [["--agent.method", NAME], [f"--agent.method={NAME}"], ["--method", NAME]])
def test_options_of_the_agent_are_those_of_its_config(option: list[str]) -> None:
    _, config, _ = parse_train(["fast", "--agent.units", "8", *option, "--seed", "3"])
    assert type(config.agent).__name__ == "MyConfig"
    fast = PRESETS["fast"].agent
    assert config.agent.to_dict() == {
        "method": NAME,
        "pixel_offset": fast.pixel_offset,  # of the preset, because both inherit it
        "pixel_scale": fast.pixel_scale,
        "units": 8,
        "spread_coef": 0.1,
    }
    assert replace(config, agent=fast, seed=0) == PRESETS["fast"]
    assert TrainConfig.of(json.loads(json.dumps(config.to_dict()))) == config
    command = train_command(config)
    assert command == f"groundling train fast --seed 3 --agent.method {NAME} --agent.units 8"
    assert parse_train(command.split()[2:])[1] == config


def test_method_of_the_package_has_a_short_option() -> None:
    _, config, _ = parse_train(["smoke", "--method", "san"])
    assert config == replace(PRESETS["smoke"], agent=replace(PRESETS["smoke"].agent, method="san"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--method", "own_model:MyModle"], "must name a class of own_model, got 'own_model:MyModle', did you mean"),
        (["--method", "own_model:View"], "must name a subclass of groundling.agent.Model, got 'own_model:View'"),
        (["--method", "nowhere:MyModel"], "'nowhere:MyModel': no module 'nowhere' on the Python path"),
        (["--method", "own_model"], "must be one of ours, ca, san, vl, ce, nava, or module:Class"),
    ],
)
def test_refused_models_leave_no_folder(capsys: Capture, folder: Path, arguments: list[str], complaint: str) -> None:
    assert complaint in one_line(refusal(capsys, "train", "tiny", *arguments, "--out", "run"))
    assert not (folder / "run").exists()


def test_options_of_another_model_are_refused(capsys: Capture) -> None:
    assert "--agent.channels" in refusal(capsys, "train", "tiny", "--method", NAME, "--agent.channels", "8")
    assert "--agent.units" in refusal(capsys, "train", "tiny", "--agent.units", "8")
    assert "--agent.method" in refusal(capsys, "train", "tiny", "--agent.method")


def test_models_of_installed_packages_are_listed(
    capsys: Capture, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_package(folder / "site", f"mine = {NAME}")
    shutil.copy(EXAMPLE, folder / "site")
    monkeypatch.syspath_prepend(folder / "site")
    listed = json.loads(run(capsys, "models", "--json"))
    assert [row["method"] for row in listed] == [*MODELS, "mine"]
    assert listed[-1]["class"] == "MyModel"
    assert listed[-1]["parameters"] > 0
    _, config, _ = parse_train(["smoke", "--method", "mine"])
    assert config.agent.method == "mine"


@pytest.mark.slow
def test_study_executes_runs_of_an_own_model(capsys: Capture, folder: Path) -> None:
    """In worker processes, which import its module by themselves."""
    states = json.loads(run(capsys, "study", "status", "--method", NAME, "--json"))
    assert len(states) == 4 + 2 * 5
    assert states[0]["run"] == "own_model.MyModel-normal-0"
    assert states[-1]["run"] == "own_model.MyModel-zs2-90-0"
    assert {state["state"] for state in states} == {"missing"}
    assert "--only must match a run name" in refusal(capsys, "study", "run", "--method", NAME, "--only", "ours-*")
    assert "no module 'nowhere'" in refusal(capsys, "study", "run", "--method", "nowhere:Model")
    _, config, _ = parse_train(["tiny", "--method", NAME, "--agent.units", "8"])
    one = Run(config, episodes=20, episodes_per_type=5)
    with current_folder_on_path():
        assert run_locally([one], "results", "work", workers=1, threads=1, log=print) == []
    result = json.loads((folder / "results" / one.file).read_text("utf-8"))
    assert (result["name"], result["method"]) == ("own_model.MyModel-normal-0", NAME)
    ours = {**result, "name": "ours-normal-0", "method": "ours"}
    names = [row[0] for row in rows([result, ours])]
    assert names == ["chance, normal", "oracle, normal", "ours-normal-0", "own_model.MyModel-normal-0"]
    run(capsys, "figures", "--results", "results", "--representations", "none", "--out", "figures")


class DropoutModel(InterpreterModel):
    """A model with a random layer."""

    def __init__(self, config: AgentConfig, spec: EnvSpec) -> None:
        super().__init__(config, spec)
        self.terrain = nn.Sequential(self.terrain, nn.Dropout(0.5))  # type: ignore[assignment]

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {}


def test_resumed_run_of_a_model_with_dropout_has_the_weights_of_an_uninterrupted_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MODELS, "dropout", DropoutModel)
    config = replace(FAST, agent=replace(AGENT, method="dropout"))
    Trainer(config, folder / "whole", device="cpu").train()
    torch.manual_seed(1)
    broken = Trainer(config, folder / "broken", device="cpu")

    def stop(progress: Any, done: float, line: Any) -> None:
        broken.signal = 2 if progress.stage == "ppo" and progress.updates == 3 else None

    assert broken.train(report=stop) == "signal"
    resumed = Trainer(config, folder / "broken", resume=True, device="cpu")
    assert resumed.train() == "finished"
    whole, part = (
        groundling.load(folder / name / "last.safetensors").model.state_dict() for name in ("whole", "broken")
    )
    assert all(torch.equal(tensor, part[name]) for name, tensor in whole.items())


def test_model_without_answer_head_needs_another_stage_than_questions(folder: Path) -> None:
    config = replace(FAST, agent=replace(AGENT, method="nava"), ppo=replace(FAST.ppo, iterations=0))
    with pytest.raises(InputError, match="must have a stage other than qa_pretraining"):
        Trainer(config, folder / "run", device="cpu")
    assert isinstance(config.agent, ModelConfig)

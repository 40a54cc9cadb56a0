"""`groundling train`: parsing of its options, progress lines, and input that is refused before a run begins."""

import io
import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from rich.console import Console

from groundling.agent import AgentConfig
from groundling.cli.train import TrainOptions, format_metrics, parse_train, training_bars
from groundling.learn.config import TrainConfig
from groundling.learn.presets import PRESETS, defaults_of
from groundling.learn.stage_config import ActorCriticConfig, PPOConfig, QAPretrainingConfig
from groundling.study.ablations import ablation_runs
from groundling.study.grid import GRID
from groundling.study.model_card import train_command
from groundling.world.types import WorldConfig
from tests.cli.harness import Capture, assert_fits, one_line, refusal, run, run_in_terminal
from tests.learn.tiny import FAST, PAPER

SMOKE = PRESETS["smoke"]


def parse(command: str) -> TrainConfig:
    """The config of a printed training command; the command has no other options."""
    program, subcommand, *arguments = shlex.split(command)
    assert (program, subcommand) == ("groundling", "train")
    _, config, options = parse_train(arguments)
    assert options == TrainOptions()
    return config


@pytest.mark.parametrize(
    "config",
    [
        *PRESETS.values(),
        FAST,
        PAPER,
        replace(PRESETS["fast"], world=WorldConfig(9, (2, 3), (4, 20), 50), seed=7, split="zs1", holdout=66.7),
        replace(SMOKE, num_classes=None, world=replace(SMOKE.world, max_steps=12), split="novel", split_seed=3),
        replace(PRESETS["fast"], agent=AgentConfig(method="san", pixel_offset=-1.5)),  # None for what the preset has
        replace(SMOKE, target_success_rate=0.9, target_qa_accuracy=0.95, eval_interval=3, eval_episodes=20),
        replace(SMOKE, ppo=PPOConfig(iterations=3, balanced_types=("nav_obj",), lr=1e-5, gamma=0.0)),
        replace(SMOKE, ppo=PPOConfig(iterations=3, balanced_types=())),
        replace(PRESETS["fast"], icons="procedural:1000"),
        replace(defaults_of("fast", "procedural:1000"), icons="procedural:1000"),
        TrainConfig(qa_pretraining=QAPretrainingConfig(updates=5), actor_critic=ActorCriticConfig(updates=7, lr=1 / 3)),
    ],
)
def test_the_command_of_a_model_card_parses_to_its_config(config: TrainConfig) -> None:
    command = train_command(config)
    assert parse(command) == config
    assert TrainConfig.of(json.loads(json.dumps(config.to_dict()))) == config  # as it is read from a checkpoint


def test_curriculum_introduces_classes_at_the_same_rate_whatever_their_number() -> None:
    _, config, _ = parse_train(["fast", "--icons", "procedural:1190"])
    assert (config.qa_pretraining.curriculum_episodes, config.qa_pretraining.updates) == (200_000, 60_000)
    assert parse_train(["fast", "--icons", "procedural:1190", "--num-classes", "119"])[1].qa_pretraining == (
        PRESETS["fast"].qa_pretraining
    )
    _, given, _ = parse_train(["fast", "--icons=procedural:1190", "--qa-pretraining.curriculum-episodes", "7"])
    assert (given.qa_pretraining.curriculum_episodes, given.qa_pretraining.updates) == (7, 60_000)


def test_the_commands_of_the_study_parse_to_its_configs() -> None:
    runs = [*GRID[::5], *ablation_runs()[::6]]
    assert [run.name for run in runs if parse(train_command(run.config)) != run.config] == []


def test_the_command_of_a_model_card_is_short() -> None:
    assert train_command(PRESETS["paper"]) == "groundling train paper"
    changed = replace(PRESETS["fast"], world=replace(PRESETS["fast"].world, objects=(2, 4)), seed=3)
    assert train_command(changed) == "groundling train fast --seed 3 --objects 2 4"


def test_options_without_a_preset_are_those_of_fast() -> None:
    preset, config, options = parse_train(["--size", "9", "--minutes", "2", "--out", "x"])
    assert preset == "fast"
    assert config == replace(PRESETS["fast"], world=WorldConfig(size=9))
    assert options == TrainOptions(out=Path("x"), minutes=2.0)


def test_world_options_have_no_prefix(capsys: Capture, tmp_path: Path) -> None:
    printed = run(
        capsys, "train", "smoke", "--size", "9", "--minutes", "0.001", "--threads", "1", "--out", str(tmp_path / "run")
    )
    assert "Ended (minutes)" in printed
    config = TrainConfig.of(json.loads((tmp_path / "run" / "config.json").read_text("utf-8")))
    assert config == replace(SMOKE, world=replace(SMOKE.world, size=9))
    assert (tmp_path / "run" / "last.safetensors").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--device", "tpu"], "device must be one that this machine has (auto, cpu"),
        (["--device", "cuda"], "device must be one that this machine has (auto, cpu), got 'cuda'"),
        (["--device", "mps"], "device must be one that this machine has (auto, cpu), got 'mps'"),
        (["--threads", "0"], "threads must be an integer of at least 1, got 0"),
        (["--agent.method", "our"], "agent.method must be one of"),
        (["--walls", "0", "25"], "objects, walls, the agent and 2 free cells must fit on the map"),
    ],
)
def test_refused_runs_leave_no_folder(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.chdir(tmp_path)
    for folder in ([], ["--out", str(tmp_path / "run")]):
        assert complaint in one_line(refusal(capsys, "train", "smoke", *arguments, *folder))
        assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_a_run_is_not_changed(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(PRESETS, "tiny", FAST)
    arguments = ("train", "tiny", "--threads", "1", "--minutes", "0.0001", "--out", str(tmp_path / "run"))
    run(capsys, *arguments)
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert "it already holds a run" in one_line(refusal(capsys, *arguments))
    assert "its run has another config: seed is 0 there and 1 here" in one_line(
        refusal(capsys, *arguments, "--seed", "1", "--resume")
    )
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == before


def test_other_commands_refuse_missing_devices(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for device in ("cuda", "cuda:1", "tpu"):
        message = one_line(refusal(capsys, "evaluate", "normal", "--device", device))
        assert "device must be one that this machine has (auto, cpu" in message
        assert f"got {device!r}" in message


@pytest.mark.parametrize("hours", [0, 10])
@pytest.mark.parametrize("stage", list(FAST.stages))
def test_progress_lines_fit_80_columns(stage: str, hours: int) -> None:
    """The widest line that training can show: all scores at 100 %, a fast machine, and ten hours before and after."""
    console = Console(width=80, file=io.StringIO(), record=True)
    bars = training_bars(console)
    clock = 0.0
    bars.get_time = lambda: clock
    metrics = format_metrics(123_456.7, {"success_rate": 1.0, "qa_accuracy": 1.0, "reward": 0.9})
    task = bars.add_task(stage, total=1.0, metrics=metrics)
    seconds = 3600 * hours + 1754
    for clock in (seconds - 1.0, float(seconds)):
        bars.update(task, completed=clock / seconds / 2)
    console.print(bars)
    line = console.export_text()
    assert_fits(line)
    scores = "123,457 fps  success 100.0%  QA 100.0%"
    assert re.fullmatch(rf"{stage} +━━━ +{scores} {hours}:29:14 {hours}:29:1\d\n", line)


@pytest.mark.slow
def test_training_in_a_terminal(tmp_path: Path) -> None:
    """A real run in a terminal of 80 columns: no line is wider, and no time or score is cut."""
    lengths = ("--qa-pretraining.updates", "50", "--ppo.iterations", "4", "--eval-interval", "2")
    code, _, terminal = run_in_terminal(
        "train", "smoke", *lengths, "--eval-episodes", "20", "--threads", "1", "--out", str(tmp_path / "run")
    )
    assert code == 0
    assert_fits(terminal)
    assert "…" not in terminal
    bars = [line for line in terminal.splitlines() if line.startswith(("qa_pretraining ", "ppo "))]
    assert all(re.search(r" \d:\d\d:\d\d (\d:\d\d:\d\d|-:--:--) *$", line) for line in bars)
    assert re.search(r"^qa_pretraining .* [\d,]+ fps  QA \d+\.\d% \d", terminal, re.MULTILINE)
    assert re.search(r"^ppo .* [\d,]+ fps  success \d+\.\d%  QA \d+\.\d% \d", terminal, re.MULTILINE)
    assert re.search(r"^ +\d\.\d min  ppo +evaluation: success \d+\.\d%  QA \d+\.\d% *$", terminal, re.MULTILINE)

"""Training runs: the same weights whatever interrupts them, and what goes wrong is said and loses nothing."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from groundling.agent import build
from groundling.agent.model import Agent
from groundling.errors import InputError, TrainingError
from groundling.learn.config import PRESETS, PPOConfig, TrainConfig
from groundling.learn.ppo import PPO
from groundling.learn.qa_pretraining import QAPretraining
from groundling.learn.stage import RunningMeans
from groundling.learn.trained_agent import load_agent
from groundling.learn.trainer import Trainer, read_state
from tests.learn.tiny import AGENT, FAST, PAPER

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from groundling.learn.trainer import Trainer
from tests.learn import tiny
trainer = Trainer(getattr(tiny, sys.argv[2]), Path(sys.argv[1]), resume=True, device="cpu", save_seconds=0)
print("ready", flush=True)
print(trainer.train(), flush=True)
"""


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "last.safetensors")


def same(a: Path, b: Path) -> bool:
    one, two = weights(a), weights(b)
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.mark.parametrize("config", [FAST, PAPER], ids=["fast", "paper"])
def test_a_run_writes_what_it_promises(tmp_path: Path, config: TrainConfig) -> None:
    told = []
    trainer = Trainer(config, tmp_path, device="cpu")
    assert trainer.train(report=lambda progress, done, line: told.append((progress.stage, done))) == "finished"
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["line"] for line in lines] == [*range(1, len(lines) + 1)]
    assert all(0 <= line["accuracy"] <= 1 for line in lines)
    assert any("evaluation/success" in line for line in lines)
    assert lines[-1]["steps"] == sum(
        stage.updates * (stage.envs * stage.steps if isinstance(stage, PPOConfig) else stage.batch)
        for stage in (config.ppo, config.actor_critic)
    )
    assert told[-1] == (lines[-1]["stage"], 1.0)
    assert any((tmp_path / "tensorboard").iterdir())
    agent = load_agent(str(tmp_path / "last.safetensors"))
    assert agent.config == config
    assert agent.checkpoint.provenance["sentences"]["heard"] > 10
    assert load_agent(str(tmp_path)).model.config == AGENT  # the best one


def test_the_same_seed_gives_the_same_run_and_another_another(tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        Trainer(replace(FAST, seed=seed), tmp_path / name, device="cpu").train()
    assert same(tmp_path / "a", tmp_path / "b")
    assert not same(tmp_path / "a", tmp_path / "c")


@pytest.mark.slow
@pytest.mark.parametrize(("config", "kills"), [("FAST", 14), ("PAPER", 6)])
def test_kill_at_any_moment(tmp_path: Path, config: str, kills: int) -> None:
    """Each process is killed at a random moment, often in the middle of a save; the next goes on."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    Trainer(getattr(__import__("tests.learn.tiny", fromlist=[config]), config), whole, device="cpu").train()
    rng = np.random.default_rng(0)
    killed = 0
    while True:
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(broken), config], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", "a resume failed"
        if killed < kills:
            time.sleep(rng.uniform(0, 0.4))
            if process.poll() is None:
                process.kill()
                killed += 1
                process.wait()
                continue
        last = process.communicate()[0]
        assert process.returncode == 0
        assert last == "finished\n"
        break
    assert killed == kills
    assert same(whole, broken)
    one, two = ((folder / "metrics.jsonl").read_text().splitlines() for folder in (whole, broken))
    assert len(one) == len(two)
    assert [{**json.loads(line), "seconds": 0} for line in one] == [{**json.loads(line), "seconds": 0} for line in two]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_save_and_leave(tmp_path: Path, number: signal.Signals) -> None:
    trainer = Trainer(FAST, tmp_path / "a", device="cpu")
    seen = []

    def interrupt(*_: object) -> None:
        seen.append(1)
        if len(seen) == 3:
            os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    assert trainer.train(report=interrupt) == "signal"
    assert signal.getsignal(number) == before
    assert read_state(tmp_path / "a")[0].updates == trainer.stage.updates
    assert Trainer(FAST, tmp_path / "a", resume=True, device="cpu").train() == "finished"
    Trainer(FAST, tmp_path / "b", device="cpu").train()
    assert same(tmp_path / "a", tmp_path / "b")


def test_minutes_and_target(tmp_path: Path) -> None:
    trainer = Trainer(FAST, tmp_path / "a", device="cpu")
    assert trainer.train(minutes=1e-9) == "minutes"
    assert trainer.progress.updates <= 1
    easy = replace(FAST, target_success=0.0, target_accuracy=0.0)
    trainer = Trainer(easy, tmp_path / "b", device="cpu")
    assert trainer.train() == "target"
    assert trainer.progress.stage == "ppo"
    assert not trainer.stage.finished


def test_a_diverging_run_is_said_and_the_last_good_state_stays(tmp_path: Path) -> None:
    """Steps so large that the next loss is not a number any more."""
    wild = replace(FAST, ppo=replace(FAST.ppo, rate=1e36, planner_lr=1e36))
    with pytest.raises(TrainingError, match=r"stage ppo, update 0: the loss is \S+ and the norm of its gradient"):
        Trainer(wild, tmp_path, device="cpu").train()
    assert all(torch.isfinite(tensor).all() for tensor in weights(tmp_path).values())
    assert read_state(tmp_path)[0].stage == "questions"


def test_weights_that_are_not_numbers_are_not_saved(tmp_path: Path) -> None:
    trainer = Trainer(FAST, tmp_path, device="cpu")
    trainer.save()
    with torch.no_grad():
        next(trainer.model.parameters()).fill_(float("nan"))
    with pytest.raises(TrainingError, match="stage questions, update 0: weights are infinite or not numbers"):
        trainer.save()
    assert all(torch.isfinite(tensor).all() for tensor in weights(tmp_path).values())


def test_a_full_disk_is_said_and_the_last_good_state_stays(tmp_path: Path) -> None:
    """No file may grow beyond a few kilobytes from the third line on: what a full disk does to a writer."""
    trainer = Trainer(FAST, tmp_path, device="cpu", save_seconds=0)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before: dict[str, torch.Tensor] = {}

    def fill(*_: object) -> None:
        if trainer.progress.lines == 2 and not before:
            before.update(weights(tmp_path) if (tmp_path / "last.safetensors").exists() else {"none": torch.zeros(1)})
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))

    try:
        with pytest.raises(TrainingError, match=r"cannot be written \(File too large\).*--resume"):
            trainer.train(report=fill)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not [*tmp_path.glob("*.part*")]
    assert Trainer(FAST, tmp_path, resume=True, device="cpu").train() == "finished"


def test_an_unwritable_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"folder .*file/run: cannot be written"):
        Trainer(FAST, tmp_path / "file" / "run", device="cpu")


def test_a_folder_with_a_run_is_not_overwritten(tmp_path: Path) -> None:
    Trainer(FAST, tmp_path, device="cpu").train(minutes=1e-9)
    with pytest.raises(InputError, match="there is a run in it already; --resume"):
        Trainer(FAST, tmp_path, device="cpu")
    other = replace(FAST, seed=3, ppo=replace(FAST.ppo, rate=0.5))
    with pytest.raises(InputError, match=r"another config: ppo\.rate is 0\.0007 there, and 0\.5 here; seed is 0 there"):
        Trainer(other, tmp_path, resume=True, device="cpu")
    before = read_state(tmp_path)[0]
    (tmp_path / "state.safetensors").write_bytes(b"broken")
    with pytest.raises(InputError, match="not the state of a run"):
        Trainer(FAST, tmp_path, resume=True, device="cpu")
    assert before.updates <= 1


@pytest.mark.parametrize("stage", [QAPretraining, PPO])
def test_what_words_look_like_decays_and_nothing_else(stage: type[QAPretraining] | type[PPO]) -> None:
    learner = stage(build(AGENT), replace(FAST, word_weight_decay=0.5, reader_weight_decay=2.0))
    before = {name: parameter.detach().clone() for name, parameter in learner.model.named_parameters()}
    for parameter in learner.model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    learner.optimizer.step()
    rate = learner.settings.rate
    shrunk = {"words.table": 1 - 0.5 * rate, "interpreter.rnn.weight_in": 1 - 2.0 * rate}
    for name, parameter in learner.model.named_parameters():
        torch.testing.assert_close(parameter, before[name] * shrunk.get(name, 1.0), rtol=1e-6, atol=0.0, msg=name)


def test_a_misheard_word_is_an_invented_one_and_is_seen_as_what_it_is() -> None:
    learner = QAPretraining(build(AGENT), replace(FAST, word_dropout=0.25))
    agent, rng = learner.model, np.random.default_rng(0)
    assert isinstance(agent, Agent)
    tokens = torch.from_numpy(rng.integers(0, AGENT.pad + 1, (300, 13)))
    read: list[tuple[torch.Tensor, torch.Tensor, int]] = []
    plain = agent.read(tokens)
    with learner.word_dropout(rng):
        spy = agent.interpreter.rnn.register_forward_pre_hook(lambda _, heard: read.append(heard))
        misheard = agent.interpreter(agent.words, tokens)
        spy.remove()
    ((table, taken, pad),) = read
    invented = taken > pad
    assert torch.equal(taken[~invented], tokens[~invented])
    assert not (invented & (tokens == pad)).any()
    assert 0.23 < invented.sum() / (tokens != pad).sum() < 0.27
    assert torch.equal(taken[invented], torch.arange(pad + 1, len(table)))
    known = agent.words.table.detach()
    assert (table[pad + 1 :].mean(0) - known.mean(0)).abs().max() < 0.2
    assert (table[pad + 1 :].std(0) / known.std(0) - 1).abs().max() < 0.2
    assert torch.equal(misheard.tokens, tokens)
    assert not torch.equal(misheard.gates, plain.gates)
    assert torch.equal(agent.read(tokens).gates, plain.gates)  # it is over


def test_no_word_learns_from_being_misheard() -> None:
    learner = QAPretraining(build(AGENT), replace(FAST, word_dropout=1.0))
    agent = learner.model
    assert isinstance(agent, Agent)
    with learner.word_dropout(np.random.default_rng(0)):
        agent.interpreter(agent.words, torch.tensor([[3, 1, 4], [1, 5, 9]])).gates.sum().backward()
    assert agent.words.table.grad is not None
    assert not agent.words.table.grad.any()


def test_who_acts_hears_right() -> None:
    agent = build(AGENT)
    acted = [
        PPO(agent, replace(FAST, word_dropout=share)).act(np.random.default_rng(0), RunningMeans()).log_prob
        for share in (0.0, 1.0)
    ]
    assert torch.equal(*acted)


@pytest.mark.parametrize(("method", "same"), [("ours", False), ("ca", True), ("san", True), ("vl", True), ("ce", True)])
def test_only_an_interpreter_mishears(method: str, same: bool) -> None:
    config = replace(FAST, agent=replace(AGENT, method=method))
    losses = []
    for share in (0.0, 1.0):
        torch.manual_seed(0)
        learner = QAPretraining(build(config.agent), replace(config, word_dropout=share))
        losses.append(learner.update().total["answer_loss"])
    assert (losses[0] == losses[1]) == same


@pytest.mark.parametrize("name", PRESETS)
def test_presets_survive_json(name: str) -> None:
    config = PRESETS[name]
    assert TrainConfig.of(json.loads(json.dumps(config.to_dict()))) == config
    assert config.teacher(next(stage for stage, part in config.stages.items() if part.updates)).types


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": -1}, "seed -1"),
        ({"agent": PRESETS["fast"].agent}, "agent view 13: on maps of size 3 it is 5"),
        ({"ppo": PPOConfig(updates=1, envs=10, group=4)}, r"ppo\.envs 10: it is a multiple"),
        ({"ppo": PPOConfig(updates=1, rate=0)}, r"ppo\.rate 0: it is above 0"),
        ({"ppo": PPOConfig(updates=1, gamma=2)}, r"ppo\.gamma 2: it is from 0 to 1"),
        ({"ppo": PPOConfig(updates=-1)}, r"ppo\.updates -1: it is 0 or more"),
        ({"word_decay": -0.5}, r"word_decay -0\.5: it is 0 or more"),
        ({"mishearing": 1.5}, r"mishearing 1\.5: it is from 0 to 1"),
    ],
)
def test_bad_configs_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(FAST, **change)  # type: ignore[arg-type]


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(InputError, match=r"unknown field 'rat' of a ppo, did you mean 'rate'"):
        TrainConfig.of({"ppo": {"rat": 1}})

"""Training runs give the same weights however often they are interrupted; failures are reported and lose nothing."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from groundling.agent import build
from groundling.errors import InputError, TrainingError
from groundling.evaluation.leak_check import SentenceLog
from groundling.learn.config import TrainConfig
from groundling.learn.ppo import PPO
from groundling.learn.presets import PRESETS
from groundling.learn.qa_pretraining import QAPretraining
from groundling.learn.stage import RunningMeans
from groundling.learn.stage_config import ActorCriticConfig, PPOConfig, QAPretrainingConfig
from groundling.learn.trained_agent import load_agent
from groundling.learn.trainer import Trainer, check_run, read_state
from groundling.world.types import WorldConfig
from tests.learn.tiny import AGENT, FAST, PAPER, SPEC

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
def test_run_writes_metrics_and_agents(tmp_path: Path, config: TrainConfig) -> None:
    reported = []
    trainer = Trainer(config, tmp_path, device="cpu")
    assert trainer.train(report=lambda progress, done, line: reported.append((progress.stage, done))) == "finished"
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["line"] for line in lines] == [*range(1, len(lines) + 1)]
    assert all(0 <= line["qa_accuracy"] <= 1 for line in lines)
    assert any({"eval/success_rate", "eval/qa_accuracy"} <= line.keys() for line in lines)
    assert {"success_rate", "reward", "episode_length", "answer_loss", "grad_norm", "episodes"} <= lines[-1].keys()
    ppo, actor_critic = config.ppo, config.actor_critic
    assert lines[-1]["env_steps"] == (
        ppo.iterations * ppo.num_envs * ppo.num_steps + actor_critic.updates * actor_critic.batch_size
    )
    assert reported[-1] == (lines[-1]["stage"], 1.0)
    assert any((tmp_path / "tensorboard").iterdir())
    agent = load_agent(tmp_path / "last.safetensors")
    assert agent.config == config
    assert agent.checkpoint.provenance["sentences"]["seen"] > 10
    best = load_agent(tmp_path)
    assert (best.model.config, best.model.spec) == (AGENT, SPEC)


def test_stages_log_their_own_losses(tmp_path: Path) -> None:
    Trainer(FAST, tmp_path, device="cpu").train()
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert {line["stage"] for line in lines} == {"qa_pretraining", "ppo"}
    for line in lines:
        assert ("gate_loss" in line) == (line["stage"] == "qa_pretraining")
        assert ("hindsight_loss" in line) == ("value_loss" in line) == (line["stage"] == "ppo")


def test_leak_check_of_a_run_counts_its_sentences_and_finds_what_its_config_holds_out(tmp_path: Path) -> None:
    config = replace(FAST, split="zs2", holdout=20.0)
    trainer = Trainer(config, tmp_path, device="cpu")
    trainer.train()
    found = check_run(tmp_path, config)
    assert found.clean
    assert found.sentences == len(trainer.log.hashes) > 10
    assert found.held_out > 0
    leaking = check_run(tmp_path, replace(config, split_seed=1))  # a split that this run did not respect
    assert leaking.leaked
    assert not leaking.clean
    with pytest.raises(InputError, match="no such file"):
        check_run(tmp_path / "nothing", config)


def test_equal_seeds_give_equal_weights_and_other_seeds_do_not(tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        Trainer(replace(FAST, seed=seed), tmp_path / name, device="cpu").train()
    assert same(tmp_path / "a", tmp_path / "b")
    assert not same(tmp_path / "a", tmp_path / "c")


@pytest.mark.slow
@pytest.mark.parametrize(("config", "kills"), [("FAST", 14), ("PAPER", 6)])
def test_run_killed_at_random_moments_ends_with_the_weights_of_an_uninterrupted_one(
    tmp_path: Path, config: str, kills: int
) -> None:
    """Each process is killed at a random moment, often in the middle of a save; the next one resumes."""
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
    times = {"seconds": 0, "cpu_seconds": 0}
    assert [json.loads(line) | times for line in one] == [json.loads(line) | times for line in two]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_the_run_after_saving_and_it_can_be_resumed(tmp_path: Path, number: signal.Signals) -> None:
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


def test_run_ends_at_its_time_limit_or_target(tmp_path: Path) -> None:
    trainer = Trainer(FAST, tmp_path / "a", device="cpu")
    assert trainer.train(minutes=1e-9) == "minutes"
    assert trainer.progress.updates <= 1
    easy = replace(FAST, target_success_rate=0.0, target_qa_accuracy=0.0)
    trainer = Trainer(easy, tmp_path / "b", device="cpu")
    assert trainer.train() == "target"
    assert trainer.progress.stage == "ppo"
    assert not trainer.stage.finished


def test_diverging_run_is_reported_and_its_last_finite_state_is_kept(tmp_path: Path) -> None:
    """Updates so large that the next loss is infinite or undefined."""
    diverging = replace(FAST, ppo=replace(FAST.ppo, lr=1e36, planner_lr=1e36))
    message = (
        r"stage ppo, update 0: loss and gradient norm must be finite, got \S+ and \S+; try a smaller learning rate"
    )
    with pytest.raises(TrainingError, match=message):
        Trainer(diverging, tmp_path, device="cpu").train()
    assert all(torch.isfinite(tensor).all() for tensor in weights(tmp_path).values())
    assert read_state(tmp_path)[0].stage == "qa_pretraining"


def test_infinite_or_undefined_weights_are_not_saved(tmp_path: Path) -> None:
    trainer = Trainer(FAST, tmp_path, device="cpu")
    trainer.save()
    with torch.no_grad():
        next(trainer.model.parameters()).fill_(float("nan"))
    with pytest.raises(TrainingError, match="stage qa_pretraining, update 0: weights must be finite, got infinite or"):
        trainer.save()
    assert all(torch.isfinite(tensor).all() for tensor in weights(tmp_path).values())


def test_full_disk_is_reported_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    """From the third line on, no file can grow beyond 4096 bytes, as if the disk were full."""
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


def test_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"folder .*file/run: cannot be written"):
        Trainer(FAST, tmp_path / "file" / "run", device="cpu")


def test_folder_with_a_run_is_not_overwritten(tmp_path: Path) -> None:
    Trainer(FAST, tmp_path, device="cpu").train(minutes=1e-9)
    with pytest.raises(InputError, match="it already holds a run; resume it with --resume"):
        Trainer(FAST, tmp_path, device="cpu")
    other = replace(FAST, seed=3, ppo=replace(FAST.ppo, lr=0.5))
    with pytest.raises(InputError, match=r"another config: ppo\.lr is 0\.0007 there and 0\.5 here; seed is 0 there"):
        Trainer(other, tmp_path, resume=True, device="cpu")
    before = read_state(tmp_path)[0]
    (tmp_path / "state.safetensors").write_bytes(b"broken")
    with pytest.raises(InputError, match="not the state of a training run"):
        Trainer(FAST, tmp_path, resume=True, device="cpu")
    assert before.updates <= 1


def new_metrics() -> RunningMeans:
    return RunningMeans(types=FAST.grammar().language.type_names)


def new_log() -> SentenceLog:
    return SentenceLog(SPEC.words, len(FAST.catalog().icon_class))


def test_state_of_another_model_or_without_config_is_refused(tmp_path: Path) -> None:
    for name, hidden_units in (("a", 8), ("b", 9)):
        config = replace(FAST, agent=replace(AGENT, hidden_units=hidden_units))
        Trainer(config, tmp_path / name, device="cpu").train(minutes=1e-9)
    (tmp_path / "b" / "state.safetensors").write_bytes((tmp_path / "a" / "state.safetensors").read_bytes())
    with pytest.raises(InputError, match="it does not fit the config of the run"):
        Trainer(config, tmp_path / "b", resume=True, device="cpu")
    (tmp_path / "a" / "config.json").unlink()
    with pytest.raises(InputError, match=r"it holds the state of a run without config\.json"):
        Trainer(FAST, tmp_path / "a", resume=True, device="cpu")


def test_folder_is_locked_until_training_ends(tmp_path: Path) -> None:
    first = Trainer(FAST, tmp_path, device="cpu")
    with pytest.raises(InputError, match="another process is training in it"):
        Trainer(FAST, tmp_path, resume=True, device="cpu")
    assert first.train(minutes=1e-9) == "minutes"
    assert load_agent(tmp_path).config == FAST  # the latest agent, because none was evaluated yet
    assert Trainer(FAST, tmp_path, resume=True, device="cpu").train() == "finished"


@pytest.mark.parametrize("stage", [QAPretraining, PPO])
def test_only_word_embeddings_and_reader_input_weights_decay(stage: type[QAPretraining] | type[PPO]) -> None:
    config = replace(FAST, word_weight_decay=0.5, reader_weight_decay=2.0)
    learner = stage(build(AGENT, SPEC), config, new_log())
    before = {name: parameter.detach().clone() for name, parameter in learner.model.named_parameters()}
    for parameter in learner.model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    learner.optimizer.step()
    lr = learner.settings.lr
    shrunk = {"words.table": 1 - 0.5 * lr, "interpreter.rnn.weight_in": 1 - 2.0 * lr}
    for name, parameter in learner.model.named_parameters():
        torch.testing.assert_close(parameter, before[name] * shrunk.get(name, 1.0), rtol=1e-6, atol=0.0, msg=name)


def test_ppo_collects_actions_without_word_dropout() -> None:
    model = build(AGENT, SPEC)
    rollouts = [
        PPO(model, replace(FAST, word_dropout=probability), new_log()).collect(np.random.default_rng(0), new_metrics())
        for probability in (0.0, 1.0)
    ]
    assert torch.equal(*(rollout.actions for rollout in rollouts))
    assert torch.equal(*(rollout.log_prob for rollout in rollouts))


@pytest.mark.parametrize("stage", [QAPretraining, PPO])
@pytest.mark.parametrize(("method", "same"), [("ours", False), ("ca", True), ("san", True), ("vl", True), ("ce", True)])
def test_only_a_model_with_an_interpreter_trains_with_word_dropout(
    stage: type[QAPretraining] | type[PPO], method: str, same: bool
) -> None:
    config = replace(FAST, agent=replace(AGENT, method=method))
    losses = []
    for probability in (0.0, 1.0):
        torch.manual_seed(0)
        learner = stage(build(config.agent, SPEC), replace(config, word_dropout=probability), new_log())
        losses.append(learner.update().total["answer_loss"])
    assert (losses[0] == losses[1]) == same


def test_run_of_a_model_without_interpreter_ignores_word_dropout(tmp_path: Path) -> None:
    for name, probability in (("without", 0.0), ("with", 0.5)):
        config = replace(FAST, agent=replace(AGENT, method="ca"), word_dropout=probability)
        assert Trainer(config, tmp_path / name, device="cpu").train() == "finished"
    assert same(tmp_path / "without", tmp_path / "with")


@pytest.mark.parametrize(
    "stages",
    [
        {"qa_pretraining": QAPretrainingConfig(updates=1, batch_size=4)},
        {"ppo": PPOConfig(iterations=1, num_envs=4, num_steps=2, envs_per_minibatch=4)},
        {"actor_critic": ActorCriticConfig(updates=1, batch_size=4, replay_size=10)},
    ],
    ids=lambda stages: next(iter(stages)),
)
def test_map_size_alone_determines_the_view_of_the_model(tmp_path: Path, stages: dict[str, Any]) -> None:
    config = TrainConfig(world=WorldConfig(size=9), eval_episodes=2, **stages)
    trainer = Trainer(config, tmp_path, device="cpu")
    assert trainer.model.spec.view == 17
    assert trainer.train() == "finished"
    assert load_agent(tmp_path / "last.safetensors").model.spec == config.spec()


@pytest.mark.parametrize("name", PRESETS)
def test_preset_is_unchanged_by_json_and_has_sentences_in_each_stage(name: str) -> None:
    config = PRESETS[name]
    assert TrainConfig.of(json.loads(json.dumps(config.to_dict()))) == config
    for stage, settings in config.stages.items():
        assert not settings.length or config.stage_teacher(stage).types


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": -1}, r"seed must be an integer from 0 to \d+, got -1"),
        (
            {"ppo": PPOConfig(iterations=1, num_envs=10, envs_per_minibatch=4)},
            r"ppo\.num_envs must be a multiple of ppo\.envs_per_minibatch \(4\), got 10",
        ),
        ({"ppo": PPOConfig(iterations=1, lr=0)}, r"ppo\.lr must be a finite number above 0, got 0"),
        (
            {"ppo": PPOConfig(iterations=1, gamma=2)},
            r"ppo\.gamma must be a finite number of at least 0 and at most 1, got 2",
        ),
        ({"ppo": PPOConfig(iterations=-1)}, r"ppo\.iterations must be .* at least 0, got -1"),
        ({"word_weight_decay": -0.5}, r"word_weight_decay must be a finite number of at least 0, got -0\.5"),
        ({"word_dropout": 1.5}, r"word_dropout must be a finite number of at least 0 and at most 1, got 1\.5"),
        ({"split": "joined"}, r"split must be one of .*zs1\+zs2, got 'joined'"),
        ({"num_classes": 0}, "num_classes must be an integer of at least 1, got 0"),
        (
            {"qa_pretraining": QAPretrainingConfig(), "ppo": PPOConfig()},
            "at least one stage must have updates or iterations, got none",
        ),
    ],
)
def test_invalid_train_config_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(FAST, **change)


def test_more_classes_than_there_are_icons_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="num_classes must be an integer from 1 to 119, got 120"):
        Trainer(replace(FAST, num_classes=120), tmp_path, device="cpu")


def test_unknown_field_of_a_train_config_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match="ppo has no field \"num_env\", did you mean 'num_envs'"):
        TrainConfig.of({"ppo": {"num_env": 1}})


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([], r"training config must be a JSON object, got \[\]"),
        ({"seed": "1"}, 'training config: seed must be of type int, got "1"'),
        ({"seed": True}, "training config: seed must be of type int, got true"),
        ({"world": {"objects": [1]}}, r"world: objects must be of type .*, got \[1\]"),
        ({"ppo": 3}, "training config: ppo must be a JSON object, got 3"),
    ],
)
def test_train_config_of_wrong_types_is_refused(record: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TrainConfig.of(record)

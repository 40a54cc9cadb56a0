"""The table of metrics in the documentation has what runs log, and nothing else."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from groundling.agent import AgentConfig
from groundling.learn.presets import PRESETS
from groundling.learn.trainer import Trainer
from tests.learn.tiny import FAST, PAPER

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \|", re.MULTILINE)
STAGES = ("qa_pretraining", "ppo", "actor_critic")


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, str]]:
    """(metric, stage) of tiny runs with the models and losses of the presets."""
    ours = PRESETS["fast"]
    assert isinstance(ours.agent, AgentConfig)
    agent = replace(ours.agent, channels=8, hidden_units=8, planner_sweeps=4)
    qa = replace(ours.qa_pretraining, updates=30, batch_size=8, curriculum_episodes=100)
    ppo = replace(ours.ppo, iterations=3, num_envs=16, num_steps=16, envs_per_minibatch=16)
    fast = replace(FAST, agent=agent, qa_pretraining=qa, ppo=replace(ppo, balanced_types=()), word_dropout=0.1)
    paper = replace(PAPER, actor_critic=replace(PAPER.actor_critic, updates=250, batch_size=4))
    found = set()
    for name, config in (("fast", fast), ("paper", paper)):
        folder = tmp_path_factory.mktemp("runs") / name
        Trainer(config, folder).train()
        for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines():
            values = json.loads(line)
            found |= {(re.sub("/(nav|rec)_.*", "/TYPE", metric), values["stage"]) for metric in values}
    return found


def test_page_has_every_logged_metric_and_no_other(logged: set[tuple[str, str]]) -> None:
    documented = set()
    for metric, stages in ROW.findall(PAGE.read_text("utf-8")):
        named = STAGES if stages == "all" else re.findall("`(.*?)`", stages)
        documented |= {(metric, stage) for stage in named}
    assert documented == logged

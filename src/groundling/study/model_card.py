"""Accounts of agents: how they came to be and what they can do; as results, and as cards of weights to give away."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from groundling.agent.checkpoint import save
from groundling.atomic_write import atomic_write
from groundling.evaluation.evaluator import evaluate
from groundling.learn.config import PRESETS, TrainConfig
from groundling.learn.trained_agent import TrainedAgent, load_agent
from groundling.learn.trainer import check_leaks


def command(config: TrainConfig) -> str:
    """The command that makes such a run: the preset that is nearest, and what differs from it."""
    fields = dict(_fields(config.to_dict()))
    options = {}
    for preset, usual in PRESETS.items():
        given = dict(_fields(usual.to_dict()))
        options[preset] = [f"--{name} {value}" for name, value in fields.items() if value != given[name]]
    nearest = min(options, key=lambda preset: len(options[preset]))
    return " ".join([f"groundling train {nearest}", *options[nearest]])


def _fields(config: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """All fields of a config, by the names that they have on the command line."""
    for name, value in config.items():
        option = prefix + name.replace("_", "-")
        if isinstance(value, dict):
            yield from _fields(value, f"{option}.")
        else:
            yield option, value


def account(run: Path, agent: TrainedAgent, episodes: int, episodes_per_type: int) -> dict[str, Any]:
    """How the agent of a run came to be, and what it can do."""
    config, provenance = agent.config, agent.checkpoint.provenance
    leaks = check_leaks(run, config)
    # Nobody can use a novel word before it is taught: such an agent is judged on the words that it knows.
    phase = "train" if config.split == "novel" else "test"
    return {
        "command": command(config),
        "minutes": round(provenance["progress"]["seconds"] / 60, 2),
        "steps": provenance["progress"]["steps"],
        "split": config.split,
        "holdout": agent.split.holdout,
        "phase": phase,
        "sentences_sha256": provenance["sentences"]["sha256"],
        "leaks": {"leaked": len(leaks.leaked), "unknown": leaks.unknown, "sentences": leaks.sentences},
        **evaluate(agent.model, agent.teacher(phase=phase), episodes, episodes_per_type),
    }


def make(run: Path, out: Path, episodes: int, episodes_per_type: int) -> dict[str, Any]:
    """Write `out`.safetensors and `out`.json from the last agent of a run; return the card."""
    weights = out.with_suffix(".safetensors")
    save(weights, load_agent(str(run / "last.safetensors")).checkpoint, half=True)
    card = account(run, load_agent(str(weights)), episodes, episodes_per_type)  # what is judged is what is given away
    atomic_write(out.with_suffix(".json"), (json.dumps(card, indent=1) + "\n").encode())
    return card

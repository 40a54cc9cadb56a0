"""Reports on trained agents: how they were trained and what they achieve; as results, and as model cards."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from groundling.atomic_write import atomic_write
from groundling.evaluation.evaluator import Progress, evaluate
from groundling.learn.config import TrainConfig
from groundling.learn.presets import PRESETS, defaults_of
from groundling.learn.trained_agent import TrainedAgent, load_agent
from groundling.learn.trainer import check_run


def train_command(config: TrainConfig) -> str:
    """The shortest command that trains with this config: a preset and the options that differ from it."""
    fields = dict(_fields(config.to_dict()))
    options = {}
    for preset in PRESETS:
        defaults = defaults_of(preset, config.icons, config.num_classes)
        agent = type(config.agent).like(defaults.agent, defaults.agent.method)
        default = dict(_fields(replace(defaults, agent=agent).to_dict()))
        options[preset] = [_option(name, value) for name, value in fields.items() if value != default[name]]
    nearest = min(options, key=lambda preset: len(options[preset]))
    return " ".join([f"groundling train {nearest}", *options[nearest]])


def _fields(config: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """All fields of a config by their option names; those of the world have no prefix."""
    for name, value in config.items():
        option = prefix + name.replace("_", "-")
        if isinstance(value, dict):
            yield from _fields(value, "" if name == "world" else f"{option}.")
        else:
            yield option, value


def _option(name: str, value: Any) -> str:
    """An option as it is written on the command line; a bool is a flag, or its opposite with `no-`."""
    if isinstance(value, bool):
        part, dot, last = name.rpartition(".")
        return f"--{part}{dot}{last if value else f'no-{last}'}"
    return f"--{name} {_text(value)}"


def _text(value: Any) -> str:
    """A value as it is written on the command line."""
    return " ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def report(
    run: Path, agent: TrainedAgent, episodes: int, episodes_per_type: int, progress: Progress | None = None
) -> dict[str, Any]:
    """How the agent of a run was trained, and its evaluation."""
    config, provenance = agent.config, agent.checkpoint.provenance
    spent = provenance["progress"]
    leaks = check_run(run, config)
    # A novel word cannot be used before it is taught, so such an agent is evaluated on training sentences.
    phase = "train" if config.split == "novel" else "test"
    return {
        "command": train_command(config),
        "minutes": round(spent["seconds"] / 60, 2),
        **({"cpu_minutes": round(spent["cpu_seconds"] / 60, 2)} if "cpu_seconds" in spent else {}),  # since 0.2
        "frames": spent["frames"],
        "env_steps": spent["env_steps"],
        "versions": provenance["versions"],
        "split": config.split,
        "holdout": agent.split.holdout,
        "split_seed": config.split_seed,
        "phase": phase,
        "sentences_sha256": provenance["sentences"]["sha256"],
        "leaks": {"leaked": len(leaks.leaked), "unknown": leaks.unknown, "sentences": leaks.sentences},
        **evaluate(agent.model, agent.teacher(phase=phase), episodes, episodes_per_type, progress),
    }


def package(
    run: Path,
    out: Path,
    episodes: int,
    episodes_per_type: int,
    progress: Progress | None = None,
    allow_import: bool = False,
) -> dict[str, Any]:
    """Write `out`.safetensors and its model card `out`.json from the last agent of a run; return the card."""
    weights = out.with_name(out.name + ".safetensors")
    load_agent(run / "last.safetensors", allow_import=allow_import).save(weights, half=True)
    card = report(run, load_agent(weights), episodes, episodes_per_type, progress)  # of the packaged weights
    atomic_write(out.with_name(out.name + ".json"), (json.dumps(card, indent=1) + "\n").encode())
    return card

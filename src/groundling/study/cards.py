"""Weights to give away: half precision, and a card that says how they came to be and what they can do."""

import json
from pathlib import Path
from typing import Any

from groundling.agent.checkpoint import save
from groundling.files import write_whole
from groundling.learn.config import TrainConfig
from groundling.learn.evaluate import evaluate
from groundling.learn.shipped import find
from groundling.learn.trainer import check_leaks


def command(config: TrainConfig) -> str:
    """The command that makes such a run with the fast preset."""
    held = "" if config.split == "normal" else f" --split {config.split} --holdout {config.holdout:g}"
    return f"groundling train fast{held} --seed {config.seed}"


def make(run: Path, out: Path, sessions: int, of_each_type: int) -> dict[str, Any]:
    """Write `out`.safetensors and `out`.json from the last agent of a run; return the card."""
    trained = find(str(run / "last.safetensors"))
    config, provenance = trained.config, trained.checkpoint.provenance
    weights = out.with_suffix(".safetensors")
    save(weights, trained.checkpoint, half=True)
    agent = find(str(weights))  # what is judged is what is given away
    leaks = check_leaks(run, config)
    # Nobody can use a novel word before it is taught: such an agent is judged on the words that it knows.
    phase = "train" if config.split == "novel" else "test"
    card = {
        "command": command(config),
        "minutes": round(provenance["progress"]["seconds"] / 60, 2),
        "steps": provenance["progress"]["steps"],
        "split": config.split,
        "holdout": trained.split.holdout,
        "phase": phase,
        "sentences_sha256": provenance["sentences"]["sha256"],
        "leaks": {"leaked": len(leaks.leaked), "unknown": leaks.unknown, "sentences": leaks.sentences},
        **evaluate(agent.model, agent.teacher(phase=phase), sessions, of_each_type),
    }
    write_whole(out.with_suffix(".json"), (json.dumps(card, indent=1) + "\n").encode())
    return card

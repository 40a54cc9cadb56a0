"""Checkpoints of version 0.1 (format `groundling-agent-1`), brought to the current names.

`groundling convert OLD NEW` rewrites such a file; loading one works without it.
"""

from typing import Any

from torch import Tensor

FORMAT = "groundling-agent-1"
_SPEC = ("words", "actions", "view")
_AGENT = {
    "pixel_zero": "pixel_offset",
    "pixel_unit": "pixel_scale",
    "units": "hidden_units",
    "steps": "interpreter_steps",
    "sweeps": "planner_sweeps",
    "detect": "word_detection",
    "gate": "gate_bound",
}
_TRAIN = {
    "lessons": "world",
    "classes": "num_classes",
    "questions": "qa_pretraining",
    "word_decay": "word_weight_decay",
    "reader_decay": "reader_weight_decay",
    "mishearing": "word_dropout",
    "evaluate_every": "eval_interval",
    "evaluate_sessions": "eval_episodes",
    "target_success": "target_success_rate",
    "target_accuracy": "target_qa_accuracy",
}
_STAGES = {
    "qa_pretraining": {
        "target": "target_accuracy",
        "batch": "batch_size",
        "rate": "lr",
        "warm_up": "warmup_updates",
        "renewed": "reset_prob",
        "balanced": "type_balanced_fraction",
        "curriculum": "curriculum_episodes",
        "effort": "gate_coef",
        "gradient_clip": "max_grad_norm",
    },
    "ppo": {
        "updates": "iterations",
        "envs": "num_envs",
        "steps": "num_steps",
        "group": "envs_per_minibatch",
        "rate": "lr",
        "planner_rate": "planner_lr",
        "trace": "gae_lambda",
        "clip": "clip_range",
        "entropy": "entropy_coef",
        "value": "value_coef",
        "answers": "answer_coef",
        "hindsight": "hindsight_coef",
        "balanced": "type_balanced_fraction",
        "types": "balanced_types",
        "gradient_clip": "max_grad_norm",
    },
    "actor_critic": {
        "batch": "batch_size",
        "rate": "lr",
        "replay": "replay_size",
        "priority": "priority_exponent",
        "target_delay": "target_update_interval",
        "exploration_end": "final_exploration",
        "curriculum": "curriculum_episodes",
        "balanced": "type_balanced_fraction",
    },
}
_PROGRESS = {"steps": "env_steps", "sessions": "episodes"}
_EVALUATION = {"success": "success_rate", "accuracy": "qa_accuracy"}
_WORLD = ("size", "objects", "walls", "max_steps")
_TENSORS = {"perception.places": "perception.positions"}


def upgrade_record(record: dict[str, Any]) -> dict[str, Any]:
    """The record of a checkpoint, in the current names."""
    provenance = dict(record["provenance"])
    if "config" in provenance:
        provenance["config"] = upgrade_train_config(provenance["config"])
    if "progress" in provenance:
        progress = _renamed(provenance["progress"], _PROGRESS)
        if progress.get("stage") == "questions":
            progress["stage"] = "qa_pretraining"
        provenance["progress"] = {**progress, "evaluation": _renamed(progress.get("evaluation", {}), _EVALUATION)}
    if "sentences" in provenance:
        provenance["sentences"] = _renamed(provenance["sentences"], {"heard": "seen"})
    return {
        **record,
        "config": _agent(record["config"]),
        "spec": {name: record["config"][name] for name in _SPEC},
        "provenance": provenance,
    }


def upgrade_tensors(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a checkpoint, by their current names."""
    return {_TENSORS.get(name, name): tensor for name, tensor in tensors.items()}


def upgrade_train_config(config: dict[str, Any]) -> dict[str, Any]:
    """The config of a training run, in the current names."""
    new = _renamed(config, _TRAIN)
    new["agent"] = _agent(new["agent"])
    new["world"] = {name: new["world"][name] for name in _WORLD}
    for stage, names in _STAGES.items():
        new[stage] = _renamed(new[stage], names)
    if new["split"] == "joined":
        new["split"] = "zs1+zs2"
    return new


def _agent(config: dict[str, Any]) -> dict[str, Any]:
    new = {name: value for name, value in _renamed(config, _AGENT).items() if name not in (*_SPEC, "cell")}
    if new["word_detection"] == "words":
        new["word_detection"] = "per_word"
    return new


def _renamed(record: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in record.items()}

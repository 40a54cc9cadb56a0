"""The pretrained weights of the package reach the scores of their model cards."""

import json
from typing import Any

import pytest

from groundling.errors import InputError
from groundling.evaluation.estimates import Estimate
from groundling.evaluation.evaluator import Evaluator
from groundling.learn.trained_agent import WEIGHTS, load_agent

NAMES = ("normal", "novel-12", "san", "zs1-50", "zs2-50", "zs2-90")
EPISODES = 1000
"""Errors of an agent that stands still come in long runs, so few episodes say little about its QA accuracy."""
CONFIDENCE = 0.999
"""Of each of the twelve comparisons, so that all of them hold in 99 of 100 samples of episodes."""


def model_card(name: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((WEIGHTS / f"{name}.json").read_text("utf-8"))
    return record


def test_package_contains_exactly_the_documented_weights_and_they_are_small() -> None:
    assert {path.stem for path in WEIGHTS.glob("*.safetensors")} == set(NAMES)
    assert max(path.stat().st_size for path in WEIGHTS.glob("*.safetensors")) <= 5_000_000


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_scores_on_new_episodes_agree_with_the_model_card(name: str) -> None:
    """The score of the model card lies within the 99.9 % interval measured here."""
    agent, card = load_agent(name), model_card(name)
    teacher = agent.teacher(phase=card["phase"])
    record = Evaluator(agent.model, teacher, greedy=True, attention=False).run(EPISODES, seed=12345)
    for measured, episodes, score in (
        (record.success, None, "success_rate"),
        (record.correct, record.question_episode, "qa_accuracy"),
    ):
        estimate = Estimate.of_proportion(measured, episodes, CONFIDENCE)
        assert estimate is not None
        assert estimate.low <= card["greedy"]["natural"][score]["mean"] <= estimate.high, score


@pytest.mark.parametrize("name", NAMES)
def test_model_card_states_how_the_weights_were_trained(name: str) -> None:
    card = model_card(name)
    assert card["command"].startswith("groundling train fast")
    assert card["minutes"] > 0
    assert card["leaks"] == {"leaked": 0, "unknown": 0, "sentences": card["leaks"]["sentences"]}
    provenance = load_agent(name).checkpoint.provenance
    assert card["sentences_sha256"] == provenance["sentences"]["sha256"]
    assert card["leaks"]["sentences"] == provenance["sentences"]["seen"]
    assert card["env_steps"] == provenance["progress"]["env_steps"]


def test_unknown_name_is_refused_with_the_nearest_one() -> None:
    message = r"one of normal, .*, zs2-90, got 'norml', did you mean 'normal'\?"
    with pytest.raises(InputError, match=message):
        load_agent("norml")

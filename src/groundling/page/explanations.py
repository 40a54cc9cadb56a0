"""Intermediate values of an agent as plain data for the page; every map is cropped to the world, row by row."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from groundling.agent.model import AttentionModel
from groundling.agent.view import View
from groundling.errors import InputError
from groundling.learn.trained_agent import TrainedAgent
from groundling.page.batched_inference import BatchedInference, Intermediates
from groundling.page.scene import Scene
from groundling.teacher.language_file import COLOR, OBJECT
from groundling.world.catalog import CELL_PIXELS, Pixels
from groundling.world.rendering import draw, on_map, view_cells
from groundling.world.simulation import ACTIONS

TOP_WORDS = 5


def render_view(scene: Scene) -> Pixels:
    """[H, W, 3]: the agent's view of a scene."""
    pixels: Pixels = draw(view_cells(scene.scenario.state()), scene.teacher.catalog.pictures[CELL_PIXELS])[0]
    return pixels


def intermediate_values(
    inference: BatchedInference, agent: TrainedAgent, scene: Scene, words: tuple[str, ...]
) -> Intermediates:
    """The named arrays of `Model.explain` for a sentence of known words."""
    return inference.explain(agent.model, render_view(scene), [agent.lexicon.token[word] for word in words])


def explanation(agent: TrainedAgent, scene: Scene, intermediates: Intermediates) -> dict[str, Any]:
    """The intermediate values that the page shows; None for those that the model does not have."""

    def convert(name: str, to_plain: Callable[[NDArray[np.float32]], Any]) -> Any:
        return to_plain(intermediates[name]) if name in intermediates else None

    def to_map(values: NDArray[np.float32]) -> list[float]:
        return _to_map(scene, values)

    return {
        "word_attention": convert("word_attention", _rounded),
        "gates": convert("gates", _rounded),
        "x_loc_steps": convert("x_loc_steps", lambda maps: [to_map(values) for values in maps]),
        "x_loc": convert("x_loc", to_map),
        "x_terr": convert("x_terr", to_map),
        "value_map": convert("value_map", to_map),
        "action_probabilities": dict(zip(ACTIONS, _rounded(intermediates["action_probabilities"]), strict=True)),
        "answers": convert("answer_scores", lambda scores: _top_answers(agent, scores)),
    }


def _top_answers(agent: TrainedAgent, scores: NDArray[np.float32]) -> list[dict[str, Any]]:
    probabilities = np.exp(scores - scores.max())
    probabilities /= probabilities.sum()
    return [
        {
            "word": agent.words[k],
            "probability": round(float(probabilities[k]), 4),
            "score": round(float(scores[k]), 2),
        }
        for k in np.argsort(-scores)[:TOP_WORDS].tolist()
    ]


def detection_map(agent: TrainedAgent, scene: Scene, word: str) -> list[float]:
    """Probability of each position of the world under the detector of a word."""
    if word not in agent.words:
        raise InputError(f"word must be in the agent's lexicon, got {word!r}")
    model = _attention_model(agent)
    with torch.no_grad():
        maps = model.word_detections(_views(scene, 1))[0].numpy()
    return _to_map(scene, maps[agent.lexicon.token[word]])


def describe_cell(agent: TrainedAgent, scene: Scene, position: int, words: tuple[str, ...]) -> list[dict[str, Any]]:
    """The most probable of `words` as answers to what is at a position and which color it has.

    The peaks of detection maps are less informative: the map of an absent object has a peak too.
    """
    model, token = _attention_model(agent), agent.lexicon.token
    if not model.has_answer_head:
        raise InputError(f"model must have an answer head, got method {model.config.method!r}")
    grammar = scene.teacher.grammar
    texts = [grammar.neighbor_question(asked, "east") for asked in (OBJECT, COLOR)]  # replaced by the position below
    if not all(texts):
        raise InputError("language must have questions about the name and the color of a neighbor, got none")
    questions = [agent.lexicon.encode(text) for text in texts]
    view_positions = np.arange(model.spec.positions, dtype=np.float32)
    view_position = int(on_map(view_positions, scene.scenario.size, scene.scenario.agent).flat[position])
    with torch.no_grad():
        scores = model.answer_at(_views(scene, len(questions)), view_position, model.tokens(questions))
    name, color = scores[:, [token[word] for word in words]].softmax(1)
    probabilities = torch.maximum(
        name, color * (1 - name[words.index(grammar.language.nothing)])
    )  # an empty cell has no color
    best = probabilities.topk(min(TOP_WORDS, len(words))).indices.tolist()
    return [{"word": words[k], "probability": round(float(probabilities[k]), 4)} for k in best]


def _attention_model(agent: TrainedAgent) -> AttentionModel:
    if not isinstance(agent.model, AttentionModel):
        raise InputError(f"model must have word detection maps, got method {agent.model.config.method!r}")
    return agent.model


def _views(scene: Scene, batch: int) -> View:
    """The agent's view of a scene, `batch` times."""
    pixels = torch.from_numpy(render_view(scene))
    return View.of_images(pixels.expand(batch, -1, -1, -1))


def _to_map(scene: Scene, values: NDArray[np.float32]) -> list[float]:
    """Values over the agent's view [N], cropped to the world and flattened."""
    return _rounded(on_map(values, scene.scenario.size, scene.scenario.agent).ravel())


def _rounded(values: NDArray[np.float32]) -> list[Any]:
    """Nested lists of numbers with four decimals, to keep messages short."""
    numbers: list[Any] = np.round(values.astype(np.float64), 4).tolist()
    return numbers

"""What goes on inside an agent, as plain data for the page: every map is cut to the world, row by row."""

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
from groundling.world.catalog import CELL_PIXELS, Pixels
from groundling.world.rendering import draw, on_map, view_cells
from groundling.world.simulation import ACTIONS

TOP = 5
NAME_AND_COLOR = ("what is in the east ?", "what is the color of the object in the east ?")
"""Questions whose answers tell what a thing is, once their place is another one."""


def picture(scene: Scene) -> Pixels:
    """[H, W, 3]: what the agent sees of a scene."""
    pixels: Pixels = draw(view_cells(scene.scenario.state()), scene.teacher.catalog.pictures[CELL_PIXELS])[0]
    return pixels


def explain(thinker: BatchedInference, agent: TrainedAgent, scene: Scene, words: tuple[str, ...]) -> Intermediates:
    """The named arrays of `Model.explain`."""
    numbers = {word: k for k, word in enumerate(agent.checkpoint.lexicon)}
    return thinker.explain(agent.model, picture(scene), [numbers[word] for word in words])


def told(agent: TrainedAgent, scene: Scene, intermediates: Intermediates) -> dict[str, Any]:
    """The insides that the page shows; a model without interpreter, map or answers has null there."""

    def part(name: str, plain: Callable[[NDArray[np.float32]], Any]) -> Any:
        return plain(intermediates[name]) if name in intermediates else None

    return {
        "attention": part("word_attention", _rounded),
        "gates": part("gates", _rounded),
        "steps": part("x_loc_steps", lambda maps: [_map(scene, one) for one in maps]),
        "x_loc": part("x_loc", lambda one: _map(scene, one)),
        "terrain": part("x_terr", lambda one: _map(scene, one)),
        "value": part("value_map", lambda one: _map(scene, one)),
        "actions": dict(zip(ACTIONS, _rounded(intermediates["action_probabilities"]), strict=True)),
        "answers": part("answer_scores", lambda scores: _answers(agent, scores)),
    }


def _answers(agent: TrainedAgent, scores: NDArray[np.float32]) -> list[dict[str, Any]]:
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    best = np.argsort(-scores)[:TOP].tolist()
    return [
        {"word": agent.checkpoint.lexicon[k], "share": round(float(shares[k]), 4), "score": round(float(scores[k]), 2)}
        for k in best
    ]


def where(agent: TrainedAgent, scene: Scene, word: str) -> list[float]:
    """The map of where the agent sees a word."""
    if word not in agent.checkpoint.lexicon:
        raise InputError(f"word {word!r}: the agent does not know it")
    model = _grounded(agent)
    with torch.no_grad():
        maps = model.word_detections(_views(model, scene, 1))[0].numpy()
    return _map(scene, maps[agent.checkpoint.lexicon.index(word)])


def seen_at(agent: TrainedAgent, scene: Scene, position: int, words: tuple[str, ...]) -> list[dict[str, Any]]:
    """Which of some words the agent would say of a place, asked for its name and for its color.

    Where a word's map has its peak tells less: the map of a thing that is not there has one too.
    """
    model, numbers = _grounded(agent), {word: k for k, word in enumerate(agent.checkpoint.lexicon)}
    if not model.answers:
        raise InputError(f"a model of method {model.config.method!r} answers no questions")
    questions = [[numbers[word] for word in question.split()] for question in NAME_AND_COLOR]
    in_view = np.arange(model.config.positions, dtype=np.float32)
    at = int(on_map(in_view, scene.scenario.size, scene.scenario.agent).flat[position])
    with torch.no_grad():
        scores = model.answer_at(_views(model, scene, len(questions)), at, model.tokens(questions))
    name, color = scores[:, [numbers[word] for word in words]].softmax(1)
    shares = torch.maximum(name, color * (1 - name[words.index("nothing")]))  # nothing has no color
    best = shares.topk(min(TOP, len(words))).indices.tolist()
    return [{"word": words[k], "share": round(float(shares[k]), 4)} for k in best]


def _grounded(agent: TrainedAgent) -> AttentionModel:
    if not isinstance(agent.model, AttentionModel):
        raise InputError(f"a model of method {agent.model.config.method!r} has no maps of words")
    return agent.model


def _views(model: AttentionModel, scene: Scene, times: int) -> View:
    pixels = torch.from_numpy(picture(scene))
    return View.of_images(pixels.expand(times, -1, -1, -1), model.config.cell)


def _map(scene: Scene, seen: NDArray[np.float32]) -> list[float]:
    return _rounded(on_map(seen, scene.scenario.size, scene.scenario.agent).ravel())


def _rounded(values: NDArray[np.float32]) -> list[Any]:
    """As lists, with four decimals, which is more than anyone reads."""
    numbers: list[Any] = np.round(values.astype(np.float64), 4).tolist()
    return numbers

"""How many examples a new word takes: taught to an agent that was never told it, then commanded and asked with it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from groundling.evaluation.evaluator import Estimate, Evaluator
from groundling.learn.few_shot import Example, teach
from groundling.learn.trained_agent import TrainedAgent
from groundling.teacher.splits import Split
from groundling.teacher.teacher import Teacher
from groundling.world.catalog import CELL_PIXELS, Catalog
from groundling.world.rendering import draw, view_cells

COUNTS = (1, 2, 5, 10, 50)
DRAWS = 5
POINTING = "rec_loc2obj"
"""How a word is taught: `What is in the north?`, and the answer."""
_EXAMPLES, _TEST = 1 << 41, 1 << 42
"""Seeds."""


def world_of(agent: TrainedAgent, word: str) -> Teacher:
    """A teacher who says or asks for the word in every sentence; no other novel object is about."""
    novel = {name for group in agent.split.held_out for name in group}
    catalog = agent.config.catalog()
    known = catalog.only([name for name in catalog.classes if name == word or name not in novel])
    lessons = replace(agent.config.lessons, balanced=0.0, types=None)
    return Teacher(lessons, Split("novel", agent.split.holdout, agent.split.seed, ((word,),)), "test", known)


def examples_of(agent: TrainedAgent, word: str, catalog: Catalog | None = None) -> Iterator[Example]:
    """Pictures of a world with the word's object beside the agent, asked about by pointing; without end."""
    base = world_of(agent, word)
    lessons = replace(base.lessons, balanced=1.0, types=(POINTING,))
    teacher = Teacher(lessons, base.split, "test", catalog or base.catalog)
    batch, start = 64, 0
    while True:
        episode = teacher.begin(_EXAMPLES, np.arange(start, start + batch))
        start += batch
        for b in np.flatnonzero(episode.question.answer == teacher.lexicon.number[word]):
            image = draw(view_cells(episode.state)[b : b + 1], teacher.catalog.pictures[CELL_PIXELS])[0]
            yield Example(image, teacher.text(episode.question, int(b)), word)


def measure(agent: TrainedAgent, word: str, episodes: int) -> dict[str, Any]:
    """Success and accuracy with one word after 0 examples, and after each count of them, for each draw."""
    teacher = world_of(agent, word)
    supply = examples_of(agent, word)
    result: dict[str, Any] = {"word": word, "untaught": _scores(agent, teacher, episodes), "taught": []}
    for count in COUNTS:
        for draw_number in range(DRAWS):
            taught = teach(agent, word, [next(supply) for _ in range(count)])
            scores = _scores(taught, teacher, episodes)
            result["taught"].append({"examples": count, "draw": draw_number, **scores})
    return result


def _scores(agent: TrainedAgent, teacher: Teacher, episodes: int) -> dict[str, float]:
    record = Evaluator(agent.model, teacher, greedy=True, attention=False).run(episodes, _TEST)
    return {"success": float(record.success.mean()), "accuracy": float(record.right.mean())}


def summary(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over words and draws, for no examples and for each count of them, with 95 % intervals over words."""
    rows = [{"examples": 0, **_over_words([[r["untaught"]] for r in results])}]
    for count in COUNTS:
        by_word = [[t for t in result["taught"] if t["examples"] == count] for result in results]
        rows.append({"examples": count, **_over_words(by_word)})
    return rows


def _over_words(by_word: list[list[dict[str, float]]]) -> dict[str, Any]:
    means = {
        name: np.array([np.mean([scores[name] for scores in draws]) for draws in by_word])
        for name in ("success", "accuracy")
    }
    estimates = {name: Estimate.of(values) for name, values in means.items()}
    return {name: estimate.to_dict() for name, estimate in estimates.items() if estimate is not None}

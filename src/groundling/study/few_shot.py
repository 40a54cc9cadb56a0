"""How many examples a new word needs: taught to an agent that has never seen it in a sentence, then used with it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from groundling import seeds
from groundling.evaluation.estimates import Estimate
from groundling.evaluation.evaluator import Evaluator, of_one_type
from groundling.learn.few_shot import Example
from groundling.learn.trained_agent import TrainedAgent
from groundling.teacher.teacher import Teacher
from groundling.world.catalog import CELL_PIXELS, Catalog
from groundling.world.rendering import draw, view_cells

COUNTS = (1, 2, 5, 10, 50)
DRAWS = 5
EXAMPLE_TYPE = "rec_loc2obj"
"""The type of the examples' questions, such as `What is in the north?`"""
BATCH = 64


def word_teacher(agent: TrainedAgent, word: str, catalog: Catalog | None = None) -> Teacher:
    """A teacher whose sentences or answers all contain the word; no other novel object is on the maps."""
    if catalog is None:
        novel = set(agent.split.held_out_words)
        whole = agent.config.catalog()
        catalog = whole.only([name for name in whole.classes if name == word or name not in novel])
    language = agent.config.grammar().language
    return Teacher(agent.config.world, replace(agent.split, held_out=((word,),)), "test", catalog, language=language)


def word_examples(agent: TrainedAgent, word: str, catalog: Catalog | None = None) -> Iterator[Example]:
    """Endless examples: images with the word's object next to the agent, and a question about that direction."""
    teacher = of_one_type(word_teacher(agent, word, catalog), EXAMPLE_TYPE)
    start = 0
    while True:
        episode = teacher.begin(seeds.FEW_SHOT_EXAMPLES, np.arange(start, start + BATCH))
        start += BATCH
        for b in np.flatnonzero(episode.question.answer == teacher.lexicon.token[word]):
            image = draw(view_cells(episode.state)[b : b + 1], teacher.catalog.pictures[CELL_PIXELS])[0]
            yield Example(image, teacher.text(episode.question, int(b)), word)


def measure(agent: TrainedAgent, word: str, episodes: int) -> dict[str, Any]:
    """Success rate and QA accuracy with one word without examples, and after each count of examples, for each draw."""
    teacher = word_teacher(agent, word)
    supply = word_examples(agent, word)
    result: dict[str, Any] = {"word": word, "untaught": _scores(agent, teacher, episodes), "taught": []}
    for count in COUNTS:
        for draw_number in range(DRAWS):
            taught = agent.teach(word, [next(supply) for _ in range(count)])
            scores = _scores(taught, teacher, episodes)
            result["taught"].append({"examples": count, "draw": draw_number, **scores})
    return result


def _scores(agent: TrainedAgent, teacher: Teacher, episodes: int) -> dict[str, float]:
    record = Evaluator(agent.model, teacher, greedy=True, attention=False).run(episodes, seeds.FEW_SHOT_TEST)
    return {"success_rate": float(record.success.mean()), "qa_accuracy": float(record.correct.mean())}


def summary(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over words and draws for each count of examples, 0 included, with 95 % intervals over words."""
    rows = [{"examples": 0, **_over_words([[r["untaught"]] for r in results])}]
    for count in COUNTS:
        by_word = [[t for t in result["taught"] if t["examples"] == count] for result in results]
        rows.append({"examples": count, **_over_words(by_word)})
    return rows


def _over_words(by_word: list[list[dict[str, float]]]) -> dict[str, Any]:
    means = {
        name: np.array([np.mean([scores[name] for scores in draws]) for draws in by_word])
        for name in ("success_rate", "qa_accuracy")
    }
    estimates = {name: Estimate.of_mean(values, low=0, high=1) for name, values in means.items()}
    return {name: estimate.to_dict() for name, estimate in estimates.items() if estimate is not None}

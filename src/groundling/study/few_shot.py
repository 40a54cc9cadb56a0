"""How many examples a new word needs: taught to an agent that has never seen it in a sentence, then used with it."""

from collections.abc import Collection, Iterator, Sequence
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


def word_teacher(agent: TrainedAgent, word: str, catalog: Catalog | None = None, objects: int | None = None) -> Teacher:
    """A teacher whose sentences or answers all contain the word; no other novel object is on the maps.

    `objects`: number of objects on every map, by default as in training.
    """
    world = agent.config.world if objects is None else replace(agent.config.world, objects=(objects, objects))
    split = replace(agent.split, held_out=((word,),))
    language = agent.config.grammar().language
    return Teacher(world, split, "test", catalog or with_icons(agent, word), language=language)


def with_icons(agent: TrainedAgent, word: str, numbers: Collection[int] | None = None) -> Catalog:
    """The agent's catalog without other novel objects, and with only these icons of the word (None: all)."""
    novel = set(agent.split.held_out_words)
    whole = agent.config.catalog()
    known = whole.only([name for name in whole.classes if name == word or name not in novel])
    if numbers is None:
        return known
    first, end = known.first_icon[known.classes.index(word) :][:2]
    return known.select([k for k in range(len(known.icon_class)) if not first <= k < end or k - first in numbers])


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


def icon_examples(agent: TrainedAgent, word: str, icons: Sequence[int]) -> list[Example]:
    """One example of each icon."""
    return [next(word_examples(agent, word, with_icons(agent, word, [k]))) for k in icons]


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


def measure_icons(agent: TrainedAgent, word: str, episodes: int, objects: int = 5) -> dict[str, Any]:
    """Scores after one example, on the icon shown and on the other icons; and after one example of each icon.

    `objects`: number of objects on every map.
    """
    count = int((agent.config.catalog().icon_class == agent.config.catalog().classes.index(word)).sum())
    one, each = (agent.teach(word, icon_examples(agent, word, range(k))) for k in (1, count))
    tests = {"icon_shown": (one, [0]), "other_icons": (one, range(1, count)), "all_icons_shown": (each, range(count))}
    return {
        "word": word,
        "objects": objects,
        **{
            name: _scores(taught, word_teacher(agent, word, with_icons(agent, word, icons), objects), episodes)
            for name, (taught, icons) in tests.items()
            if icons
        },
    }


def measure_sequence(agent: TrainedAgent, words: Sequence[str], episodes: int) -> dict[str, Any]:
    """Scores of words that are taught one after the other to one agent, by an example of each icon; and of old words.

    `new_words`: sentences with the taught words, all of whose objects are on the maps; `before` and `after`: sentences
    without them.
    """
    catalog = agent.config.catalog()
    taught = agent
    for word in words:
        icons = range(int((catalog.icon_class == catalog.classes.index(word)).sum()))
        taught = taught.teach(word, icon_examples(agent, word, icons))
    old = agent.teacher(phase="train")
    new = Teacher(
        agent.config.world,
        replace(agent.split, held_out=tuple((word,) for word in words)),
        "test",
        catalog,
        language=old.language,
    )
    return {
        "words": list(words),
        "before": _scores(agent, old, episodes),
        "after": _scores(taught, old, episodes),
        "new_words": _scores(taught, new, episodes),
    }


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

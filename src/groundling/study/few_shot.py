"""How many examples a new word needs: taught to an agent that has never seen it in a sentence, then used with it."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from groundling import seeds
from groundling.evaluation.estimates import Estimate
from groundling.evaluation.evaluator import Evaluator, of_one_type
from groundling.learn.few_shot import Example
from groundling.learn.trained_agent import TrainedAgent
from groundling.teacher.language import Language
from groundling.teacher.language_file import OBJECT
from groundling.teacher.splits import Split
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import Meaning
from groundling.world.catalog import CELL_PIXELS, Catalog
from groundling.world.rendering import draw, view_cells

COUNTS = (1, 2, 3, 5, 10)
DRAWS = 3
OBJECTS = range(2, 9)
"""Numbers of objects on a map, after one example."""
USUAL_OBJECTS = 5
"""The number in all other tests."""
EXAMPLE_TYPE = "rec_loc2obj"
"""The type of the examples' questions, such as `What is in the north?`"""
BATCH = 64


@dataclass(frozen=True)
class InOneSense(Split):
    """A novel split whose test sentences use words that were taught, in the sense that was taught.

    `orange` is an object and a color. Who was shown the fruit cannot know the color, or answer a question about another
    object with it; sentences and answers with such words, or with novel words that were not taught, are left out.
    """

    taught: tuple[str, ...] = ()
    slots: tuple[str, ...] = ()
    """The slots for words of the sense that was taught."""
    types: tuple[str, ...] = ()
    """The types of questions that ask for words of this sense."""

    @classmethod
    def of_novel(cls, split: Split, taught: Sequence[str], language: Language, sense: str) -> "InOneSense":
        """The sentences with words of a novel split that were taught; `sense` is their word class."""
        values = {field.name: getattr(split, field.name) for field in fields(Split)}
        slots = tuple(slot for slot, word_class in language.slots.items() if word_class == sense)
        types = tuple(type_.name for type_ in language.types if type_.asked == sense)
        return cls(**values, taught=tuple(taught), slots=slots, types=types)

    def allows(self, meaning: Meaning, phase: str, answer: str = "") -> bool:
        if phase == "train":
            return super().allows(meaning, phase, answer)
        novel = [(slot, word) for slot, word in meaning.slots.items() if self.holds_out_word(word)]
        asked = self.holds_out_answer(answer)
        known = all(slot in self.slots and word in self.taught for slot, word in novel)
        return known and bool(novel or asked) and (not asked or meaning.type in self.types)


def word_teacher(
    agent: TrainedAgent, word: str, catalog: Catalog | None = None, objects: int | None = None, sense: str = OBJECT
) -> Teacher:
    """A teacher whose sentences or answers all contain the word, in one sense; no other novel object is on the maps.

    `objects`: number of objects on every map, by default as in training.
    """
    world = agent.config.world if objects is None else replace(agent.config.world, objects=(objects, objects))
    language = agent.config.grammar().language
    split = InOneSense.of_novel(agent.split, (word,), language, sense)
    return Teacher(world, split, "test", catalog or with_icons(agent, word), language=language)


def without_other_novel_objects(agent: TrainedAgent, words: Collection[str]) -> Catalog:
    """The agent's catalog with the classes that it knows, and with these."""
    novel = {*agent.split.held_out_words} - {*words}
    whole = agent.config.catalog()
    return whole.only([name for name in whole.classes if name not in novel])


def with_icons(agent: TrainedAgent, word: str, numbers: Collection[int] | None = None) -> Catalog:
    """The agent's catalog without other novel objects, and with only these icons of the word (None: all)."""
    known = without_other_novel_objects(agent, [word])
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
    """One example of each icon; an icon may be listed several times."""
    supplies = {icon: word_examples(agent, word, with_icons(agent, word, [icon])) for icon in {*icons}}
    return [next(supplies[icon]) for icon in icons]


def measure(agent: TrainedAgent, word: str, episodes: int) -> dict[str, Any]:
    """Scores with one word, as what can be known of it grows.

    `untaught`: without an example. `one_icon`: after one example, on maps with the icon shown, for each number of
    objects; `other_icons`: on maps with the other icons. `each_icon`: after one example of each icon, with all icons.
    `random`: after each count of examples of icons drawn at random, on the icons shown and on the others.
    """
    catalog = agent.config.catalog()
    count = int((catalog.icon_class == catalog.classes.index(word)).sum())
    one, each = (agent.teach(word, icon_examples(agent, word, range(k))) for k in (1, count))

    def scores(taught: TrainedAgent, icons: Collection[int], objects: int = USUAL_OBJECTS) -> dict[str, float] | None:
        if not icons:
            return None
        return _scores(taught, word_teacher(agent, word, with_icons(agent, word, icons), objects), episodes)

    result: dict[str, Any] = {
        "word": word,
        "untaught": scores(agent, range(count)),
        "one_icon": {str(objects): scores(one, [0], objects) for objects in OBJECTS},
        "other_icons": scores(one, range(1, count)),
        "each_icon": scores(each, range(count)),
        "random": [],
    }
    rng = np.random.default_rng(seeds.FEW_SHOT_EXAMPLES)
    for examples in COUNTS:
        for draw_number in range(DRAWS):
            icons = rng.integers(count, size=examples).tolist()
            taught = agent.teach(word, icon_examples(agent, word, icons))
            shown = {*icons}
            result["random"].append(
                {
                    "examples": examples,
                    "draw": draw_number,
                    "shown": scores(taught, shown),
                    "other": scores(taught, {*range(count)} - shown),
                }
            )
    return result


def measure_sequence(agent: TrainedAgent, words: Sequence[str], episodes: int) -> dict[str, Any]:
    """Scores of words that are taught one after the other to one agent, by an example of each icon; and of old words.

    `new_words`: sentences with the taught words, all of whose objects are on the maps; `before` and `after`: sentences
    without them.
    """
    catalog = without_other_novel_objects(agent, words)
    taught = agent
    for word in words:
        icons = range(int((catalog.icon_class == catalog.classes.index(word)).sum()))
        taught = taught.teach(word, icon_examples(agent, word, icons))
    old = agent.teacher(phase="train")
    new = Teacher(
        agent.config.world,
        InOneSense.of_novel(agent.split, words, old.language, OBJECT),
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


def summary(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over words and draws of the measurements of `measure`, with 95 % intervals over words.

    Words all of whose icons were shown have no score on other icons.
    """
    rows: dict[str, Any] = {name: _over_words([[r[name]] for r in results]) for name in ("untaught", "other_icons")}
    rows["each_icon"] = _over_words([[r["each_icon"]] for r in results])
    rows["one_icon"] = {str(n): _over_words([[r["one_icon"][str(n)]] for r in results]) for n in OBJECTS}
    rows["random"] = [
        {
            "examples": count,
            **{
                part: _over_words([[t[part] for t in r["random"] if t["examples"] == count] for r in results])
                for part in ("shown", "other")
            },
        }
        for count in COUNTS
    ]
    return rows


def _over_words(by_word: list[list[dict[str, float] | None]]) -> dict[str, Any]:
    known = [[scores for scores in draws if scores is not None] for draws in by_word]
    means = {
        name: np.array([np.mean([scores[name] for scores in draws]) for draws in known if draws])
        for name in ("success_rate", "qa_accuracy")
    }
    estimates = {name: Estimate.of_mean(values, low=0, high=1) for name, values in means.items()}
    return {name: estimate.to_dict() for name, estimate in estimates.items() if estimate is not None}

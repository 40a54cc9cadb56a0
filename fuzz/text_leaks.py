"""What a language model reads is the same whatever the target and the true answer are.

    python fuzz/text_leaks.py --count 2000 --seed 0

Each input is 50 observations of episodes that are played twice with the same random moves: once as they are, once with
another target and another answer. All messages, texts and pictures, must be equal as long as both episodes run. Splits,
phases and lexicons are random, and sentence types balanced. One input in four is played in the Gymnasium environments
with `observation="text"`.
"""

import itertools
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import Rng, arguments, run
from numpy.typing import ArrayLike

from groundling.env_options import EnvOptions
from groundling.errors import InputError
from groundling.teacher.invented_words import LEXICONS
from groundling.teacher.splits import JOINT, KINDS, PHASES
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import EpisodeBatch
from groundling.text import TASKS, VIEWS, TextEpisode
from groundling.vector_env import NavQAVectorEnv
from groundling.world.simulation import ACTIONS

OBSERVATIONS = 50
"""Of each input."""
SETTINGS = list(itertools.product((*KINDS, JOINT), PHASES, LEXICONS))
"""Split, phase and lexicon."""


class OtherTruth(Teacher):
    """A teacher of the same episodes with other targets and other true answers."""

    def __init__(self, teacher: Teacher) -> None:
        self.__dict__.update(teacher.__dict__)

    def begin(self, seed: ArrayLike, index: ArrayLike, ask: bool = True) -> EpisodeBatch:
        return other_truth(super().begin(seed, index, ask), len(self.lexicon))


def other_truth(episode: EpisodeBatch, words: int) -> EpisodeBatch:
    """The same episodes with another target and, where there is a question, another answer."""
    state, question, by = episode.state, episode.question, 1 + episode.index
    cells = state.grid.shape[1]
    target = (state.target + 1 + by % (cells - 1)) % cells
    answer = np.where(question.answer < 0, -1, (question.answer + 1 + by % (words - 1)) % words)
    return replace(
        episode,
        state=state._replace(target=target.astype(state.target.dtype)),
        question=question._replace(answer=answer.astype(question.answer.dtype)),
    )


@cache
def make_teacher(split: str, phase: str, lexicon: str) -> Teacher:
    return EnvOptions(split=split, phase=phase, lexicon=lexicon, type_balanced_fraction=1.0).teacher()


class Played(NamedTuple):
    """What to play."""

    setting: tuple[str, str, str]
    gymnasium: bool
    task: str
    view: str
    examples: int
    seed: int


def make(rng: Rng, _: Path) -> tuple[str, Played]:
    """Random settings."""
    task, view = TASKS[rng.integers(2)], VIEWS[rng.choice(len(VIEWS), p=[0.68, 0.3, 0.01, 0.01])]
    setting, examples = SETTINGS[rng.integers(len(SETTINGS))], int(rng.choice([0, 0, 3, 12]))
    made = Played(setting, rng.integers(4) == 0, task, view, examples, int(rng.integers(1 << 40)))
    return str(made), made


def use(made: Played) -> str:
    """Compare all observations; returns how many there were of each type."""
    teacher = make_teacher(*made.setting)
    found = in_gymnasium(teacher, made) if made.gymnasium else in_chats(teacher, made)
    types: Counter[str] = Counter()
    for type_, first, second in itertools.islice(found, OBSERVATIONS):
        assert first == second, f"{first} depends on the truth: {second}"
        types[type_] += 1
    return " ".join(f"{name}:{count}" for name, count in types.items())


def in_chats(teacher: Teacher, made: Played) -> Iterator[tuple[str, Any, Any]]:
    """The type of the sentence, and the messages of text episodes under both truths."""
    rng = np.random.default_rng(made.seed)
    for index in itertools.count():
        options = (made.seed, index, made.task, made.view, made.examples)
        try:
            games = [TextEpisode(told, *options) for told in (teacher, OtherTruth(teacher))]
        except InputError:  # no question is possible
            continue
        one, other = (game.episode for game in games)
        assert one.state.target[0] != other.state.target[0]
        assert made.task == "nav" or one.question.answer[0] != other.question.answer[0]
        sentences = one.question if made.task == "qa" else one.command
        type_ = teacher.language.type_names[sentences.type[0]]
        while True:
            yield type_, games[0].messages[-1], games[1].messages[-1]
            move = ACTIONS[rng.integers(len(ACTIONS))] if rng.integers(8) else "I do not know."
            for game in games:
                game.reply(move)
            if any(game.done for game in games):
                break


def in_gymnasium(teacher: Teacher, made: Played) -> Iterator[tuple[str, Any, Any]]:
    """The type of the command, and the observations of environments under both truths."""
    rng = np.random.default_rng(made.seed)
    split, phase, lexicon = made.setting
    options: dict[str, Any] = {"split": split, "phase": phase, "lexicon": lexicon, "type_balanced_fraction": 1.0}
    envs = [NavQAVectorEnv(1, observation="text", texts=False, **options) for _ in range(2)]
    for env, told in zip(envs, (teacher, OtherTruth(teacher)), strict=True):
        env.teacher = told
    for index in itertools.count():
        reset: dict[str, Any] = {"seed": made.seed, "options": {"episode": index}}
        observed = [env.reset(**reset)[0] for env in envs]
        type_ = teacher.language.type_names[teacher.begin(made.seed, [index]).command.type[0]]
        ended = False
        while not ended:
            yield type_, observed[0], observed[1]
            action = np.array([[rng.integers(len(ACTIONS)), teacher.lexicon.pad]])
            steps = [env.step(action) for env in envs]
            observed = [step[0] for step in steps]
            ended = any(step[2].any() or step[3].any() for step in steps)


def main() -> int:
    options = arguments("Look for the truth in what language models read.", 2000).parse_args()
    report = run("text leaks", options, make, use)
    code = report.show()
    types: Counter[str] = Counter()
    for result in report.results:
        if result.outcome == "accepted":
            types.update({name: int(count) for name, count in (part.split(":") for part in result.text.split())})
    print(f"{types.total():,} observations of {len(types)} sentence types:")
    for name, count in types.most_common():
        print(f"{count:8,}  {name}")
    return code


if __name__ == "__main__":
    sys.exit(main())

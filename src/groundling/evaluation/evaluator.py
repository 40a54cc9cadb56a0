"""How good a model is: whole episodes, each to its own end, by the greedy policy and by the sampled one.

Counting the first so many episodes to finish would count quick successes and drop slow failures; here every episode
that begins is counted, once it is over.
"""

from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from groundling.agent import Model
from groundling.agent.model import Output
from groundling.evaluation.attention_targets import attention_targets
from groundling.learn.stage import draw_actions
from groundling.rollout import Frames
from groundling.teacher.episode_sampling import SentenceBatch
from groundling.teacher.grammar import COMMANDS, QUESTIONS, TYPES
from groundling.teacher.teacher import EpisodeBatch, Teacher
from groundling.world.catalog import CELL_PIXELS, FIRST_ICON
from groundling.world.shortest_path import best_actions

SEED = 1 << 44
"""Of the episodes that are evaluated on: no training run uses it."""
BATCH = 1000
"""Episodes at once."""
_Z = NormalDist().inv_cdf(0.975)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A mean over n episodes or questions, with its 95 % interval."""

    mean: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, values: Floats, episodes: NDArray[np.int64] | None = None) -> "Estimate | None":
        """Of [n] values; of zeros and ones, by Wilson's interval, which holds for rare failures too.

        `episodes` [n] says of which episode each value is. Values of one episode are not independent (who walks to
        and fro is asked the same again and again, and errs each time), so that they count as fewer than they are.
        """
        n = len(values)
        if n == 0:
            return None
        mean = float(values.mean())
        of_session = np.arange(n) if episodes is None else np.unique(episodes, return_inverse=True)[1]
        off = np.bincount(of_session, values - mean).astype(np.float64)
        variance = float((off**2).sum()) / n**2  # of the mean
        if np.isin(values, (0, 1)).all():
            alone = mean * (1 - mean) / n  # the variance, if all were independent
            count = min(n, n * alone / variance) if variance else len(off)
            center = (mean + _Z**2 / (2 * count)) / (1 + _Z**2 / count)
            half = _Z / (1 + _Z**2 / count) * (mean * (1 - mean) / count + _Z**2 / (4 * count**2)) ** 0.5
            return cls(mean, center - half, center + half, n)
        half = _Z * (variance * len(off) / (len(off) - 1)) ** 0.5
        return cls(mean, mean - half, mean + half, n)

    def to_dict(self) -> dict[str, float]:
        return {"mean": self.mean, "low": self.low, "high": self.high, "n": self.n}


@dataclass
class Record:
    """What happened in some episodes, one entry for each episode, or for each question."""

    command_type: NDArray[np.int64]
    success: Floats
    reward: Floats
    spl: Floats
    """Success weighted by path length: shortest / walked, or 0. The shortest way avoids objects; one who walks over
    them, and pays for it, gets no more than 1."""
    wrong_object_steps: Floats
    command_attention: Floats
    """Mass of x_loc on the true cells at the first step; empty for a model without x_loc."""
    question_episode: NDArray[np.int64]
    """In which episode it was asked; of a model that answers none, no question is counted."""
    question_type: NDArray[np.int64]
    right: Floats
    question_attention: Floats

    def commands(self, type_: str | None = None) -> dict[str, Estimate | None]:
        chosen = np.full(len(self.success), True) if type_ is None else self.command_type == TYPES.index(type_)
        names = ("success", "reward", "spl", "wrong_object_steps", "command_attention")
        values = {name: getattr(self, name) for name in names}
        return {name: Estimate.of(array[chosen] if len(array) else array) for name, array in values.items()}

    def questions(self, type_: str | None = None) -> dict[str, Estimate | None]:
        chosen = np.full(len(self.right), True) if type_ is None else self.question_type == TYPES.index(type_)
        episodes = self.question_episode[chosen]
        values = {"accuracy": self.right, "question_attention": self.question_attention}
        return {name: Estimate.of(array[chosen], episodes) if len(array) else None for name, array in values.items()}


class Evaluator:
    """Lets a model live through episodes of a teacher and writes down what happened."""

    def __init__(self, model: Model, teacher: Teacher, greedy: bool, attention: bool = True) -> None:
        self.model, self.teacher, self.greedy = model, teacher, greedy
        self.attention = attention
        self.device = next(model.parameters()).device
        self.pictures = torch.from_numpy(teacher.catalog.pictures[CELL_PIXELS]).to(self.device)

    @torch.no_grad()
    def run(self, episodes: int, seed: int = SEED, first_question_only: bool = False) -> Record:
        """Episodes 0 .. `episodes` - 1 of a seed; or only the question that each begins with."""
        records = [
            self._batch(np.arange(start, min(start + BATCH, episodes)), seed, first_question_only)
            for start in range(0, episodes, BATCH)
        ]
        fields = Record.__dataclass_fields__
        return Record(**{name: np.concatenate([getattr(record, name) for record in records]) for name in fields})

    def _batch(self, index: NDArray[np.int64], seed: int, first_question_only: bool) -> Record:
        episode = self.teacher.begin(seed, index)
        rng = np.random.Generator(np.random.Philox(key=np.array([seed, index[0]], np.uint64)))
        count = len(index)
        shortest = best_actions(episode.state)[1]
        success, reward, steps, wrong = np.zeros((4, count))
        asked_in, asked_types, right, question_attention_mass = [], [], [], []
        command_attention = np.zeros(0)
        alive = np.arange(count)
        now = episode
        while len(alive):
            output = self._think(now)
            asked = (now.question.type >= 0) & self.model.answers
            asked_in.append(index[alive[asked]])
            asked_types.append(now.question.type[asked])
            right.append((_answers(output) == now.question.answer)[asked])
            if self.attention and output.x_loc_asked is not None:
                question_attention_mass.append(self._mass(now, output.x_loc_asked, now.question)[asked])
            if self.attention and output.x_loc is not None and now is episode:
                command_attention = self._mass(now, output.x_loc, now.command)
            if first_question_only:
                break
            logits = output.action_logits
            actions = logits.argmax(1).cpu().numpy() if self.greedy else draw_actions(logits, rng)
            after, outcome = self.teacher.step(now, actions)
            reward[alive] += outcome.reward
            steps[alive] += 1
            on_object = after.state.grid[np.arange(len(alive)), after.state.agent] >= FIRST_ICON
            wrong[alive] += on_object & ~outcome.terminated
            success[alive] = outcome.terminated
            goes_on = ~(outcome.terminated | outcome.truncated)
            alive, now = alive[goes_on], _select(after, goes_on)
        walked = not first_question_only
        return Record(
            command_type=episode.command.type.astype(np.int64)[: count * walked],
            success=success[: count * walked],
            reward=reward[: count * walked],
            spl=(success * shortest / np.maximum(steps, np.maximum(shortest, 1)))[: count * walked],
            wrong_object_steps=wrong[: count * walked],
            command_attention=command_attention[: count * walked],
            question_episode=np.concatenate(asked_in),
            question_type=np.concatenate(asked_types).astype(np.int64),
            right=np.concatenate(right).astype(np.float64),
            question_attention=np.concatenate(question_attention_mass) if question_attention_mass else np.zeros(0),
        )

    def _think(self, episode: EpisodeBatch) -> Output:
        frames = Frames.of(episode).to(self.device)
        output: Output = self.model(frames.view(self.pictures), frames.commands, frames.questions)
        return output

    def _mass(self, episode: EpisodeBatch, x_loc: Tensor, sentences: SentenceBatch) -> Floats:
        """[B]: the share of attention on the cells that the commands, or the questions, refer to."""
        true = attention_targets(episode.state, sentences, self.teacher.catalog)
        return np.asarray((x_loc.double().cpu().numpy() * true).sum(1))


def evaluate(model: Model, teacher: Teacher, episodes: int, episodes_per_type: int = 1000) -> dict[str, Any]:
    """The whole report, as plain data: as triggered, and each sentence type from episodes of its own.

    Its `policy` parts are greedy and sampled; questions do not depend on the policy but for where they are asked.
    """
    report: dict[str, Any] = {"episodes": episodes, "of_each_type": episodes_per_type}
    for policy in ("greedy", "sampled"):
        record = Evaluator(model, teacher, policy == "greedy").run(episodes)
        report[policy] = {"as_triggered": _plain({**record.commands(), **record.questions()}), "commands": {}}
        for k, type_ in enumerate(_types(teacher, COMMANDS)):
            own = only(teacher, type_)
            record = Evaluator(model, own, policy == "greedy").run(episodes_per_type, SEED + 1 + k)
            report[policy]["commands"][type_] = _plain(record.commands(type_))
    report["questions"] = {}
    for k, type_ in enumerate(_types(teacher, QUESTIONS) if model.answers else ()):
        record = Evaluator(model, only(teacher, type_), True).run(episodes_per_type, SEED + 101 + k, True)
        report["questions"][type_] = _plain(record.questions(type_))
    for policy in ("greedy", "sampled"):
        report[policy]["mean_over_types"] = {
            "success": _mean(report[policy]["commands"], "success"),
            "accuracy": _mean(report["questions"], "accuracy"),
        }
    return report


def _answers(output: Output) -> NDArray[np.int64]:
    scores = output.answer_scores
    return np.full(len(output.value), -1) if scores is None else scores.argmax(1).cpu().numpy()


def _types(teacher: Teacher, types: tuple[str, ...]) -> list[str]:
    """Those of some types that the teacher can say."""
    return [type_ for type_ in teacher.types if type_ in types]


def only(teacher: Teacher, type_: str) -> Teacher:
    """A teacher all of whose episodes are drawn for one sentence type."""
    lessons = replace(teacher.lessons, balanced=1.0, types=(type_,))
    return Teacher(lessons, teacher.split, teacher.phase, teacher.catalog)


def _select(episode: EpisodeBatch, which: NDArray[np.bool_]) -> EpisodeBatch:
    return EpisodeBatch.of({name: array[which] for name, array in episode.arrays().items()})


def _plain(estimates: dict[str, Estimate | None]) -> dict[str, Any]:
    return {name: estimate.to_dict() for name, estimate in estimates.items() if estimate is not None}


def _mean(by_type: dict[str, Any], name: str) -> float | None:
    values = [scores[name]["mean"] for scores in by_type.values() if name in scores]
    return float(np.mean(values)) if values else None

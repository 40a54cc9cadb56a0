"""Evaluation of a model: whole episodes, each played to its own end, with the greedy and with the sampled policy.

Counting the first n episodes to finish would count quick successes and drop slow failures; here every episode that
begins is counted when it is over.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from groundling import seeds
from groundling.agent import Model, Output
from groundling.episodes import play_to_end
from groundling.evaluation.attention_targets import attention_targets
from groundling.evaluation.chance import chance_level, oracle_level
from groundling.evaluation.estimates import Estimate, Floats
from groundling.rollout import Frames, sample_actions
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import EpisodeBatch, SamplingConfig, SentenceBatch
from groundling.world.catalog import CELL_PIXELS, FIRST_ICON
from groundling.world.shortest_path import best_actions

BATCH_SIZE = 1000
"""Episodes played in parallel."""
CELLS_AT_ONCE = 1000 * 13**2
"""Cells of the images of one forward pass, which bound its memory."""
POLICIES = ("greedy", "sampled")
Progress = Callable[[int, int], None]
"""Called with the number of episodes evaluated, and to evaluate in total."""


@dataclass
class Record:
    """What happened in some episodes: one entry for each episode, or for each question."""

    command_type: NDArray[np.int64]
    success: Floats
    reward: Floats
    spl: Floats
    """Success weighted by path length: shortest / walked, or 0. The shortest path avoids objects; an agent that walks
    over them, and pays for it, gets at most 1."""
    wrong_object_steps: Floats
    command_attention: Floats
    """Attention mass of x_loc on the true cells at the first step; empty for a model without x_loc."""
    question_episode: NDArray[np.int64]
    """The episode of each question; questions are empty for a model without an answer head."""
    question_type: NDArray[np.int64]
    correct: Floats
    question_attention: Floats
    command_reading: Floats
    """[episode, (fraction of interpretation steps whose top word is a content word, attention mass on content words)];
    empty for a model without an interpreter."""
    question_reading: Floats
    """The same for questions."""

    def commands(self, type_: int | None = None) -> dict[str, Estimate | None]:
        """Estimates over all episodes, or those with commands of one type (its index)."""
        chosen = np.full(len(self.success), True) if type_ is None else self.command_type == type_
        attention = self.command_attention[chosen] if len(self.command_attention) else self.command_attention
        return {
            "success_rate": Estimate.of_proportion(self.success[chosen]),
            "reward": Estimate.of_mean(self.reward[chosen]),
            "spl": Estimate.of_mean(self.spl[chosen], low=0, high=1),
            "wrong_object_steps": Estimate.of_mean(self.wrong_object_steps[chosen], low=0),
            "command_attention": Estimate.of_mean(attention, low=0, high=1),
            **_reading(self.command_reading, chosen),
        }

    def questions(self, type_: int | None = None) -> dict[str, Estimate | None]:
        """Estimates over all questions, or those of one type (its index)."""
        chosen = np.full(len(self.correct), True) if type_ is None else self.question_type == type_
        episodes = self.question_episode[chosen]
        attention = (
            Estimate.of_mean(self.question_attention[chosen], episodes, 0, 1) if len(self.question_attention) else None
        )
        return {
            "qa_accuracy": Estimate.of_proportion(self.correct[chosen], episodes),
            "question_attention": attention,
            **_reading(self.question_reading, chosen, "question_", episodes),
        }


def _reading(
    reading: Floats, chosen: NDArray[np.bool_], prefix: str = "command_", episodes: NDArray[np.int64] | None = None
) -> dict[str, Estimate | None]:
    """Estimates of how often interpretation steps attend to content words."""
    names = (f"{prefix}content_word_steps", f"{prefix}content_word_mass")
    if not len(reading):
        return dict.fromkeys(names)
    columns = reading[chosen].T
    return {name: Estimate.of_mean(column, episodes, 0, 1) for name, column in zip(names, columns, strict=True)}


class Evaluator:
    """Plays episodes of a teacher with a model and records what happens."""

    def __init__(self, model: Model, teacher: Teacher, greedy: bool, attention: bool = True) -> None:
        self.model, self.teacher, self.greedy = model, teacher, greedy
        self.attention = attention
        self.device = next(model.parameters()).device
        self.pictures = torch.from_numpy(teacher.catalog.pictures[CELL_PIXELS]).to(self.device)
        content = torch.from_numpy(teacher.lexicon.tokens_of(teacher.lexicon.content_words).astype(np.int64))
        self.content_words = torch.zeros(len(teacher.lexicon) + 1, dtype=torch.bool, device=self.device)
        self.content_words[content] = True

    def run(self, episodes: int, seed: int = seeds.EVALUATION, progress: Callable[[int], None] | None = None) -> Record:
        """Play the episodes 0 .. `episodes` - 1 of a seed."""
        return self._collect(self._play, episodes, seed, progress)

    def first_questions(
        self, episodes: int, seed: int = seeds.EVALUATION, progress: Callable[[int], None] | None = None
    ) -> Record:
        """Answer only the first question of each of the episodes 0 .. `episodes` - 1 of a seed."""
        return self._collect(self._answer_first, episodes, seed, progress)

    def _collect(
        self,
        play: Callable[[NDArray[np.int64], int], Record],
        episodes: int,
        seed: int,
        progress: Callable[[int], None] | None,
    ) -> Record:
        records = []
        for start in range(0, episodes, BATCH_SIZE):
            index = np.arange(start, min(start + BATCH_SIZE, episodes))
            records.append(play(index, seed))
            if progress is not None:
                progress(len(index))
        fields = Record.__dataclass_fields__
        return Record(**{name: np.concatenate([getattr(record, name) for record in records]) for name in fields})

    @torch.no_grad()
    def _play(self, index: NDArray[np.int64], seed: int) -> Record:
        first = self.teacher.begin(seed, index)
        rng = np.random.Generator(np.random.Philox(key=np.array([seed, index[0]], np.uint64)))
        shortest = best_actions(first.state)[1]
        success, reward, steps, wrong = np.zeros((4, len(index)))
        questions = _QuestionRecord()
        command_attention = np.zeros(0)
        command_reading = self._reading(first.command) if self.attention else np.zeros((0, 2))

        def act(now: EpisodeBatch, running: NDArray[np.int64]) -> NDArray[np.int64]:
            nonlocal command_attention
            output = self._forward(now)
            self._record_questions(questions, index[running], now, output)
            if self.attention and output.x_loc is not None and now is first:
                command_attention = self._attention_mass(now, output.x_loc, now.command)
            logits = output.action_logits
            return logits.argmax(1).cpu().numpy() if self.greedy else sample_actions(logits, rng)

        for running, step in play_to_end(self.teacher, first, act):
            state = step.after.state
            on_object = state.grid[np.arange(len(running)), state.agent] >= FIRST_ICON
            reward[running] += step.reward
            steps[running] += 1
            wrong[running] += on_object & ~step.terminated
            success[running] = step.terminated
        return Record(
            command_type=first.command.type.astype(np.int64),
            success=success,
            reward=reward,
            spl=success * shortest / np.maximum(steps, np.maximum(shortest, 1)),
            wrong_object_steps=wrong,
            command_attention=command_attention,
            command_reading=command_reading,
            **questions.arrays(),
        )

    @torch.no_grad()
    def _answer_first(self, index: NDArray[np.int64], seed: int) -> Record:
        episode = self.teacher.begin(seed, index)
        questions = _QuestionRecord()
        self._record_questions(questions, index, episode, self._forward(episode))
        none = np.zeros(0)
        return Record(
            np.zeros(0, np.int64), none, none, none, none, none, command_reading=np.zeros((0, 2)), **questions.arrays()
        )

    def _forward(self, episode: EpisodeBatch) -> Output:
        frames = Frames.of(episode).to(self.device)
        rows = max(1, CELLS_AT_ONCE // frames.cells[0].numel())
        parts = (Frames(*part) for part in zip(*(part.split(rows) for part in frames), strict=True))
        outputs: list[Output] = [self.model(part.view(self.pictures), part.commands, part.questions) for part in parts]
        if len(outputs) == 1:
            return outputs[0]
        fields = zip(*(output[:-1] for output in outputs), strict=True)
        joined: Any = (None if values[0] is None else torch.cat(values) for values in fields)
        return Output(*joined)

    def _record_questions(
        self, questions: "_QuestionRecord", index: NDArray[np.int64], episode: EpisodeBatch, output: Output
    ) -> None:
        if output.answer_scores is None:
            return
        question = episode.question
        asked = question.type >= 0
        questions.episode.append(index[asked])
        questions.type.append(question.type[asked].astype(np.int64))
        questions.correct.append((output.answer_scores.argmax(1).cpu().numpy() == question.answer)[asked])
        if self.attention and output.x_loc_question is not None:
            questions.attention.append(self._attention_mass(episode, output.x_loc_question, question)[asked])
        if self.attention:
            reading = self._reading(question)
            questions.reading.append(reading[asked] if len(reading) else reading)

    def _attention_mass(self, episode: EpisodeBatch, x_loc: Tensor, sentences: SentenceBatch) -> Floats:
        """[B]: the fraction of attention on the cells that the sentences refer to."""
        true = attention_targets(self.teacher, episode, sentences)
        return np.asarray((x_loc.double().cpu().numpy() * true).sum(1))

    def _reading(self, sentences: SentenceBatch) -> Floats:
        """[B, 2]: the columns of `Record.command_reading`; [0, 2] for a model without an interpreter."""
        tokens = torch.from_numpy(sentences.tokens).long().to(self.device)
        attention = self.model.word_attention(tokens)  # [B, I, L]
        if attention is None:
            return np.zeros((0, 2))
        content = self.content_words[tokens[:, : attention.shape[2]]]  # [B, L]
        top = content.gather(1, attention.argmax(2)).double().mean(1)
        mass = (attention * content[:, None]).sum(2).double().mean(1)
        return np.asarray(torch.stack([top, mass], 1).cpu().numpy())


class _QuestionRecord:
    """The questions of some episodes, in the order in which they were asked."""

    def __init__(self) -> None:
        self.episode: list[NDArray[np.int64]] = []
        self.type: list[NDArray[np.int64]] = []
        self.correct: list[NDArray[np.bool_]] = []
        self.attention: list[Floats] = []
        self.reading: list[Floats] = []

    def arrays(self) -> dict[str, Any]:
        """The fields of a Record."""

        def joined(parts: list[Any], dtype: type) -> NDArray[Any]:
            return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype)

        return {
            "question_episode": joined(self.episode, np.int64),
            "question_type": joined(self.type, np.int64),
            "correct": joined(self.correct, np.float64),
            "question_attention": joined(self.attention, np.float64),
            "question_reading": joined(self.reading, np.float64) if self.reading else np.zeros((0, 2)),
        }


def evaluate(
    model: Model, teacher: Teacher, episodes: int, episodes_per_type: int = 1000, progress: Progress | None = None
) -> dict[str, Any]:
    """The whole report as plain data: chance, oracle, the natural distribution, and each type from its own episodes.

    Navigation is reported for the greedy and the sampled policy; questions per type do not depend on the policy.
    """
    commands = [name for name in teacher.types if name in teacher.language.commands]
    questions = [name for name in teacher.types if name in teacher.language.questions and model.has_answer_head]
    total = len(POLICIES) * (episodes + len(commands) * episodes_per_type) + len(questions) * episodes_per_type
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, total)

    report: dict[str, Any] = {
        "episodes": episodes,
        "episodes_per_type": episodes_per_type,
        "chance": chance_level(teacher, episodes),
        "oracle": oracle_level(teacher, episodes),
    }
    for policy in POLICIES:
        greedy = policy == "greedy"
        record = Evaluator(model, teacher, greedy).run(episodes, progress=advance)
        report[policy] = {"natural": _plain({**record.commands(), **record.questions()}), "commands": {}}
        for k, type_ in enumerate(commands):
            evaluator = Evaluator(model, of_one_type(teacher, type_), greedy)
            record = evaluator.run(episodes_per_type, seeds.EVALUATION_COMMANDS + k, advance)
            report[policy]["commands"][type_] = _plain(record.commands(teacher.language.type_names.index(type_)))
    report["questions"] = {}
    for k, type_ in enumerate(questions):
        evaluator = Evaluator(model, of_one_type(teacher, type_), greedy=True)
        record = evaluator.first_questions(episodes_per_type, seeds.EVALUATION_QUESTIONS + k, advance)
        report["questions"][type_] = _plain(record.questions(teacher.language.type_names.index(type_)))
    for policy in POLICIES:
        report[policy]["mean_over_types"] = {
            "success_rate": _mean(report[policy]["commands"], "success_rate"),
            "qa_accuracy": _mean(report["questions"], "qa_accuracy"),
        }
    return report


def of_one_type(teacher: Teacher, type_: str) -> Teacher:
    """The teacher with all episodes sampled for one sentence type."""
    return teacher.with_sampling(SamplingConfig(type_balanced_fraction=1.0, types=(type_,)))


def _plain(estimates: dict[str, Estimate | None]) -> dict[str, Any]:
    return {name: estimate.to_dict() for name, estimate in estimates.items() if estimate is not None}


def _mean(by_type: dict[str, Any], name: str) -> float | None:
    values = [scores[name]["mean"] for scores in by_type.values() if name in scores]
    return float(np.mean(values)) if values else None

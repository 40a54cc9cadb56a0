"""What the training algorithms have in common: a model, an optimizer, environments, and one update after another."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from groundling import seeds
from groundling.agent import Answer, Model, Output
from groundling.agent.language import WordDropout
from groundling.errors import TrainingError
from groundling.evaluation.leak_check import SentenceLog
from groundling.learn.config import TrainConfig
from groundling.learn.workers import Losses, Pairs, Part, Workers, make_word_dropout, part_of
from groundling.rollout import FinishedEpisodes, Frames, RolloutEnv


class RunningMeans:
    """Running sums and counts of named metrics."""

    def __init__(self, pairs: Mapping[str, Sequence[float]] | None = None, types: Sequence[str] = ()) -> None:
        """`pairs`: sums and counts to continue from; `types`: the names of the sentence types."""
        self.types = types
        self.total: dict[str, float] = defaultdict(float)
        self.count: dict[str, float] = defaultdict(float)
        for name, (total, count) in (pairs or {}).items():
            self.add(name, total, count)

    def pairs(self) -> dict[str, tuple[float, float]]:
        """Sums and counts by name."""
        return {name: (total, self.count[name]) for name, total in self.total.items()}

    def add(self, name: str, total: float, count: float = 1) -> None:
        """Add a sum over `count` values."""
        self.total[name] += total
        self.count[name] += count

    def add_answers(self, frames: Frames, scores: Tensor) -> None:
        """Add the QA accuracy, overall and per question type."""
        asked = frames.answers >= 0
        correct = (scores.argmax(1) == frames.answers)[asked].cpu()
        self.add("qa_accuracy", float(correct.sum()), len(correct))
        types = frames.types[asked].cpu()
        count = torch.bincount(types).tolist()
        right = torch.bincount(types[correct], minlength=len(count)).tolist()
        for type_ in types.unique().tolist():
            self.add(f"qa_accuracy/{self.types[type_]}", float(right[type_]), count[type_])

    def add_episodes(self, finished: FinishedEpisodes) -> None:
        """Add reward, length and success rate of finished episodes, overall and per command type."""
        self.add("reward", float(finished.reward.sum()), len(finished.reward))
        self.add("episode_length", float(finished.steps.sum()), len(finished.steps))
        self.add("success_rate", float(finished.success.sum()), len(finished.success))
        for type_ in np.unique(finished.type):
            of_type = finished.success[finished.type == type_]
            self.add(f"success_rate/{self.types[type_]}", float(of_type.sum()), len(of_type))

    def merge(self, other: "RunningMeans") -> None:
        """Add the sums and counts of another."""
        for name, total in other.total.items():
            self.add(name, total, other.count[name])

    def means(self) -> dict[str, float]:
        """The means by name."""
        return {name: total / self.count[name] for name, total in sorted(self.total.items()) if self.count[name]}


class Stage(ABC):
    """A training algorithm. All randomness of update k is a function of (seed, stage, k), so no generator is saved."""

    name: str
    number: int
    """Index of the stage; separates its random numbers and episodes from those of other stages."""
    log_interval: int
    """Updates per line of the metrics."""

    def __init__(
        self,
        model: Model,
        config: TrainConfig,
        log: SentenceLog,
        num_envs: int,
        optimizer: torch.optim.Optimizer,
        max_grad_norm: float = float("inf"),
    ) -> None:
        self.model, self.config, self.log, self.optimizer = model, config, log, optimizer
        self.max_grad_norm = max_grad_norm
        self.parameters = [*model.parameters()]
        self.device = self.parameters[0].device
        self.updates = 0
        """Number of updates so far."""
        self.base_lrs = [group["lr"] for group in self.optimizer.param_groups]
        self.envs = RolloutEnv(config.stage_teacher(self.name), seeds.training(config.seed, self.number), num_envs)
        self.pictures = self.envs.pictures.to(self.device)
        self.workers: Workers | None = None
        """Processes that share the work of updates."""

    @abstractmethod
    def learn(self, rng: np.random.Generator, metrics: RunningMeans) -> None:
        """Make one update."""

    @property
    def progress(self) -> float:
        """Completed fraction of the stage."""
        return self.updates / self.config.stages[self.name].length

    @property
    def finished(self) -> bool:
        return self.updates >= self.config.stages[self.name].length

    def update(self) -> RunningMeans:
        """Make one update; return its metrics."""
        key = np.array([self.config.seed, self.number << 48 | self.updates], np.uint64)
        metrics = RunningMeans(types=self.envs.teacher.language.type_names)
        self._seed_torch(int(np.random.SeedSequence(key.tolist()).generate_state(1)[0]))
        self.learn(np.random.Generator(np.random.Philox(key=key)), metrics)
        self.updates += 1
        return metrics

    def _seed_torch(self, seed: int) -> None:
        """For models with random layers, such as nn.Dropout."""
        if self.device.type == "cpu":
            torch.default_generator.manual_seed(seed)  # torch.manual_seed takes half a millisecond without a GPU
        else:
            torch.manual_seed(seed)

    def observe(self) -> Frames:
        """The current observations, whose sentences are logged as seen in training."""
        self.log.add(self.envs.episode)
        self.model.add_answer_words(self.answered())
        return Frames.of(self.envs.episode).to(self.device)

    def word_dropout(self, rng: np.random.Generator) -> WordDropout | None:
        """The word dropout of the config, if there is one and the model supports it."""
        return make_word_dropout(self.model, self.config, self.answered(), rng)

    def answered(self) -> Tensor:
        """[words]: whether each word was an answer in training so far"""
        return torch.from_numpy(self.log.answers > 0).to(self.device)

    def minimize(
        self,
        losses: Losses,
        batches: Sequence[Any],
        rng: np.random.Generator,
        metrics: RunningMeans,
        dropout: WordDropout | None,
    ) -> None:
        """Make a gradient step on a minibatch, which is in one part, or has a part for each worker."""
        if self.workers is None:
            part = Part(batches[0], 1.0, self.progress, 0, None)
            found = losses(self.model, self.config, self.pictures, part, dropout, metrics)
            metrics.add("grad_norm", self.descend(torch.stack([*found.values()]).sum()))
            for name, loss in found.items():
                metrics.add(name, loss.item())
            return
        rows = [len(batch[0]) if isinstance(batch[0], Tensor) else len(batch[0][0]) for batch in batches]
        answered = self.answered()
        seeds_of_parts = rng.integers(0, 1 << 62, len(batches)).tolist()
        parts = [
            Part(batch, count / sum(rows), self.progress, seed, answered)
            for batch, count, seed in zip(batches, rows, seeds_of_parts, strict=True)
        ]

        def own(part: Part) -> Pairs:
            means = RunningMeans(types=self.envs.teacher.language.type_names)
            return part_of(self.model, self.config, self.pictures, losses, part, means)

        self.optimizer.zero_grad()
        total = RunningMeans()
        for pairs in self.workers.backward(self.name, parts, own):
            total.merge(RunningMeans(pairs))
        metrics.add("grad_norm", self.step_optimizer(sum(v for k, v in total.total.items() if k.endswith("_loss"))))
        metrics.merge(total)

    def descend(self, loss: Tensor) -> float:
        """Make a gradient step; return the gradient norm before clipping."""
        self.optimizer.zero_grad()
        loss.backward()
        return self.step_optimizer(loss.item())

    def step_optimizer(self, loss: float) -> float:
        """Clip the gradients and make a step; return their norm before."""
        norm = self._clip_gradients()
        if not np.isfinite(norm) or not np.isfinite(loss):
            raise TrainingError(
                f"stage {self.name}, update {self.updates}: loss and gradient norm must be finite, got {loss:g} "
                f"and {norm:g}; try a smaller learning rate"
            )
        self.optimizer.step()
        return norm

    def _clip_gradients(self) -> float:
        """Scale gradients down to the maximum norm; return their norm before."""
        if np.isfinite(self.max_grad_norm):
            return float(nn.utils.clip_grad_norm_(self.parameters, self.max_grad_norm))
        return float(nn.utils.get_total_norm([p.grad for p in self.parameters if p.grad is not None]))

    def scale_lr(self, scale: float) -> None:
        """Set the learning rates to a fraction of those of the config."""
        for group, lr in zip(self.optimizer.param_groups, self.base_lrs, strict=True):
            group["lr"] = scale * lr

    def tensors(self) -> dict[str, Tensor]:
        """Everything needed to resume, except the model and the sentence log."""
        result = {f"envs.{name}": torch.from_numpy(array) for name, array in self.envs.arrays().items()}
        for name, parameter in self.model.named_parameters():
            for key, value in self.optimizer.state[parameter].items():
                result[f"optimizer.{key}.{name}"] = value
        return result

    def restore(self, tensors: dict[str, Tensor], updates: int) -> None:
        """Resume from `tensors`, with the model as it was then."""
        self.updates = updates
        self.envs.restore(
            {name.removeprefix("envs."): t.numpy() for name, t in tensors.items() if name.startswith("envs.")}
        )
        parameters = dict(self.model.named_parameters())
        for name, tensor in tensors.items():
            kind, _, rest = name.partition(".")
            if kind == "optimizer":
                key, _, owner = rest.partition(".")
                self.optimizer.state[parameters[owner]][key] = tensor.clone()


def adamw(
    model: Model, config: TrainConfig, lr: float, lrs: Mapping[str, float] | None = None
) -> torch.optim.Optimizer:
    """AdamW with the weight decays of the model's parameter groups; `lrs`: learning rates of some of them."""
    decays = {"word_embeddings": config.word_weight_decay, "reader_input": config.reader_weight_decay}
    groups = model.parameter_groups()
    grouped = {id(parameter) for group in groups.values() for parameter in group}
    groups["default"] = [parameter for parameter in model.parameters() if id(parameter) not in grouped]
    return torch.optim.AdamW(
        [
            {
                "params": parameters,
                "lr": (lrs or {}).get(name, lr),
                "weight_decay": decays.get(name, 0.0),
            }
            for name, parameters in groups.items()
        ]
    )


def auxiliary_losses(model: Model, output: Output | Answer, answers: Tensor, **coefs: float) -> dict[str, Tensor]:
    """The model's own losses, each multiplied by its coefficient in `coefs`, if it has one; 0 leaves it out."""
    losses = model.auxiliary_losses(output, answers)
    return {name: coefs.get(name, 1.0) * loss for name, loss in losses.items() if coefs.get(name, 1.0)}

"""What the ways to learn have in common: a model, an optimizer, worlds to live in, and one update after another."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from groundling.agent import Model
from groundling.agent.language import Interpreter
from groundling.errors import TrainingError
from groundling.learn.config import TrainConfig
from groundling.rollout import FinishedEpisodes, Frames, RolloutEnv
from groundling.teacher.grammar import TYPES


class RunningMeans:
    """Means in the making: what happened in some updates, by name."""

    def __init__(self, pairs: Mapping[str, Sequence[float]] | None = None) -> None:
        """`pairs`: totals and counts to go on from."""
        self.total: dict[str, float] = defaultdict(float)
        self.count: dict[str, float] = defaultdict(float)
        for name, (total, count) in (pairs or {}).items():
            self.add(name, total, count)

    def pairs(self) -> dict[str, tuple[float, float]]:
        return {name: (total, self.count[name]) for name, total in self.total.items()}

    def add(self, name: str, total: float, count: float = 1) -> None:
        self.total[name] += total
        self.count[name] += count

    def add_answers(self, frames: Frames, scores: Tensor) -> None:
        """How many questions were answered right, of all and of each type."""
        asked = frames.answers >= 0
        right = (scores.argmax(1) == frames.answers)[asked].cpu()
        self.add("accuracy", float(right.sum()), len(right))
        types = frames.types[asked].cpu()
        for type_ in types.unique().tolist():
            of_type = right[types == type_]
            self.add(f"accuracy/{TYPES[type_]}", float(of_type.sum()), len(of_type))

    def add_sessions(self, ended: FinishedEpisodes) -> None:
        """What came of episodes, all and of each type."""
        self.add("reward", float(ended.reward.sum()), len(ended.reward))
        self.add("session_steps", float(ended.steps.sum()), len(ended.steps))
        self.add("success", float(ended.success.sum()), len(ended.success))
        for type_ in np.unique(ended.type):
            of_type = ended.success[ended.type == type_]
            self.add(f"success/{TYPES[type_]}", float(of_type.sum()), len(of_type))

    def merge(self, other: "Sums") -> None:
        for name, total in other.total.items():
            self.add(name, total, other.count[name])

    def means(self) -> dict[str, float]:
        return {name: total / self.count[name] for name, total in sorted(self.total.items()) if self.count[name]}


class Stage(ABC):
    """A way to learn, for so many updates. All chance in update k comes from (seed, stage, k), and is never stored."""

    name: str
    number: int
    """Of the stage among all: keeps its random numbers and episodes apart from theirs."""
    max_grad_norm: float | None = None

    def __init__(self, model: Model, config: TrainConfig, envs: int) -> None:
        self.model, self.config = model, config
        self.device = next(model.parameters()).device
        self.updates = 0
        """How many were made."""
        self.optimizer = self.make_optimizer()
        self.base_lrs = [group["lr"] for group in self.optimizer.param_groups]
        self.envs = RolloutEnv(config.teacher(self.name), config.seed * 8 + self.number, envs)
        self.pictures = self.envs.pictures.to(self.device)

    @abstractmethod
    def make_optimizer(self) -> torch.optim.Optimizer: ...

    @abstractmethod
    def learn(self, rng: np.random.Generator, sums: RunningMeans) -> None:
        """Make one update."""

    @property
    def progress(self) -> float:
        """How much of the stage is done, from 0 to 1."""
        return self.updates / self.config.stages[self.name].updates

    @property
    def finished(self) -> bool:
        return self.updates >= self.config.stages[self.name].updates

    def update(self) -> RunningMeans:
        """Make one update, and tell what happened."""
        key = np.array([self.config.seed, self.number << 48 | self.updates], np.uint64)
        sums = RunningMeans()
        self.learn(np.random.Generator(np.random.Philox(key=key)), sums)
        self.updates += 1
        return sums

    def adam(self, rate_of: Callable[[str], float]) -> torch.optim.Optimizer:
        """Adam, with a learning rate for each parameter by its name, and decay where the config has one."""
        decays = {
            "words.table": self.config.word_weight_decay,
            "interpreter.rnn.weight_in": self.config.reader_weight_decay,
        }
        groups: dict[tuple[float, float], list[Tensor]] = {}
        for name, parameter in self.model.named_parameters():
            groups.setdefault((rate_of(name), decays.get(name, 0.0)), []).append(parameter)
        return torch.optim.AdamW(
            [{"params": group, "lr": rate, "weight_decay": decay} for (rate, decay), group in groups.items()]
        )

    def observe(self) -> Frames:
        return self.envs.observe().to(self.device)

    @contextmanager
    def word_dropout(self, rng: np.random.Generator) -> Iterator[None]:
        """Meanwhile the interpreter, if there is one, takes some words for words that there are not.

        An invented word is a random vector of the table's mean and deviation, so that none that is held out is ever
        read. What is seen is not touched: the agent that takes `fox` for something else still looks for foxes.
        """
        share = self.config.word_dropout

        def mishear(_: nn.Module, heard: tuple[Tensor, Tensor, int]) -> tuple[Tensor, Tensor, int]:
            table, tokens, pad = heard
            missed = torch.from_numpy(rng.random(tokens.shape) < share).to(tokens.device) & (tokens != pad)
            count, known = int(missed.sum()), table[:pad].detach()
            noise = torch.from_numpy(rng.standard_normal((count, table.shape[1]), np.float32)).to(table.device)
            invented = known.mean(0) + known.std(0) * noise
            numbers = torch.arange(len(table), len(table) + count, device=tokens.device)
            return torch.cat([table, invented]), tokens.masked_scatter(missed, numbers), pad

        with ExitStack() as hooks:
            for part in self.model.modules() if share else ():
                if isinstance(part, Interpreter):
                    hooks.enter_context(part.rnn.register_forward_pre_hook(mishear))
            yield

    def descend(self, loss: Tensor) -> float:
        """Follow the gradient of a loss; its norm is returned."""
        self.optimizer.zero_grad()
        loss.backward()
        bound = float("inf") if self.max_grad_norm is None else self.max_grad_norm
        norm = float(nn.utils.clip_grad_norm_(self.model.parameters(), bound))
        if not np.isfinite(norm) or not np.isfinite(loss.item()):
            raise TrainingError(
                f"stage {self.name}, update {self.updates}: the loss is {loss.item():g} and the norm of its gradient "
                f"{norm:g}; a smaller learning rate may help"
            )
        self.optimizer.step()
        return norm

    def scale_lr(self, scale: float) -> None:
        """Set the learning rates to a part of what they are by the config."""
        for group, rate in zip(self.optimizer.param_groups, self.base_lrs, strict=True):
            group["lr"] = scale * rate

    def tensors(self) -> dict[str, Tensor]:
        """All that is needed to go on from here, but for the model."""
        result = {f"worlds.{name}": torch.from_numpy(array) for name, array in self.envs.arrays().items()}
        for name, parameter in self.model.named_parameters():
            for key, value in self.optimizer.state[parameter].items():
                result[f"optimizer.{key}.{name}"] = value
        return result

    def restore(self, tensors: dict[str, Tensor], updates: int) -> None:
        """Go on from `tensors`, with the model as it was then."""
        self.updates = updates
        self.envs.restore(
            {name.removeprefix("worlds."): t.numpy() for name, t in tensors.items() if name.startswith("worlds.")}
        )
        parameters = dict(self.model.named_parameters())
        for name, tensor in tensors.items():
            kind, _, rest = name.partition(".")
            if kind == "optimizer":
                key, _, owner = rest.partition(".")
                self.optimizer.state[parameters[owner]][key] = tensor.clone()


def draw_actions(logits: Tensor, rng: np.random.Generator, random: float = 0.0) -> NDArray[np.int64]:
    """[B]: actions from the softmax of [B, actions], or any with the chance `random`: lambda / 4 + (1 - lambda) pi."""
    probability = F.softmax(logits.double(), dim=1).cpu().numpy()
    mixed = random / probability.shape[1] + (1 - random) * probability
    drawn = (mixed.cumsum(1) < rng.random((len(mixed), 1))).sum(1)
    return np.asarray(np.minimum(drawn, probability.shape[1] - 1))

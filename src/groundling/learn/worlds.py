"""The worlds that a learner lives in: many sessions at once, the next beginning where one ends."""

from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from groundling.agent import View
from groundling.learn.leaks import sentence_hashes
from groundling.teacher.session import Session, Teacher
from groundling.world.catalog import CELL_PIXELS
from groundling.world.simulation import Bools, Outcome
from groundling.world.view import view_cells

Arrays = dict[str, NDArray[Any]]


class Frames(NamedTuple):
    """Moments in sessions, as the agent lives them: [B, ...], or [T, B, ...] for those of T steps."""

    cells: Tensor
    """[B, side, side] int16: what is seen where"""
    commands: Tensor
    """[B, L] int64"""
    questions: Tensor
    """[B, L] int64; a row of padding is silence"""
    answers: Tensor
    """[B] int64: the true ones, -1 for silence"""
    types: Tensor
    """[B] int64: of the questions, -1 for silence; for counting only"""

    @classmethod
    def of(cls, session: Session) -> Self:
        return cls(
            torch.from_numpy(view_cells(session.state)),
            torch.from_numpy(session.command.tokens).long(),
            torch.from_numpy(session.question.tokens).long(),
            torch.from_numpy(session.question.answer).long(),
            torch.from_numpy(session.question.type).long(),
        )

    def select(self, rows: Any) -> "Frames":
        return Frames(*(part[rows] for part in self))

    def to(self, device: torch.device) -> "Frames":
        return Frames(*(part.to(device) for part in self))

    def view(self, pictures: Tensor) -> View:
        """What is seen, given the picture of every cell number."""
        return View.of_cells(self.cells, pictures)


class Ended(NamedTuple):
    """Sessions that have ended: what they were about and what came of them, one entry each."""

    type: NDArray[np.int64]
    success: Bools
    reward: NDArray[np.float64]
    """Sum of the rewards."""
    steps: NDArray[np.int64]


class Worlds:
    """Sessions of a teacher, `count` at once, of indices that nobody else uses under this seed."""

    def __init__(self, teacher: Teacher, seed: int, count: int) -> None:
        self.teacher, self.count = teacher, count
        self.session = teacher.begin(seed, np.arange(count))
        self.reward = np.zeros(count)
        """Sum of each session's rewards so far."""
        self.heard: set[int] = set()
        """Hashes of all sentences that were said, to prove what was not."""
        self.answered = np.zeros(len(teacher.lexicon), np.int64)
        """How often each word was the true answer."""

    @property
    def pictures(self) -> Tensor:
        return torch.from_numpy(self.teacher.catalog.pictures[CELL_PIXELS])

    def look(self) -> Frames:
        """The sessions as they stand; what is said now counts as heard."""
        session = self.session
        for speech in (session.command, session.question):
            self.heard.update(sentence_hashes(speech.tokens[speech.type >= 0]).tolist())
        np.add.at(self.answered, session.question.answer[session.question.answer >= 0], 1)
        return Frames.of(session)

    def step(self, actions: NDArray[np.int64], leave: Bools | None = None) -> tuple[Outcome, Ended, Frames]:
        """Act; sessions that end, or that `leave` says to leave, give way to new ones.

        Also returned: the sessions that ended, and what the actions led to in all, before any was renewed.
        """
        before = self.session
        after, outcome = self.teacher.step(before, actions)
        self.reward += outcome.reward
        over = outcome.terminated | outcome.truncated
        ended = Ended(
            before.command.type[over].astype(np.int64),
            outcome.terminated[over],
            self.reward[over],
            after.state.step[over].astype(np.int64),
        )
        renewed = over if leave is None else over | leave
        self.reward[renewed] = 0
        self.session = self.teacher.renew(after, renewed, after.index + self.count)
        return outcome, ended, Frames.of(after)

    def arrays(self) -> Arrays:
        """All that is needed to go on from here."""
        heard = np.fromiter(self.heard, np.int64, len(self.heard))
        heard.sort()
        own = {"reward": self.reward.copy(), "heard": heard, "answered": self.answered.copy()}
        return {**{f"session.{name}": array for name, array in self.session.arrays().items()}, **own}

    def restore(self, arrays: Arrays) -> None:
        prefix = "session."
        of_session = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        self.session = Session.of(of_session)
        self.reward, self.answered = arrays["reward"].copy(), arrays["answered"].copy()
        self.heard = set(arrays["heard"].tolist())

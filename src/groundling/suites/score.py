"""Scoring a player on a suite; results in one schema, as files."""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

import groundling
from groundling.atomic_write import atomic_write
from groundling.errors import InputError, quote
from groundling.evaluation.estimates import Estimate
from groundling.read_json import from_plain, read_json
from groundling.suites.players import Player
from groundling.suites.suite import VERSION, Suite
from groundling.text import TextEpisode

FORMAT = "groundling-result-1"


@dataclass(frozen=True)
class Result:
    """What a player did on a suite."""

    format: str
    suite: str
    size: str
    version: int
    """Of the suites."""
    hash: str
    """Of the suite's content."""
    player: str
    view: str
    """How maps were shown; `none` for a player that does not read."""
    groundling: str
    """Version of the package."""
    nav: dict[str, float]
    """Success rate: mean, low, high, n."""
    qa: dict[str, float]
    """QA accuracy: mean, low, high, n."""
    types: dict[str, dict[str, float]]
    """The same for each sentence type."""
    replies: int
    invalid: int
    """Replies that could not be understood."""
    outcomes: str
    """1 for each episode that succeeded, otherwise 0, in the order of the suite."""

    @classmethod
    def load(cls, path: str | Path) -> "Result":
        """Read and check a result file."""
        result = from_plain(cls, read_json(Path(path), "result file"), f"result file {path}")
        if result.format != FORMAT:
            raise InputError(f"result file {path}: format must be {FORMAT!r}, got {quote(result.format)}")
        if not all({"mean", "low", "high", "n"} <= part.keys() for part in (result.nav, result.qa)):
            raise InputError(f"result file {path}: nav and qa must have mean, low, high and n")
        return result

    def save(self, path: str | Path) -> None:
        """Write a result file."""
        atomic_write(path, (json.dumps(asdict(self), indent=1) + "\n").encode())


def score(
    player: Player,
    suite: Suite,
    name: str,
    view: str = "sentences",
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Let a player play all episodes of a suite; `view` is `none` for a player that does not read."""
    suite.check()
    finished = []
    for i in range(len(suite)):
        finished.append(play(player, suite.begin(i, "sentences" if view == "none" else view)))
        if progress is not None:
            progress(i + 1, len(suite))
    return summarize(suite, finished, name, view)


def play(player: Player, game: TextEpisode) -> TextEpisode:
    """Play one episode to its end."""
    while not game.done:
        game.reply(player(game))
    return game


def summarize(suite: Suite, finished: Iterable[TextEpisode], name: str, view: str) -> Result:
    """The result of finished episodes, all of a suite in its order."""
    success, replies, invalid = np.array([(game.success, game.replies, game.invalid) for game in finished]).T
    types, tasks = np.array([(episode.type, episode.task) for episode in suite]).T

    def rate(which: Any) -> dict[str, Any]:
        estimate = Estimate.of_proportion(success[which].astype(np.float64))
        return {} if estimate is None else estimate.to_dict()

    return Result(
        format=FORMAT,
        suite=suite.name,
        size=suite.size,
        version=VERSION,
        hash=suite.hash,
        player=name,
        view=view,
        groundling=groundling.__version__,
        nav=rate(tasks == "nav"),
        qa=rate(tasks == "qa"),
        types={type_: rate(types == type_) for type_ in suite.teacher.types},
        replies=int(replies.sum()),
        invalid=int(invalid.sum()),
        outcomes="".join(map(str, success.astype(int))),
    )


def reference_results() -> list[Path]:
    """The results of the reference players and pretrained agents."""
    folder = Path(str(resources.files("groundling.suites"))) / "results"
    return sorted(folder.glob("*.json"))

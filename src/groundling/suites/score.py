"""Scoring a player on a suite; results in one schema, as files."""

import contextlib
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import groundling
from groundling.atomic_write import atomic_write
from groundling.errors import InputError, quote
from groundling.evaluation.estimates import Estimate
from groundling.read_json import from_plain, parse_json, read_json, read_text, reason
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


class Played(NamedTuple):
    """What became of one episode of a suite."""

    success: bool
    replies: int
    invalid: int


def score(
    player: Player,
    suite: Suite,
    name: str,
    view: str = "sentences",
    progress: Callable[[int, int], None] | None = None,
    out: Path | None = None,
) -> Result:
    """Let a player play all episodes of a suite; `view` is `none` for a player that does not read.

    With `out`, the result is written to that file, and until then each episode that is over to `out`.part, so that a
    run that was interrupted goes on.
    """
    suite.check()
    record = None if out is None else out.with_name(f"{out.name}.part")
    played = [] if record is None else read_record(record, suite, name, view)
    with contextlib.ExitStack() as stack:
        file = None if record is None else stack.enter_context(record.open("a", encoding="utf-8"))
        for i in range(len(played), len(suite)):
            game = play(player, suite.begin(i, "sentences" if view == "none" else view))
            played.append(Played(game.success, game.replies, game.invalid))
            if file is not None:
                print(json.dumps(played[-1]), file=file, flush=True)
            if progress is not None:
                progress(i + 1, len(suite))
    result = summarize(suite, played, name, view)
    if out is not None and record is not None:
        result.save(out)
        record.unlink()
    return result


def read_record(record: Path, suite: Suite, name: str, view: str) -> list[Played]:
    """The episodes of an interrupted run, whose file begins with what was run; a new file if there is none."""
    what = [FORMAT, suite.name, suite.size, suite.hash, name, view]
    try:
        if not record.exists() and not record.is_symlink():
            atomic_write(record, (json.dumps(what) + "\n").encode())
        text = read_text(record, "record")
        whole = text[: text.rfind("\n") + 1]  # a kill can leave a part of the last line
        if whole != text:
            atomic_write(record, whole.encode())
    except OSError as error:
        raise InputError(f"record {record}: cannot be written ({reason(error)})") from None
    head, *lines = whole.splitlines() or [""]
    try:
        same, played = parse_json(head, "record") == what, [_played(parse_json(line, "record")) for line in lines]
    except (InputError, ValueError, TypeError):
        same, played = False, []
    if not same or len(played) > len(suite):
        raise InputError(
            f"record {record} must be of the same player, suite, size and view; delete it to begin anew, or choose "
            "another result file"
        )
    return played


def _played(row: Any) -> Played:
    success, replies, invalid = row
    if type(success) is not bool or type(replies) is not int or type(invalid) is not int:
        raise TypeError
    return Played(success, replies, invalid)


def play(player: Player, game: TextEpisode) -> TextEpisode:
    """Play one episode to its end."""
    while not game.done:
        game.reply(player(game))
    return game


def summarize(suite: Suite, played: Iterable[Played], name: str, view: str) -> Result:
    """The result of finished episodes, all of a suite in its order."""
    success, replies, invalid = np.array(list(played)).T
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


_REFERENCE = Path(str(resources.files("groundling.suites"))) / "results"


def reference_results() -> list[Path]:
    """The result files of the reference players, pretrained agents and language models of the leaderboard."""
    return sorted(_REFERENCE.glob("*.json"))


def reference_file(suite: Suite, player: str) -> Path:
    """Where the leaderboard's result of a player is."""
    return _REFERENCE / f"{suite.name}-{suite.size}-{player}.json"

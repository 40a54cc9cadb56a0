"""`groundling suites ...` and `groundling leaderboard`"""

from pathlib import Path
from typing import Annotated

import tyro

from groundling.cli.output import Json, Threads, print_json, print_table, progress_bar, set_threads
from groundling.errors import InputError, check_choice
from groundling.extras import needs
from groundling.imports import import_name
from groundling.study.tables import markdown as in_markdown
from groundling.suites.players import AgentPlayer, MostFrequentAnswer, Player, RandomPlayer, oracle
from groundling.suites.score import Result, reference_file, reference_results, score
from groundling.suites.suite import SIZES, Suite, suite_names

app = tyro.extras.SubcommandApp()
REFERENCE = ("oracle", "random", "most-frequent-answer")
PRETRAINED = {"normal": ("normal", "paraphrase"), "zs1-50": ("zs1",), "zs2-50": ("zs2",)}
"""Pretrained agents of the leaderboard, and their suites."""
Size = Annotated[str, tyro.conf.arg(help="Number of episodes: small (200) or full (2,000).")]


@app.command(name="list")
def list_suites(as_json: Json = False) -> None:
    """List the frozen test suites."""
    suites = [Suite.load(name, size) for name in suite_names() for size in SIZES]
    if as_json:
        return print_json(
            [
                {"suite": s.name, "size": s.size, "options": s.options, "examples": s.examples, "hash": s.hash}
                for s in suites
            ]
        )
    rows = [(s.name, s.size, len(s), len(s.teacher.types), s.examples, s.hash[:12]) for s in suites]
    print_table("Frozen test suites", ("suite", "size", "episodes", "types", "examples in prompt", "hash"), rows)


@app.command
def check() -> None:
    """Check that all suites generate the episodes that were frozen."""
    names = suite_names()
    with progress_bar("Checking") as progress:
        for k, name in enumerate(names, 1):
            for size in SIZES:
                Suite.load(name, size).check()
            progress(k, len(names))
    print(f"{len(names)} suites generate the frozen episodes.")


@app.command
def run(
    player: Annotated[
        tyro.conf.Positional[str],
        tyro.conf.arg(
            metavar="PLAYER",
            help="oracle, random, most-frequent-answer, a checkpoint or name of pretrained weights, or module:function "
            "of a function from groundling.text.TextEpisode to a reply.",
        ),
    ],
    suite: Annotated[
        str, tyro.conf.arg(help="Name of the suite: normal, zs1, zs2, paraphrase or invented.")
    ] = "normal",
    size: Size = "small",
    view: Annotated[
        str, tyro.conf.arg(help="How maps are shown to a player that reads: sentences, grid, picture or both.")
    ] = "sentences",
    threads: Threads = None,
    out: Annotated[
        Path | None,
        tyro.conf.arg(
            metavar="FILE",
            help="Result file to write the scores to; an interrupted run with the same file goes on.",
            help_behavior_hint="(default: none)",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Score a player on a frozen test suite."""
    set_threads(threads)
    chosen = Suite.load(suite, size)
    found = _player(player, chosen)
    reads = ":" in player
    with progress_bar("Playing") as progress:
        result = score(found, chosen, Path(player).name, view if reads else "none", progress, out)
    if as_json:
        return print_json(result.__dict__)
    _print([result])


@app.command
def reference(
    players: Annotated[
        tyro.conf.Positional[tuple[str, ...]],
        tyro.conf.arg(
            metavar="[PLAYERS]", help="Players to score again: " + ", ".join((*REFERENCE, *PRETRAINED)) + "."
        ),
    ] = (*REFERENCE, *PRETRAINED),
    threads: Threads = None,
) -> None:
    """Score the reference players and pretrained agents of the leaderboard again, after new weights or suites."""
    set_threads(threads)
    suites = [Suite.load(name, size) for name in suite_names() for size in SIZES]
    for player in players:
        check_choice("player", player, (*REFERENCE, *PRETRAINED))
        for suite in suites:
            if suite.name in PRETRAINED.get(player, suite_names()):
                with progress_bar(f"{player}, {suite.name} ({suite.size})") as progress:
                    score(_player(player, suite), suite, player, "none", progress, reference_file(suite, player))


def _player(name: str, suite: Suite) -> Player:
    if name == "oracle":
        return oracle
    if name == "random":
        return RandomPlayer()
    if name == "most-frequent-answer":
        return MostFrequentAnswer(suite)
    if ":" in name:
        function = import_name(name, "player")
        if not callable(function):
            raise InputError(f"player {name!r} must be a function, got {type(function).__name__}")
        chosen: Player = function
        return chosen
    needs("agent")
    from groundling.learn.trained_agent import load_agent

    return AgentPlayer(load_agent(name))


def leaderboard(
    results: Annotated[
        tyro.conf.Positional[tuple[Path, ...]],
        tyro.conf.arg(metavar="[FILES]", help="Result files, in addition to those of the reference players."),
    ] = (),
    size: Size = "full",
    markdown: Annotated[bool, tyro.conf.arg(help="Print tables in Markdown.")] = False,
    as_json: Json = False,
) -> None:
    """Show result files beside the reference players: oracle, random, most frequent answer and pretrained agents."""
    found = [Result.load(path) for path in (*reference_results(), *results)]
    shown = [result for result in found if result.size == size]
    if as_json:
        return print_json([result.__dict__ for result in shown])
    _print(shown, markdown)


def _print(results: list[Result], markdown: bool = False) -> None:
    """One table for each suite, best first."""
    for suite in suite_names():
        rows = sorted((r for r in results if r.suite == suite), key=lambda r: -r.nav["mean"] - r.qa["mean"])
        for stale in (r for r in rows if r.hash != Suite.load(r.suite, r.size).hash):
            raise InputError(
                f"result of {stale.player} on {suite} must be of the suite of this version, got another hash; "
                "score it again"
            )
        if rows:
            title = f"Suite {suite} ({rows[0].size}), 95 % intervals"
            header = ("player", "view", "NAV success, %", "QA accuracy, %", "invalid replies, %")
            lines = [(r.player, r.view, _rate(r.nav), _rate(r.qa), f"{100 * r.invalid / r.replies:.1f}") for r in rows]
            if markdown:
                print(f"## {title}\n\n{in_markdown(header, lines)}")
            else:
                print_table(title, header, lines)


def _rate(estimate: dict[str, float]) -> str:
    mean, low, high = (f"{100 * estimate[name]:.1f}" for name in ("mean", "low", "high"))
    return f"{mean} ({low}..{high})"

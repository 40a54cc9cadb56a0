"""`groundling study ...`: the paper's study, on one machine or on many."""

import fnmatch
import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console

from groundling.cli.output import Json, print_json, print_table
from groundling.errors import InputError
from groundling.extras import needs

if TYPE_CHECKING:
    from groundling.study.grid import Run

app = tyro.extras.SubcommandApp()
Only = Annotated[tuple[str, ...], tyro.conf.arg(help="Names of runs, or patterns such as 'ours-zs2-*'.")]
Out = Annotated[str, tyro.conf.arg(help="Where results are: a folder, or any fsspec path.")]
Work = Annotated[str, tyro.conf.arg(help="Where runs are while they are made: a folder, or any fsspec path.")]
OUT, WORK, INSIDE = "results/study", "runs/study", "results/inside"


@app.command
def run(
    only: Only = (),
    out: Out = OUT,
    work: Work = WORK,
    workers: Annotated[int, tyro.conf.arg(help="Runs at once on this machine.")] = 1,
    threads_per_run: Annotated[
        int | None, tyro.conf.arg(help="Of PyTorch; the cores shared among the workers.")
    ] = None,
    engine: Annotated[str, tyro.conf.arg(help="local, or ray for many machines.")] = "local",
    address: Annotated[str | None, tyro.conf.arg(help="Of a Ray cluster; none: one on this machine alone.")] = None,
) -> None:
    """Make the runs that have no result yet, or go on with them; a finished one is never redone."""
    needs("agent")
    needs("study")
    from groundling.study.grid import chosen
    from groundling.study.launchers import run_locally, run_on_ray
    from groundling.study.result_store import Store

    if engine not in ("local", "ray"):
        raise InputError(f"engine {engine!r}: it is local or ray")
    if workers < 1:
        raise InputError(f"workers {workers}: it is 1 or more")
    threads = threads_per_run or max(1, (os.cpu_count() or 1) // workers)
    results = Store(out)
    missing = [run for run in chosen(only) if results.read(run.file) is None]
    console = Console()
    console.print(f"{len(missing)} runs to make")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if engine == "ray":
            needs("cluster")
            failed = run_on_ray(missing, out, work, threads, address, console.print)
        else:
            failed = run_locally(missing, out, work, workers, threads, console.print)
    except KeyboardInterrupt:
        console.print("Saved; the same command goes on.")
        sys.exit(130)
    if failed:
        console.print(f"{len(failed)} failed: {', '.join(run.name for run in failed)}")
        sys.exit(1)


@app.command
def status(only: Only = (), out: Out = OUT, work: Work = WORK, as_json: Json = False) -> None:
    """Which runs are done, under way or to do."""
    needs("agent")
    needs("study")
    from groundling.study.grid import chosen
    from groundling.study.result_store import Store

    results, works = Store(out), Store(work)
    states = [{"run": run.name, "key": run.key, **_state(run, results, works)} for run in chosen(only)]
    if as_json:
        return print_json(states)
    done = sum(state["state"] == "done" for state in states)
    lines = [(state["run"], state["key"], state["state"], state.get("told", "")) for state in states]
    print_table(f"{done} of {len(states)} runs are done", ("run", "key", "", ""), lines)


def _state(run: "Run", results: Any, works: Any) -> dict[str, Any]:
    """Whether a run is done, and else what its metrics say last."""
    if results.read(run.file) is not None:
        return {"state": "done"}
    metrics = works.read(f"{run.folder}/metrics.jsonl")
    if not metrics:
        return {"state": "to do"}
    line = json.loads(metrics.splitlines()[-1])
    told = f"{line['stage']} {line['update']}, {line['seconds'] / 60:.1f} min"
    return {"state": "under way", "told": told, **{name: line[name] for name in ("stage", "update", "seconds")}}


@app.command
def table(
    only: Only = (),
    out: Out = OUT,
    markdown: Annotated[bool, tyro.conf.arg(help="For a page.")] = False,
    as_json: Json = False,
) -> None:
    """What came out, beside the paper's numbers; from result files alone."""
    needs("study")
    from groundling.study import tables
    from groundling.study.result_store import Store

    results = [
        result
        for name, result in Store(out).results().items()
        if not only or any(fnmatch.fnmatch(name, pattern) for pattern in only)
    ]
    if not results:
        raise InputError(f"{out}: there is no result of such a run")
    if as_json:
        return print_json([dict(zip(tables.HEADER, row, strict=True)) for row in tables.rows(results)])
    parts: list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]] = [
        ("whole episodes, greedy", tables.HEADER, tables.rows(results))
    ]
    for part, name, told in tables.BY_TYPE:
        types, lines = tables.by_type(results, part, name)
        parts.append((told, ("run", *types), lines))
    title = "attention on the cells referred to, by the words of the sentence, %"
    parts.append((title, ("run", *tables.WORDS), tables.attention_by_words(results)))
    for title, header, lines in parts:
        if markdown:
            print(f"\n**{title[0].upper()}{title[1:]}**\n\n{tables.markdown(header, lines)}")
        else:
            print_table(title, [name.replace("_", "_\n") for name in header], lines)


@app.command
def inside(
    agent: Annotated[tyro.conf.Positional[str], tyro.conf.arg(help="Whose insides.")] = "normal",
    to: Annotated[Path, tyro.conf.arg(help="Folder for the arrays.")] = Path(INSIDE),
    as_json: Json = False,
) -> None:
    """Take out of an agent what the figures of its insides need: masks, contexts, attention, maps step by step."""
    needs("agent")
    needs("study")
    from groundling.learn.trained_agent import load_agent
    from groundling.study.representations import extract

    distances = extract(load_agent(agent), to)
    if as_json:
        return print_json(distances)
    lines = [*distances.items(), ("ratio", distances["within"] / distances["across"])]
    print_table("Mean distance of channel masks, within a topic and across", ("", ""), lines)


@app.command
def figures(
    out: Out = OUT,
    inside: Annotated[Path, tyro.conf.arg(help="Folder of the arrays from an agent's insides.")] = Path(INSIDE),
    to: Annotated[Path, tyro.conf.arg(help="Folder for the pictures.")] = Path("results/figures"),
) -> None:
    """Draw every figure from result files alone, as SVG and PNG; the same files give the same bytes."""
    needs("study")
    from groundling.study.figures import draw_all
    from groundling.study.result_store import Store

    results = list(Store(out).results().values())
    if not results:
        raise InputError(f"{out}: there is no result in it")
    draw_all(results, inside if inside.is_dir() else None, to, Console().print)

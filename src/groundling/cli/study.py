"""`groundling study ...` and `groundling figures`"""

import fnmatch
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console
from rich.progress import track

from groundling.cli.output import (
    Icons,
    Json,
    LanguageName,
    OptionalCheckpoint,
    Threads,
    print_json,
    print_table,
    set_threads,
)
from groundling.cli.own_models import AllowImport, current_folder_on_path, load_agent
from groundling.errors import InputError, check_choice, check_int
from groundling.extras import needs

if TYPE_CHECKING:
    from groundling.study.grid import Run

app = tyro.extras.SubcommandApp()
Only = Annotated[
    tuple[str, ...],
    tyro.conf.arg(
        metavar="NAME [NAME ...]",
        help="Names of runs, or patterns such as 'ours-zs2-*'; a name outside the study is METHOD-SPLIT-HOLDOUT-SEED.",
        help_behavior_hint="(default: all runs of the study)",
    ),
]
Method = Annotated[
    str | None,
    tyro.conf.arg(
        metavar="STR",
        help="Model of all runs, also an installed one or module:Class of your own.",
        help_behavior_hint="(default: those of the study)",
    ),
]
Results = Annotated[str, tyro.conf.arg(metavar="PATH", help="Folder or fsspec path of the result files.")]
Work = Annotated[str, tyro.conf.arg(metavar="PATH", help="Folder or fsspec path of unfinished runs.")]
Grid = Annotated[
    str,
    tyro.conf.arg(
        help="Which runs: study, search (of learning rates), readings (of the paper's recipe), ablations, or all "
        "(study and ablations)."
    ),
]
TestEpisodes = Annotated[
    int,
    tyro.conf.arg(help="Evaluation episodes of each run; one that is trained already is only evaluated again."),
]
RESULTS, WORK, REPRESENTATIONS = "results/study", "runs/study", "results/representations"


@app.command
def run(
    only: Only = (),
    grid: Grid = "study",
    method: Method = None,
    episodes: TestEpisodes = 5000,
    results: Results = RESULTS,
    work: Work = WORK,
    workers: Annotated[int, tyro.conf.arg(help="Number of runs at the same time on this machine.")] = 1,
    threads_per_run: Annotated[
        int | None,
        tyro.conf.arg(
            metavar="INT", help="PyTorch threads of each run.", help_behavior_hint="(default: cores / workers)"
        ),
    ] = None,
    engine: Annotated[
        str, tyro.conf.arg(help="Where to run: local (this machine) or ray (the machines of a Ray cluster).")
    ] = "local",
    address: Annotated[
        str | None,
        tyro.conf.arg(
            metavar="HOST:PORT",
            help="Address of the Ray cluster.",
            help_behavior_hint="(default: start a cluster on this machine)",
        ),
    ] = None,
    language: LanguageName = "paper",
    icons: Icons = None,
) -> None:
    """Execute the runs of the study that have no result yet, or resume them."""
    needs("agent")
    needs("study")
    from groundling.study.launchers import run_locally, run_on_ray
    from groundling.study.result_store import Store

    check_choice("engine", engine, ("local", "ray"))
    check_int("workers", workers, 1)
    threads = max(1, (os.cpu_count() or 1) // workers)
    if threads_per_run is not None:
        threads = check_int("threads_per_run", threads_per_run, 1)
    done = Store(results)
    chosen = _select_runs(only, grid, method, language, icons, check_int("episodes", episodes, 1))
    missing = [run for run in chosen if done.read(run.file) is None]
    console = Console()
    console.print(f"{len(missing)} runs to execute")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with current_folder_on_path(method is not None):  # also for the worker processes
            if engine == "ray":
                needs("cluster")
                failed = run_on_ray(missing, results, work, threads, address, console.print)
            else:
                failed = run_locally(missing, results, work, workers, threads, console.print)
    except KeyboardInterrupt:
        console.print("Saved. The same command continues the runs.")
        sys.exit(130)
    if failed:
        console.print(f"{len(failed)} failed: {', '.join(run.name for run in failed)}")
        sys.exit(1)


def _select_runs(
    only: tuple[str, ...], grid: str, method: str | None, language: str, icons: str | None, episodes: int | None = None
) -> "list[Run]":
    """The runs of a grid, or those of the study with another model, whose names match `only`."""
    from groundling.agent import find_model
    from groundling.study.grid import normal_runs, select_runs, zero_shot_runs

    runs = _grid(grid)
    if method is not None:
        if grid != "study":
            raise InputError(f"grid must be study if a method is given, got {grid!r}")
        with current_folder_on_path():
            find_model(method, allow_import=True)
        runs = [*normal_runs(method), *zero_shot_runs(method)]
    chosen = select_runs(only, runs, language, icons)
    return [replace(run, episodes=episodes) for run in chosen] if episodes not in (None, 5000) else chosen


def _grid(name: str) -> "list[Run]":
    """The runs of a grid by its name."""
    from groundling.study.ablations import ablation_runs
    from groundling.study.grid import GRID, Run, search_runs
    from groundling.study.readings import reading_runs
    from groundling.study.tables import METHODS

    grids: dict[str, Callable[[], list[Run]]] = {
        "study": lambda: [*GRID],
        "search": lambda: [run for method in METHODS for run in search_runs(method)],
        "readings": reading_runs,
        "ablations": ablation_runs,
        "all": lambda: [*GRID, *ablation_runs()],
    }
    return grids[check_choice("grid", name, grids)]()


@app.command
def status(
    only: Only = (),
    grid: Grid = "study",
    method: Method = None,
    results: Results = RESULTS,
    work: Work = WORK,
    language: LanguageName = "paper",
    icons: Icons = None,
    as_json: Json = False,
) -> None:
    """List the runs of a grid: done, running or missing."""
    needs("agent")
    needs("study")
    from groundling.study.result_store import Store

    done, works = Store(results), Store(work)
    runs = _select_runs(only, grid, method, language, icons)
    states = [{"run": run.name, "key": run.key, **_state(run, done, works)} for run in runs]
    if as_json:
        return print_json(states)
    count = sum(state["state"] == "done" for state in states)
    lines = [(state["run"], state["key"], state["state"], state.get("progress", "")) for state in states]
    print_table(f"{count} of {len(states)} runs are done", ("run", "key", "state", "progress"), lines)


def _state(run: "Run", results: Any, works: Any) -> dict[str, Any]:
    """Whether a run is done; otherwise its latest metrics."""
    if results.read(run.file) is not None:
        return {"state": "done"}
    metrics = works.read(f"{run.folder}/metrics.jsonl")
    if not metrics:
        return {"state": "missing"}
    line = json.loads(metrics.splitlines()[-1])
    progress = f"{line['stage']} {line['update']}, {line['seconds'] / 60:.1f} min"
    return {"state": "running", "progress": progress, **{name: line[name] for name in ("stage", "update", "seconds")}}


@app.command
def table(
    only: Only = (),
    results: Results = RESULTS,
    part: Annotated[
        str, tyro.conf.arg(help="Which tables: summary (methods by split), runs, seeds, types or all.")
    ] = "all",
    markdown: Annotated[bool, tyro.conf.arg(help="Print tables in Markdown.")] = False,
    as_json: Json = False,
) -> None:
    """Print tables of the results beside the paper's numbers."""
    needs("study")
    from groundling.study import tables
    from groundling.study.result_store import Store
    from groundling.study.summary_table import all_tables

    found = [
        result
        for name, result in Store(results).results().items()
        if not only or any(fnmatch.fnmatch(name, pattern) for pattern in only)
    ]
    if not found:
        raise InputError(f"results must be a path with result files of these runs, got {results!r}, which has none")
    if as_json:
        return print_json([dict(zip(tables.HEADER, row, strict=True)) for row in tables.rows(found)])
    found_tables = all_tables(found)
    check_choice("part", part, ("all", *found_tables))
    for title, header, lines in [
        table for name in found_tables for table in found_tables[name] if part in ("all", name)
    ]:
        if not markdown:
            print_table(title, header, lines)
        elif part == "all":
            print(f"\n**{title[0].upper()}{title[1:]}**\n\n{tables.markdown(header, lines)}")
        else:
            print(tables.markdown(header, lines))


@app.command
def search(
    method: Annotated[tyro.conf.Positional[str], tyro.conf.arg(help="Method whose learning rates are compared.")],
    results: Results = RESULTS,
    as_json: Json = False,
) -> None:
    """Compare the runs of a method's learning rate search by their best validation score."""
    needs("agent")
    needs("study")
    from groundling.study.grid import LR_SCALES, search_runs
    from groundling.study.result_store import Store
    from groundling.study.tables import METHODS, validation_score

    check_choice("method", method, METHODS)
    store = Store(results)
    files = [store.read(run.file) for run in search_runs(method)]
    scores = [None if data is None else validation_score(json.loads(data)) for data in files]
    if as_json:
        return print_json([{"scale": s, "score": score} for s, score in zip(LR_SCALES, scores, strict=True)])
    best = max((score for score in scores if score is not None), default=None)
    lines = [
        (f"{scale:.2g}", "missing" if score is None else f"{100 * score:.2f}", "best" if best and score == best else "")
        for scale, score in zip(LR_SCALES, scores, strict=True)
    ]
    print_table(f"{method}: scale of all learning rates", ("scale", "best validation score, %", ""), lines)


@app.command
def ablations(
    results: Results = RESULTS,
    out: Annotated[
        Path | None,
        tyro.conf.arg(metavar="FILE", help="SVG file to write the figure to.", help_behavior_hint="(default: none)"),
    ] = None,
    markdown: Annotated[bool, tyro.conf.arg(help="Print the table in Markdown.")] = False,
    as_json: Json = False,
) -> None:
    """Print the table of the ablations, and draw their figure; `study run --grid ablations` executes them."""
    needs("study")
    from groundling.study import ablation_tables
    from groundling.study.curves import write
    from groundling.study.result_store import Store
    from groundling.study.tables import markdown as in_markdown

    found = list(Store(results).results().values())
    lines = ablation_tables.rows(found)
    if not lines:
        raise InputError(f"results must be a path with result files of ablations, got {results!r}, which has none")
    if out is not None:
        write(partial(ablation_tables.figure, found), out)
    if as_json:
        return print_json([dict(zip(ablation_tables.HEADER, line, strict=True)) for line in lines])
    if markdown:
        return print(in_markdown(ablation_tables.HEADER, lines))
    print_table("means over seeds (lowest and highest)", ablation_tables.HEADER, lines)


@app.command
def representations(
    agent: OptionalCheckpoint = "normal",
    out: Annotated[Path, tyro.conf.arg(help="Folder to write the arrays to.")] = Path(REPRESENTATIONS),
    threads: Threads = None,
    allow_import: AllowImport = False,
    as_json: Json = False,
) -> None:
    """Extract an agent's channel masks, word contexts and attention for figures."""
    needs("agent")
    needs("study")
    from groundling.study.representations import extract

    set_threads(threads)
    distances = extract(load_agent(agent, allow_import=allow_import), out)
    if as_json:
        return print_json(distances)
    lines = [*distances.items(), ("ratio", distances["within"] / distances["across"])]
    print_table("Mean distance of channel masks within topics and across topics", ("", ""), lines)


@app.command(name="few-shot")
def few_shot(
    agent: Annotated[
        tyro.conf.Positional[str],
        tyro.conf.arg(
            metavar="[CHECKPOINT]",
            help="Checkpoint file, run folder or name of pretrained weights, trained with --split novel.",
        ),
    ] = "novel-12",
    episodes: Annotated[int, tyro.conf.arg(help="Evaluation episodes with each word, for each set of examples.")] = 200,
    out: Annotated[Path, tyro.conf.arg(help="Folder to write few_shot.json and its figure to.")] = Path("results"),
    threads: Threads = None,
    allow_import: AllowImport = False,
    as_json: Json = False,
) -> None:
    """Teach an agent each novel word from 1 to 10 examples, then all of them in sequence, and evaluate it."""
    needs("agent")
    needs("study")
    from groundling.atomic_write import atomic_write
    from groundling.study.curves import few_shot as curve
    from groundling.study.curves import write
    from groundling.study.few_shot import USUAL_OBJECTS, measure, measure_sequence, summary

    check_int("episodes", episodes, 1)
    set_threads(threads)
    loaded = load_agent(agent, allow_import=allow_import)
    if loaded.split.kind != "novel":
        raise InputError(f"agent must be trained with --split novel, got {agent!r}, trained on {loaded.split.kind}")
    out.mkdir(parents=True, exist_ok=True)
    words = loaded.split.held_out_words
    console = Console(stderr=True)
    results = [measure(loaded, word, episodes) for word in track(words, "Teaching", console=console)]
    means = summary(results)
    sequence = measure_sequence(loaded, words, 10 * episodes)  # small losses of old words count
    record = {"agent": agent, "episodes": episodes, "summary": means, "sequence": sequence, "words": results}
    atomic_write(out / "few_shot.json", (json.dumps(record, indent=1) + "\n").encode())
    write(partial(curve, means), out / "few_shot.svg", out / "few_shot.png")
    if as_json:
        return print_json(record)
    rows = [
        ("no example", means["untaught"]),
        *((f"1 example, icon shown, {n} objects", scores) for n, scores in means["one_icon"].items()),
        ("1 example, other icons", means["other_icons"]),
        ("1 example of each icon", means["each_icon"]),
        *((f"{row['examples']} random examples, icons shown", row["shown"]) for row in means["random"]),
        *((f"{row['examples']} random examples, other icons", row["other"]) for row in means["random"]),
    ]
    columns = (f"taught one by one, {USUAL_OBJECTS} objects", "success rate, %", "QA accuracy, %")
    print_table(f"Means over {len(words)} words", columns, [(name, *_percentages(row)) for name, row in rows if row])
    parts = {"before": "old words, before", "after": "old words, after", "new_words": "new words"}
    rows = [(name, {key: {"mean": mean} for key, mean in sequence[part].items()}) for part, name in parts.items()]
    columns = ("taught in sequence", *columns[1:])
    print_table(f"All {len(words)} words", columns, [(name, *_percentages(row)) for name, row in rows])


def _percentages(scores: dict[str, Any]) -> list[str]:
    return [f"{100 * scores[name]['mean']:.1f}" for name in ("success_rate", "qa_accuracy")]


def figures(
    results: Results = RESULTS,
    representations: Annotated[Path, tyro.conf.arg(help="Folder with the arrays of `study representations`.")] = Path(
        REPRESENTATIONS
    ),
    out: Annotated[Path, tyro.conf.arg(help="Folder to write the figures to.")] = Path("results/figures"),
) -> None:
    """Draw the figures of the study from its result files, as SVG and PNG."""
    needs("study")
    from groundling.study.figures import draw_all
    from groundling.study.result_store import Store

    found = list(Store(results).results().values())
    if not found:
        raise InputError(f"results must be a path with result files, got {results!r}, which has none")
    draw_all(found, representations if representations.is_dir() else None, out, Console().print)

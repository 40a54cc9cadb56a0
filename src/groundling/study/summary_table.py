"""The tables that `groundling study table` prints, by name; the first has methods as rows and splits as columns."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any, NamedTuple

from groundling.study import tables
from groundling.study.tables import METHODS, PUBLISHED, Result

CELLS = {
    ("normal", 0.0): "normal sentences",
    ("zs1", 50.0): "new pairs, 50 %",
    ("zs2", 50.0): "new words, 50 %",
    ("zs2", 90.0): "new words, 90 %",
}
"""The columns: those for which the paper gives numbers."""
NAMES = {"ours": "Groundling", "ca": "CA", "san": "SAN", "vl": "VL", "ce": "CE", "nava": "NAVA"}


class Table(NamedTuple):
    """A table with its title."""

    title: str
    header: Sequence[str]
    lines: Sequence[Sequence[str]]


def all_tables(results: Sequence[Result]) -> dict[str, list[Table]]:
    """All tables of some results, by the names of `--part`."""
    types = [
        Table(title, ("run", *names), lines)
        for part, name, title in tables.BY_TYPE
        for names, lines in [tables.by_type(results, part, name)]
    ]
    title = "attention on the cells referred to, by the content words of the sentence, %"
    types.append(Table(title, ("run", *tables.WORDS), tables.attention_by_words(results)))
    return {
        "summary": [Table("success rate / QA accuracy, %, means over seeds", ("", *CELLS.values()), summary(results))],
        "runs": [Table("whole episodes, greedy policy", tables.HEADER, tables.rows(results))],
        "seeds": [Table("lowest / median / highest of seeds", tables.OVER_SEEDS, tables.over_seeds(results))],
        "types": types,
    }


def summary(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """Chance, the methods, the paper and an oracle: success rate / QA accuracy for each split, means over seeds."""

    def row(name: str, scores: str, method: str | None) -> tuple[str, ...]:
        return (name, *(_scores(_of(results, cell, method), scores) for cell in CELLS))

    lines = [row("chance", "chance", None)]
    lines += [row(NAMES[method], "greedy", method) for method in reversed(METHODS) if method != "ours"]
    lines.append(("the paper", *("{:g} / {:g}".format(*PUBLISHED["ours", *cell]) for cell in CELLS)))
    lines += [row(f"**{NAMES['ours']}**", "greedy", "ours"), row("oracle", "oracle", None)]
    return [line for line in lines if any(shown != "-" for shown in line[1:])]


def _of(results: Sequence[Result], cell: tuple[str, float], method: str | None) -> list[Result]:
    """The results of a split, of one method or of all."""
    return [
        result
        for result in results
        if (result["split"], tables.holdout(result)) == cell and method in (None, result["method"])
    ]


def _scores(results: Sequence[Result], name: str) -> str:
    """Success rate / QA accuracy in percent: the mean over results that have them."""
    found: list[dict[str, Any]] = [
        result[name]["natural"] if name == "greedy" else result[name] for result in results if name in result
    ]
    shown = []
    for measure in ("success_rate", "qa_accuracy"):
        means = [100 * scores[measure]["mean"] for scores in found if measure in scores]
        shown.append(f"{fmean(means):.1f}" if means else "-")
    return " / ".join(shown) if found else "-"

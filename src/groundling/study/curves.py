"""Learning curves, from the metrics of runs alone."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from groundling.study.metrics import read_metrics

STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "svg.hashsalt": "groundling",
}


def learning_curve(runs: Sequence[Path], path: Path) -> None:
    """Success in whole sessions and answers right against minutes, one line for each run's metrics."""
    with mpl.rc_context(rc=STYLE):
        figure = Figure(figsize=(6.4, 2.8), layout="constrained")
        axes = figure.subplots(1, 2, sharex=True, sharey=True)
        for k, run in enumerate(runs):
            lines = read_metrics(run)
            for axis, name in zip(axes, ("evaluation/success", "accuracy"), strict=True):
                points = [(line["seconds"] / 60, 100 * line[name]) for line in lines if name in line]
                shade = str(0.6 * k / max(1, len(runs) - 1)) if len(runs) > 1 else "0"
                axis.plot(
                    *zip(*points, strict=True),
                    color=shade,
                    linewidth=1,
                    label=run.parent.name,
                    marker="." if axis is axes[0] else "",
                )
        axes[0].set(title="sessions in which the target was reached", xlabel="minutes", ylabel="%", ylim=(0, 101))
        axes[1].set(title="questions answered right", xlabel="minutes")
        for axis in axes:
            axis.grid(alpha=0.3)
        if len(runs) > 1:
            axes[0].legend(loc="lower right")
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)


def teaching_curve(record: Path, path: Path) -> None:
    """Success and accuracy with a taught word against the number of examples, with 95 % intervals over words."""
    rows = json.loads(record.read_text("utf-8"))["summary"]
    with mpl.rc_context(rc=STYLE):
        figure = Figure(figsize=(4.2, 2.8), layout="constrained")
        axis = figure.subplots()
        for name, told, marker in (("success", "commands done", "o"), ("accuracy", "questions right", "s")):
            means = [100 * row[name]["mean"] for row in rows]
            below = [100 * (row[name]["mean"] - row[name]["low"]) for row in rows]
            above = [100 * (row[name]["high"] - row[name]["mean"]) for row in rows]
            fill = "black" if marker == "o" else "white"
            axis.errorbar(
                range(len(rows)), means, (below, above), marker=marker, label=told, color="black", mfc=fill, capsize=2
            )
        axis.set_xticks(range(len(rows)), [str(row["examples"]) for row in rows])
        axis.set(xlabel="examples of the word", ylabel="%", ylim=(0, 101))
        axis.grid(alpha=0.3)
        axis.legend(loc="lower right")
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)

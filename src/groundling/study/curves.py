"""How figures are made, and the curves of learning and of teaching."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "svg.hashsalt": "groundling",
}


def write(make: Callable[[], Figure], *paths: Path) -> None:
    """Make a figure in the one style that all have; the same figure gives the same bytes."""
    with mpl.rc_context(rc=STYLE):
        figure = make()
        for path in paths:
            figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})


def learning(runs: Mapping[str, Sequence[dict[str, Any]]]) -> Figure:
    """Success in whole episodes and answers right against minutes, one line for the metrics of each run."""
    figure = Figure(figsize=(6.4, 2.8), layout="constrained")
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    for k, (run, lines) in enumerate(runs.items()):
        for axis, name, marker in zip(axes, ("evaluation/success", "accuracy"), (".", ""), strict=True):
            points = [(line["seconds"] / 60, 100 * line[name]) for line in lines if name in line]
            shade = str(0.6 * k / max(1, len(runs) - 1))
            axis.plot(*zip(*points, strict=True), color=shade, linewidth=1, label=run, marker=marker)
    axes[0].set(title="commands done in whole episodes", xlabel="minutes", ylabel="%", ylim=(0, 101))
    axes[1].set(title="questions right", xlabel="minutes")
    for axis in axes:
        axis.grid(alpha=0.3)
    if len(runs) > 1:
        axes[0].legend(loc="lower right")
    return figure


def teaching(rows: Sequence[dict[str, Any]]) -> Figure:
    """Success and accuracy with a taught word against the number of examples, with 95 % intervals over words."""
    figure = Figure(figsize=(4.2, 2.8), layout="constrained")
    axis = figure.subplots()
    for name, told, marker, fill in (
        ("success", "commands done", "o", "black"),
        ("accuracy", "questions right", "s", "white"),
    ):
        mean, low, high = (np.array([100 * row[name][part] for row in rows]) for part in ("mean", "low", "high"))
        look: dict[str, Any] = {"marker": marker, "color": "black", "mfc": fill, "capsize": 2}
        axis.errorbar(range(len(rows)), mean, (mean - low, high - mean), label=told, **look)
    axis.set_xticks(range(len(rows)), [str(row["examples"]) for row in rows])
    axis.set(xlabel="examples of the word", ylabel="%", ylim=(0, 101))
    axis.grid(alpha=0.3)
    axis.legend(loc="lower right")
    return figure

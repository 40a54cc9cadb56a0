"""The style of all figures, and the curves of training and of few-shot words."""

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
    """Draw a figure in the common style and write it."""
    with mpl.rc_context(rc=STYLE):
        figure = make()
        for path in paths:
            figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})


def learning(runs: Mapping[str, Sequence[dict[str, Any]]]) -> Figure:
    """Evaluated success rate and training QA accuracy against minutes, one line per run."""
    figure = Figure(figsize=(6.4, 2.8), layout="constrained")
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    for k, (run, lines) in enumerate(runs.items()):
        for axis, name, marker in zip(axes, ("eval/success_rate", "qa_accuracy"), (".", ""), strict=True):
            points = [(line["seconds"] / 60, 100 * line[name]) for line in lines if name in line]
            shade = str(0.6 * k / max(1, len(runs) - 1))
            axis.plot(*zip(*points, strict=True), color=shade, linewidth=1, label=run, marker=marker)
    axes[0].set(title="success rate, whole episodes", xlabel="minutes of training", ylabel="%", ylim=(0, 101))
    axes[1].set(title="QA accuracy", xlabel="minutes of training")
    for axis in axes:
        axis.grid(alpha=0.3)
    if len(runs) > 1:
        axes[0].legend(loc="lower right")
    return figure


def few_shot(means: dict[str, Any]) -> Figure:
    """Scores with a new word against the number of examples and of objects, with 95 % intervals over words."""
    figure = Figure(figsize=(6.4, 2.8), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    icons = {part: {row["examples"]: row[part] for row in means["random"] if row[part]} for part in ("shown", "other")}
    objects = {int(number): scores for number, scores in means["one_icon"].items()}
    for axis, points, of, color in (
        (left, icons["shown"], ", icons shown", "black"),
        (left, icons["other"], ", other icons", "0.6"),
        (right, objects, "", "black"),
    ):
        for name, label, marker, fill in (
            ("success_rate", "success rate", "o", color),
            ("qa_accuracy", "QA accuracy", "s", "white"),
        ):
            parts = [[100 * scores[name][part] for scores in points.values()] for part in ("mean", "low", "high")]
            mean, low, high = np.array(parts)
            style: dict[str, Any] = {"marker": marker, "color": color, "mfc": fill, "capsize": 2}
            axis.errorbar([*points], mean, (mean - low, high - mean), label=label + of, **style)
    left.set(xlabel="random examples of the word", ylabel="%", ylim=(0, 101), title="among five objects")
    right.set(xlabel="objects on the map", title="after one example, icon shown")
    for axis in (left, right):
        axis.grid(alpha=0.3)
        axis.legend(loc="lower right", fontsize="small")
    return figure

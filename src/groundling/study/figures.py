"""The figures of the study, from result files alone: no model is loaded."""

import itertools
import json
import textwrap
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from numpy.typing import NDArray

from groundling.study.ablation_tables import figure as ablations
from groundling.study.curves import learning, write
from groundling.study.tables import METHODS, Result, holdout, is_variant, ordered
from groundling.teacher.language import Language
from groundling.world.catalog import DISPLAY_PIXELS, Catalog
from groundling.world.rendering import draw

STYLES: dict[str, dict[str, Any]] = {
    "ours": {"color": "#000000", "linestyle": "-", "marker": "o"},
    "ca": {"color": "#0072b2", "linestyle": "--", "marker": "s"},
    "san": {"color": "#d55e00", "linestyle": "-.", "marker": "^"},
    "vl": {"color": "#777777", "linestyle": ":", "marker": "v"},
    "ce": {"color": "#aaaaaa", "linestyle": ":", "marker": "D"},
    "nava": {"color": "#009e73", "linestyle": (0, (5, 1, 1, 1)), "marker": "x"},
    "paper": {"color": "#e69f00", "linestyle": (0, (3, 1)), "marker": "*"},
    "paper_literal": {"color": "#f0c040", "linestyle": (0, (1, 2)), "marker": "1"},
}
"""Styles of the methods, distinct without color, too."""
OWN_STYLE: dict[str, Any] = {"color": "#cc79a7", "linestyle": (0, (1, 1)), "marker": "P"}
"""Style of models that are not of the study."""
LEVELS: dict[str, dict[str, Any]] = {
    "chance": {"color": "#999999", "linestyle": "--", "linewidth": 0.8},
    "oracle": {"color": "#999999", "linestyle": "-", "linewidth": 0.8},
}
"""Styles of the lowest and the highest level."""
HATCHES = dict(zip(METHODS, ("", "///", "\\\\\\", "...", "xxx", "++"), strict=True))
TOPIC_STYLES = (("color", "#d55e00", "s"), ("object", "#009e73", "^"), ("spatial relation", "#0072b2", "o"))
INK = (0.145, 0.388, 0.784)
"""The blue of attention maps, as on the page."""
COMMANDS = Language.paper().commands


def draw_all(results: Sequence[Result], representations: Path | None, out: Path, log: Callable[[str], None]) -> None:
    """Draw all figures for which there are results."""
    out.mkdir(parents=True, exist_ok=True)
    variants, results = [r for r in results if is_variant(r)], [r for r in results if not is_variant(r)]
    normal = [result for result in ordered(results) if result["split"] == "normal"]
    figures = {
        "learning": partial(learning, {r["name"]: r["curve"] for r in normal if r["method"] == "ours"}),
        "rewards": partial(rewards, normal),
        "methods": partial(methods, normal),
        "validation": partial(validation, normal),
        "zs1": partial(against_holdout, results, "zs1"),
        "zs2": partial(against_holdout, results, "zs2"),
    }
    if variants:
        figures["ablations"] = partial(ablations, [*results, *variants])
    if representations is not None:
        masks, contexts = np.load(representations / "masks.npz"), np.load(representations / "contexts.npz")
        examples = json.loads((representations / "examples.json").read_text("utf-8"))
        figures |= {
            "masks": partial(mask_distances, masks["distance"], masks["topic"]),
            "contexts": partial(word_contexts, contexts["plane"], contexts["topic"]),
            "attention": partial(word_attention, examples["attention"]),
            "steps": partial(step_by_step, examples["steps"]),
        }
    for name, make in figures.items():
        write(make, out / f"{name}.svg", out / f"{name}.png")
        log(name)


def rewards(normal: Sequence[Result]) -> Figure:
    """Reward per episode in training against environment steps: mean and range over seeds."""
    figure = Figure(figsize=(6.4, 3.0), layout="constrained")
    axis = figure.subplots()
    for method, runs in _by_method(normal).items():
        curves = [[(p["env_steps"], p["reward"]) for p in run["curve"] if "reward" in p] for run in runs]
        shortest = min(len(curve) for curve in curves)
        steps = np.array([step for step, _ in curves[0][:shortest]]) / 1000
        heights = np.array([[reward for _, reward in curve[:shortest]] for curve in curves])
        style = {name: value for name, value in STYLES.get(method, OWN_STYLE).items() if name != "marker"}
        axis.plot(steps, heights.mean(0), label=f"{method} ({len(runs)})", linewidth=1.2, **style)
        axis.fill_between(steps, heights.min(0), heights.max(0), color=style["color"], alpha=0.15, linewidth=0)
    axis.set(
        xlabel="thousands of environment steps",
        ylabel="reward per episode",
        title="training (in brackets: number of seeds)",
    )
    axis.grid(alpha=0.3)
    axis.legend(ncols=2)
    return figure


def validation(normal: Sequence[Result]) -> Figure:
    """Success rate and QA accuracy on validation episodes against environment steps, one line per run.

    It shows whether a method had stopped improving when its training ended.
    """
    figure = Figure(figsize=(7.4, 2.8), layout="constrained")
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    for method, runs in _by_method(normal).items():
        style = {name: value for name, value in STYLES.get(method, OWN_STYLE).items() if name != "marker"}
        for k, run in enumerate(runs):
            for axis, name in zip(axes, ("eval/success_rate", "eval/qa_accuracy"), strict=True):
                points = np.array(
                    [(line["env_steps"] / 1000, 100 * line[name]) for line in run["curve"] if name in line]
                )
                if len(points):
                    axis.plot(*points.T, linewidth=1, label=None if k else method, **style)
    axes[0].set(title="success rate", xlabel="thousands of environment steps", ylabel="%", ylim=(0, 101))
    axes[1].set(title="QA accuracy", xlabel="thousands of environment steps", xscale="log")
    for axis in axes:
        axis.grid(alpha=0.3)
        axis.xaxis.set_minor_formatter(NullFormatter())  # their labels would overlap
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper")
    return figure


def methods(normal: Sequence[Result]) -> Figure:
    """Success rate per command type, and QA accuracy, of each method on normal sentences; means over seeds."""
    figure = Figure(figsize=(8.0, 2.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(4, 1.4))
    groups = _by_method(normal)
    width = 0.8 / max(1, len(groups))
    for k, (method, runs) in enumerate(groups.items()):
        color, hatch = STYLES.get(method, OWN_STYLE)["color"], HATCHES.get(method, "oo")
        bars = {"color": "white", "edgecolor": color, "hatch": hatch, "width": width}
        means = [
            100 * np.mean([run["greedy"]["commands"][type_]["success_rate"]["mean"] for run in runs])
            for type_ in COMMANDS
        ]
        left.bar(np.arange(len(COMMANDS)) + k * width, means, label=method, **bars)
        answered = [run["greedy"]["natural"].get("qa_accuracy") for run in runs]
        if all(answered):  # the method has an answer head
            right.bar(k * width, 100 * np.mean([accuracy["mean"] for accuracy in answered]), **bars)
    for level, style in LEVELS.items():
        # All runs have the same test episodes; those of the first versions have no levels by type.
        for run in [run for run in normal if "commands" in run.get(level, {})][:1]:
            rates = [100 * run[level]["commands"][type_]["success_rate"]["mean"] for type_ in COMMANDS]
            starts = np.arange(len(COMMANDS)) - width / 2
            left.hlines(rates, starts, starts + width * len(groups), label=level, **style)
            right.axhline(100 * run[level]["qa_accuracy"]["mean"], **style)
    left.set_xticks(np.arange(len(COMMANDS)) + width * (len(groups) - 1) / 2, COMMANDS)
    left.set(ylabel="success rate, %", ylim=(0, 101))
    right.set(ylabel="QA accuracy, %", ylim=(0, 101), xticks=[])
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels) or 1)
    return figure


def against_holdout(results: Sequence[Result], split: str) -> Figure:
    """Reward and success rate per command type, and QA accuracy, against X; X = 0 is the normal setting."""
    figure = Figure(figsize=(9.0, 6.0), layout="constrained")
    axes = figure.subplots(3, len(COMMANDS), sharex=True)
    of_split = [result for result in ordered(results) if result["split"] in ("normal", split)]
    chosen = {m: runs for m, runs in _by_method(of_split).items() if any(holdout(run) for run in runs)}
    for method, runs in chosen.items():
        style = {**STYLES.get(method, OWN_STYLE), "markersize": 4, "linewidth": 1.1, "label": method}
        for column, type_ in enumerate(COMMANDS):
            of_type = [(holdout(run), run["greedy"]["commands"].get(type_, {})) for run in runs]
            for row, (name, scale) in enumerate((("reward", 1), ("success_rate", 100))):
                _plot(axes[row, column], _against(of_type, name), scale, style)
        whole = [(holdout(run), run["greedy"]["natural"]) for run in runs]
        _plot(axes[2, 0], _against(whole, "qa_accuracy"), 100, style)
    for level, line in LEVELS.items():
        _plot_level(
            axes,
            [result for result in of_split if "commands" in result.get(level, {})],
            level,
            {**line, "label": level},
        )
    for column, type_ in enumerate(COMMANDS):
        axes[0, column].set(title=type_)
        axes[1, column].set(ylim=(-2, 102))
        axes[1, column].tick_params(labelbottom=True)
    axes[0, 0].set(ylabel="reward per episode")
    axes[1, 0].set(ylabel="success rate, %", xlabel="X, % held out")
    axes[2, 0].set(ylabel="QA accuracy, %", xlabel="X, % held out", ylim=(-2, 102))
    for axis in axes[2, 1:]:
        axis.set_axis_off()
    for axis in (*axes[:2].flat, axes[2, 0]):
        axis.grid(alpha=0.3)
    axes[2, 1].legend(*axes[2, 0].get_legend_handles_labels(), loc="center left", title=split.upper())
    return figure


def _plot_level(axes: NDArray[Any], runs: Sequence[Result], level: str, style: dict[str, Any]) -> None:
    """Chance or oracle against X in each plot of `against_holdout`; methods of one X have the same test episodes."""
    by_x = {holdout(run): run[level] for run in runs}
    for column, type_ in enumerate(COMMANDS):
        of_type = [(x, found["commands"].get(type_, {})) for x, found in by_x.items()]
        for row, (name, scale) in enumerate((("reward", 1), ("success_rate", 100))):
            _plot(axes[row, column], _against(of_type, name), scale, style)
    _plot(axes[2, 0], _against([*by_x.items()], "qa_accuracy"), 100, style)


def mask_distances(distance: NDArray[np.float32], topics: NDArray[np.uint8]) -> Figure:
    """Distances between the channel masks of questions, grouped by answer and ordered by topic."""
    figure = Figure(figsize=(4.8, 4.2), layout="constrained")
    axis = figure.subplots()
    image = axis.imshow(distance, cmap="viridis")
    ends = np.flatnonzero(np.diff(topics)) + 1
    bounds = [0, *ends.tolist(), len(topics)]
    for end in ends:
        axis.axhline(end - 0.5, color="white", linewidth=0.8)
        axis.axvline(end - 0.5, color="white", linewidth=0.8)
    middles = [(low + high - 1) / 2 for low, high in itertools.pairwise(bounds)]
    names = [name.replace(" ", "\n") for name, _, _ in TOPIC_STYLES]
    axis.set_xticks(middles, names)
    axis.set_yticks(middles, names)
    axis.tick_params(length=0)
    figure.colorbar(image, label="distance of channel masks")
    return figure


def word_contexts(plane: NDArray[np.float32], topics: NDArray[np.uint8]) -> Figure:
    """Contexts of words in the plane: content words by topic, and grammatical words."""
    figure = Figure(figsize=(5.2, 4.6), layout="constrained")
    axis = figure.subplots()
    styles = (*TOPIC_STYLES, ("grammatical", "#000000", "."))
    for topic in (3, 0, 1, 2):
        name, color, marker = styles[topic]
        points = plane[topics == topic]
        axis.scatter(
            points[:, 0],
            points[:, 1],
            s=4,
            c=color,
            marker=marker,
            label=name,
            linewidths=0,
            alpha=0.5,
            rasterized=True,
        )
    axis.set(xticks=[], yticks=[])
    axis.legend(loc="upper right", markerscale=3)
    return figure


def word_attention(examples: Sequence[dict[str, Any]]) -> Figure:
    """Word attention of some questions, summed over the steps of the interpreter."""
    figure = Figure(figsize=(7.6, 0.42 * len(examples) + 0.3), layout="constrained")
    axis = figure.subplots()
    longest = max(len(example["words"]) for example in examples)
    heat = np.full((len(examples), longest), np.nan)
    for row, example in enumerate(examples):
        fraction = np.array(example["attention"]) / sum(example["attention"])
        heat[row, : len(fraction)] = fraction
        for column, (word, weight) in enumerate(zip(example["words"], fraction, strict=True)):
            axis.text(column, row, word, ha="center", va="center", fontsize=7.5, color="w" if weight > 0.5 else "k")
    image = axis.imshow(heat, cmap="Greys", vmin=0, vmax=1, aspect="auto")
    axis.set_axis_off()
    figure.colorbar(image, label="fraction of attention")
    return figure


def step_by_step(examples: Sequence[dict[str, Any]]) -> Figure:
    """Six sentences on their maps: attention, words and gate of each step, the terrain and the values."""
    figure = Figure(figsize=(10.0, 2.25 * len(examples)), layout="constrained")
    rows = figure.subplots(len(examples), 5)
    pictures = Catalog.default().pictures[DISPLAY_PIXELS]
    for axes, example in zip(rows, examples, strict=True):
        picture = draw(np.array([example["cells"]], np.int16), pictures)[0]
        for k, axis in enumerate(axes[:3]):
            _overlaid(axis, picture, np.array(example["steps"][k]), annotate=True)
            weights = example["attention"][k]
            most = max(weights)
            label = [f"{w} {o:.2f}" for w, o in zip(example["words"], weights, strict=True) if o > 0.2 or o == most]
            axis.set_title(f"step {k + 1}, gate {example['gates'][k]:.2f}\n{', '.join(label)}", fontsize=7)
        _overlaid(axes[3], picture, np.array(example["terrain"]))
        axes[3].set_title("terrain", fontsize=7)
        if "value" in example:
            _overlaid(axes[4], picture, np.array(example["value"]))
            axes[4].set_title("values", fontsize=7)
        else:
            axes[4].imshow(picture)
            axes[4].set_title(f"answer: {example['answer']}", fontsize=7)
        sentence = " ".join(example["words"]).replace(" .", ".").replace(" ?", "?")
        axes[0].set_ylabel(textwrap.fill(sentence, 26), fontsize=7)
        for axis in axes:
            axis.set(xticks=[], yticks=[])
            for spine in axis.spines.values():
                spine.set_visible(False)
    return figure


def _overlaid(axis: Axes, picture: NDArray[np.uint8], heat: NDArray[np.float64], annotate: bool = False) -> None:
    """A map from 0 to 1 over a picture, in blue; with `annotate`, values above 0.1 are written into the cells."""
    axis.imshow(picture)
    height, width = picture.shape[:2]
    blue = np.full((*heat.shape, 4), (*INK, 0.0))
    blue[..., 3] = 0.75 * heat.clip(0, 1)
    axis.imshow(blue, extent=(-0.5, width - 0.5, height - 0.5, -0.5))
    for row, column in np.argwhere(heat > 0.1) if annotate else ():
        at = (column + 0.95) * width / heat.shape[1], (row + 0.93) * height / heat.shape[0]
        paper = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
        axis.text(*at, f"{heat[row, column]:.2f}", fontsize=5, ha="right", va="bottom", bbox=paper)


def _by_method(results: Sequence[Result]) -> dict[str, list[Result]]:
    groups = defaultdict(list)
    for result in results:
        groups[result["method"]].append(result)
    order = dict.fromkeys([*METHODS, *groups])  # models of your own come last
    return {method: groups[method] for method in order if method in groups}


def _against(scores: Sequence[tuple[float, dict[str, Any]]], name: str) -> list[tuple[float, ...]]:
    """X, mean, low and high of an estimate, averaged over the runs of each X."""
    points = defaultdict(list)
    for x, found in scores:
        if name in found:
            mean = found[name]["mean"]  # a single value has no interval
            points[x].append(
                [mean if found[name][part] is None else found[name][part] for part in ("mean", "low", "high")]
            )
    return [(x, *np.mean(values, axis=0).tolist()) for x, values in sorted(points.items())]


def _plot(axis: Axes, points: Sequence[tuple[float, ...]], scale: float, style: dict[str, Any]) -> None:
    if points:
        x, mean, low, high = np.array(points).T * np.array([[1], [scale], [scale], [scale]])
        axis.errorbar(x, mean, (mean - low, high - mean), capsize=2, **style)

"""Table and figure of the ablations, from result files alone."""

from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

SPLITS = (("normal", 50.0), ("zs2", 90.0))
SEEDS = 3
PAPER, OURS = "paper", "ours"
"""The ends of the ladder."""
LADDER = {
    "step1.stages": "QA pretraining, then PPO, instead of actor-critic from replay",
    "step2.temperature": "learned temperature of the word attention",
    "step3.gate_bound": "bounded gates that start closed",
    "step4.per_word": "detection of each word, with bounded scores, instead of their mixture",
    "step5.sharpness": "learned exponent of the attention map",
    "step6.planner": "value iteration with supervised terrain instead of an MLP",
    "step7.losses": "hindsight, naming, reading and gate losses",
    "step8.salience": "salience of answer words, and coverage",
    "step9.word_dropout": "word dropout and weight decay of the reader: this is ours",
}
"""From the paper's recipe to ours: each step adds one change to all before it."""
LEAVE_ONE_OUT = {
    "without.no_pretraining": "no QA pretraining",
    "without.no_temperature": "fixed temperature 1 of the word attention",
    "without.no_gate_bound": "unbounded gates",
    "without.mixture": "detection of a mixture of words",
    "without.no_detection_bound": "unbounded detection scores",
    "without.no_sharpness": "no exponent of the attention map",
    "without.mlp_planner": "the paper's MLP planner",
    "without.no_salience": "no salience",
    "without.no_coverage": "no coverage",
    "without.no_hindsight": "no hindsight loss",
    "without.no_naming": "no naming loss",
    "without.rewarded_terrain": "terrain trained by rewards",
    "without.no_word_dropout": "no word dropout",
    "without.no_weight_decay": "no weight decay",
    "without.paper_init": "the paper's literal initialization",
    "without.raw_pixels": "pixels from 0 to 1",
}
"""Ours with one change undone."""
HEADER = ("recipe", "change", "normal NAV %", "normal QA %", "ZS2-90 NAV %", "ZS2-90 QA %", "seeds")
METRICS = (("success_rate", "success rate, %"), ("qa_accuracy", "QA accuracy, %"))
Result = dict[str, Any]


def recipes() -> dict[str, str]:
    """What each recipe is, by its label, in the order of the table."""
    steps = {label: f"+ {text}" for label, text in LADDER.items()}
    _, last = steps.popitem()
    return {PAPER: "the preset `paper`", **steps, OURS: last, **LEAVE_ONE_OUT}


def rows(results: Iterable[Result]) -> list[tuple[str, ...]]:
    """One row per recipe with results: mean over seeds, with minimum and maximum."""
    found = list(results)
    lines = []
    for label, text in recipes().items():
        cells = [scores(found, label, *split, name) for split in SPLITS for name, _ in METRICS]
        if any(cells):
            lines.append((label, text, *map(_range, cells), "/".join(str(len(cell)) for cell in cells[::2])))
    return lines


def scores(results: Iterable[Result], label: str, split: str, holdout: float, name: str) -> list[float]:
    """The scores of a recipe on a split in percent, one per seed."""
    return [
        100 * result["greedy"]["natural"][name]["mean"]
        for result in results
        if (result["method"], result["split"]) == (label, split)
        and (split == "normal" or result["holdout"] == holdout)
        and result["seed"] < SEEDS
        and name in result["greedy"]["natural"]
    ]


def _range(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.1f} ({min(values):.1f}-{max(values):.1f})" if values else "-"


def figure(results: Iterable[Result]) -> Figure:
    """Success rate and QA accuracy of each recipe: a mark per seed, and their mean as a line."""
    found = list(results)
    labels = [label for label in recipes() if any(result["method"] == label for result in found)]
    drawn = Figure(figsize=(9.0, 0.28 * len(labels) + 1.0), layout="constrained")
    columns = drawn.subplots(1, 4, sharey=True)
    cells = [(split, metric) for split in SPLITS for metric in METRICS]
    for axis, ((split, holdout), (name, title)) in zip(columns, cells, strict=True):
        for row, label in enumerate(labels):
            _draw_row(axis, row, scores(found, label, split, holdout, name))
        where = "normal" if split == "normal" else f"{split.upper()}, X = {holdout:g}"
        axis.set(title=where, xlabel=title, xlim=(-2, 102))
        axis.grid(alpha=0.3)
    texts = recipes()
    columns[0].set_yticks(range(len(labels)), [texts[label].replace("`", "") for label in labels], fontsize="small")
    columns[0].invert_yaxis()
    return drawn


def _draw_row(axis: Axes, row: int, values: Sequence[float]) -> None:
    if values:
        mean = sum(values) / len(values)
        axis.plot([mean, mean], [row - 0.3, row + 0.3], color="black", linewidth=1.5)
        axis.plot(values, [row] * len(values), "o", color="black", mfc="white", markersize=4)

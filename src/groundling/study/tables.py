"""The tables of the study, from result files alone."""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

Result = dict[str, Any]
METHODS = ("ours", "ca", "san", "vl", "ce", "nava")
SPLITS = ("normal", "zs1", "zs2")
PUBLISHED = {
    ("ours", "normal", 0.0): (90.5, 99.7),
    ("ours", "zs1", 50.0): (84.3, 97.8),
    ("ours", "zs2", 50.0): (85.2, 97.7),
    ("ours", "zs2", 90.0): (60.0, 83.0),
}
"""The paper's success rates and QA accuracies in percent, where it gives numbers."""


def ordered(results: Iterable[Result]) -> list[Result]:
    """Results in the paper's order: by split, then holdout percentage, then method and seed."""

    def rank(result: Result) -> tuple[int, float, int, str, int]:
        method = result["method"]
        known = METHODS.index(method) if method in METHODS else len(METHODS)  # models of your own come last
        return SPLITS.index(result["split"]), holdout(result), known, method, result["seed"]

    return sorted((result for result in results if result["split"] in SPLITS), key=rank)


def holdout(result: Result) -> float:
    """X, the percentage held out; 0 for normal sentences."""
    return 0.0 if result["split"] == "normal" else float(result["holdout"])


def is_variant(result: Result) -> bool:
    """Whether it is a run of a search, a reading or an ablation, which have tables of their own."""
    method = str(result["method"])
    return "." in method and ":" not in method


def validation_score(result: Result) -> float | None:
    """The best mean of success rate and QA accuracy in the evaluations during training; None without evaluations."""
    names = ("eval/success_rate", "eval/qa_accuracy")
    found = [[line[name] for name in names if name in line] for line in result["curve"]]
    return max((sum(scores) / len(scores) for scores in found if scores), default=None)


HEADER = ("run", "NAV %", "QA %", "attention", "paper", "frames", "minutes", "leaks")
"""`attention`: fraction on the true cells, for NAV/QA; `paper`: its percentages, for NAV/QA; `frames`: thousands of
observations learned from; `minutes`: CPU time of training (runs of version 0.1: training time)."""


def rows(results: Iterable[Result]) -> list[tuple[str, ...]]:
    """One row per run: means over whole episodes with the greedy policy, with 95 % intervals.

    The runs of each split come after chance (a random walk, the most frequent answer) and an oracle on the same
    episodes, where the results have them.
    """
    lines: list[tuple[str, ...]] = []
    levels_of = None
    for result in ordered(results):
        cell = result["split"], holdout(result)
        if cell != levels_of and "oracle" in result:
            levels_of = cell
            lines += [_level(result, "chance"), _level(result, "oracle")]
        lines.append(_row(result))
    return lines


def _level(result: Result, level: str) -> tuple[str, ...]:
    """The row of chance or oracle on the split of a result."""
    split = result["split"] if result["split"] == "normal" else f"{result['split']}-{result['holdout']:g}"
    scores = result[level]
    shown = _percent(scores["success_rate"], 1), _percent(scores.get("qa_accuracy"), 2)
    return (f"{level}, {split}", *shown, *["-"] * (len(HEADER) - 3))


def _row(result: Result) -> tuple[str, ...]:
    whole, leaks = result["greedy"]["natural"], result["leaks"]
    published = PUBLISHED.get((result["method"], result["split"], holdout(result)))
    return (
        result["name"],
        _percent(whole.get("success_rate"), 1),
        _percent(whole.get("qa_accuracy"), 2),  # close to 100, where one digit would hide differences
        f"{_fraction(whole.get('command_attention'))}/{_fraction(whole.get('question_attention'))}",
        "-" if published is None else "{:g}/{:g}".format(*published),
        f"{result['frames'] / 1000:,.0f}" if "frames" in result else "-",
        f"{result.get('cpu_minutes', result['minutes']):.1f}",
        str(leaks["leaked"] + leaks["unknown"]),
    )


OVER_SEEDS = ("method, split", "seeds", "NAV %", "QA %", "lowest command type", "lowest question type", "reading")
"""`NAV %` and `QA %`: lowest / median / highest of the seeds, each of which has its own draw of what is held out;
`reading`: lowest fraction of interpretation steps whose most attended word is a content word / lowest attention mass on
content words, over commands and questions."""
READING = ("content_word_steps", "content_word_mass")


def over_seeds(results: Iterable[Result]) -> list[tuple[str, ...]]:
    """One row per method and split: how much its seeds differ, and the worst sentence type of the worst seed."""
    cells: dict[str, list[Result]] = {}
    for result in ordered(results):
        cells.setdefault(result["name"].rpartition("-")[0], []).append(result)
    return [
        (
            name,
            str(len(seeds)),
            _spread([result["greedy"]["natural"].get("success_rate") for result in seeds], 1),
            _spread([result["greedy"]["natural"].get("qa_accuracy") for result in seeds], 2),
            _lowest([result["greedy"]["commands"] for result in seeds], "success_rate"),
            _lowest([result["questions"] for result in seeds], "qa_accuracy"),
            _reading([result["greedy"]["natural"] for result in seeds]),
        )
        for name, seeds in cells.items()
    ]


def _spread(estimates: Sequence[dict[str, float] | None], digits: int) -> str:
    """Lowest / median / highest in percent."""
    means = [100 * estimate["mean"] for estimate in estimates if estimate is not None]
    return " / ".join(f"{f(means):.{digits}f}" for f in (min, median, max)) if means else "-"


def _lowest(parts: Sequence[dict[str, Any]], name: str) -> str:
    """The lowest score of a sentence type over all seeds, in percent, and the type."""
    scores = [(found[name]["mean"], type_) for part in parts for type_, found in part.items() if name in found]
    return f"{100 * min(scores)[0]:.1f} {min(scores)[1]}" if scores else "-"


def _reading(parts: Sequence[dict[str, Any]]) -> str:
    found = [
        [
            part[f"{kind}_{name}"]["mean"]
            for part in parts
            for kind in ("command", "question")
            if f"{kind}_{name}" in part
        ]
        for name in READING
    ]
    return " / ".join(f"{100 * min(values):.0f}" for values in found) if all(found) else "-"


BY_TYPE = (
    ("commands", "success_rate", "success rate, %"),
    ("questions", "qa_accuracy", "QA accuracy, %"),
    ("commands", "command_attention", "attention on the target of the command, %"),
    ("questions", "question_attention", "attention on the cells that the question refers to, %"),
)
"""The tables by sentence type: part of the evaluation, measure, title."""


def by_type(results: Iterable[Result], part: str, name: str) -> tuple[list[str], list[tuple[str, ...]]]:
    """The sentence types of a `part`, commands or questions, and the percentages of each run."""
    chosen = ordered(results)
    parts = [result["greedy"]["commands"] if part == "commands" else result["questions"] for result in chosen]
    types = list(dict.fromkeys(type_ for found in parts for type_ in found))
    lines = [
        (result["name"], *(f"{100 * found[type_][name]['mean']:.1f}" if type_ in found else "-" for type_ in types))
        for result, found in zip(chosen, parts, strict=True)
        if any(name in scores for scores in found.values())
    ]
    return types, lines


WORDS = {
    "object": ("nav_obj", "rec_obj2col", "rec_obj2loc"),
    "color": ("rec_col2obj", "rec_col2loc"),
    "direction": ("rec_loc2obj", "rec_loc2col"),
    "color, object": ("nav_col_obj", "rec_col_obj2loc"),
    "direction, object": ("nav_nr_obj", "rec_loc_obj2obj", "rec_loc_obj2col"),
    "between two objects": ("nav_bw_obj", "rec_bw_obj2obj", "rec_bw_obj2loc", "rec_bw_obj2col"),
}
"""The sentence types by their content words."""


def attention_by_words(results: Iterable[Result]) -> list[tuple[str, ...]]:
    """For each run with attention: the mean attention on the true cells, by content words of the sentence."""
    lines = []
    for result in ordered(results):
        found = {
            type_: scores[name]["mean"]
            for name, part in (
                ("command_attention", result["greedy"]["commands"]),
                ("question_attention", result["questions"]),
            )
            for type_, scores in part.items()
            if name in scores
        }
        means = [[found[type_] for type_ in types if type_ in found] for types in WORDS.values()]
        if found:
            lines.append((result["name"], *(f"{100 * sum(m) / len(m):.1f}" if m else "-" for m in means)))
    return lines


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    body = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in body) + "\n"


def _percent(estimate: dict[str, float] | None, digits: int) -> str:
    if estimate is None:
        return "-"
    mean, low, high = (f"{100 * estimate[name]:.{digits}f}" for name in ("mean", "low", "high"))
    return f"{mean} ({low}-{high})"


def _fraction(estimate: dict[str, float] | None) -> str:
    return "-" if estimate is None else f"{estimate['mean']:.2f}"

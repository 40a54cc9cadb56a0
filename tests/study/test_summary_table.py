"""The table of methods by split has the means of the results that it was given."""

from typing import Any

from groundling.study.summary_table import all_tables, summary


def estimate(mean: float) -> dict[str, float]:
    return {"mean": mean, "low": mean, "high": mean}


def result(method: str, split: str, holdout: float, nav: float, qa: float | None, **levels: Any) -> dict[str, Any]:
    natural = {"success_rate": estimate(nav)} | ({} if qa is None else {"qa_accuracy": estimate(qa)})
    whole = {"greedy": {"natural": natural, "commands": {}}, "questions": {}, "seed": 0, "minutes": 1.0}
    name = f"{method}-{split}-{holdout:g}-0"
    leaks = {"leaked": 0, "unknown": 0}
    return {
        **whole,
        "name": name,
        "frames": 1000,
        "method": method,
        "split": split,
        "holdout": holdout,
        "leaks": leaks,
        **levels,
    }


CHANCE = {"success_rate": estimate(0.25), "qa_accuracy": estimate(0.1)}
ORACLE = {"success_rate": estimate(1.0), "qa_accuracy": estimate(1.0)}
RESULTS = [
    result("ours", "normal", 0.0, 0.99, 1.0, chance=CHANCE),
    result("ours", "normal", 0.0, 0.97, 0.98),
    result("ours", "zs2", 90.0, 0.9, 0.8, chance=CHANCE, oracle=ORACLE),
    result("nava", "normal", 0.0, 0.4, None),
    result("san", "zs2", 50.0, 0.3, 0.4),
    result("san", "zs2", 12.5, 0.7, 0.7),  # not a column
]


def test_methods_stand_between_chance_and_oracle() -> None:
    assert summary(RESULTS) == [
        ("chance", "25.0 / 10.0", "-", "-", "25.0 / 10.0"),
        ("NAVA", "40.0 / -", "-", "-", "-"),
        ("SAN", "-", "-", "30.0 / 40.0", "-"),
        ("the paper", "90.5 / 99.7", "84.3 / 97.8", "85.2 / 97.7", "60 / 83"),
        ("**Groundling**", "98.0 / 99.0", "-", "-", "90.0 / 80.0"),
        ("oracle", "-", "-", "-", "100.0 / 100.0"),
    ]


def test_tables_have_names() -> None:
    assert list(all_tables(RESULTS)) == ["summary", "runs", "seeds", "types"]

"""Result files of the study are checked when they are read."""

import json
from pathlib import Path
from typing import Any

import pytest

from groundling.errors import InputError
from groundling.study.result_store import Store, check_result

RESULT = json.loads((Path(__file__).parents[1] / "data" / "study-1" / "vl-normal-0.json").read_text("utf-8"))
ESTIMATE = {"mean": 0.5, "low": 0.4, "high": 0.6}


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("format", "groundling-study-2", "format must be 'groundling-study-1', got \"groundling-study-2\""),
        ("seed", "0", 'seed must be of type int, got "0"'),
        ("leaks", {"leaked": 0}, "leaks must have leaked and unknown, got"),
        ("greedy", {"natural": {}}, "greedy must have natural and commands, got"),
        ("greedy", {"natural": 3, "commands": {}}, "greedy must be of type dict, got 3"),
        (
            "questions",
            {"rec_loc2obj": {"qa_accuracy": {"mean": 0.5}}},
            "qa_accuracy must have the numbers mean, low and",
        ),
        ("chance", {"answer": "brown"}, "chance must have success_rate, got"),
        ("oracle", {"success_rate": ESTIMATE | {"low": None}}, "oracle must have the numbers mean, low and high"),
        ("curve", [{"seconds": "1"}], "curve.*must be of type float"),
    ],
)
def test_damaged_result_is_refused(part: str, value: Any, message: str) -> None:
    assert check_result(RESULT, "result.json") == RESULT
    with pytest.raises(InputError, match=f"result.json: .*({message})"):
        check_result({**RESULT, part: value}, "result.json")


def test_what_is_not_known_is_kept() -> None:
    more = {**RESULT, "chance": {"success_rate": ESTIMATE, "answer": "brown"}, "later": [1]}
    assert check_result(more, "result.json") == more


def test_unreadable_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"run\.json.*cannot be read"):
        Store(str(tmp_path)).results()

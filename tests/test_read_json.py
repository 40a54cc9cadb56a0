"""Files of plain data: limits are exact, types are checked, and messages say why a file cannot be read."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from groundling.errors import InputError
from groundling.read_json import MAX_DEPTH, from_plain, parse_json, read_json, read_text


def test_limits_of_size_and_depth_are_exact(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text("[1, 2]")
    assert read_json(path, "file", max_bytes=6) == [1, 2]
    with pytest.raises(InputError, match=r"file .*: must have at most 5 bytes"):
        read_json(path, "file", max_bytes=5)
    assert parse_json("[" * MAX_DEPTH + "]" * MAX_DEPTH, "text")
    with pytest.raises(InputError, match="text: JSON must be nested at most 64 levels deep"):
        parse_json("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "text")


def test_message_says_why_a_file_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    with pytest.raises(InputError, match=r"file .*: no such file"):
        read_text(path, "file")
    path.write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"cannot be read \('utf-8' codec can't decode byte 0xff"):
        read_text(path, "file")
    with pytest.raises(InputError, match=r"cannot be read \(File name too long\)"):
        read_text(tmp_path / ("x" * 300), "file")


@dataclass
class Plain:
    pair: tuple[int, int] = (0, 0)
    numbers: tuple[float, ...] = ()
    name: str | None = None
    kind: Literal["a", "b"] = "a"


def test_fields_are_checked_by_type() -> None:
    assert from_plain(Plain, {"pair": [1, 2], "numbers": [1, 2.5, 3]}, "plain") == Plain((1, 2), (1.0, 2.5, 3.0))
    assert from_plain(Plain, {"name": None, "kind": "b"}, "plain") == Plain(kind="b")
    for record, message in (
        ({"pair": [1, 2, 3]}, r"plain: pair must be of type tuple, got \[1, 2, 3\]"),
        ({"pair": [1]}, r"plain: pair must be of type tuple, got \[1\]"),
        ({"pair": [1, 2.5]}, r"plain: pair must be of type int, got 2\.5"),
        ({"numbers": [True]}, "plain: numbers must be of type float, got true"),
        ({"numbers": [10**400]}, "plain: numbers must be of type float, got 1000"),  # no float can hold it
        ({"name": 3}, "plain: name must be of type str, got 3"),
        ({"kind": "c"}, 'plain: kind must be of type .*, got "c"'),
        ({"nam": "x"}, "plain has no field \"nam\", did you mean 'name'"),
        ([], r"plain must be a JSON object, got \[\]"),
    ):
        with pytest.raises(InputError, match=message):
            from_plain(Plain, record, "plain")

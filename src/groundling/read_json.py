"""Reading JSON that may be damaged or hostile: every fault is an InputError, and nothing large is quoted or built."""

import dataclasses
import json
import types
import typing
from pathlib import Path
from typing import Any, TypeVar

from groundling.errors import InputError, is_finite, nearest, quote

T = TypeVar("T")
MAX_BYTES = 64 << 20
MAX_DEPTH = 64
MAX_PATH = 400
"""Characters of a path in an error message."""


def parse_json(text: str, what: str) -> Any:
    """The value of a JSON text with finite numbers and bounded depth; `what` names it in errors."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:  # ValueError: also an integer with thousands of digits
        raise InputError(f"{what}: not valid JSON ({str(error)[:80]})") from None
    if _depth(value) > MAX_DEPTH:
        raise InputError(f"{what}: JSON must be nested at most {MAX_DEPTH} levels deep")
    return value


def read_text(path: Path, what: str, max_bytes: int = MAX_BYTES) -> str:
    """The text of a regular file of at most `max_bytes`."""
    try:
        if not path.is_file():
            raise InputError(f"{what} {quote(str(path), MAX_PATH)}: no such file")
        if path.stat().st_size > max_bytes:
            raise InputError(f"{what} {quote(str(path), MAX_PATH)}: must have at most {max_bytes:,} bytes")
        return path.read_text("utf-8")
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or a null character in the path
        if isinstance(error, InputError):
            raise
        raise InputError(f"{what} {quote(str(path), MAX_PATH)}: cannot be read ({reason(error)})") from None


def read_json(path: Path, what: str, max_bytes: int = MAX_BYTES) -> Any:
    """The value of a JSON file."""
    return parse_json(read_text(path, what, max_bytes), f"{what} {quote(str(path), MAX_PATH)}")


def reason(error: Exception) -> str:
    """Why a file cannot be read or written, in a few words."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)[:80]


def from_plain(kind: type[T], record: Any, what: str) -> T:
    """A dataclass from plain data, with the dataclasses in it; fields are checked by name and by type."""
    if not isinstance(record, dict):
        raise InputError(f"{what} must be a JSON object, got {quote(record)}")
    hints = typing.get_type_hints(kind)
    known = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    values = {}
    for name, value in record.items():
        if name not in known:
            raise InputError(f"{what} has no field {quote(name)}{nearest(str(name)[:40], known)}")
        values[name] = _typed(hints[name], value, f"{what}: {name}")
    try:
        return kind(**values)
    except TypeError as error:  # a field without a default is missing
        raise InputError(f"{what}: {error}") from None


def _typed(hint: Any, value: Any, what: str) -> Any:
    """A value of plain data as a type: dataclass, number, string, bool, Literal, tuple, dict, or a union with None."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        (inner,) = (argument for argument in arguments if argument is not type(None))
        return _typed(inner, value, what)
    if hint is Any:
        return value
    if dataclasses.is_dataclass(hint):
        return from_plain(hint, value, what)  # type: ignore[arg-type]
    if origin is tuple and isinstance(value, list | tuple):
        kinds = [arguments[0]] * len(value) if arguments[-1] is ... else list(arguments)
        if len(kinds) == len(value):
            return tuple(_typed(inner, part, what) for inner, part in zip(kinds, value, strict=True))
    elif origin is dict and isinstance(value, dict):
        return {str(key): _typed(arguments[1], part, what) for key, part in value.items()}
    elif origin is typing.Literal and value in arguments:
        return value
    elif hint is float and is_finite(value):
        return float(value)
    elif hint in (int, str, bool) and type(value) is hint:
        return value
    raise InputError(f"{what} must be of type {getattr(hint, '__name__', hint)}, got {quote(value)}")


def _depth(value: Any) -> int:
    """How deep a value of JSON is nested, counted without recursion."""
    depth, level = 0, [value]
    while level and depth <= MAX_DEPTH:
        containers = [part for part in level if isinstance(part, dict | list)]
        level = [inner for part in containers for inner in (part.values() if isinstance(part, dict) else part)]
        depth += 1
    return depth


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a finite number")

"""Language files: their format and limits, the tables of a file, and errors that name file and line."""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from groundling.errors import InputError, cut, nearest, show

FORMAT = "groundling-language-1"
MAX_WORDS = 24
"""Words of a sentence, final mark included."""
MAX_TEMPLATES = 1000
"""Wordings of a sentence type."""
MAX_ALL_TEMPLATES = 4000
"""Wordings of a language; all pairs of one length are compared."""
MAX_TYPES = 100
MAX_REFERENCES = 200
MAX_MESSAGE = 400
MAX_STEPS = 3
"""Steps from cell to cell in a reference."""
MAX_DESCRIPTION = 4
"""Words that describe one object."""
MAX_VALUES = 254
"""Words of an attribute other than the object's class."""
MAX_ATTRIBUTES = 6
OBJECT, COLOR, DIRECTION, RELATION = "object", "color", "direction", "relation"
"""Word classes that the world gives a meaning to. Relations are content words of fixed phrases, such as `between`."""
SOURCES = ("icon", "place", "map")
"""What an attribute belongs to: an icon, a place of the map, or an object on its map (a compiled rule computes it)."""
TABLES = ("words", "slots", "attributes", "references", "phrases", "frames", "types", "translate")
TYPE_KEYS = ("reference", "asked", "cell", "frames")


@dataclass(frozen=True)
class Source:
    """Where a language was read from, for its errors."""

    name: str
    text: str
    folder: Path | None = None

    table: str = ""
    """The table that is being read."""

    def within(self, table: str) -> "Source":
        """The same source, while a table is read."""
        return replace(self, table=table)

    def error(self, key: str, message: str) -> InputError:
        """An error that names the line of a key, if the text has it: first in the table that is being read."""
        lines = list(enumerate(self.text.splitlines(), 1))
        header = re.compile(rf"\s*\[\s*{re.escape(self.table)}\s*[\].]")
        in_table, is_within = [], False
        for number, line in lines:
            if line.lstrip().startswith("[") and "=" not in line:
                is_within = header.match(line) is not None
            if is_within:
                in_table.append((number, line))
        at_start = re.compile(rf'\s*"?{re.escape(key)}"?\s*=')
        found = [number for part in (in_table, lines) for number, line in part if at_start.match(line)]
        found += [number for part in (in_table, lines) for number, line in part if key in line]
        where = f"{self.name}, line {found[0]}" if found else self.name
        return InputError(f"{where}: {cut(message, MAX_MESSAGE)}")


def read_tables(source: Source, paper: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """The tables of a file, after those of the paper's language if it extends that; `"key+"` adds, `key` replaces."""
    try:
        own = tomllib.loads(source.text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{source.name}: not a TOML file ({cut(str(error), 120)})") from None
    if own.get("format") != FORMAT:
        raise source.error("format", f'the first line must be `format = "{FORMAT}"`, got {show(own.get("format"))}')
    base: dict[str, Any] = {"nothing": "nothing"}
    extends = own.pop("extends", None)
    if extends is not None:
        if extends != "paper":
            raise source.error("extends", f'extends must be "paper", got {show(extends)}')
        base = dict(paper())
    for key, value in own.items():
        if key not in ("format", "nothing", *TABLES):
            hint = nearest(key[:40], TABLES)
            raise source.error(key, f"keys must be format, extends, nothing, {', '.join(TABLES)}, got {key!r}{hint}")
        if key not in TABLES:
            if not isinstance(value, str):
                raise source.error(key, f"{key} must be a string, got {show(value)}")
            base[key] = value
        elif not isinstance(value, dict):
            raise source.error(key, f"[{key}] must be a table, got {show(value)}")
        else:
            base[key] = _merged(base.get(key, {}), value, source)
    for key in ("words", "slots", "references", "frames", "types"):
        if key not in base:
            raise InputError(f'{source.name}: it must have a table [{key}]; or write `extends = "paper"`')
    return base


def _merged(base: dict[str, Any], own: dict[str, Any], source: Source) -> dict[str, Any]:
    merged = dict(base)
    for key, value in own.items():
        name = key.removesuffix("+")
        if name == key:
            merged[name] = value
        elif isinstance(merged.get(name), str) and isinstance(value, str):
            merged[name] = f"{merged[name]} {value}"
        elif isinstance(merged.get(name), list) and isinstance(value, list):
            merged[name] = [*merged[name], *value]
        else:
            raise source.error(key, f"{key} must add to a string or list of the same name, got {show(value)}")
    return merged

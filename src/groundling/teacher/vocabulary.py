"""Words, slots and attributes of a language file."""

import importlib.util
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from groundling.errors import cut, nearest, show
from groundling.teacher.language_file import COLOR, DIRECTION, MAX_ATTRIBUTES, MAX_VALUES, OBJECT, SOURCES, Source
from groundling.teacher.types import Attribute
from groundling.world.catalog import COLOR_NAMES
from groundling.world.types import DIRECTIONS


class Vocabulary(NamedTuple):
    """What references and sentence types are made of."""

    words: tuple[str, ...]
    word_classes: Mapping[str, tuple[str, ...]]
    slots: Mapping[str, str]
    attributes: tuple[Attribute, ...]


def check_word(word: Any, key: str, source: Source) -> str:
    """The word if it can be one; raises otherwise."""
    if not isinstance(word, str) or (word not in (".", "?") and not (word.isalpha() and word == word.lower())):
        raise source.error(key, f"a word must be of lower-case letters, or `.` or `?`, got {show(word)}")
    return word


def read_words(table: Mapping[str, Any], source: Source) -> dict[str, tuple[str, ...]]:
    """The words of each class: of a string, or of a table {concept: word}."""
    source = source.within("words")
    classes = {}
    for name, value in table.items():
        if not isinstance(value, str | dict):
            raise source.error(name, f"words of class {name} must be a string of words, got {show(value)}")
        words = value.split() if isinstance(value, str) else list(value.values())
        for word in words:
            check_word(word, word if isinstance(word, str) else name, source)
        if not words or len(set(words)) < len(words):
            raise source.error(name, f"words of class {name} must be at least one, each once")
        classes[name] = tuple(words)
    for name in (OBJECT, DIRECTION):
        if name not in classes:
            raise source.error("[words]", f"[words] must have the class {name}, got {', '.join(classes) or 'none'}")
    return classes


def read_concepts(
    table: Mapping[str, Any], classes: Mapping[str, tuple[str, ...]], source: Source
) -> dict[str, tuple[str, ...]]:
    """Of objects, colors and directions: what the words stand for. Without a table, words stand for themselves."""
    source = source.within("words")
    known = {COLOR: COLOR_NAMES, DIRECTION: DIRECTIONS}
    concepts = {}
    for name in (OBJECT, COLOR, DIRECTION):
        if name not in classes:
            continue
        value = table[name]
        stands_for = tuple(value) if isinstance(value, dict) else classes[name]
        for concept in stands_for:
            if name in known and concept not in known[name]:
                hint = nearest(concept[:40], known[name])
                cure = f'write [words.{name}] as a table such as {known[name][0]} = "{concept}"'
                raise source.error(
                    name, f"{name} must be one of {', '.join(known[name])}, got {concept!r}{hint}; {cure}"
                )
        if name in known and len(stands_for) < len(known[name]):
            raise source.error(name, f"[words.{name}] must have a word for each of {', '.join(known[name])}")
        concepts[name] = stands_for
    return concepts


def read_slots(table: Mapping[str, Any], classes: Mapping[str, Any], source: Source) -> dict[str, str]:
    source = source.within("slots")
    slots = {}
    for name, value in table.items():
        if not isinstance(value, str) or value not in classes:
            hint = nearest(str(value)[:40], classes)
            raise source.error(name, f"slot {name} must have a class of [words], got {show(value)}{hint}")
        if not name.isidentifier():
            raise source.error(name, f"slot must be a name of letters, digits and _, got {name!r}")
        slots[name] = value
    return slots


def read_attributes(
    table: Mapping[str, Any], classes: Mapping[str, tuple[str, ...]], source: Source
) -> tuple[Attribute, ...]:
    source = source.within("attributes")
    attributes = [Attribute(name, "icon") for name in (OBJECT, COLOR) if name in classes]
    for name, row in table.items():
        if name in (OBJECT, COLOR, DIRECTION) or name not in classes:
            raise source.error(name, f"attribute {name} must be a class of your own in [words], got {name!r}")
        if not isinstance(row, dict) or row.get("of") not in SOURCES or not row.keys() <= {"of", "rule"}:
            wanted = '{ of = "icon" }, or of "place" or "map" with rule = "file.py:function"'
            raise source.error(name, f"attribute {name} must be {wanted}, got {show(row)}")
        if len(classes[name]) > MAX_VALUES:
            raise source.error(name, f"attribute {name} must have at most {MAX_VALUES} words, got {len(classes[name])}")
        if (row["of"] == "icon") != ("rule" not in row):
            raise source.error(name, f"attribute {name} of a place or map must have a rule, and one of icons none")
        rule = None if row["of"] == "icon" else _load_rule(row["rule"], name, source)
        attributes.append(Attribute(name, row["of"], rule))
    if len(attributes) > MAX_ATTRIBUTES:
        raise source.error("[attributes]", f"attributes must be at most {MAX_ATTRIBUTES}, got {len(attributes)}")
    return tuple(attributes)


def _load_rule(rule: Any, name: str, source: Source) -> Callable[..., Any]:
    """The function of `file.py:function`; the file is beside the language file."""
    if not isinstance(rule, str) or not re.fullmatch(r"[\w-]+\.py:\w+", rule):
        raise source.error(name, f'rule of {name} must be "file.py:function", got {show(rule)}')
    if source.folder is None:
        raise source.error(name, f"rule of {name} is Python code, which only a language file may name: give the file")
    file, _, function = rule.partition(":")
    path = source.folder / file
    if not path.is_file():
        raise source.error(name, f"rule of {name}: file {path} does not exist")
    return _function_of(path.resolve(), function, name, source)


@cache
def _function_of(path: Path, function: str, name: str, source: Source) -> Callable[..., Any]:
    """Cached, because a language is read again by every part of a process, and a compiled rule has an identity."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # a user's code can fail in any way
        raise source.error(name, f"rule of {name}: {path.name} failed: {cut(repr(error), 120)}") from error
    found = getattr(module, function, None)
    if not callable(found):
        raise source.error(name, f"rule of {name}: {path.name} must define the function {function}")
    return found  # type: ignore[no-any-return]

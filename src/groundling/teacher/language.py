"""A language as data: its words, what they can refer to, and its sentence types with their wordings.

The paper's language is `language.toml`. A user's file has the same form, or extends it; every mistake in it is refused
with file, line and cure. docs/design.md explains the parts.
"""

import hashlib
import importlib.util
import itertools
import json
import re
import string
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from groundling.errors import InputError, cut, nearest, show
from groundling.read_json import read_text
from groundling.world.catalog import COLOR_NAMES
from groundling.world.types import DIRECTIONS, MAX_OBJECTS

FORMAT = "groundling-language-1"
MAX_WORDS = 24
"""Words of a sentence, final mark included."""
MAX_TEMPLATES = 10_000
MAX_TYPES = 200
MAX_STEPS = 3
"""Steps from cell to cell in a reference."""
MAX_DESCRIPTION = 4
"""Words that describe one object."""
MAX_VALUES = 254
"""Words of an attribute other than the object's class."""
MAX_ATTRIBUTES = 6
GO = "go"
OBJECT, COLOR, DIRECTION, RELATION = "object", "color", "direction", "relation"
"""Word classes that the world gives a meaning to. Relations are content words of fixed phrases, such as `between`."""
SOURCES = ("icon", "place", "map")
"""What an attribute belongs to: an icon, a place of the map, or an object on its map (a compiled rule computes it)."""
TABLES = ("words", "slots", "attributes", "references", "phrases", "frames", "types", "translate")
_TYPE_KEYS = ("reference", "asked", "cell", "frames")


@dataclass(frozen=True)
class Reference:
    """What words refer to: an object, a cell between two objects, or a cell some steps away from these or the agent."""

    described: tuple[tuple[str, ...], ...]
    """The slots that describe each object: none for the agent, one object, or the two on either side of a cell."""
    steps: tuple[str, ...] = ()
    """The direction slots, from there outwards."""

    @property
    def slots(self) -> tuple[str, ...]:
        return (*itertools.chain.from_iterable(self.described), *self.steps)

    @property
    def is_place(self) -> bool:
        """Whether it refers to a cell, which may be empty."""
        return bool(self.steps) or len(self.described) == 2


@dataclass(frozen=True)
class SentenceType:
    """What is referred to, what is asked of it, and the wordings."""

    name: str
    reference: Reference
    asked: str
    """`go` for a command; otherwise the word class of the answer."""
    empty: bool
    """Whether the reference is to an empty cell."""
    templates: tuple[tuple[str, ...], ...]
    """Words and slots such as `{obj}`; shortest first."""

    @property
    def is_command(self) -> bool:
        return self.asked == GO

    @property
    def slots(self) -> tuple[str, ...]:
        """All slots, in the order of the first template."""
        return tuple(word[1:-1] for word in self.templates[0] if word[0] == "{")

    @property
    def fewest_objects(self) -> int:
        """Fewest objects on a map that triggers it."""
        described, steps = self.reference.described, self.reference.steps
        contrast = any(len(slots) > 1 for slots in described)
        return max(1, len(described) + len(steps) + (len(described) == 2) - self.empty + contrast)

    @property
    def in_line(self) -> int:
        """Objects to put in line on a map for it, see `draw_map`: a cell between two objects is rare at random."""
        if len(self.reference.described) < 2:
            return 0
        return 2 if self.empty and not self.reference.steps else 3


@dataclass(frozen=True)
class Attribute:
    """A property of objects that a word class names."""

    name: str
    source: str
    """One of SOURCES."""
    rule: Callable[..., Any] | None = None
    """For `place`: (row, column, size) -> word or None. For `map`: see `references.attribute_rule`."""


class Language:
    """Words, attributes, references and sentence types. Commands come first among the types."""

    def __init__(self, data: Mapping[str, Any], source: "_Source", is_derived: bool = False) -> None:
        self.data = data
        self._source, self._is_derived = source, is_derived
        self.nothing = str(data["nothing"])
        """The answer about an empty cell."""
        self.word_classes = _read_words(data["words"], source)
        """The words of each class."""
        self.concepts = _read_concepts(data["words"], self.word_classes, source)
        """What the words of objects, colors and directions stand for, in the same order."""
        self.words = tuple(dict.fromkeys(itertools.chain(*self.word_classes.values())))
        """All words in the order of their tokens; words of new object classes follow."""
        if self.nothing not in self.words:
            raise source.error("nothing", f"nothing must be a word of [words], got {self.nothing!r}")
        for name, canonical in ((COLOR, COLOR_NAMES), (DIRECTION, DIRECTIONS)):  # from here on in the world's order
            if name in self.concepts:
                words = dict(zip(self.concepts[name], self.word_classes[name], strict=True))
                self.word_classes[name] = tuple(words[concept] for concept in canonical)
                self.concepts[name] = canonical
        self.slots = _read_slots(data["slots"], self.word_classes, source)
        """The word class of each slot."""
        self.attributes = _read_attributes(data.get("attributes", {}), self.word_classes, source)
        """Object class and color first."""
        references = _read_references(data["references"], self, source)
        types = _read_types(data, references, self, source)
        self.types = tuple(sorted(types, key=lambda type_: not type_.is_command))
        self._by_name = {type_.name: type_ for type_ in self.types}
        relations = self.word_classes.get(RELATION, ())
        self.relation_words = {
            type_.name: tuple(word for word in relations if word in type_.templates[0]) for type_ in self.types
        }
        """The content words that are part of the wording of each type, such as `between`."""
        self.type_names = tuple(type_.name for type_ in self.types)
        self.commands = tuple(type_.name for type_ in self.types if type_.is_command)
        self.questions = self.type_names[len(self.commands) :]
        if not self.commands:
            raise source.error("[types]", 'types must contain a command (asked = "go"), got none')
        self.max_words = max(len(type_.templates[-1]) for type_ in self.types)
        """Length of the longest sentence; the final `.` or `?` counts as a word."""
        _check_ambiguity(self, source)

    @classmethod
    @cache
    def paper(cls) -> "Language":
        """The paper's language."""
        text = resources.files("groundling.teacher").joinpath("language.toml").read_text("utf-8")
        return cls.of(text, "language.toml")

    @classmethod
    def load(cls, path: str | Path) -> "Language":
        """A language file; `paper` is the paper's language, and a text of several lines is the content of a file."""
        if str(path) == "paper":
            return cls.paper()
        if "\n" in str(path):
            return cls.of(str(path))
        text = read_text(Path(path), "language file")
        return cls.of(text, str(path), Path(path).parent)

    @classmethod
    def of(cls, text: str, name: str = "language", folder: Path | None = None) -> "Language":
        """The language of a TOML text; `folder` is where the files that it names are found."""
        source = _Source(name, text, folder)
        return cls(_translate(_read(source), source), source)

    @property
    def name(self) -> str:
        """Where the language was read from."""
        return self._source.name

    @property
    def text(self) -> str | None:
        """The content of its file; None if it needs Python code besides, or is a translation made in Python."""
        has_rules = any(attribute.rule is not None for attribute in self.attributes)
        return None if has_rules or self._is_derived else self._source.text

    @cached_property
    def hash(self) -> str:
        """The same for the same words, references and sentence types."""
        return hashlib.sha256(json.dumps(self.data, sort_keys=True).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Language) and self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)

    def __reduce__(self) -> Any:
        return Language, (self.data, self._source, self._is_derived)

    def type(self, name: str) -> SentenceType:
        """The sentence type of a name; raises for an unknown one."""
        if name not in self._by_name:
            hint = nearest(name[:40], self.type_names)
            raise InputError(f"sentence type must be one of {', '.join(self.type_names)}, got {cut(name)!r}{hint}")
        return self._by_name[name]

    def translated(self, words: Mapping[str, str]) -> "Language":
        """The same grammar with other words."""
        return Language(_translate({**self.data, "translate": dict(words)}, self._source), self._source, True)


@dataclass(frozen=True)
class _Source:
    """Where a language was read from, for its errors."""

    name: str
    text: str
    folder: Path | None = None

    def error(self, key: str, message: str) -> InputError:
        """An error that names the line of a key, if the text has it."""
        lines = self.text.splitlines()
        key_at_start = re.compile(rf'^\s*"?{re.escape(key)}"?\s*=')
        found = [k for k, line in enumerate(lines, 1) if key_at_start.match(line)]
        found = found or [k for k, line in enumerate(lines, 1) if key in line]
        where = f"{self.name}, line {found[0]}" if found else self.name
        return InputError(f"{where}: {message}")


def _read(source: _Source) -> dict[str, Any]:
    """The tables of a file, after those of the file that it extends; `"key+"` adds to a list, `key` replaces it."""
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
        base = dict(Language.paper().data)
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


def _merged(base: dict[str, Any], own: dict[str, Any], source: _Source) -> dict[str, Any]:
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


def _translate(data: dict[str, Any], source: _Source) -> dict[str, Any]:
    """The data with the words of [translate] replaced."""
    table = data.pop("translate", {}) if "translate" in data else {}
    if not table:
        return data
    known = set(itertools.chain(*_read_words(data["words"], source).values()))
    for word, new in table.items():
        if word not in known:
            raise source.error(word, f"[translate] must name words of [words], got {word!r}{nearest(word[:40], known)}")
        _check_word(new, word, source)
    targets = [table.get(word, word) for word in known]
    if len(set(targets)) < len(targets):
        double = next(word for word in targets if targets.count(word) > 1)
        raise source.error(double, f"[translate] must give each word its own translation, got {double!r} twice")

    def text(phrase: Any) -> Any:
        if not isinstance(phrase, str):
            return phrase
        return " ".join(table.get(word, word) for word in phrase.split())

    words = {}
    for name, value in data["words"].items():
        if name in (OBJECT, COLOR, DIRECTION):
            pairs = value.items() if isinstance(value, dict) else ((word, word) for word in value.split())
            words[name] = {concept: table.get(word, word) for concept, word in pairs}
        else:
            words[name] = text(value)
    types = {
        name: {key: value if key in _TYPE_KEYS else text(value) for key, value in row.items()}
        if isinstance(row, dict)
        else row
        for name, row in data["types"].items()
    }
    lists = {
        table_name: {
            name: [text(phrase) for phrase in phrases] if isinstance(phrases, list) else phrases
            for name, phrases in data.get(table_name, {}).items()
        }
        for table_name in ("phrases", "frames")
    }
    return {**data, **lists, "nothing": text(data["nothing"]), "words": words, "types": types}


def _check_word(word: Any, key: str, source: _Source) -> str:
    if not isinstance(word, str) or (word not in (".", "?") and not (word.isalpha() and word == word.lower())):
        raise source.error(key, f"a word must be of lower-case letters, or `.` or `?`, got {show(word)}")
    return word


def _read_words(table: Mapping[str, Any], source: _Source) -> dict[str, tuple[str, ...]]:
    """The words of each class: of a string, or of a table {concept: word}."""
    classes = {}
    for name, value in table.items():
        if not isinstance(value, str | dict):
            raise source.error(name, f"words of class {name} must be a string of words, got {show(value)}")
        words = value.split() if isinstance(value, str) else list(value.values())
        for word in words:
            _check_word(word, word if isinstance(word, str) else name, source)
        if not words or len(set(words)) < len(words):
            raise source.error(name, f"words of class {name} must be at least one, each once")
        classes[name] = tuple(words)
    for name in (OBJECT, DIRECTION):
        if name not in classes:
            raise source.error("[words]", f"[words] must have the class {name}, got {', '.join(classes) or 'none'}")
    return classes


def _read_concepts(
    table: Mapping[str, Any], classes: Mapping[str, tuple[str, ...]], source: _Source
) -> dict[str, tuple[str, ...]]:
    """Of objects, colors and directions: what the words stand for. Without a table, words stand for themselves."""
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


def _read_slots(table: Mapping[str, Any], classes: Mapping[str, Any], source: _Source) -> dict[str, str]:
    slots = {}
    for name, value in table.items():
        if not isinstance(value, str) or value not in classes:
            hint = nearest(str(value)[:40], classes)
            raise source.error(name, f"slot {name} must have a class of [words], got {show(value)}{hint}")
        if not name.isidentifier():
            raise source.error(name, f"slot must be a name of letters, digits and _, got {name!r}")
        slots[name] = value
    return slots


def _read_attributes(
    table: Mapping[str, Any], classes: Mapping[str, tuple[str, ...]], source: _Source
) -> tuple[Attribute, ...]:
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


def _load_rule(rule: Any, name: str, source: _Source) -> Callable[..., Any]:
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
def _function_of(path: Path, function: str, name: str, source: _Source) -> Callable[..., Any]:
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


def _read_references(table: Mapping[str, Any], language: Language, source: _Source) -> dict[str, Reference]:
    """References by name. `{a} {b}`: the only object with these words; `between A and B`; `{loc} of R`, where R is a
    name, `agent`, or any of these."""
    attributes = {attribute.name for attribute in language.attributes}

    def slots_of(name: str, text: str, allowed: set[str], what: str) -> tuple[str, ...]:
        slots = []
        for part in text.split():
            slot = part[1:-1] if part[:1] == "{" and part[-1:] == "}" else None
            if slot is None or slot not in language.slots:
                hint = nearest(part.strip("{}")[:40], language.slots)
                raise source.error(name, f"reference {name} must consist of slots such as {{obj}}, got {part!r}{hint}")
            if language.slots[slot] not in allowed:
                raise source.error(
                    name,
                    f"reference {name}: slot {{{slot}}} must be {what}, got one of class {language.slots[slot]!r}",
                )
            slots.append(slot)
        if not 1 <= len(slots) <= MAX_DESCRIPTION:
            raise source.error(
                name, f"reference {name}: a description must be 1 to {MAX_DESCRIPTION} slots, got {text!r}"
            )
        return tuple(slots)

    def parse(name: str, text: Any, visited: tuple[str, ...]) -> Reference:
        if not isinstance(text, str) or not text.strip():
            raise source.error(name, f'reference {name} must be a string such as "{{col}} {{obj}}", got {show(text)}')
        first, _, rest = text.partition(" of ")
        if rest:
            base = parse(name, rest, visited)
            step = slots_of(name, first, {DIRECTION}, "a direction")
            if len(step) != 1:
                raise source.error(name, f"reference {name}: a step must be one direction slot, got {first!r}")
            return replace(base, steps=(*base.steps, *step))
        text = text.strip()
        if text == "agent":
            return Reference(())
        if text in table:
            if text in visited:
                loop = " -> ".join((*visited, text))
                raise source.error(name, f"reference {name} must not refer to itself, got {loop}; name another one")
            return parse(text, table[text], (*visited, text))
        if text.startswith("between "):
            pair = text.removeprefix("between ").split(" and ")
            if len(pair) != 2:
                raise source.error(name, f'reference {name} must be "between {{obj}} and {{obj2}}", got {text!r}')
            return Reference(tuple(slots_of(name, part, attributes, "an attribute") for part in pair))
        if "{" not in text:
            hint = nearest(text[:40], table)
            raise source.error(name, f"reference {name}: {text!r} is no reference of [references]{hint}")
        return Reference((slots_of(name, text, attributes, "an attribute"),))

    references = {}
    for name, text in table.items():
        reference = parse(name, text, (name,))
        if len(set(reference.slots)) < len(reference.slots):
            raise source.error(name, f"reference {name} must use each slot once, got {text!r}; add slots to [slots]")
        classes = [[language.slots[slot] for slot in slots] for slots in reference.described]
        if any(len(set(names)) < len(names) for names in classes):
            raise source.error(name, f"reference {name}: a description must use each attribute once, got {text!r}")
        if len(reference.steps) > MAX_STEPS:
            raise source.error(
                name, f"reference {name} must have at most {MAX_STEPS} steps, got {len(reference.steps)}"
            )
        references[name] = reference
    return references


def _read_types(
    data: Mapping[str, Any], references: Mapping[str, Reference], language: Language, source: _Source
) -> Iterator[SentenceType]:
    asked_classes = (GO, *(attribute.name for attribute in language.attributes), DIRECTION)
    if not 1 <= len(data["types"]) <= MAX_TYPES:
        raise source.error("[types]", f"types must be 1 to {MAX_TYPES}, got {len(data['types'])}")
    for name, row in data["types"].items():
        if not isinstance(row, dict) or not {"reference", "asked", "frames"} <= row.keys():
            raise source.error(name, f"type {name} must have reference, asked and frames, got {show(row)}")
        if row["reference"] not in references:
            hint = nearest(str(row["reference"])[:40], references)
            raise source.error(
                name, f"type {name}: reference must be one of [references], got {show(row['reference'])}{hint}"
            )
        if row["asked"] not in asked_classes:
            hint = nearest(str(row["asked"])[:40], asked_classes)
            raise source.error(
                name, f"type {name}: asked must be one of {', '.join(asked_classes)}, got {show(row['asked'])}{hint}"
            )
        reference, cell = references[row["reference"]], row.get("cell", "object")
        if cell not in ("object", "empty"):
            raise source.error(name, f'type {name}: cell must be "object" or "empty", got {show(cell)}')
        if cell == "empty" and (not reference.is_place or row["asked"] != GO):
            raise source.error(
                name,
                f"type {name}: no map can trigger it: an empty cell must be the target of a command, and be "
                "referred to by a direction or `between`",
            )
        if not reference.described and not reference.steps:
            raise source.error(
                name, f"type {name}: no map can trigger it: a sentence must not refer to the agent's own cell"
            )
        templates = _read_templates(name, row, data, reference, language, source)
        type_ = SentenceType(name, reference, row["asked"], cell == "empty", templates)
        if type_.fewest_objects > MAX_OBJECTS:
            raise source.error(name, f"type {name}: no map can trigger it: it needs {type_.fewest_objects} objects")
        yield type_


def _read_templates(
    name: str,
    row: Mapping[str, Any],
    data: Mapping[str, Any],
    reference: Reference,
    language: Language,
    source: _Source,
) -> tuple[tuple[str, ...], ...]:
    """The wordings of a type, shortest first."""
    phrases = dict(data.get("phrases", {}))
    phrases |= {key: [value] for key, value in row.items() if key not in _TYPE_KEYS}
    for key, choices in phrases.items():
        if not isinstance(choices, list) or not choices or not all(isinstance(choice, str) for choice in choices):
            raise source.error(key, f"phrase {key} must be a list of strings, got {show(choices)}")
    frames = row["frames"] if isinstance(row["frames"], list) else data["frames"].get(row["frames"])
    if not isinstance(frames, list) or not frames or not all(isinstance(frame, str) for frame in frames):
        hint = nearest(str(row["frames"])[:40], data["frames"])
        raise source.error(
            name,
            f"type {name}: frames must be a name of [frames] or a list of strings, got {show(row['frames'])}{hint}",
        )
    attributes = {attribute.name for attribute in language.attributes}
    free = {slot for slot, kind in language.slots.items() if kind not in attributes and kind != DIRECTION}
    templates: dict[tuple[str, ...], str] = {}
    for frame in frames:
        for phrase in _expand(frame, phrases, name, source):
            template = tuple(phrase.split())
            where = frame if frame in source.text else name
            _check_template(template, name, set(reference.slots), free, language, source, where)
            templates[template] = frame
            if len(templates) > MAX_TEMPLATES:
                raise source.error(name, f"type {name} must have at most {MAX_TEMPLATES} wordings")
    return tuple(sorted(templates, key=len))


def _check_template(
    template: tuple[str, ...],
    name: str,
    needed: set[str],
    free: set[str],
    language: Language,
    source: _Source,
    where: str,
) -> None:
    shown = cut(" ".join(template), 120)
    if not 2 <= len(template) <= MAX_WORDS:
        raise source.error(
            where, f"type {name}: a sentence must have 2 to {MAX_WORDS} words, got {len(template)}: {shown!r}"
        )
    if template[-1] not in (".", "?") or set(template[:-1]) & {".", "?"}:
        raise source.error(where, f"type {name}: a sentence must end with ` .` or ` ?`, got {shown!r}")
    slots = [word[1:-1] for word in template if word[0] == "{"]
    for slot in slots:
        if slot not in language.slots:
            raise source.error(
                where, f"type {name}: unknown slot {{{slot}}} in {shown!r}{nearest(slot[:40], language.slots)}"
            )
    for word in template:
        if word[0] != "{" and word not in language.words:
            hint = nearest(word[:40], language.words)
            raise source.error(where, f"type {name}: unknown word {word!r} in {shown!r}{hint}; add it to [words]")
    if sorted(slot for slot in slots if slot not in free) != sorted(needed) or len(set(slots)) < len(slots):
        wanted = ", ".join(f"{{{slot}}}" for slot in sorted(needed))
        raise source.error(
            where, f"type {name}: a sentence must contain the slots of its reference once ({wanted}), got {shown!r}"
        )


def _expand(
    phrase: str, choices: Mapping[str, list[str]], type_: str, source: _Source, depth: int = 0
) -> Iterator[str]:
    """Every phrase that `phrase` stands for: `{name}` is replaced by each of `choices[name]`, until none is left."""
    if depth > MAX_WORDS:
        raise source.error(type_, f"type {type_}: phrases must not contain themselves, got {cut(phrase)!r}")
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(phrase)]
    except ValueError:
        raise source.error(type_, f"type {type_}: braces must enclose a slot or phrase, got {cut(phrase)!r}") from None
    for name in filter(None, names):
        if name in choices:
            for choice in choices[name]:
                yield from _expand(phrase.replace("{" + name + "}", choice, 1), choices, type_, source, depth + 1)
            return
    yield phrase


def _check_ambiguity(language: Language, source: _Source) -> None:
    """Raise if one sentence would have two meanings."""
    words = {slot: set(language.word_classes[kind]) for slot, kind in language.slots.items()}

    def fits(a: str, b: str) -> bool:
        if a[0] == "{" and b[0] == "{":
            return not words[a[1:-1]].isdisjoint(words[b[1:-1]])
        if a[0] == "{":
            return b in words[a[1:-1]]
        return a in words[b[1:-1]] if b[0] == "{" else a == b

    groups: dict[tuple[int, str], list[tuple[SentenceType, tuple[str, ...]]]] = {}
    for type_ in language.types:
        for template in type_.templates:
            groups.setdefault((len(template), template[-1]), []).append((type_, template))
    for group in groups.values():
        for (type_, template), (other, like) in itertools.combinations(group, 2):
            if all(map(fits, template, like)):
                raise source.error(
                    other.name,
                    f"ambiguous sentences: type {other.name} has {' '.join(like)!r}, and type {type_.name} has "
                    f"{' '.join(template)!r}; change one wording",
                )

"""Reading language files: words, attributes, references, sentence types; mistakes are named with file and line."""

import importlib.util
import itertools
import re
import string
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from groundling.errors import InputError, cut, nearest, show
from groundling.teacher.types import GO, Attribute, Reference, SentenceType
from groundling.world.catalog import COLOR_NAMES
from groundling.world.types import DIRECTIONS, MAX_OBJECTS

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
_TYPE_KEYS = ("reference", "asked", "cell", "frames")


class Vocabulary(NamedTuple):
    """What references and sentence types are made of."""

    words: tuple[str, ...]
    word_classes: Mapping[str, tuple[str, ...]]
    slots: Mapping[str, str]
    attributes: tuple[Attribute, ...]


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


def translate(data: dict[str, Any], source: Source) -> dict[str, Any]:
    """The data with the words of [translate] replaced."""
    table = data.pop("translate", {}) if "translate" in data else {}
    if not table:
        return data
    source = source.within("translate")
    known = set(itertools.chain(*read_words(data["words"], source).values()))
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


def _check_word(word: Any, key: str, source: Source) -> str:
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
            _check_word(word, word if isinstance(word, str) else name, source)
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


def read_references(table: Mapping[str, Any], vocabulary: Vocabulary, source: Source) -> dict[str, Reference]:
    """References by name. `{a} {b}`: the only object with these words; `between A and B`; `{loc} of R`, where R is a
    name, `agent`, or any of these."""
    source = source.within("references")
    attributes = {attribute.name for attribute in vocabulary.attributes}

    def slots_of(name: str, text: str, allowed: set[str], what: str) -> tuple[str, ...]:
        slots = []
        for part in text.split():
            slot = part[1:-1] if part[:1] == "{" and part[-1:] == "}" else None
            if slot is None or slot not in vocabulary.slots:
                hint = nearest(part.strip("{}")[:40], vocabulary.slots)
                raise source.error(name, f"reference {name} must consist of slots such as {{obj}}, got {part!r}{hint}")
            if vocabulary.slots[slot] not in allowed:
                raise source.error(
                    name,
                    f"reference {name}: slot {{{slot}}} must be {what}, got one of class {vocabulary.slots[slot]!r}",
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
            if len(table) > MAX_REFERENCES:
                raise source.error(name, f"references must be at most {MAX_REFERENCES}, got {len(table)}")
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
        classes = [[vocabulary.slots[slot] for slot in slots] for slots in reference.described]
        if any(len(set(names)) < len(names) for names in classes):
            raise source.error(name, f"reference {name}: a description must use each attribute once, got {text!r}")
        if len(reference.steps) > MAX_STEPS:
            raise source.error(
                name, f"reference {name} must have at most {MAX_STEPS} steps, got {len(reference.steps)}"
            )
        references[name] = reference
    return references


def read_types(
    data: Mapping[str, Any], references: Mapping[str, Reference], vocabulary: Vocabulary, source: Source
) -> Iterator[SentenceType]:
    source = source.within("types")
    asked_classes = (GO, *(attribute.name for attribute in vocabulary.attributes), DIRECTION)
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
        templates = _read_templates(name, row, data, reference, vocabulary, source)
        type_ = SentenceType(name, reference, row["asked"], cell == "empty", templates)
        if type_.fewest_objects > MAX_OBJECTS:
            raise source.error(name, f"type {name}: no map can trigger it: it needs {type_.fewest_objects} objects")
        yield type_


def _read_templates(
    name: str,
    row: Mapping[str, Any],
    data: Mapping[str, Any],
    reference: Reference,
    vocabulary: Vocabulary,
    source: Source,
) -> tuple[tuple[str, ...], ...]:
    """The wordings of a type, shortest first."""
    phrases = dict(data.get("phrases", {}))
    phrases |= {key: [value] for key, value in row.items() if key not in _TYPE_KEYS}
    for key, choices in phrases.items():
        if not isinstance(choices, list) or not choices or not all(isinstance(choice, str) for choice in choices):
            raise source.within("phrases").error(key, f"phrase {key} must be a list of strings, got {show(choices)}")
    _check_phrases(phrases, name, source)
    frames = row["frames"] if isinstance(row["frames"], list) else data["frames"].get(row["frames"])
    if not isinstance(frames, list) or not frames or not all(isinstance(frame, str) for frame in frames):
        hint = nearest(str(row["frames"])[:40], data["frames"])
        raise source.error(
            name,
            f"type {name}: frames must be a name of [frames] or a list of strings, got {show(row['frames'])}{hint}",
        )
    attributes = {attribute.name for attribute in vocabulary.attributes}
    free = {slot for slot, kind in vocabulary.slots.items() if kind not in attributes and kind != DIRECTION}
    templates: dict[tuple[str, ...], None] = {}
    expanded = 0
    for frame in frames:
        for phrase in _expand(frame, phrases, name, source):
            template = tuple(phrase.split())
            where = frame if frame in source.text else name
            _check_template(template, name, set(reference.slots), free, vocabulary, source, where)
            templates[template] = None
            expanded += 1
            if expanded > MAX_TEMPLATES:
                raise source.error(name, f"type {name} must have at most {MAX_TEMPLATES} wordings")
    if len({frozenset(word for word in template if word[0] == "{") for template in templates}) > 1:
        raise source.error(
            name, f"type {name}: all wordings must have the same slots, got wordings with and without some"
        )
    return tuple(sorted(templates, key=len))


def _check_phrases(phrases: Mapping[str, list[str]], type_: str, source: Source) -> None:
    """Raise if a phrase contains itself, directly or through others."""
    uses = {}
    for name, choices in phrases.items():
        uses[name] = {other for choice in choices for other in phrases if f"{{{other}}}" in choice}
    while uses:
        leaves = [name for name, others in uses.items() if not others & uses.keys()]
        if not leaves:
            loop = ", ".join(sorted(uses))
            raise source.error(type_, f"type {type_}: phrases must not contain themselves, got {loop}")
        for name in leaves:
            del uses[name]


def _check_template(
    template: tuple[str, ...],
    name: str,
    needed: set[str],
    free: set[str],
    vocabulary: Vocabulary,
    source: Source,
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
        if slot not in vocabulary.slots:
            raise source.error(
                where, f"type {name}: unknown slot {{{slot}}} in {shown!r}{nearest(slot[:40], vocabulary.slots)}"
            )
    for word in template:
        if word[0] != "{" and word not in vocabulary.words:
            hint = nearest(word[:40], vocabulary.words)
            raise source.error(where, f"type {name}: unknown word {word!r} in {shown!r}{hint}; add it to [words]")
    if sorted(slot for slot in slots if slot not in free) != sorted(needed) or len(set(slots)) < len(slots):
        wanted = ", ".join(f"{{{slot}}}" for slot in sorted(needed))
        raise source.error(
            where, f"type {name}: a sentence must contain the slots of its reference once ({wanted}), got {shown!r}"
        )


def _expand(phrase: str, choices: Mapping[str, list[str]], type_: str, source: Source) -> Iterator[str]:
    """Every phrase that `phrase` stands for: `{name}` is replaced by each of `choices[name]`, until none is left."""
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(phrase)]
    except ValueError:
        raise source.error(type_, f"type {type_}: braces must enclose a slot or phrase, got {cut(phrase)!r}") from None
    for name in filter(None, names):
        if name in choices:
            for choice in choices[name]:
                yield from _expand(phrase.replace("{" + name + "}", choice, 1), choices, type_, source)
            return
    yield phrase


def check_ambiguity(types: Sequence[SentenceType], vocabulary: Vocabulary, source: Source) -> None:
    """Raise if one sentence would have two meanings."""
    words = {slot: set(vocabulary.word_classes[kind]) for slot, kind in vocabulary.slots.items()}
    total = sum(len(type_.templates) for type_ in types)
    if total > MAX_ALL_TEMPLATES:
        raise source.error("[types]", f"types must have at most {MAX_ALL_TEMPLATES} wordings in all, got {total}")

    def fits(a: str, b: str) -> bool:
        if a[0] == "{" and b[0] == "{":
            return not words[a[1:-1]].isdisjoint(words[b[1:-1]])
        if a[0] == "{":
            return b in words[a[1:-1]]
        return a in words[b[1:-1]] if b[0] == "{" else a == b

    groups: dict[tuple[int, str], list[tuple[SentenceType, tuple[str, ...]]]] = {}
    for type_ in types:
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

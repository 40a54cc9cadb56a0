"""Sentence types of a language file, with all their wordings."""

import itertools
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from groundling.errors import cut, nearest, show
from groundling.teacher.language_file import (
    DIRECTION,
    MAX_ALL_TEMPLATES,
    MAX_TEMPLATES,
    MAX_TYPES,
    MAX_WORDS,
    TYPE_KEYS,
    Source,
)
from groundling.teacher.types import GO, Reference, SentenceType
from groundling.teacher.vocabulary import Vocabulary
from groundling.world.types import MAX_OBJECTS


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
    phrases |= {key: [value] for key, value in row.items() if key not in TYPE_KEYS}
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
        for phrase in expand(frame, phrases, name, source):
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


def expand(phrase: str, choices: Mapping[str, list[str]], type_: str, source: Source) -> Iterator[str]:
    """Every phrase that `phrase` stands for: `{name}` is replaced by each of `choices[name]`, until none is left."""
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(phrase)]
    except ValueError:
        raise source.error(type_, f"type {type_}: braces must enclose a slot or phrase, got {cut(phrase)!r}") from None
    for name in filter(None, names):
        if name in choices:
            for choice in choices[name]:
                yield from expand(phrase.replace("{" + name + "}", choice, 1), choices, type_, source)
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

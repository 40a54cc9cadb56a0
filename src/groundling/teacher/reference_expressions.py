"""References of a language file: which cell the words of a sentence refer to, as expressions over slots."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from groundling.errors import nearest, show
from groundling.teacher.language_file import DIRECTION, MAX_DESCRIPTION, MAX_REFERENCES, MAX_STEPS, Source
from groundling.teacher.types import Reference
from groundling.teacher.vocabulary import Vocabulary


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

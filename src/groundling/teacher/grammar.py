"""The grammar, read both ways: meaning -> sentence and sentence -> meaning.

The wording is data (`grammar.toml`). A sentence type is a list of templates; a meaning is a type, a template and the
words in its content slots.
"""

import itertools
import string
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundling.errors import InputError, check_choice
from groundling.teacher.lexicon import COLORS, DIRECTIONS, PREPOSITIONS, Lexicon
from groundling.teacher.types import MAX_WORDS, SLOTS, Meaning

_DATA: dict[str, Any] = tomllib.loads(resources.files("groundling.teacher").joinpath("grammar.toml").read_text("utf-8"))
TYPES: tuple[str, ...] = tuple(_DATA["types"])
"""The sixteen sentence types; the first four are commands."""
COMMANDS = tuple(name for name in TYPES if name.startswith("nav_"))
QUESTIONS = tuple(name for name in TYPES if name.startswith("rec_"))


def type_index(name: str) -> int:
    """The index of a sentence type; raises for an unknown one."""
    return TYPES.index(check_choice("sentence type", name, TYPES))


@dataclass
class _Node:
    """A node of the trie of templates: the words and slots that may follow, and the template that ends here."""

    words: dict[int, "_Node"] = field(default_factory=dict)
    slots: dict[str, "_Node"] = field(default_factory=dict)
    ends: tuple[str, int] | None = None


def _expand(phrase: str, choices: dict[str, list[str]]) -> Iterator[str]:
    """Every phrase that `phrase` stands for: `{name}` is replaced by each of `choices[name]`, until none is left."""
    for _, name, _, _ in string.Formatter().parse(phrase):
        if name in choices:
            for choice in choices[name]:
                yield from _expand(phrase.replace("{" + name + "}", choice, 1), choices)
            return
    yield phrase


class Grammar:
    """All templates over a lexicon. `pairs` are the (color, object) pairs that some icon shows."""

    def __init__(self, lexicon: Lexicon, pairs: Iterable[tuple[str, str]]) -> None:
        self.lexicon = lexicon
        self.pairs = frozenset(pairs)
        self.templates: dict[str, list[tuple[str, ...]]] = {}
        """Per type, shortest first: a template is a tuple of words and slots such as `{obj}`."""
        for name, spec in _DATA["types"].items():
            choices = {**_DATA["words"], **{key: [spec[key]] for key in ("np", "bare", "plain") if key in spec}}
            phrases = [p for frame in _DATA["frames"][spec["frames"]] for p in _expand(frame, choices)]
            self.templates[name] = sorted((tuple(p.split()) for p in phrases), key=len)
        self._marks = [lexicon.token[mark] for mark in ".?"]
        self._vocabulary = {
            "obj": lexicon.objects,
            "obj2": lexicon.objects,
            "col": COLORS,
            "loc": DIRECTIONS,
            "prep": PREPOSITIONS,
        }

    def slots(self, type_: str) -> tuple[str, ...]:
        """The content slots of a type."""
        template = self.templates[type_][0]
        return tuple(slot for slot in SLOTS if "{" + slot + "}" in template)

    def fillings(self, type_: str) -> Iterator[dict[str, str]]:
        """Every way to fill the slots of a type."""
        slots = self.slots(type_)
        if "col" in slots and "obj" in slots:  # only pairs that some icon shows
            yield from ({"col": color, "obj": obj} for color, obj in sorted(self.pairs))
        else:
            for words in itertools.product(*(self._vocabulary[slot] for slot in slots)):
                yield dict(zip(slots, words, strict=True))

    def words(self, meaning: Meaning) -> list[str]:
        """Meaning -> sentence."""
        slots = meaning.slots
        return [slots[w[1:-1]] if w[0] == "{" else w for w in self.templates[meaning.type][meaning.template]]

    def tokens(self, meaning: Meaning) -> list[int]:
        return [self.lexicon.token[word] for word in self.words(meaning)]

    def meanings(self, type_: str) -> Iterator[Meaning]:
        """Every meaning of a type; each is exactly one sentence."""
        for slots in self.fillings(type_):
            for template in range(len(self.templates[type_])):
                yield Meaning(type_, template, slots)

    def count(self) -> dict[str, tuple[int, int]]:
        """Per type: the number of templates and the number of fillings."""
        return {name: (len(self.templates[name]), sum(1 for _ in self.fillings(name))) for name in TYPES}

    @cached_property
    def _trie(self) -> _Node:
        root = _Node()
        for name, templates in self.templates.items():
            for number, template in enumerate(templates):
                node = root
                for word in template:
                    if word[0] == "{":
                        node = node.slots.setdefault(word[1:-1], _Node())
                    else:
                        node = node.words.setdefault(self.lexicon.token[word], _Node())
                node.ends = (name, number)
        return root

    @cached_property
    def _fills(self) -> dict[str, dict[int, str]]:
        return {slot: {self.lexicon.token[word]: word for word in words} for slot, words in self._vocabulary.items()}

    def parse(self, tokens: Sequence[int]) -> Meaning:
        """Sentence -> meaning; the final `.` or `?` may be missing. Raises for a sentence outside the language."""
        furthest = 0, self._trie
        marked = bool(tokens) and tokens[-1] in self._marks
        for sentence in [tokens] if marked else [[*tokens, mark] for mark in self._marks]:
            stack: list[tuple[int, _Node, dict[str, str]]] = [(0, self._trie, {})]
            while stack:
                position, node, slots = stack.pop()
                if position > furthest[0]:
                    furthest = position, node
                if position == len(sentence):
                    if node.ends is not None and self._pair_exists(slots):
                        return Meaning(*node.ends, slots)
                    continue
                token = sentence[position]
                if token in node.words:
                    stack.append((position + 1, node.words[token], slots))
                for slot, child in node.slots.items():
                    if token in self._fills[slot]:
                        stack.append((position + 1, child, {**slots, slot: self._fills[slot][token]}))
        raise InputError(self._parse_error(tokens, *furthest))

    def _pair_exists(self, slots: dict[str, str]) -> bool:
        return "col" not in slots or "obj" not in slots or (slots["col"], slots["obj"]) in self.pairs

    def _parse_error(self, tokens: Sequence[int], position: int, node: _Node) -> str:
        """The error message for a sentence whose first `position` words match a template."""
        if node.ends is not None:
            return (
                f"not a sentence of the language: {self.lexicon.decode(tokens)!r}: no icon of the object has that color"
            )
        kinds = {
            "obj": "an object",
            "obj2": "an object",
            "col": "a color",
            "loc": "a direction",
            "prep": "to/of/near/by",
        }
        expected = [repr(self.lexicon.words[k]) for k in node.words] + sorted({kinds[slot] for slot in node.slots})
        where = f"after {self.lexicon.decode(tokens[:position])!r}" if position else "at the start"
        found = repr(self.lexicon.words[tokens[position]]) if position < len(tokens) else "the end"
        return f"not a sentence of the language: {where} expected {', '.join(expected)}, got {found}"

    @cached_property
    def table(self) -> NDArray[np.int16]:
        """[template, MAX_WORDS]: all templates as tokens, type by type, for the kernels; -1 - s stands for slot s."""
        rows = np.full((sum(map(len, self.templates.values())), MAX_WORDS), self.lexicon.pad, np.int16)
        for row, template in zip(rows, itertools.chain(*self.templates.values()), strict=True):
            row[: len(template)] = [
                -1 - SLOTS.index(word[1:-1]) if word[0] == "{" else self.lexicon.token[word] for word in template
            ]
        return rows

    @cached_property
    def templates_up_to(self) -> NDArray[np.int16]:
        """[type, n]: number of templates of a type with at most n words (they come first)."""
        lengths = [[len(t) for t in self.templates[name]] for name in TYPES]
        return np.array([[sum(k <= n for k in ks) for n in range(MAX_WORDS + 1)] for ks in lengths], np.int16)


def min_objects() -> NDArray[np.int16]:
    """[type]: minimum number of objects on a map that triggers it."""
    return np.array([_DATA["types"][name]["objects"] for name in TYPES], np.int16)


def objects_in_line() -> NDArray[np.int16]:
    """[type]: the argument `in_line` of `draw_map` for maps generated for it."""
    codes = {None: 0, "gap": 2, "line": 3}
    return np.array([codes[_DATA["types"][name].get("arrangement")] for name in TYPES], np.int16)

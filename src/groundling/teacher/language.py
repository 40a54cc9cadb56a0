"""A language: its words, what they can refer to, and its sentence types with their wordings.

The paper's language is `language.toml`. A user's file has the same form, or extends it. docs/design.md explains the
parts.
"""

import hashlib
import itertools
import json
from collections.abc import Mapping
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from groundling.errors import InputError, cut, nearest
from groundling.read_json import read_text
from groundling.teacher.language_file import COLOR, DIRECTION, RELATION, Source, read_tables
from groundling.teacher.reference_expressions import read_references
from groundling.teacher.sentence_types import check_ambiguity, read_types
from groundling.teacher.translation import translate
from groundling.teacher.types import SentenceType
from groundling.teacher.vocabulary import Vocabulary, read_attributes, read_concepts, read_slots, read_words
from groundling.world.catalog import COLOR_NAMES
from groundling.world.types import DIRECTIONS


class Language:
    """Words, attributes, references and sentence types. Commands come first among the types."""

    def __init__(self, data: Mapping[str, Any], source: Source, is_derived: bool = False) -> None:
        self.data = data
        self._source, self._is_derived = source, is_derived
        self.nothing = str(data["nothing"])
        """The answer about an empty cell."""
        self.word_classes = read_words(data["words"], source)
        """The words of each class."""
        self.concepts = read_concepts(data["words"], self.word_classes, source)
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
        self.new_objects: Mapping[str, str] = data.get("new_objects", {})
        """Words for icon classes that are not among its own words; they follow these."""
        self.slots = read_slots(data["slots"], self.word_classes, source)
        """The word class of each slot."""
        self.attributes = read_attributes(data.get("attributes", {}), self.word_classes, source)
        """Object class and color first."""
        vocabulary = Vocabulary(self.words, self.word_classes, self.slots, self.attributes)
        references = read_references(data["references"], vocabulary, source)
        types = read_types(data, references, vocabulary, source)
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
        check_ambiguity(self.types, vocabulary, source)

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
        source = Source(name, text, folder)
        return cls(translate(read_tables(source, lambda: cls.paper().data), source), source)

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

    def translated(self, words: Mapping[str, str], new_objects: Mapping[str, str] | None = None) -> "Language":
        """The same grammar with other words; `new_objects` are words for icon classes that it has no word for."""
        data = translate({**self.data, "translate": dict(words)}, self._source)
        if new_objects:
            data = {**data, "new_objects": dict(new_objects)}
        return Language(data, self._source, True)

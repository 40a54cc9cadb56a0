"""The sentences of a language about a world's objects, read both ways: meaning -> sentence, sentence -> meaning."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from groundling.errors import InputError
from groundling.teacher.language import Language
from groundling.teacher.language_file import COLOR, DIRECTION, OBJECT
from groundling.teacher.lexicon import Lexicon
from groundling.teacher.types import Meaning, SentenceType
from groundling.world.catalog import Catalog
from groundling.world.types import DIRECTIONS


@dataclass
class _Node:
    """A node of the trie of templates: the words and slots that may follow, and the template that ends here."""

    words: dict[int, "_Node"] = field(default_factory=dict)
    slots: dict[str, "_Node"] = field(default_factory=dict)
    ends: tuple[str, int] | None = None


class Grammar:
    """All sentences of a language over the icons of a catalog."""

    def __init__(self, language: Language, catalog: Catalog) -> None:
        self.language, self.catalog = language, catalog
        self.lexicon = Lexicon.of_classes(language, catalog.classes)
        self.templates = {type_.name: type_.templates for type_ in language.types}
        """Per type, shortest first: a template is a tuple of words and slots such as `{obj}`."""
        self.vocabulary = {**language.word_classes, OBJECT: self.lexicon.objects}
        """The words of each class."""
        self._marks = [self.lexicon.token[mark] for mark in ".?"]
        for type_ in language.types:
            for slots in type_.reference.described:
                if not self.described(slots):
                    words = " ".join(f"{{{slot}}}" for slot in slots)
                    raise InputError(
                        f"{language.name}: no map can trigger type {type_.name}: no icon can be described by {words}; "
                        "add icons with these attributes, or leave the type out"
                    )

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The (color, object) pairs of words that some icon shows."""
        if COLOR not in self.language.word_classes:
            return frozenset()
        return frozenset((color, name) for color, name in self.shown((COLOR, OBJECT)))

    def shown(self, attributes: Sequence[str]) -> set[tuple[str, ...]]:
        """The combinations of words that icons show, for attributes of icons."""
        names = self.lexicon.class_words(self.catalog.classes)
        columns = []
        for attribute in attributes:
            if attribute == OBJECT:
                columns.append([names[c] for c in self.catalog.icon_class])
            else:
                columns.append(self.catalog.attribute(attribute, self.language.word_classes[attribute]))
        return {row for row in zip(*columns, strict=True) if None not in row}

    def described(self, slots: Sequence[str]) -> list[tuple[str, ...]]:
        """The words that can describe one object in these slots."""
        classes = [self.language.slots[slot] for slot in slots]
        source = {attribute.name: attribute.source for attribute in self.language.attributes}
        of_icons = [name for name in classes if source[name] == "icon"]
        shown: list[tuple[str, ...]] = [()]
        if of_icons == [OBJECT]:
            shown = [(word,) for word in self.lexicon.objects]  # also of classes that this world lacks
        elif of_icons:
            shown = sorted(self.shown(of_icons))
        others = [name for name in classes if source[name] != "icon"]
        described = []
        for known in shown:
            for more in itertools.product(*(self.vocabulary[name] for name in others)):
                words = dict(zip((*of_icons, *others), (*known, *more), strict=True))
                described.append(tuple(words[name] for name in classes))
        return described

    def slot_vocabulary(self, kind: str) -> tuple[str, ...]:
        """The words of a class in the order of the kernels: objects in that of the catalog."""
        return self._object_words if kind == OBJECT else self.language.word_classes[kind]

    @cached_property
    def _object_words(self) -> tuple[str, ...]:
        return self.lexicon.class_words(self.catalog.classes)

    def fillings(self, type_: str) -> Iterator[dict[str, str]]:
        """Every way to fill the slots of a type."""
        kind = self.language.type(type_)
        groups: list[tuple[str, ...]] = list(kind.reference.described)
        choices = [self.described(slots) for slots in groups]
        for slot in (*kind.reference.steps, *(slot for slot in kind.slots if slot not in kind.reference.slots)):
            groups.append((slot,))
            choices.append([(word,) for word in self.vocabulary[self.language.slots[slot]]])
        slots = tuple(itertools.chain(*groups))
        for words in itertools.product(*choices):
            yield dict(zip(slots, itertools.chain(*words), strict=True))

    def meaning(self, type_: str, template: int, slots: dict[str, str]) -> Meaning:
        """A meaning with its content words."""
        kind = self.language.type(type_)
        words = [word for slot, word in slots.items() if slot in kind.reference.slots]
        return Meaning(type_, template, slots, (*words, *self.language.relation_words[type_]))

    def neighbor_question(self, asked: str, direction: str) -> str:
        """A short question about the cell next to the agent; an empty string if the language has none."""
        word = dict(zip(DIRECTIONS, self.language.word_classes[DIRECTION], strict=True))[direction]
        for type_ in self.language.types:
            if type_.asked == asked and not type_.reference.described and len(type_.reference.steps) == 1:
                template = min(type_.templates, key=len)
                words = [word if part[0] == "{" else part for part in template]
                return self.lexicon.decode(self.lexicon.tokens_of(words).tolist())
        return ""

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
                yield self.meaning(type_, template, slots)

    def count(self) -> dict[str, tuple[int, int]]:
        """Per type: the number of templates and the number of fillings."""
        return {name: (len(self.templates[name]), sum(1 for _ in self.fillings(name))) for name in self.templates}

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
        return {
            slot: {self.lexicon.token[word]: word for word in self.vocabulary[kind]}
            for slot, kind in self.language.slots.items()
        }

    @cached_property
    def _described(self) -> dict[tuple[str, ...], set[tuple[str, ...]]]:
        """Per description of two or more slots: the words that fill them."""
        groups = {slots for type_ in self.language.types for slots in type_.reference.described if len(slots) > 1}
        return {slots: set(self.described(slots)) for slots in groups}

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
                    if node.ends is not None and self._exists(self.language.type(node.ends[0]), slots):
                        return self.meaning(*node.ends, slots)
                    continue
                token = sentence[position]
                if token in node.words:
                    stack.append((position + 1, node.words[token], slots))
                for slot, child in node.slots.items():
                    if token in self._fills[slot]:
                        stack.append((position + 1, child, {**slots, slot: self._fills[slot][token]}))
        raise InputError(self._parse_error(tokens, *furthest))

    def _exists(self, type_: SentenceType, slots: dict[str, str]) -> bool:
        """Whether some icon can be described by these words."""
        return all(
            tuple(slots[slot] for slot in group) in self._described[group]
            for group in type_.reference.described
            if len(group) > 1
        )

    def _parse_error(self, tokens: Sequence[int], position: int, node: _Node) -> str:
        """The error message for a sentence whose first `position` words match a template."""
        if node.ends is not None:
            sentence = self.lexicon.decode(tokens)
            return f"not a sentence of the language: {sentence!r}: no icon of the object has that {self._second(node)}"
        kinds = {slot: self._kind(kind) for slot, kind in self.language.slots.items()}
        expected = [repr(self.lexicon.words[k]) for k in node.words] + sorted({kinds[slot] for slot in node.slots})
        where = f"after {self.lexicon.decode(tokens[:position])!r}" if position else "at the start"
        found = repr(self.lexicon.words[tokens[position]]) if position < len(tokens) else "the end"
        return f"not a sentence of the language: {where} expected {', '.join(expected)}, got {found}"

    def _second(self, node: _Node) -> str:
        """The attributes, other than its class, by which a sentence describes an object."""
        assert node.ends is not None
        groups = self.language.type(node.ends[0]).reference.described
        names = {self.language.slots[slot] for slots in groups if len(slots) > 1 for slot in slots}
        return " and ".join(sorted(names - {OBJECT}))

    def _kind(self, name: str) -> str:
        """A word class as a reader would call it."""
        if name in (COLOR, DIRECTION, OBJECT) or len(self.vocabulary[name]) > MAX_LISTED:
            return f"an {name}" if name[0] in "aeiou" else f"a {name}"
        return "/".join(self.vocabulary[name])


MAX_LISTED = 6
"""Words of a class that an error message lists."""

"""Splits by their names, for several tests."""

import itertools

from groundling.teacher.grammar import Grammar
from groundling.teacher.language import Language
from groundling.teacher.make_teacher import make_split
from groundling.teacher.splits import KINDS, Split

PAPER = Language.paper()
ALL_SPLITS = [*KINDS, "zs1+zs2 (zs1)", "zs1+zs2 (zs2)"]
WORDINGS = ("paraphrase", "length")


def draw(grammar: Grammar, kind: str, holdout: float, seed: int = 0) -> Split:
    return Split.draw(kind, holdout, seed, grammar)


def split_of(grammar: Grammar, name: str) -> Split:
    """A split with half of what it is about held out; of `zs1+zs2`, the tested part is in parentheses."""
    kind, _, tested = name.partition(" ")
    return make_split(kind, 50, 0, grammar, tested.strip("()"))


def content_groups(type_: str, slots: dict[str, str]) -> set[tuple[str, ...]]:
    """The content words of a sentence, and their pairs in alphabetical order."""
    words = [word for slot, word in slots.items() if slot != "prep"]
    if type_.startswith(("nav_bw", "rec_bw")):
        words.append("between")
    return {tuple(sorted(group)) for n in (1, 2) for group in itertools.combinations(words, n)}

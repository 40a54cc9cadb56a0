"""Sentences as people type them: punctuation, contractions, several commands in one sentence, typos and synonyms."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from groundling.teacher.lexicon import split_words

TYPO, SYNONYM = "typo", "synonym"
_CONTRACTION = re.compile(r"\b(what|where|which|who|it|that|there|here)'s\b")
_ENDINGS = (("'re", " are"), ("'ll", " will"), ("'d", " would"))
_THEN = re.compile(r"[,;.]?\s+(?:and\s+)?then\s+|\s*;\s*")
_MIN_TYPO_CHARS = 4
"""Shorter words are similar to many others."""
_SYNONYMS = {
    "bug": "beetle",
    "bunny": "rabbit",
    "closet": "wardrobe",
    "couch": "sofa",
    "crimson": "red",
    "fly": "move",
    "grey": "gray",
    "kitten": "cat",
    "kitty": "cat",
    "lamp": "light",
    "left": "west",
    "mouse": "rat",
    "pony": "horse",
    "puppy": "dog",
    "raccoon": "racoon",
    "rhino": "rhinoceros",
    "right": "east",
    "run": "go",
    "screen": "monitor",
    "seat": "chair",
    "show": "locate",
    "steps": "stairs",
    "tv": "monitor",
    "up": "north",
    "down": "south",
    "violet": "purple",
    "visit": "reach",
    "walk": "go",
    "washer": "washingmachine",
    "hoover": "vacuum",
    "bulb": "light",
    "shell": "seashell",
    "urchin": "seaurchin",
    "scallion": "greenonion",
    "loo": "toilet",
    "beside": "near",
    "dino": "dinosaur",
}
"""Everyday words, and the word of the paper's language that means about the same."""


@dataclass(frozen=True)
class Suggestion:
    """A known word instead of an unknown one."""

    word: str
    why: str
    """TYPO or SYNONYM."""


def normalize(text: str) -> str:
    """The sentence in lower case, with contractions written out and only `.` and `?` as punctuation."""
    text = text.lower().replace("’", "'").replace("!", ".")
    text = _CONTRACTION.sub(r"\1 is", text)
    for ending, words in _ENDINGS:
        text = text.replace(ending, words)
    text = re.sub(r"[^\w\s.?'-]", " ", text)
    text = re.sub(r"(?<!\w)['-]|['-](?!\w)", " ", text)  # quotes and dashes, but not those within a word
    text = re.sub(r"([.?])[\s.?]*$", r" \1", text)
    return " ".join(split_words(text))


def split_commands(text: str, lexicon: Collection[str]) -> list[str]:
    """The parts of `go to the fox, then the cow`, each a command of its own; a part without a verb gets the first one.

    A language may have its own word `then`; such a sentence is not split.
    """
    if "then" in lexicon:
        return [text]
    parts = [part.strip(" ,.") for part in _THEN.split(text) if part.strip(" ,.?!")]
    if len(parts) < 2:
        return [text]
    verb = re.split(r"\bthe\b", parts[0], maxsplit=1, flags=re.IGNORECASE)[0].strip()
    return [parts[0]] + [f"{verb} {part}" if part.lower().startswith("the ") else part for part in parts[1:]]


def suggest(word: str, lexicon: Collection[str]) -> Suggestion | None:
    """A known word that was probably meant: one with a typing error, or else a synonym."""
    synonym = _SYNONYMS.get(word)
    if synonym in lexicon:
        return Suggestion(str(synonym), SYNONYM)
    singular = word.removesuffix("s")
    if singular in lexicon and len(singular) >= _MIN_TYPO_CHARS - 1:
        return Suggestion(singular, TYPO)
    allowed = 1 if len(word) < 7 else 2
    near = [(edit_distance(word, known), known) for known in lexicon if is_comparable(word, known, allowed)]
    distance, best = min(near, default=(allowed + 1, ""))
    return Suggestion(best, TYPO) if distance <= allowed else None


def is_comparable(word: str, known: str, allowed: int) -> bool:
    """Whether a word can be a typing error of a known one at all."""
    if len(known) < _MIN_TYPO_CHARS:  # `then` is not a typing error of `the`, but `teh` is
        return sorted(word) == sorted(known)
    return known[0] in word[:2] and abs(len(word) - len(known)) <= allowed


def edit_distance(a: str, b: str) -> int:
    """Number of inserted, removed, replaced and swapped letters between two words (optimal string alignment)."""
    rows = [list(range(len(b) + 1))]
    for i, letter in enumerate(a, 1):
        row = [i]
        for j, other in enumerate(b, 1):
            cost = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, rows[-2][j - 2] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1]

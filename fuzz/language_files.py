"""Damaged and hostile language files: refused with a short InputError, or an env with this language can be played.

    python fuzz/language_files.py --count 300 --seed 0

The files are the paper's language, a small one of its own and two that extend the paper's, with changes of the text or
of the data: words, keys, values and braces that are left out, doubled, exchanged or replaced, references and phrases
that contain themselves, and wordings that multiply. Bars: no exception other than an InputError at construction, no
blocking, and at most 60 s and 1 GB for each file.
"""

import json
import re
import sys
import tomllib
from collections.abc import Callable
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from common import FILE_KINDS, Rng, arguments, mutate_bytes, odd_file, run, without_root

from groundling.errors import InputError
from groundling.teacher.language import Language
from groundling.teacher.language_file import TABLES
from groundling.vector_env import NavQAVectorEnv
from groundling.world.catalog import Catalog

ROOT = Path(__file__).parents[1]
STEPS = 10
HEAD = 'format = "groundling-language-1"\n'
PAPER = resources.files("groundling.teacher").joinpath("language.toml").read_text("utf-8")
SMALL = f"""{HEAD}
[words]
object = "apple cat dog"
direction = "east north northeast northwest south southeast southwest west"
grammatical = "? . go to the what is in nothing"
[slots]
obj = "object"
loc = "direction"
[references]
object = "{{obj}}"
near_agent = "{{loc}} of agent"
[phrases]
verb = ["go to", "to"]
[frames]
command = ["{{verb}} {{np}} ."]
[types]
nav = {{ reference = "object", asked = "go", frames = "command", np = "the {{obj}}" }}
ask = {{ reference = "near_agent", asked = "object", frames = ["what is in the {{loc}} ?"] }}
"""
TWO_STEPS = f"""{HEAD}extends = "paper"
[words]
"grammatical+" = "hey"
[slots]
loc2 = "direction"
loc3 = "direction"
[references]
two_steps = "{{loc2}} of near_object"
three_steps = "{{loc3}} of two_steps"
near_between = "{{loc2}} of between"
[phrases]
"verb+" = ["hey reach"]
[types]
nav_col = {{ reference = "colored", asked = "go", frames = ["hey {{col}} ."] }}
nav_three = {{ reference = "three_steps", asked = "go", cell = "empty", frames = [
  "hey {{loc3}} of {{loc2}} of {{loc}} of {{obj}} .",
] }}
rec_two = {{ reference = "two_steps", asked = "object", frames = ["what is in the {{loc2}} of {{loc}} of {{obj}} ?"] }}
rec_near = {{ reference = "near_between", asked = "color", frames = ["hey {{loc2}} of {{obj}} and {{obj2}} ?"] }}
[translate]
apple = "apfel"
north = "norden"
"""
SIZES = (ROOT / "examples" / "own_words.toml").read_text("utf-8")
BASES = (PAPER, PAPER, SMALL, TWO_STEPS, TWO_STEPS, SIZES)
TOKEN = re.compile(r"\{\w+\}|\w+|[^\w\s]|\n")
ODD_WORDS = (
    *("", " ", ".", "?", "{", "}", "{}", "{{", "}}", "{obj}", "{obj2}", "{loc}", "{verb}", "{np}", "{x}", "{obj!r}"),
    *(
        "{obj:>9}",
        "{0}",
        "{obj.x}",
        "agent",
        "between",
        "of",
        "go",
        "nothing",
        "Apple",
        "apple",
        "ß",
        "ﬁ",
        "\u0301",
        "é",
    ),
    *("x" * 5000, "x " * 5000, "the " * 23 + ".", "{verb} " * 30, "\t", "\\u0000", "\x7f", "northh", "{loc} of agent"),
)
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 10**30, float("nan"), [], {}, [[]], [""], ["{verb}"], {"": ""}, {"a": {"b": []}}),
    *ODD_WORDS,
)
"""None leaves the key out."""


def toml(value: Any) -> str:
    """A value as TOML, with inline tables."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(str(key))} = {toml(part)}" for key, part in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def to_toml(data: dict[str, Any]) -> str:
    """A whole file."""
    lines = [f"{json.dumps(key)} = {toml(value)}" for key, value in data.items() if not isinstance(value, dict)]
    for key, table in data.items():
        if isinstance(table, dict):
            lines += [f"[{json.dumps(key)}]", *(f"{json.dumps(name)} = {toml(part)}" for name, part in table.items())]
    return "\n".join(lines) + "\n"


# Changes of the text


def change_tokens(rng: Rng, text: str) -> tuple[str, str]:
    """Leave out, double, exchange or replace words, slots and marks."""
    found = list(TOKEN.finditer(text))
    if len(found) < 2:
        return "nothing left", text
    one, two = (found[k] for k in sorted(rng.choice(len(found), 2, replace=False)))
    kind = str(rng.choice(["leave out", "double", "replace", "replace", "exchange", "odd"]))
    new = {"leave out": "", "double": f"{one[0]} {one[0]}", "replace": two[0], "exchange": two[0]}
    odd = ODD_WORDS[rng.integers(len(ODD_WORDS))]
    changed = text[: one.start()] + new.get(kind, odd) + text[one.end() :]
    if kind == "exchange":
        changed = (
            text[: one.start()] + two[0] + text[one.end() : two.start()] + one[0] + text[two.end() :]
        )  # the second is further back
    return f"{kind} {one[0]!r} at {one.start()}", changed


def change_lines(rng: Rng, text: str) -> tuple[str, str]:
    """Leave out, double or move lines."""
    lines = text.splitlines()
    at, to = (int(k) for k in rng.integers(len(lines), size=2))
    kind = str(rng.choice(["leave out", "double", "move", "end here"]))
    line = lines[at]
    if kind in ("leave out", "move"):
        del lines[at]
    if kind in ("double", "move"):
        lines.insert(to, line)
    if kind == "end here":
        del lines[at:]
    return f"{kind} line {at + 1}", "\n".join(lines) + "\n"


def change_bytes(rng: Rng, text: str) -> tuple[str, bytes]:
    return mutate_bytes(rng, text.encode())


# Changes of the data


def change_value(rng: Rng, data: dict[str, Any]) -> str:
    """Another value, or none, at a random place."""
    parent: Any = data
    key: Any = str(rng.choice([key for key in data if isinstance(data[key], dict)]))
    path = [key]
    while isinstance(parent[key], dict | list) and len(parent[key]) and rng.integers(5):
        parent = parent[key]
        key = list(parent)[rng.integers(len(parent))] if isinstance(parent, dict) else int(rng.integers(len(parent)))
        path.append(str(key))
    value = ODD_VALUES[rng.integers(len(ODD_VALUES))]
    if isinstance(parent[key], str) and rng.integers(2):  # a part of a string
        words = parent[key].split(" ")
        words[rng.integers(len(words))] = str(ODD_WORDS[rng.integers(len(ODD_WORDS))])
        value = " ".join(words)
    if value is None:
        del parent[key]
    else:
        parent[key] = value
    return f"{'.'.join(path)} = {str(value)[:40]}"


def change_key(rng: Rng, data: dict[str, Any]) -> str:
    """Another name for a table or an entry."""
    table = data[str(rng.choice([key for key in data if isinstance(data[key], dict)]))]
    where = table if table and rng.integers(4) else data
    key = str(rng.choice(list(where)))
    other = [*TABLES, *table, key + "+", key + "x", "", "a b", "é", "obj", "verb", "reference"]
    new = str(other[rng.integers(len(other))])
    where[new] = where.pop(key)
    return f"{key} as {new}"


def exchange_entries(rng: Rng, data: dict[str, Any]) -> str:
    """Two entries, of one table or of two."""
    tables = [key for key in data if isinstance(data[key], dict) and data[key]]
    one, two = (data[str(rng.choice(tables))] for _ in range(2))
    a, b = str(rng.choice(list(one))), str(rng.choice(list(two)))
    one[a], two[b] = two[b], one[a]
    return f"{a} and {b} exchanged"


def add_cycle(rng: Rng, data: dict[str, Any]) -> str:
    """References, phrases or noun phrases that contain themselves."""
    kind = str(rng.choice(["reference", "two references", "phrase", "two phrases", "np", "long chain"]))
    references, phrases = data.setdefault("references", {}), data.setdefault("phrases", {})
    if kind == "reference":
        references["object"] = "{loc} of object"
    elif kind == "two references":
        references |= {"object": "{loc} of other", "other": "{loc} of object"}
    elif kind == "phrase":
        phrases["verb"] = ["go to", "{verb} the"]
    elif kind == "two phrases":
        phrases |= {"verb": ["{more}"], "more": ["{verb}", "{verb} {more}"]}
    elif kind == "np":
        data["types"]["looped"] = {"reference": "object", "asked": "go", "frames": ["go {np} ."], "np": "{np} {obj}"}
    else:
        length = int(rng.choice([5, 50, 2000]))
        references |= {f"r{k}": f"{{loc}} of r{k + 1}" for k in range(length)} | {f"r{length}": "{obj}"}
        kind += f" of {length}"
    return kind


def multiply(rng: Rng, data: dict[str, Any]) -> str:
    """Many words, slots, types or wordings, also many ways to the same wording."""
    kind = str(rng.choice(["words", "objects", "types", "wordings", "same wordings", "slots", "frames"]))
    count = int(rng.choice([10, 100, 3000]))
    letters = ["".join(chr(97 + int(digit)) for digit in str(k)) for k in range(count)]
    words, types = data.setdefault("words", {}), data["types"]
    if kind == "words":
        words["more"] = " ".join(f"q{name}" for name in letters)
    elif kind == "objects":
        words["object+" if "extends" in data else "object"] = " ".join(["apple", *(f"q{name}" for name in letters)])
    elif kind == "types":
        words["more"] = " ".join(f"q{name}" for name in letters)
        types |= {
            f"t{name}": {"reference": "object", "asked": "go", "frames": [f"go q{name} {{obj}} ."]} for name in letters
        }
    elif kind in ("wordings", "same wordings"):
        choices = ["go", "to"] if kind == "wordings" else ["go"] * 10
        depth = int(rng.choice([3, 9, 20]))
        data.setdefault("phrases", {})["many"] = choices
        types["many"] = {"reference": "object", "asked": "go", "frames": ["{many} " * depth + "the {obj} ."]}
        count = depth
    elif kind == "slots":
        data.setdefault("slots", {}).update({f"s{name}": "direction" for name in letters})
    else:
        types["many"] = {"reference": "object", "asked": "go", "frames": ["go to the {obj} ."] * count}
    return f"{count} {kind}"


def leave_out(rng: Rng, data: dict[str, Any]) -> str:
    """A word, a wording or a type less."""
    table = str(rng.choice([key for key in ("words", "phrases", "frames", "types") if data.get(key)]))
    key = str(rng.choice(list(data[table])))
    value = data[table][key]
    if isinstance(value, dict):
        del data[table][key]
        return f"without {key}"
    parts = value.split() if isinstance(value, str) else value
    at = int(rng.integers(len(parts)))
    left = [*parts[:at], *parts[at + 1 :]]
    data[table][key] = " ".join(left) if isinstance(value, str) else left
    return f"{key} without {parts[at]}"


def add_type(rng: Rng, data: dict[str, Any]) -> str:
    """A type with a random reference, of any steps, and a random question about it."""
    slots = {**tomllib.loads(PAPER)["slots"], **data.get("slots", {})} if "extends" in data else data["slots"]
    names = list(slots)
    directions = [slot for slot in names if slots[slot] == "direction"]
    others = [slot for slot in names if slot not in directions]
    steps = [str(slot) for slot in rng.permutation(directions)[: rng.integers(len(directions) + 1)]]
    described = [str(slot) for slot in rng.permutation(others)[: rng.integers(1, 4)]]
    bases = ["agent", " ".join(f"{{{slot}}}" for slot in described), "between {obj} and {obj2}"]
    base = int(rng.integers(3))
    used = [*steps, *([], described, ["obj", "obj2"])[base]]
    data.setdefault("references", {})["new"] = " of ".join([*(f"{{{slot}}}" for slot in steps), bases[base]])
    asked = str(rng.choice(["go", "go", "object", "color", "direction", "size"]))
    wording = " ".join(["go go" if asked == "go" else "what what", *(f"{{{slot}}}" for slot in used)])
    row = {"reference": "new", "asked": asked, "frames": [f"{wording} .", f"{wording} ?"]}
    if asked == "go" and rng.integers(2):
        row["cell"] = "empty"
    data["types"]["new"] = row
    return f"{asked} {data['references']['new']}"


TEXT_CHANGES: list[Callable[[Rng, str], tuple[str, str | bytes]]] = [
    *(change_tokens, change_tokens, change_tokens, change_lines, change_bytes),
]
DATA_CHANGES: list[Callable[[Rng, dict[str, Any]], str]] = [
    *(change_value, change_value, change_key, exchange_entries, add_cycle, multiply),
    *(leave_out, leave_out, add_type, add_type, add_type),
]


def make(rng: Rng, folder: Path) -> tuple[str, tuple[Path, bool]]:
    """A language file with one to three changes, and whether it needs icons with sizes."""
    base = BASES[rng.integers(len(BASES))]
    if rng.integers(30) == 0:
        kind = str(rng.choice(FILE_KINDS))
        return kind, (odd_file(kind, folder, "own.toml", base.encode()), base is SIZES)
    done, changed = [], base.encode()
    if rng.integers(2):
        text: str | bytes = base
        for _ in range(int(rng.choice([1, 1, 2, 3]))):
            if isinstance(text, str):
                what, text = TEXT_CHANGES[rng.integers(len(TEXT_CHANGES))](rng, text)
                done.append(what)
        changed = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    else:
        data = tomllib.loads(base)
        for _ in range(int(rng.choice([1, 1, 2]))):
            try:
                done.append(DATA_CHANGES[rng.integers(len(DATA_CHANGES))](rng, data))
            except (KeyError, TypeError, ValueError, AttributeError):  # the second change meets what the first one left
                done.append("no change")
        changed = to_toml(data).encode(errors="surrogatepass")
    path = folder / "own.toml"
    path.write_bytes(changed)
    return "; ".join(done), (path, base is SIZES)


@cache
def sized_icons() -> Catalog:
    return Catalog.default().with_variants("size", {"small": lambda image: image // 2, "big": lambda image: image})


def use(made: tuple[Path, bool]) -> str:
    """Read the file, make an env with it, which may refuse it, and play; an InputError in play is a failure."""
    path, sized = made
    with without_root():
        language = Language.load(path)
    envs = NavQAVectorEnv(4, language=language, icons=sized_icons() if sized else None, observation="cells")
    envs.action_space.seed(0)
    try:
        envs.reset(seed=0)
        for _ in range(STEPS):
            envs.step(envs.action_space.sample())
    except InputError as error:
        raise RuntimeError(f"an accepted language failed in play: {error}") from error
    return f"{len(language.types)} types"


def main() -> int:
    options = arguments("Fuzz language files.", 300).parse_args()
    envs = NavQAVectorEnv(2, icons=sized_icons())  # compile before the workers are forked
    envs.reset(seed=0)
    envs.step(np.zeros((2, 2), np.int64))
    report = run("language files", options, make, use)
    code = report.show()
    print("reasons of refusals:")
    report.show_reasons("refused", 20)
    return code


if __name__ == "__main__":
    sys.exit(main())

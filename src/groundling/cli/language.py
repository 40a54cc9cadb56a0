"""`groundling language ...`"""

import itertools
from typing import Annotated, Any

import numpy as np
import tyro

from groundling.cli.output import Icons, Json, LanguageName, Seed, print_json, print_table
from groundling.errors import check_int
from groundling.teacher.grammar import Grammar
from groundling.teacher.language import Language
from groundling.teacher.types import Meaning
from groundling.world.catalog import Catalog

app = tyro.extras.SubcommandApp()
Type = Annotated[
    str | None,
    tyro.conf.arg(
        name="type",
        metavar="TYPE",
        help="Only sentences of this type, such as nav_obj.",
        help_behavior_hint="(default: all types)",
    ),
]


def load_grammar(language: str, icons: str | None) -> Grammar:
    """The sentences of a language about some icons."""
    return Grammar(Language.load(language), Catalog.load(icons))


def _types(grammar: Grammar, name: str | None) -> tuple[str, ...]:
    return grammar.language.type_names if name is None else (grammar.language.type(name).name,)


def _record(grammar: Grammar, meaning: Meaning) -> dict[str, Any]:
    return {"sentence": grammar.lexicon.decode(grammar.tokens(meaning)), "type": meaning.type, "slots": meaning.slots}


@app.command
def count(language: LanguageName = "paper", icons: Icons = None, as_json: Json = False) -> None:
    """Count the templates, slot fillings and sentences of each type."""
    grammar = load_grammar(language, icons)
    counts = grammar.count()
    rows = [{"type": name, "templates": t, "fillings": p, "sentences": t * p} for name, (t, p) in counts.items()]
    totals = {
        kind: sum(t * p for name, (t, p) in counts.items() if (name in grammar.language.commands) == (kind == "nav"))
        for kind in ("nav", "qa")
    }
    totals["all"] = sum(totals.values())
    if as_json:
        return print_json({"types": rows, "totals": totals})
    lines: list[tuple[Any, ...]] = [tuple(row.values()) for row in rows]
    lines += [(kind.upper(), "", "", total) for kind, total in totals.items()]
    print_table("The teacher's language", ("type", "templates", "fillings", "sentences"), lines)


@app.command
def sample(
    type_: Type = None,
    n: Annotated[int, tyro.conf.arg(aliases=["-n"], help="Number of sentences.")] = 10,
    seed: Seed = 0,
    language: LanguageName = "paper",
    icons: Icons = None,
    as_json: Json = False,
) -> None:
    """Sample sentences: a random type, then a template, then words for its slots."""
    check_int("n", n, 0)
    check_int("seed", seed, 0)
    grammar, rng = load_grammar(language, icons), np.random.default_rng(seed)
    fillings = {name: list(grammar.fillings(name)) for name in _types(grammar, type_)}
    meanings = []
    for _ in range(n):
        name = str(rng.choice(list(fillings)))
        slots = fillings[name][rng.integers(len(fillings[name]))]
        meanings.append(grammar.meaning(name, int(rng.integers(len(grammar.templates[name]))), slots))
    records = [_record(grammar, meaning) for meaning in meanings]
    if as_json:
        return print_json(records)
    print_table("Sentences", ("sentence", "type"), [(r["sentence"], r["type"]) for r in records])


@app.command(name="list")
def list_(
    type_: Type = None,
    n: Annotated[
        int | None,
        tyro.conf.arg(
            aliases=["-n"], metavar="INT", help="Maximum number of sentences.", help_behavior_hint="(default: all)"
        ),
    ] = None,
    language: LanguageName = "paper",
    icons: Icons = None,
    as_json: Json = False,
) -> None:
    """List every sentence, one per line, in the order of the grammar."""
    if n is not None:
        check_int("n", n, 0)
    grammar = load_grammar(language, icons)
    meanings = itertools.chain.from_iterable(grammar.meanings(name) for name in _types(grammar, type_))
    for meaning in itertools.islice(meanings, n):
        if as_json:
            print_json(_record(grammar, meaning))
        else:
            print(grammar.lexicon.decode(grammar.tokens(meaning)))


@app.command
def parse(
    sentence: Annotated[
        tyro.conf.Positional[str], tyro.conf.arg(metavar="SENTENCE", help="Sentence to parse, in quotes.")
    ],
    language: LanguageName = "paper",
    icons: Icons = None,
    as_json: Json = False,
) -> None:
    """Print the type and slots of a sentence, or why it is not in the language."""
    grammar = load_grammar(language, icons)
    meaning = grammar.parse(grammar.lexicon.encode(sentence))
    record = _record(grammar, meaning)
    if as_json:
        return print_json(record)
    print_table(record["sentence"], ("", ""), [("type", meaning.type), *meaning.slots.items()])

"""`groundling language ...`"""

import itertools
from typing import Annotated, Any

import numpy as np
import tyro

from groundling.cli.output import Json, Seed, print_json, print_table
from groundling.errors import check_int
from groundling.teacher.grammar import COMMANDS, TYPES, Grammar, type_index
from groundling.teacher.lexicon import Lexicon
from groundling.teacher.types import Meaning
from groundling.world.catalog import Catalog

app = tyro.extras.SubcommandApp()
Type = Annotated[
    str | None,
    tyro.conf.arg(
        name="type",
        metavar="TYPE",
        help=f"Only sentences of this type: {', '.join(TYPES)}.",
        help_behavior_hint="(default: all types)",
    ),
]


def the_grammar() -> Grammar:
    """The grammar over the built-in icons."""
    return Grammar(Lexicon(), Catalog.default().pairs)


def _types(name: str | None) -> tuple[str, ...]:
    return TYPES if name is None else (TYPES[type_index(name)],)


def _record(grammar: Grammar, meaning: Meaning) -> dict[str, Any]:
    return {"sentence": grammar.lexicon.decode(grammar.tokens(meaning)), "type": meaning.type, "slots": meaning.slots}


@app.command
def count(as_json: Json = False) -> None:
    """Count the templates, slot fillings and sentences of each type."""
    counts = the_grammar().count()
    rows = [{"type": name, "templates": t, "fillings": p, "sentences": t * p} for name, (t, p) in counts.items()]
    totals = {
        kind: sum(t * p for name, (t, p) in counts.items() if (name in COMMANDS) == (kind == "nav"))
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
    as_json: Json = False,
) -> None:
    """Sample sentences: a random type, then a template, then words for its slots."""
    check_int("n", n, 0)
    check_int("seed", seed, 0)
    grammar, rng = the_grammar(), np.random.default_rng(seed)
    fillings = {name: list(grammar.fillings(name)) for name in _types(type_)}
    meanings = []
    for _ in range(n):
        name = str(rng.choice(list(fillings)))
        slots = fillings[name][rng.integers(len(fillings[name]))]
        meanings.append(Meaning(name, int(rng.integers(len(grammar.templates[name]))), slots))
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
    as_json: Json = False,
) -> None:
    """List every sentence, one per line, in the order of the grammar."""
    if n is not None:
        check_int("n", n, 0)
    grammar = the_grammar()
    meanings = itertools.chain.from_iterable(grammar.meanings(name) for name in _types(type_))
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
    as_json: Json = False,
) -> None:
    """Print the type and slots of a sentence, or why it is not in the language."""
    grammar = the_grammar()
    meaning = grammar.parse(grammar.lexicon.encode(sentence))
    record = _record(grammar, meaning)
    if as_json:
        return print_json(record)
    print_table(record["sentence"], ("", ""), [("type", meaning.type), *meaning.slots.items()])

"""`groundling language ...`"""

import itertools
from typing import Annotated, Any

import numpy as np
import tyro

from groundling.cli.output import Json, Seed, print_json, print_table
from groundling.errors import InputError
from groundling.teacher.grammar import TYPES, Grammar, Meaning, conditions, type_index
from groundling.teacher.lexicon import Lexicon
from groundling.world.catalog import Catalog

app = tyro.extras.SubcommandApp()
Type = Annotated[
    str | None, tyro.conf.arg(name="type", metavar="T", help=f"One of {', '.join(TYPES)}; all if left out.")
]


def the_grammar() -> Grammar:
    return Grammar(Lexicon(), Catalog.default().pairs)


def _types(name: str | None) -> tuple[str, ...]:
    return TYPES if name is None else (TYPES[type_index(name)],)


def _record(grammar: Grammar, meaning: Meaning) -> dict[str, Any]:
    return {"sentence": grammar.lexicon.text(grammar.tokens(meaning)), "type": meaning.type, "slots": meaning.slots}


@app.command
def count(as_json: Json = False) -> None:
    """Per type: templates, fillings of their slots, and sentences; and the totals."""
    grammar = the_grammar()
    rows = [
        {"type": name, "templates": t, "fillings": p, "sentences": t * p} for name, (t, p) in grammar.count().items()
    ]
    totals = {
        kind: sum(row["sentences"] for row in rows if str(row["type"]).startswith(prefix))  # type: ignore[misc]
        for kind, prefix in (("nav", "nav_"), ("qa", "rec_"))
    }
    totals["all"] = sum(totals.values())
    if as_json:
        return print_json({"types": rows, "totals": totals})
    lines: list[tuple[Any, ...]] = [(*row.values(), conditions(str(row["type"]))) for row in rows]
    lines += [(kind.upper(), "", "", total, "") for kind, total in totals.items()]
    print_table("The teacher's language", ("type", "templates", "fillings", "sentences", "when"), lines)


@app.command
def sample(
    type_: Type = None,
    n: Annotated[int, tyro.conf.arg(aliases=["-n"], help="How many.")] = 10,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Random sentences: a type, then a template, then a filling."""
    if n < 0 or seed < 0:
        raise InputError(f"{'n' if n < 0 else 'seed'} {min(n, seed)}: it is a whole number, 0 or more")
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
    n: Annotated[int | None, tyro.conf.arg(aliases=["-n"], help="At most so many.")] = None,
    as_json: Json = False,
) -> None:
    """Every sentence, one a line, in the grammar's order."""
    if n is not None and n < 0:
        raise InputError(f"n {n}: it is a whole number, 0 or more")
    grammar = the_grammar()
    meanings = itertools.chain.from_iterable(grammar.meanings(name) for name in _types(type_))
    for meaning in itertools.islice(meanings, n):
        if as_json:
            print_json(_record(grammar, meaning))
        else:
            print(grammar.lexicon.text(grammar.tokens(meaning)))


@app.command
def parse(sentence: tyro.conf.Positional[str], as_json: Json = False) -> None:
    """The type and slots of a sentence, or what is wrong with it."""
    grammar = the_grammar()
    meaning = grammar.parse(grammar.lexicon.tokens(sentence))
    record = _record(grammar, meaning)
    if as_json:
        return print_json(record)
    print_table(record["sentence"], ("", ""), [("type", meaning.type), *meaning.slots.items()])

"""The small faults that `mutants.py` puts into a file: which ones there are, and where they can be made."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], str]] = {
    ast.Lt: (ast.LtE, "< to <="),
    ast.LtE: (ast.Lt, "<= to <"),
    ast.Gt: (ast.GtE, "> to >="),
    ast.GtE: (ast.Gt, ">= to >"),
    ast.Eq: (ast.NotEq, "== to !="),
    ast.NotEq: (ast.Eq, "!= to =="),
}
OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], str]] = {
    ast.Add: (ast.Sub, "+ to -"),
    ast.Sub: (ast.Add, "- to +"),
    ast.Mult: (ast.FloorDiv, "* to //"),
    ast.FloorDiv: (ast.Mult, "// to *"),
}


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    file: str
    line: int
    start: int
    end: int
    """Bytes of the file that are replaced."""
    text: str
    mutation: str
    source: str
    """The line, as it was."""


def mutants(file: str, content: bytes) -> list[Mutant]:
    """All mutants of a file."""
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def make(node: ast.expr | ast.stmt, text: str, mutation: str) -> Mutant:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        source = content[starts[node.lineno - 1] : starts[node.lineno]].decode().strip()
        part = " ".join(content[start:end].decode().split())
        return Mutant(file, node.lineno, start, end, text, f"{mutation}: `{part:.60}`", source)

    return [make(*change) for node in _code(ast.parse(content)) for change in _changes(node)]


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree without annotations, decorators, error messages, strings and names for others."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.Raise | ast.Assert | ast.JoinedStr):
                continue
            if isinstance(child, ast.keyword) and child.arg == "strict":  # of zip, an assertion
                continue
            if isinstance(child, ast.Assign) and ast.unparse(child.targets[0]) == "__all__":
                continue
            yield from _code(child)


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str, str]]:
    """What can be changed at a node: the node, its new text, and words for the change."""
    match node:
        case ast.Compare(left, ops, comparators):
            for k, op in enumerate(ops):
                if type(op) in COMPARISONS:
                    new, words = COMPARISONS[type(op)]
                    changed = ast.Compare(left, [*ops[:k], new(), *ops[k + 1 :]], comparators)
                    yield node, f"({ast.unparse(changed)})", words if len(ops) == 1 else f"{words} ({k})"
        case ast.BinOp(left, op, right) if type(op) in OPERATORS and not isinstance(left, ast.List | ast.JoinedStr):
            other, words = OPERATORS[type(op)]
            yield node, f"({ast.unparse(ast.BinOp(left, other(), right))})", words
        case ast.BoolOp(op, values):
            new_op, words = (ast.Or(), "and to or") if isinstance(op, ast.And) else (ast.And(), "or to and")
            yield node, f"({ast.unparse(ast.BoolOp(new_op, values))})", words
        case ast.UnaryOp(ast.Not(), operand):
            yield node, f"({ast.unparse(operand)})", "not removed"
        case ast.Constant(value=bool(value)):
            yield node, str(not value), f"{value} to {not value}"
        case ast.Constant(value=int(value)):
            yield node, str(value + 1), f"{value} to {value + 1}"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield node, "return None", "return None"
        case ast.AugAssign():
            yield node, "pass", "statement removed"
        case ast.Assign(targets=targets) if all(isinstance(t, ast.Subscript | ast.Attribute) for t in targets):
            yield node, "pass", "statement removed"

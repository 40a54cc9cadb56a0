"""Parts of the source as Markdown: definitions, docstrings, and tables of the fields of a dataclass."""

import ast
import inspect
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
REPOSITORY = "https://github.com/groundling/groundling/blob/main/"
INSERTED = re.compile(r"^<!-- website: (\S+) ?(.*?) ?-->$", re.MULTILINE)
"""A line of a page that the site replaces: a name and arguments."""


def _find(name: str) -> tuple[Path, str, ast.AST]:
    """The file, its text, and the node of `module:qualified.name`."""
    module, _, qualified = name.partition(":")
    path = ROOT / "src" / (module.replace(".", "/") + ".py")
    text = path.read_text("utf-8")
    node: ast.AST = ast.parse(text)
    for part in qualified.split("."):
        named = [child for child in ast.iter_child_nodes(node) if getattr(child, "name", None) == part]
        if not named:
            raise SystemExit(f"{name}: {path} has no {part}")
        node = named[0]
    return path, text, node


def code(name: str) -> str:
    """The source of a definition, with a link to it."""
    path, text, node = _find(name)
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
    source = inspect.cleandoc("\n" + "\n".join(lines))
    relative = path.relative_to(ROOT)
    return f"```python\n{source}\n```\n\n[`{relative}`]({REPOSITORY}{relative}#L{node.lineno})\n"


def sections(name: str) -> str:
    """The docstring of a class without its first line, as Markdown; and what its first line says."""
    _, _, node = _find(name)
    assert isinstance(node, ast.ClassDef)
    documentation = ast.get_docstring(node) or ""
    return documentation.partition("\n")[2].strip() + "\n"


def fields(name: str) -> str:
    """A table of the fields of a dataclass: name, default and documentation."""
    _, text, node = _find(name)
    assert isinstance(node, ast.ClassDef)
    rows = []
    for entry, following in zip(node.body, [*node.body[1:], None], strict=True):
        if not isinstance(entry, ast.AnnAssign) or entry.value is None:
            continue
        assert isinstance(entry.target, ast.Name)
        assert isinstance(following, ast.Expr), f"{entry.target.id} of {name} has no documentation"
        assert isinstance(following.value, ast.Constant)
        default = ast.get_source_segment(text, entry.value) or ""
        said = " ".join(str(following.value.value).split()).replace("|", "\\|")
        rows.append(f"| `{entry.target.id}` | `{_default(default)}` | {said} |")
    return "\n".join(["| option | default | meaning |", "|---|---|---|", *rows]) + "\n"


def _default(source: str) -> str:
    """A default value as people write it: `WorldConfig.size` is the value of that field."""
    owner, _, attribute = source.partition(".")
    if owner == "WorldConfig" and attribute:
        from groundling.world.types import WorldConfig

        return repr(getattr(WorldConfig, attribute))
    return "the paper's" if source == "Rewards()" else source.replace('"', "'")


def file(name: str) -> str:
    """A file of the repository as a code block, with a link to it."""
    language = Path(name).suffix.removeprefix(".").replace("py", "python")
    return f"```{language}\n{(ROOT / name).read_text('utf-8').rstrip()}\n```\n\n[`{name}`]({REPOSITORY}{name})\n"

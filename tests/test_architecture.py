"""Imports go one way: a package imports only packages that precede it in `ORDER`. Files stay short."""

import ast
import statistics
from pathlib import Path

import pytest

import groundling

SOURCE = Path(groundling.__file__).parent
ROOT = Path(__file__).parents[1]
MAX_LINES, MAX_MEDIAN_LINES = 400, 150
ORDER = [
    "errors",
    "read_json",
    "atomic_write",
    "imports",
    "jit",
    "seeds",
    "extras",
    "world",
    "teacher",
    "episodes",
    "text",
    "env_options",
    "env_arrays",
    "vector_env",
    "env",
    "agent",
    "rollout",
    "evaluation",
    "learn",
    "suites",
    "export",
    "adapters",
    "study",
    "page",
    "cli",
    "__main__",
]


def imports(source: str, only_at_import: bool = False) -> set[str]:
    """The parts of this package that a file imports; optionally only those imported when the file itself is."""
    tree = ast.parse(source)
    names = set()
    for node in tree.body if only_at_import else ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            continue
        names |= {module.split(".")[1] for module in modules if module.startswith("groundling.")}
    return names


def part_of(path: Path) -> str:
    """The package or module of `ORDER` that a file belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def later_imports(part: str, source: str) -> set[str]:
    """The imports of a file of `part` that violate the order."""
    return {name for name in imports(source) if ORDER.index(name) > ORDER.index(part)}


def test_imports_go_one_way() -> None:
    files = [path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"]
    assert {part_of(path) for path in files} == set(ORDER)
    for path in files:
        later = later_imports(part_of(path), path.read_text("utf-8"))
        assert not later, f"{path.relative_to(SOURCE)} imports {later}, which come after {part_of(path)}"


@pytest.mark.parametrize(
    ("part", "source", "violations"),
    [
        ("teacher", "from groundling.evaluation.estimates import Estimate", {"evaluation"}),
        ("rollout", "def f():\n    from groundling import learn, seeds", {"learn"}),
        ("world", "import groundling.errors", set()),
    ],
)
def test_the_check_detects_violations(part: str, source: str, violations: set[str]) -> None:
    assert later_imports(part, source) == violations


def test_agent_imports_neither_world_nor_teacher() -> None:
    """Otherwise ground truth could leak into a model."""
    files = list((SOURCE / "agent").rglob("*.py"))
    assert len(files) > 8
    for path in files:
        assert imports(path.read_text("utf-8")) <= {"agent", "errors", "read_json", "atomic_write"}, path.name


def test_package_itself_imports_only_extras() -> None:
    """`import groundling` must be fast, and work without the optional dependencies."""
    assert imports((SOURCE / "__init__.py").read_text("utf-8"), only_at_import=True) == {"extras"}


def test_files_are_short() -> None:
    """Code of all kinds; data and the log of experiments are not meant to be read from end to end."""
    folders = [SOURCE, *(ROOT / name for name in ("tests", "examples", "fuzz", "icons", "packaging"))]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".js", ".css", ".html")]
    lines = {path: path.read_text("utf-8").count("\n") for path in files}
    assert len(lines) > 300
    assert not {str(path): count for path, count in lines.items() if count > MAX_LINES}
    assert statistics.median(lines.values()) <= MAX_MEDIAN_LINES

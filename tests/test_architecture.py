"""Data flows one way: a package imports only what stands before it."""

import ast
from pathlib import Path

import groundling

SOURCE = Path(groundling.__file__).parent
ORDER = ["errors", "files", "kernel", "world", "teacher", "env", "agent", "learn", "study", "page", "cli", "__main__"]


def imports(path: Path) -> set[str]:
    """The parts of this package that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            continue
        names |= {module.split(".")[1] for module in modules if module.startswith("groundling.")}
    return names


def test_imports_go_one_way() -> None:
    files = [path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"]
    assert len(files) > 15
    for path in files:
        part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        later = {name for name in imports(path) if ORDER.index(name) > ORDER.index(part)}
        assert not later, f"{path.relative_to(SOURCE)} imports {later}, which stand after {part}"


def test_the_agent_knows_neither_world_nor_teacher() -> None:
    """Or ground truth could leak into it."""
    files = list((SOURCE / "agent").glob("*.py"))
    assert len(files) > 8
    for path in files:
        assert imports(path) <= {"agent", "errors", "files"}, path.name

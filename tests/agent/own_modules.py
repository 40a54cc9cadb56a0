"""Modules of users, as files on the Python path of a test."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_model.py"


@contextmanager
def forget_modules(folder: Path) -> Iterator[None]:
    """Forget all modules of a folder at the end of the context."""
    try:
        yield
    finally:
        for name, module in [*sys.modules.items()]:
            if (getattr(module, "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]


def write_package(folder: Path, entry_points: str) -> None:
    """The metadata of an installed package with entry points."""
    metadata = folder / "mine-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[groundling.models]\n{entry_points}\n")

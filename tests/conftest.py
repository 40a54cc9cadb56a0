"""Fixtures of several tests: the built-in catalog, the grammar, and splits by name."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before PyTorch is imported: tests run in parallel, one core each

import pytest
from numba.core.caching import NullCache

from groundling.teacher.grammar import Grammar
from groundling.teacher.language import Language
from groundling.teacher.references import describe_objects
from groundling.teacher.splits import Split
from groundling.world.catalog import Catalog
from groundling.world.map_generation import draw_map


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return Catalog.default()


@pytest.fixture(scope="session")
def grammar(catalog: Catalog) -> Grammar:
    return Grammar(Language.paper(), catalog)


@pytest.fixture(scope="session")
def splits(grammar: Grammar) -> dict[str, Split]:
    return {kind: Split.draw(kind, 50, 0, grammar) for kind in ("normal", "zs1", "zs2")}


@pytest.fixture
def no_kernel_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests with functions of their own: other processes cannot import them from the cache on disk."""
    for kernel in (draw_map, describe_objects):
        monkeypatch.setattr(kernel, "_cache", NullCache())

"""Arrays that vector envs return: observations in memory that is used again, and values with masks."""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from groundling.teacher.lexicon import Lexicon
from groundling.world.types import Bools

KEPT = 2
"""Arrays kept of each name: a loop refers to the last observation while the next one is made."""
MAX_KNOWN = 100_000
"""Sentences remembered as text."""


class ObservationArrays:
    """Arrays by name, allocated once: new memory costs more than drawing into it.

    With `copy`, an array is used again only when nothing else refers to it, so what is returned never changes while
    somebody has it. Otherwise there is one array of each name.
    """

    def __init__(self, copy: bool) -> None:
        self.copy = copy
        self._kept: dict[str, list[NDArray[Any]]] = {}

    def __reduce__(self) -> Any:
        """Copies and pickles begin without arrays."""
        return ObservationArrays, (self.copy,)

    def get(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """An array with any content."""
        kept = self._kept.setdefault(name, [])
        for k in range(len(kept)):
            if kept[k].shape == shape and (not self.copy or _references(kept, k) <= _UNUSED):
                return kept[k]
        kept.append(np.empty(shape, dtype))
        del kept[: -KEPT if self.copy else -1]
        return kept[-1]


def _references(arrays: list[NDArray[Any]], k: int) -> int:
    """The number of references to an array of a list."""
    return sys.getrefcount(arrays[k])


_UNUSED = _references([np.empty(0)], 0)
"""References to an array that only its list has."""


class SentenceTexts:
    """Sentences as text; they are remembered, because commands stay for an episode and sentences recur."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self._known: dict[bytes, str] = {}

    def __call__(self, tokens: NDArray[np.int16]) -> NDArray[np.object_]:
        """[B] texts of [B, words] tokens."""
        if len(self._known) > MAX_KNOWN:
            self._known.clear()
        texts = []
        for row in tokens:
            key = row.tobytes()
            if key not in self._known:
                self._known[key] = self.lexicon.decode(row.tolist())
            texts.append(self._known[key])
        return _objects(texts)

    def words(self, tokens: NDArray[np.int64]) -> NDArray[np.object_]:
        """[B] words of [B] tokens; padding is the empty text."""
        words = (*self.lexicon.words, "")
        return _objects([words[k] for k in tokens.tolist()])


class LazyInfo(dict[str, Any]):
    """A vector env's info in Gymnasium's form; its texts are made when somebody looks at one, or at all values."""

    def __init__(
        self, values: dict[str, Any], texts: dict[str, Callable[[], NDArray[np.object_]]], which: Bools
    ) -> None:
        super().__init__(values)
        self._texts, self._which = texts, which
        for name in texts:
            super().__setitem__(name, None)
            super().__setitem__(f"_{name}", which.copy())

    def _make_texts(self) -> None:
        texts, self._texts = self._texts, {}
        for name, make in texts.items():
            super().update(masked({name: make()}, self._which))

    def __getitem__(self, name: str) -> Any:
        if name in self._texts:
            self._make_texts()
        return super().__getitem__(name)

    def __reduce__(self) -> Any:
        """Copies and pickles are ordinary dictionaries."""
        return dict, (dict(self),)


def _after_texts(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a dictionary that first makes the texts."""

    @wraps(method)
    def call(self: LazyInfo, *args: Any, **kwargs: Any) -> Any:
        self._make_texts()
        return method(self, *args, **kwargs)

    return call


_LOOKS_AT_VALUES = (
    *("__delitem__", "__eq__", "__iter__", "__ne__", "__or__", "__repr__", "__ror__", "__setitem__"),
    *("copy", "get", "items", "pop", "popitem", "setdefault", "values"),
)
"""Methods that read or change values; `in`, `len` and `keys` need none."""
for _name in _LOOKS_AT_VALUES:
    setattr(LazyInfo, _name, _after_texts(getattr(dict, _name)))


def masked(info: dict[str, NDArray[Any]], which: Bools) -> dict[str, Any]:
    """A vector env's info in Gymnasium's form: the values, and a mask of the envs that have them."""
    everywhere = which.all()
    if not everywhere and not which.any():
        return {}
    values: dict[str, Any] = {}
    for name, value in info.items():
        values[name] = value.copy()
        if not everywhere:
            values[name] = np.full(len(which), None if value.dtype == object else 0, value.dtype)
            values[name][which] = value[which]
        values[f"_{name}"] = which.copy()
    return values


def _objects(texts: list[str]) -> NDArray[np.object_]:
    """Texts as an array of objects."""
    array = np.empty(len(texts), object)
    array[:] = texts
    return array

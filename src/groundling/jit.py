"""Compilation of the package's loops with Numba, and the cache of their machine code.

Numba's own check sees only the file in which a kernel is defined, not the kernels, constants and data that it uses from
other files. So the cache folder is named after a hash of everything that kernels depend on: a change of any of it, or
another version, compiles anew.
"""

import hashlib
import os
import sys
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
import numpy as np
from numba.core import event

_numba_config: Any = numba.config
P = ParamSpec("P")
R = TypeVar("R")

PACKAGE = Path(__file__).parent
KERNEL_SOURCES = (PACKAGE / "jit.py", PACKAGE / "world", PACKAGE / "teacher")


def source_hash() -> str:
    """A hash of the kernels' sources and data, and of the versions that compile them."""
    files = [
        file
        for source in KERNEL_SOURCES
        for file in ([source] if source.is_file() else sorted(source.iterdir()))
        if file.suffix in (".py", ".toml")
    ]
    digest = hashlib.sha256(f"{sys.version} {numba.__version__} {np.__version__}".encode())
    for file in files:
        digest.update(f"\n{file.name}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


@cache
def cache_folder() -> Path | None:
    """The folder for machine code (NUMBA_CACHE_DIR, or the user's cache folder); None if none is writable."""
    try:
        folder = _cache_root() / f"kernels-{source_hash()}"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # RuntimeError: there is no home folder
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


def _cache_root() -> Path:
    if _numba_config.CACHE_DIR:
        return Path(_numba_config.CACHE_DIR) / "groundling"
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        root = Path.home() / "Library" / "Caches"
    else:
        root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "groundling"


_OPTIONS: dict[str, Any] = {"error_model": "numpy", "forceinline": True, "_nrt": False}
"""A kernel allocates no array, so it needs no counts of references, which would take most of the time."""


_KERNELS: list[Any] = []


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function on its first call, and cache the machine code for later processes where that is possible.

    It must not allocate arrays: its caller passes working memory.
    """
    compiled: Callable[P, R] = _cached(function) or numba.njit(**_OPTIONS)(function)
    _KERNELS.append(compiled)
    return compiled


@cache
def uncached(compiled: Callable[P, R]) -> Callable[P, R]:
    """The same kernel for a user's functions as arguments. Nothing of it is cached on disk, nor of the kernels that it
    calls: the types of functions are new in each process, and later processes could not read them."""
    fresh: Callable[P, R] = numba.njit(**_OPTIONS)(compiled.py_func)  # type: ignore[attr-defined]

    @wraps(compiled)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for used in _KERNELS:
            used._cache.disable()
        try:
            return fresh(*args, **kwargs)
        finally:
            for used in _KERNELS:
                used._cache.enable()

    return call


def constant(value: int) -> int:
    """An integer to call kernels with: Numba compiles a kernel anew for each Python constant, but not for these."""
    return np.int64(value)  # type: ignore[return-value]


def _cached(function: Callable[..., Any]) -> Any:
    """The kernel with a cache in `cache_folder`, or None if it cannot be cached."""
    folder = cache_folder()
    if folder is None:
        return None
    configured = _numba_config.CACHE_DIR
    _numba_config.CACHE_DIR = str(folder)  # Numba reads it when the decorator runs
    try:
        return numba.njit(cache=True, **_OPTIONS)(function)
    except (OSError, RuntimeError):  # no cache can be written after all
        return None
    finally:
        _numba_config.CACHE_DIR = configured


class _CompilationNotice(event.Listener):
    """Says once per process that the first compilation takes a while."""

    def __init__(self) -> None:
        self.given = False

    def on_start(self, started: Any) -> None:
        if not self.given and started.data["dispatcher"].py_func.__module__.startswith("groundling."):
            self.given = True
            where = "now and in every process: no cache folder is writable" if cache_folder() is None else "only once"
            print(f"groundling: compiling the simulator, up to half a minute ({where})", file=sys.stderr)

    def on_end(self, ended: Any) -> None:
        pass


event.register("numba:compile", _CompilationNotice())

"""Classes and functions of a user, named as `module:name`."""

import importlib
import sys
from pathlib import Path
from typing import Any, TypeVar

from groundling.errors import InputError, cut

T = TypeVar("T")


def import_name(name: str, what: str) -> Any:
    """What `module:name` stands for; the module is in the current folder or installed."""
    module, _, attribute = name.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise InputError(f"{what} {cut(name)!r} cannot be imported ({cut(str(error), 120)})") from None


def import_class(name: str, base: type[T], what: str) -> type[T]:
    """The subclass of `base` that `module:Class` names."""
    found = import_name(name, what)
    if not isinstance(found, type) or not issubclass(found, base):
        raise InputError(f"{what} {cut(name)!r} must be a subclass of {base.__module__}.{base.__name__}")
    return found

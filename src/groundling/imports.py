"""Classes and functions of a user, named as `module:name`."""

import importlib
import re
import sys
from typing import Any, TypeVar

from groundling.errors import InputError, cut

T = TypeVar("T")


def names_code(text: str) -> bool:
    """Whether a text is `module:name`."""
    return re.fullmatch(r"[\w.]+:[^\W\d]\w*", text) is not None


def is_imported(name: str) -> bool:
    """Whether the module of `module:name` is imported already."""
    return name.partition(":")[0] in sys.modules


def import_name(name: str, what: str) -> Any:
    """What `module:name` stands for; for commands, the module may be in the current folder."""
    module, _, attribute = name.partition(":")
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

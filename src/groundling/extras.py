"""Parts of the package that need more than its core: said by name where they are missing."""

import importlib.util

from groundling.errors import InputError

_EXTRAS = {
    "agent": ("torch", "safetensors", "tensorboard"),
    "study": ("fsspec", "matplotlib", "sklearn"),
    "cluster": ("ray",),
    "page": ("starlette", "uvicorn", "websockets"),
}


def needs(extra: str) -> None:
    """Fail, naming the extra to install, if it is not."""
    missing = [name for name in _EXTRAS[extra] if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"this needs {', '.join(missing)}: pip install 'groundling[{extra}]'")

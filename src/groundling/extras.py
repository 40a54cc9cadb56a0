"""Optional dependencies: a missing extra is named by the error."""

import importlib.util

from groundling.errors import InputError

_EXTRAS = {
    "agent": ("torch", "safetensors", "tensorboard"),
    "study": ("fsspec", "matplotlib", "sklearn"),
    "cluster": ("ray",),
    "page": ("starlette", "uvicorn", "websockets"),
    "offline": ("h5py", "minari", "pyarrow"),
    "inspect": ("inspect_ai",),
    "openenv": ("openenv",),
}


def needs(extra: str) -> None:
    """Raise, naming the extra to install, if its packages are missing."""
    missing = [name for name in _EXTRAS[extra] if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"missing packages {', '.join(missing)}; install them with pip install 'groundling[{extra}]'")

"""The device that a run uses."""

import torch

from groundling.errors import InputError


def choose_device(name: str) -> str:
    """The device of a name; `auto` is a GPU if there is one."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not available.get(name.partition(":")[0], False):
        usable = ", ".join(["auto", *(device for device, there in available.items() if there)])
        raise InputError(f"device must be one that this machine has ({usable}), got {name!r}")
    return name

"""The device and the memory that a run uses."""

import ctypes
import sys

import torch

from groundling.errors import InputError

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
"""Parameters of mallopt in glibc's malloc.h."""


def choose_device(name: str) -> str:
    """The device of a name; `auto` is a GPU if there is one."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not available.get(name.partition(":")[0], False):
        usable = ", ".join(["auto", *(device for device, there in available.items() if there)])
        raise InputError(f"device must be one that this machine has ({usable}), got {name!r}")
    return name


def keep_freed_memory() -> None:
    """Let the C library reuse freed memory of tensors, instead of returning it to the system after every operation.

    With glibc, this takes a twentieth off an update with minibatches of 16, and half off one of SAN. Other systems have
    no such setting.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)

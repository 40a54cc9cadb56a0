"""Writing files atomically."""

import os
import secrets
from pathlib import Path


def atomic_write(path: str | Path, data: bytes) -> None:
    """Write a file so that a reader, also after a crash, sees either the old content or the new one."""
    path = Path(path)
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise

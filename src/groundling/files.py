"""Files that are whole or not there."""

import os
import tempfile
from pathlib import Path


def write_whole(path: str | Path, data: bytes) -> None:
    """Write a file so that whoever reads it, now or after a crash, finds the old content or the new one."""
    path = Path(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise

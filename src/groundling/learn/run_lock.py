"""A lock on the folder of a run, so that no two processes train in it. The system releases it when its process ends."""

from pathlib import Path
from typing import IO

from groundling.errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class RunLock:
    """Holds `folder/lock` from construction until `release` or the end of the process."""

    def __init__(self, folder: Path) -> None:
        path = folder / "lock"
        if path.exists() and not path.is_file():  # opening a pipe would block
            raise InputError(f"{path} must be a regular file, got something else; remove it")
        self.file: IO[bytes] = path.open("ab")
        try:
            if fcntl is not None:
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            else:
                import msvcrt

                msvcrt.locking(self.file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            self.file.close()
            raise InputError(f"folder {folder}: another process is training in it; wait for it, or stop it") from None

    def release(self) -> None:
        """Give the folder free."""
        self.file.close()

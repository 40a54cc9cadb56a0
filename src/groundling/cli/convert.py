"""`groundling convert`"""

from pathlib import Path
from typing import Annotated

import tyro

from groundling.errors import InputError
from groundling.extras import needs


def convert(
    source: Annotated[
        tyro.conf.Positional[Path], tyro.conf.arg(metavar="SOURCE", help="Checkpoint file of any version.")
    ],
    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT", help="Checkpoint file to write.")],
) -> None:
    """Rewrite a checkpoint of an earlier version in the current format."""
    needs("agent")
    from groundling.agent.checkpoint import convert

    try:
        convert(source, out)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror})") from error
    print(f"Written: {out}")

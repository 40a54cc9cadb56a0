"""`groundling convert`"""

from pathlib import Path
from typing import Annotated

import tyro

from groundling.cli.own_models import AllowImport, current_folder_on_path
from groundling.errors import InputError
from groundling.extras import needs


def convert(
    source: Annotated[
        tyro.conf.Positional[Path], tyro.conf.arg(metavar="SOURCE", help="Checkpoint file of any version.")
    ],
    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT", help="Checkpoint file to write.")],
    allow_import: AllowImport = False,
) -> None:
    """Rewrite a checkpoint of an earlier version in the current format."""
    needs("agent")
    from groundling.agent.checkpoint import convert

    try:
        with current_folder_on_path(allow_import):
            convert(source, out, allow_import)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror})") from error
    print(f"Written: {out}")

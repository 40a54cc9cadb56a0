"""`groundling gallery`"""

from pathlib import Path
from typing import Annotated

import tyro

from groundling.cli.output import OptionalCheckpoint
from groundling.cli.own_models import AllowImport, load_agent
from groundling.extras import needs


def gallery(
    checkpoint: OptionalCheckpoint = "zs2-90",
    out: Annotated[Path, tyro.conf.arg(metavar="PATH", help="Folder to write the pages to.")] = Path("gallery"),
    count: Annotated[int, tyro.conf.arg(help="Number of walks.")] = 12,
    allow_import: AllowImport = False,
) -> None:
    """Write walks of an agent as HTML pages with an index, for any static host."""
    needs("agent")
    needs("page")
    from groundling.page.app_state import AppState, ServedAgent
    from groundling.page.gallery import write_gallery
    from groundling.page.limits import Limits

    agent = ServedAgent(Path(checkpoint).stem, load_agent(checkpoint, allow_import=allow_import))
    entries = write_gallery(AppState([agent], Limits()), out, count)
    for entry in entries:
        print(f"{entry.name}  {entry.sentence}  {entry.verdict}")
    print(f"Wrote {len(entries)} walks and {out / 'index.html'}")

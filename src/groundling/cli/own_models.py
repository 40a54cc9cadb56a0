"""Models of your own on the command line: their modules may be in the current folder."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import tyro

if TYPE_CHECKING:
    from groundling.learn.trained_agent import TrainedAgent

AllowImport = Annotated[
    bool,
    tyro.conf.arg(
        help="Import the modules that the checkpoint names, such as that of its model, which runs their code."
    ),
]


@contextmanager
def current_folder_on_path(allow_import: bool = True) -> Iterator[None]:
    """Find modules in the current folder first, as `python -m` does, if importing is allowed."""
    if not allow_import:
        yield
        return
    folder = os.getcwd()
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def load_agent(
    checkpoint: str,
    device: str = "cpu",
    allow_import: bool = False,
    icons: str | None = None,
    language: str | None = None,
) -> "TrainedAgent":
    """A trained agent, whose model may be in a module of the current folder."""
    from groundling.learn.trained_agent import load_agent

    with current_folder_on_path(allow_import):
        return load_agent(checkpoint, device, allow_import, icons, language)

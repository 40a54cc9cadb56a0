"""Print pip constraints that select the lowest version of each dependency that `pyproject.toml` allows.

    python packaging/oldest.py agent page study > constraints.txt

PyTorch is left out: the versions of its CPU build that can be installed depend on the machine.
"""

import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def constraints(extras: Sequence[str]) -> list[str]:
    """`name==version` for each dependency of the package and of some extras."""
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    requirements = [*project["dependencies"]]
    for extra in extras:
        requirements += project["optional-dependencies"][extra]
    found = {}
    for requirement in requirements:
        match = re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\w.]+)", requirement)
        if match is None:
            sys.exit(f"{PROJECT}: a dependency must be name>=version, got {requirement!r}")
        found[match[1]] = match[2]
    return [f"{name}=={version}" for name, version in sorted(found.items()) if name != "torch"]


if __name__ == "__main__":
    print("\n".join(constraints(sys.argv[1:])))

"""The built package in empty virtual environments of every Python here, used from another folder: `make test-package`.

Interpreters are those of $PYTHONS (paths with spaces between them), or all that are found: on the path, and pyenv's.
Environments are built in the user's temporary folder, and packages come from the configured index.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

DIST = Path(__file__).parents[1] / "dist"
VERSIONS = ("3.11", "3.12", "3.13")
TORCH = "torch==2.13.0+cpu"
"""The build without CUDA: no other is installed here, because of its size."""
MAX_WHEEL_MB = 15
CORE = """
import sys
import gymnasium as gym
import numpy as np
import groundling
env = gym.make("groundling/NavQA-v0")
env.reset(seed=0)
observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
assert env.observation_space.contains(observation), observation
envs = gym.make_vec("groundling/Nav-v0", num_envs=16)
envs.reset(seed=0)
for _ in range(40):
    envs.step(envs.action_space.sample())
assert "torch" not in sys.modules
print(groundling.__file__)
"""
PLAY = """
import gymnasium as gym
import groundling
env, agent = gym.make("groundling/NavQA-v0", phase="test"), groundling.load("normal")
(obs, info), done = env.reset(seed=0), False
while not done:
    obs, reward, terminated, truncated, info = env.step(agent.act(obs))
    done = terminated or truncated
print(info["is_success"])
"""


class Installed(NamedTuple):
    """The package in a virtual environment."""

    bin: Path
    folder: Path
    """A folder away from the sources."""

    def run(self, *command: str, code: int = 0) -> str:
        """The standard output of a program; of a failing one, its error output."""
        program = str(self.bin / command[0])
        done = subprocess.run(
            [program, *command[1:]], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stderr if code else done.stdout

    def install(self, *requirements: str) -> None:
        self.run("python", "-m", "pip", "install", "--quiet", *requirements)

    @property
    def environment(self) -> dict[str, str]:
        """Without anything of the process that runs the tests; its caches are empty at first."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA", "XDG"))}
        return {**kept, "XDG_CACHE_HOME": str(self.folder / "cache"), "OMP_NUM_THREADS": "1"}


def interpreters() -> list[str]:
    """The Python of each version that works here."""
    given = os.environ.get("PYTHONS", "").split()
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = {}
    for version in VERSIONS:
        paths = [str(path) for path in sorted(pyenv.glob(f"{version}.*/bin/python"))]
        for python in given or [*paths, shutil.which(f"python{version}"), sys.executable]:
            if python is not None and _version(python) == version:
                found[version] = python
                break
    return [*found.values()]


def _version(python: str) -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def wheel() -> Path:
    (path,) = DIST.glob("groundling-*.whl")
    return path


@pytest.fixture(scope="module", params=interpreters(), ids=_version)
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    folder = tmp_path_factory.mktemp("package")
    subprocess.run([request.param, "-m", "venv", folder / "env"], check=True)
    (folder / "elsewhere").mkdir()
    environment = Installed(folder / "env" / "bin", folder / "elsewhere")
    environment.install(str(wheel()))
    yield environment
    shutil.rmtree(folder)


def test_files() -> None:
    """The wheel holds what is used and is small; the source distribution holds what is needed to build and to test."""
    assert wheel().stat().st_size <= MAX_WHEEL_MB * 1e6
    (source,) = DIST.glob("groundling-*.tar.gz")
    assert source.name.removesuffix(".tar.gz") == wheel().name.partition("-py3")[0]
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "Makefile", "tests/conftest.py"}
    assert needed <= names
    assert "src/groundling/page/static/index.html" in names
    assert not [name for name in names if "__pycache__" in name or name.startswith(("results/", ".ci", "icons/"))]


def test_environments_without_pytorch(installed: Installed) -> None:
    path = installed.run("python", "-c", CORE).strip()
    assert Path(path).is_relative_to(installed.bin.parent)
    assert re.fullmatch(r"groundling \d+\.\d+\.\d+\n", installed.run("groundling", "--version"))
    counts = json.loads(installed.run("groundling", "language", "count", "--json"))
    assert sum(row["sentences"] for row in counts["types"]) == 1_639_015
    missing = installed.run("groundling", "evaluate", "normal", code=2)
    assert "pip install 'groundling[agent]'" in missing


def test_agent_and_page(installed: Installed) -> None:
    """Pretrained weights, the evaluation, and the page with its static files."""
    pip = (installed.bin / "python", "-m", "pip")
    available = subprocess.run(
        [*pip, "install", "--quiet", "--dry-run", "--no-deps", TORCH], capture_output=True, check=False
    )
    if available.returncode:
        pytest.skip(f"{TORCH} cannot be installed for this Python here")
    installed.install(TORCH)
    installed.install(f"{wheel()}[agent,page]")
    assert installed.run("python", "-c", PLAY) == "True\n"
    command = ("evaluate", "zs2-90", "--episodes", "200", "--episodes-per-type", "20", "--threads", "1", "--json")
    report = json.loads(installed.run("groundling", *command))
    assert report["greedy"]["natural"]["success_rate"]["mean"] > 0.9
    page = subprocess.Popen(
        [installed.bin / "groundling", "play", "--port", "0", "--no-browser"],
        cwd=installed.folder,
        env=installed.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert page.stdout is not None
        address = page.stdout.readline().split()[-1].rstrip("/")
        html = urllib.request.urlopen(f"{address}/", timeout=60).read().decode()
        scripts = re.findall(r'(?:src|href)="([^":]+\.(?:js|css))"', html)
        assert scripts
        for script in scripts:
            assert urllib.request.urlopen(f"{address}/{script.lstrip('./')}", timeout=60).status == 200
    finally:
        page.kill()
        page.communicate()

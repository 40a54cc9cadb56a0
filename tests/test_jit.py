"""Compiled kernels are never stale, need no writable folder, and say once that they are being compiled."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import groundling
from groundling import jit

PACKAGE = Path(groundling.__file__).parent
DRAW = """
import numpy as np
from groundling.world.rng import below
print(below(np.uint64(1), 0, 1 << 30), below(np.uint64(1), 1, 1 << 30))
"""


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the packages with kernels, whose folder can be put on the path."""
    root = tmp_path / "copy" / "groundling"
    root.mkdir(parents=True)
    for name in ("__init__.py", "errors.py", "extras.py", "read_json.py", "jit.py", "world", "teacher"):
        source = PACKAGE / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, root / name)
    return root


def test_change_of_a_constant_in_another_file_is_noticed(copy: Path, tmp_path: Path) -> None:
    """`below` inlines `mix`; here a constant of `mix`, moved to a file of its own, changes."""
    rng = copy / "world" / "rng.py"
    constants = copy / "world" / "rng_constants.py"
    text = rng.read_text()
    line = next(line for line in text.splitlines() if line.startswith("_MIX_1 = "))
    constants.write_text(f"import numpy as np\n\n{line}\n")
    rng.write_text(text.replace(line, "from groundling.world.rng_constants import _MIX_1"))
    settings = {"PYTHONPATH": str(copy.parent), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    first = run(DRAW, **settings)
    assert "compiling" in first.stderr
    second = run(DRAW, **settings)
    assert second.stdout == first.stdout
    assert "compiling" not in second.stderr
    constants.write_text(constants.read_text().replace("E5B9", "E5BB"))
    third = run(DRAW, **settings)
    assert third.stdout != first.stdout
    assert "compiling" in third.stderr


def test_hash_covers_every_kernel_source_and_its_data(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "KERNEL_SOURCES", (copy / "jit.py", copy / "world", copy / "teacher"))
    before = jit.source_hash()
    assert before == jit.source_hash()
    for name in ("jit.py", "world/simulation.py", "teacher/references.py", "teacher/language.toml"):
        file = copy / name
        text = file.read_text()
        file.write_text(text + "\n# changed\n")
        assert jit.source_hash() != before
        file.write_text(text)
    assert jit.source_hash() == before


def test_kernels_work_where_no_folder_is_writable(copy: Path) -> None:
    """As in a container with a read-only package and no home folder; the notice says so."""
    code = "import os; os.access = lambda *_: False\n" + DRAW
    found = run(code, PYTHONPATH=str(copy.parent), HOME="/nonexistent", XDG_CACHE_HOME="/proc/nonexistent")
    assert found.stdout == run(DRAW).stdout
    assert found.stderr.count("compiling the simulator") == 1
    assert "no cache folder is writable" in found.stderr


def test_nav_env_compiles_no_question_kernels(tmp_path: Path) -> None:
    code = """
import gymnasium, groundling
env = gymnasium.make("groundling/Nav-v0", size=3, objects=(1, 1), walls=(0, 0)); env.reset(seed=0); env.step(0)
from groundling.teacher import episode_sampling
print(len(episode_sampling.begin_episodes.signatures), len(episode_sampling.ask_questions.signatures))
"""
    assert run(code, NUMBA_CACHE_DIR=str(tmp_path)).stdout.split() == ["1", "0"]


@pytest.mark.slow
def test_functions_of_a_user_leave_the_cache_usable(tmp_path: Path) -> None:
    """What one process compiles with a map generator and a rule of its own, another process cannot import."""
    code = """
import sys
from pathlib import Path
import numpy as np
from groundling.teacher.language import Language
from groundling.teacher.teacher import Teacher
from groundling.world.types import WorldConfig
name = sys.argv[1]
folder = Path(f"folder_of_{name}")
folder.mkdir()
(folder / f"{name}.py").write_text("def layout(key, size, grid):\\n    grid[:] = 1\\n\\n\\n"
                                   "def row(grid, size, agent, objects, count, i):\\n    return objects[i] // size\\n")
(folder / "own.toml").write_text('''format = "groundling-language-1"
extends = "paper"
[words]
row = "a b c d e f g"
[slots]
row = "row"
[attributes]
row = { of = "map", rule = "NAME.py:row" }
[references]
in_row = "{row}"
[types]
nav_row = { reference = "in_row", asked = "go", frames = ["go to the object in {row} ."] }
'''.replace("NAME", name))
sys.path.insert(0, str(folder))
language = Language.load(folder / "own.toml")
teacher = Teacher(WorldConfig(maps=f"{name}:layout"), language=language)
episode = teacher.begin(0, np.arange(3))
print((teacher.referred_positions(episode, episode.command) == episode.state.target).all())
"""
    for name in ("one", "two"):
        found = subprocess.run(
            [sys.executable, "-c", code, name],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.stdout == "True\n", found.stderr

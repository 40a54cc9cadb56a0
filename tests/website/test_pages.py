"""What the documentation tells people to type works: Python code runs, commands are understood."""

import contextlib
import copy
import io
import re
import shlex
import shutil
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
import tyro

from groundling.cli import commands, train
from website import source
from website.source import INSERTED

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*/README.md"))]
NOT_RUN = re.compile(r"^<!-- not run: .+ -->\n```python\n.*?^```$", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^    groundling (.+)$", re.MULTILINE)
NAMED = re.compile(r"`groundling ([a-z][^`\n]*)`")
PLACEHOLDERS = {"TYPE", "OLD", "NEW", "NAME", "METHOD", "FOLDER", "SECONDS", "COMMAND", "..."}
"""Words that stand for something else."""


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def python_blocks(path: Path) -> list[str]:
    return PYTHON.findall(NOT_RUN.sub("", path.read_text("utf-8")))


@pytest.mark.parametrize("path", [path for path in PAGES if python_blocks(path)], ids=name_of)
def test_python_code_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Block after block of a page, in one fresh namespace."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "page"}
    with contextlib.redirect_stdout(io.StringIO()):
        for block in python_blocks(path):
            exec(compile(block, str(path), "exec"), namespace)


def words(line: str) -> list[str]:
    """The arguments of a command, without comments, pipes and optional parts."""
    return shlex.split(re.sub(r"\[.*?\]| [>|] .*", "", line), comments=True)


def lines(path: Path) -> list[list[str]]:
    """The commands that stand on lines of their own, to be typed as they are."""
    text = path.read_text("utf-8").replace(" \\\n", " ")
    return [found for line in LINE.findall(text) if not PLACEHOLDERS & {*(found := words(line))}]


def named(path: Path) -> list[list[str]]:
    """The commands that the text of a page names, maybe without required arguments."""
    found = [words(line) for line in NAMED.findall(path.read_text("utf-8"))]
    return [line for line in found if not PLACEHOLDERS & {*line}]


@pytest.fixture(scope="module")
def parse() -> Callable[[list[str]], None]:
    """The parser of the command line, whose commands do nothing."""

    def idle(command: Callable[..., Any]) -> Callable[..., Any]:
        return wraps(command)(lambda *_, **__: None)

    def without_effect(app: tyro.extras.SubcommandApp) -> tyro.extras.SubcommandApp:
        copied = copy.copy(app)
        copied._subcommands = {}
        for name, command in app._subcommands.items():
            target: Any = getattr(command, "target", command)  # older versions of tyro store the function itself
            changed: Any = without_effect(target) if isinstance(target, tyro.extras.SubcommandApp) else idle(target)
            copied._subcommands[name] = entry = changed if target is command else copy.copy(command)
            if target is not command:
                object.__setattr__(entry, "target", changed)
        return copied

    app = without_effect(commands.app)

    def parse(arguments: list[str]) -> None:
        if arguments[0] == "train":
            train.parse_train(arguments[1:])
        elif arguments != ["--version"]:
            app.cli(prog="groundling", args=arguments, config=(tyro.conf.FlagCreatePairsOff,))

    return parse


@pytest.mark.parametrize("path", [path for path in PAGES if lines(path) or named(path)], ids=name_of)
def test_commands_are_understood(
    path: Path, parse: Callable[[list[str]], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In a folder with the files of the examples, and with those that the page makes."""
    folder = shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    if "my_icons" in path.read_text("utf-8"):
        exec(compile(python_blocks(path)[0], str(path), "exec"), {})
    for arguments in lines(path):
        parse(arguments)
    for arguments in named(path):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            parse([*arguments, "--help"])
            raise AssertionError(f"groundling {shlex.join(arguments)} has no help")


def test_a_wrong_option_would_be_found(parse: Callable[[list[str]], None]) -> None:
    for line in ("evaluate normal --no-such-option 3", "train fast --ppo.learning 1", "study tables"):
        with pytest.raises(SystemExit) as stop:
            parse(line.split())
        assert stop.value.code != 0


def test_everything_that_pages_put_in_exists() -> None:
    """Definitions, docstrings and fields that the site shows are where the pages say."""
    shown = {"code": source.code, "sections": source.sections, "fields": source.fields, "file": source.file}
    count = 0
    for path in PAGES:
        for name, argument in INSERTED.findall(path.read_text("utf-8")):
            if name in shown:
                assert shown[name](argument).strip(), f"{path}: {name} {argument}"
                count += 1
    assert count > 15

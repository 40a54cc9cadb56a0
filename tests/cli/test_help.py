"""Help and version: every command explains itself on a terminal of 80 columns."""

import itertools
import re
from pathlib import Path

import pytest

import groundling
from groundling.cli import main
from tests.cli.harness import Capture, assert_fits, one_line, refusal, run_in_terminal

COMMANDS = {
    "train",
    "evaluate",
    "play",
    "gallery",
    "demo",
    *(f"language {name}" for name in ("count", "list", "sample", "parse")),
    *(f"world {name}" for name in ("show", "replay")),
    "models",
    *(f"study {name}" for name in ("run", "status", "table", "search", "ablations", "representations", "few-shot")),
    "figures",
    *(f"suites {name}" for name in ("list", "check", "run", "reference")),
    "leaderboard",
    *(f"export {name}" for name in ("minari", "parquet")),
    "package",
    "check-leaks",
    "convert",
    "warm",
    *(f"bench {name}" for name in ("world", "agent", "learn", "scale", "page")),
}
PRESETS = {"train fast", "train paper", "train paper-literal", "train smoke"}


def help_of(capsys: Capture, command: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main([*command.split(), "--help"])
    assert stop.value.code == 0
    return capsys.readouterr().out


def subcommands(text: str) -> list[str]:
    """The subcommands that a help text lists."""
    return re.findall(r"^[ │]*• (\S+)", text, re.MULTILINE)


def options(text: str) -> list[str]:
    """The options that a help text lists."""
    return re.findall(r"^[ │]*(--[a-z.-]+)", text, re.MULTILINE)


def test_version(capsys: Capture) -> None:
    main(["--version"])
    assert capsys.readouterr().out == f"groundling {groundling.__version__}\n"


def test_help_lists_every_command(capsys: Capture) -> None:
    """The tree of commands, read from the help texts alone, is the expected one."""
    found = set()
    waiting = subcommands(help_of(capsys, ""))
    while waiting:
        command = waiting.pop()
        inner = subcommands(help_of(capsys, command))
        waiting += [f"{command} {name}" for name in inner]
        if not inner:
            found.add(command)
    assert found == COMMANDS


@pytest.mark.parametrize("command", ["", "language", "world", "study", "bench", *sorted(COMMANDS | PRESETS)])
def test_help_fits_80_columns(capsys: Capture, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = help_of(capsys, command)
    assert_fits(text)
    assert text.startswith(f"usage: groundling {command}".rstrip())
    assert "noqa" not in text  # a comment of the source, where a description is missing
    # A description under the usage, which is not cut; and one default for each option, not two.
    assert text.split("\n\n")[1].strip().endswith((".", "?"))
    for option in re.split(r"^[ │]*-", text, flags=re.MULTILINE)[1:]:
        assert option.count("(default:") <= 1, option


def test_long_usage_is_folded_between_options(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    usage = help_of(capsys, "study representations").split("\n\n")[0]
    assert usage == (
        "usage: groundling study representations [-h] [CHECKPOINT]\n  [--out PATH] [--threads INT] "
        "[--allow-import] [--json]"
    )


def test_help_in_a_terminal_with_colors() -> None:
    code, _, terminal = run_in_terminal("bench", "agent", "--help")
    assert code == 0
    assert_fits(terminal)
    assert "usage: groundling bench agent [-h] [--seconds FLOAT] [--planner STR]" in terminal


def test_help_of_train_shows_the_defaults_of_the_preset(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")  # one column of options
    for preset, size in (("fast", 7), ("smoke", 5)):
        text = re.sub(r"[\s│]+", " ", help_of(capsys, f"train {preset}"))
        assert re.search(rf"--size INT [^-]*\(default: {size}\)", text)
    monkeypatch.setenv("COLUMNS", "200")
    for preset in ("fast", "paper", "paper-literal", "smoke"):
        assert f"the defaults below are those of {preset}." in help_of(capsys, f"train {preset}")
    assert help_of(capsys, "train") == help_of(capsys, "train fast")


def test_out_is_a_path_to_write_in_every_help_text(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")  # one column of options
    with_out = 0
    for command in sorted(COMMANDS | PRESETS):
        lines = help_of(capsys, command).splitlines()
        for line, following in itertools.pairwise(lines):
            if re.match(r"[ │]*--out ", line):
                assert " to write " in line + following
                with_out += 1
    assert with_out == 13


def required(text: str) -> list[str]:
    """An argument for each required positional of a help text."""
    usage = text.split("\n\n")[0]
    positional = re.findall(r"\b(CHECKPOINT|RUN|OUT|PLAYER)\b", re.sub(r"\[.*?\]+", "", usage))
    return ["normal" if name == "CHECKPOINT" else "nowhere" for name in positional]


def test_zero_threads_are_refused_by_every_command(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = set()
    for command in sorted(COMMANDS):
        text = help_of(capsys, command)
        for option in {"--threads", "--threads-per-run"} & set(options(text)):
            message = one_line(refusal(capsys, *command.split(), *required(text), option, "0"))
            name = option.removeprefix("--").replace("-", "_")
            assert message == f"groundling: {name} must be an integer of at least 1, got 0\n"
            refused.add(command)
    assert refused == {
        "suites reference",
        "suites run",
        "train",
        "evaluate",
        "play",
        "demo",
        "study run",
        "study representations",
        "study few-shot",
        "package",
        "bench agent",
        "bench learn",
    }

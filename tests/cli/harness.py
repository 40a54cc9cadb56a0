"""Running commands in tests: in this process, or in a terminal of 80 columns."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from typing import IO

import pytest

from groundling.cli import main

Capture = pytest.CaptureFixture[str]
COLUMNS = 80


def run(capsys: Capture, *arguments: str) -> str:
    """The standard output of a command."""
    main(arguments)
    return capsys.readouterr().out


def refusal(capsys: Capture, *arguments: str) -> str:
    """The error message of a command that ends with exit code 2 and prints no traceback."""
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    message = _without_notice(capsys.readouterr().err)
    assert "Traceback" not in message
    return message


def one_line(message: str) -> str:
    """An error message of the package: one line that starts with the name of the program."""
    assert message.startswith("groundling: ")
    assert message.count("\n") == 1
    return message


def assert_fits(text: str) -> None:
    """Check that there is text, and that no line is wider than a terminal of 80 columns."""
    assert text.strip()
    assert [line for line in text.splitlines() if len(line) > COLUMNS] == []


def run_in_terminal(*arguments: str, stdout_to_terminal: bool = True) -> tuple[int, str, str]:
    """Run a command in a terminal of 80 columns; return its exit code, standard output and what the terminal got.

    Standard output is either part of what the terminal got, or captured by itself; the other part is "".
    """
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    command = [sys.executable, "-m", "groundling", *arguments]
    stdout: int | IO[bytes] = follower if stdout_to_terminal else subprocess.PIPE
    with subprocess.Popen(
        command, stdin=follower, stdout=stdout, stderr=follower, env={**environment, "TERM": "xterm"}
    ) as process:
        os.close(follower)
        shown = b""
        while True:
            try:
                part = os.read(leader, 1 << 16)
            except OSError:  # Linux: no process has the terminal open any more
                break
            if not part:
                break
            shown += part
        captured = b"" if process.stdout is None else process.stdout.read()
    os.close(leader)
    return process.returncode, captured.decode(), _without_notice(_without_escapes(shown.decode()))


def _without_escapes(text: str) -> str:
    """What a terminal shows, one line for each time that a line was drawn."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "\n")


def _without_notice(text: str) -> str:
    """Text without the notice of the first compilation, which depends on what ran before on this machine."""
    return re.sub(r"^groundling: compiling the simulator.*\n+", "", text, flags=re.MULTILINE)

"""`groundling play` and `groundling bench page`."""

import importlib.util
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import cast

import pytest
from websockets.sync.client import connect
from websockets.typing import Origin

from groundling.cli import INTERRUPTED, main
from groundling.errors import InputError
from groundling.page.server import bind
from tests.page.conftest import teach_message
from tests.page.site import Site

CTRL_C_SECONDS = 6.0
"""Half of what teaching takes that is not cancelled."""
Capture = pytest.CaptureFixture[str]


def error_of(capsys: Capture, *arguments: str) -> str:
    """The error message of a command that exits with code 2."""
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_invalid_options_are_refused(capsys: Capture) -> None:
    assert "nowhere" in error_of(capsys, "play", "nowhere", "--no-browser")
    assert "port must be an integer from 0 to 65535, got 70000" in error_of(capsys, "play", "--port", "70000")
    assert "threads must be" in error_of(capsys, "play", "--threads", "0")


def test_port_in_use_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1, port {port}"):
            bind("127.0.0.1", port)
    with pytest.raises(InputError, match=r"cannot listen on no\.such\.host\.invalid"):
        bind("no.such.host.invalid", 0)


def test_missing_extra_is_named(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "starlette" else find_spec(name))
    message = error_of(capsys, "play")
    assert "starlette" in message
    assert "groundling[page]" in message


@pytest.fixture
def site() -> Iterator[Site]:
    with Site("normal", stderr=subprocess.PIPE) as site:
        yield site


def assert_ctrl_c_ends(process: subprocess.Popen[str], presses: int = 1, loading: bool = False) -> None:
    """Assert that Ctrl-C ends the server in time, without a traceback, and with exit code 0 once it serves."""
    start = time.monotonic()
    for press in range(presses):
        time.sleep(0.2 if press else 0)
        process.send_signal(signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert time.monotonic() - start < CTRL_C_SECONDS
    assert process.returncode in (0, INTERRUPTED if loading else 0)
    assert "Traceback" not in errors
    assert "error" not in errors.lower()


def test_ctrl_c_stops_the_server_without_an_error(site: Site) -> None:
    assert_ctrl_c_ends(site.process)


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_stops_the_server_while_clients_teach(site: Site, presses: int) -> None:
    origin = cast(Origin, site.address.rstrip("/"))
    url = site.address.replace("http", "ws") + "ws"
    with connect(url, origin=origin) as first, connect(url, origin=origin) as second:
        for client in (first, second):
            client.recv()
            for _ in range(20):  # more than the server reads ahead
                client.send(teach_message(words=8, examples=10))
        time.sleep(1)
        assert_ctrl_c_ends(site.process, presses)


@pytest.mark.parametrize("seconds", [0.0, 0.2, 0.7, 1.2, 2.2])
def test_ctrl_c_while_the_server_loads(seconds: float) -> None:
    code = """if True:
        from groundling.cli import main
        print("imported", flush=True)
        main(["play", "--port", "0", "--no-browser"])
    """
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "imported\n"
        time.sleep(seconds)
        assert_ctrl_c_ends(process, loading=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("load", ["print('loading', flush=True); time.sleep(60)", "return real(*arguments)"])
def test_training_that_it_started_ends_with_the_server(number: signal.Signals, load: str) -> None:
    code = f"""if True:
        import importlib, subprocess, sys, time
        from groundling.cli import main
        play = importlib.import_module("groundling.cli.play")
        play._training.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]))
        real = play._state
        def load(*arguments): {load}
        play._state = load
        main(["play", "--port", "0", "--no-browser"])
    """
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(("loading", "Serving"))
        process.send_signal(number)
        start = time.monotonic()
        process.communicate()  # until both have closed their output
        assert time.monotonic() - start < 30
        assert process.returncode == (0 if number == signal.SIGINT else 128 + number)


def test_bench_page_reports_latencies(capsys: Capture) -> None:
    main(["bench", "page", "--clients", "3", "--steps", "4", "--pause", "0", "--json"])
    measured = json.loads(capsys.readouterr().out)
    assert measured["steps"] == 12
    assert measured["dropped_steps"] == 0
    assert 0 < measured["p50_ms"] <= measured["p95_ms"] <= measured["max_ms"]
    assert measured["single_client_p50_ms"] > 0
    assert "clients" in error_of(capsys, "bench", "page", "--clients", "0")

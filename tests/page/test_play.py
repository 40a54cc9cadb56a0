"""`groundling play` and `groundling bench page`."""

import importlib.util
import json
import signal
import socket

import pytest

from groundling.cli import main
from groundling.errors import InputError
from groundling.page.server import bind
from tests.page.site import Site

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


def test_ctrl_c_stops_the_server_without_an_error() -> None:
    with Site("normal") as site:
        site.process.send_signal(signal.SIGINT)
        assert site.process.wait(10) == 0


def test_bench_page_reports_latencies(capsys: Capture) -> None:
    main(["bench", "page", "--clients", "3", "--steps", "4", "--pause", "0", "--json"])
    measured = json.loads(capsys.readouterr().out)
    assert measured["steps"] == 12
    assert measured["dropped_steps"] == 0
    assert 0 < measured["p50_ms"] <= measured["p95_ms"] <= measured["max_ms"]
    assert measured["single_client_p50_ms"] > 0
    assert "clients" in error_of(capsys, "bench", "page", "--clients", "0")

"""The command `groundling play`, and the measure of its server."""

import importlib.util
import json
import signal
import socket

import pytest

from groundling.cli import main
from groundling.errors import InputError
from groundling.page.server import bind
from tests.cli.test_commands import Capture, refusal
from tests.page.site import Site


def test_what_cannot_be_played_is_refused(capsys: Capture) -> None:
    assert "no such shipped weights" in refusal(capsys, "play", "nowhere", "--no-browser")
    assert "port 70000: it is from 0 to 65535" in refusal(capsys, "play", "--port", "70000")


def test_a_taken_port_is_said_to_be_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port}: cannot listen there"):
            bind("127.0.0.1", port)
    with pytest.raises(InputError, match="cannot listen there"):
        bind("no.such.host.invalid", 0)


def test_the_missing_extra_is_named(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    load_agent = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "starlette" else load_agent(name))
    assert "this needs starlette: pip install 'groundling[page]'" in refusal(capsys, "play")


def test_ctrl_c_ends_it_quietly() -> None:
    with Site("normal") as site:
        site.process.send_signal(signal.SIGINT)
        assert site.process.wait(10) == 0


def test_bench_page(capsys: Capture) -> None:
    main(["bench", "page", "--clients", "3", "--steps", "4", "--pause", "0", "--json"])
    measured = json.loads(capsys.readouterr().out)
    assert measured["steps"] == 12
    assert measured["dropped"] == 0
    assert 0 < measured["p50_ms"] <= measured["p95_ms"] <= measured["max_ms"]
    assert measured["p95_to_alone"] == pytest.approx(measured["p95_ms"] / measured["alone_ms"])
    assert "clients 0" in refusal(capsys, "bench", "page", "--clients", "0")

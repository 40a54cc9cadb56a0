"""The packaged environment: `openenv validate` accepts the folder and its server, and its client plays a suite."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from groundling.suites.players import oracle
from groundling.suites.suite import Suite, suite_names
from tests.adapters.free_port import free_port
from tests.adapters.transcripts import transcripts

FOLDER = Path(__file__).parents[2] / "packaging" / "groundling_env"


def validate(*arguments: str) -> dict[str, Any]:
    """The report of `openenv validate`."""
    openenv = Path(sys.executable).with_name("openenv")
    command = [str(openenv), "validate", *arguments, "--json"]
    printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    report: dict[str, Any] = json.loads(printed[printed.index("{") :])
    return report


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    port = free_port()
    command = [sys.executable, "-m", "server.app", "--port", str(port)]
    process = subprocess.Popen(command, cwd=FOLDER, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        while True:
            assert process.poll() is None
            try:
                httpx.get(f"{address}/health")
                break
            except httpx.TransportError:
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()


def test_manifest_is_valid() -> None:
    report = validate(str(FOLDER), "--skip-build")
    results = {result["check_id"]: result["status"] for result in report["results"]}
    assert results["static.manifest"] == "pass"
    assert "fail" not in results.values()


def test_manifest_states_the_tasks_of_the_suites() -> None:
    text = (FOLDER / "openenv.yaml").read_text("utf-8")
    for name in suite_names():
        assert f"      {name}: {len(Suite.load(name, 'full'))}\n" in text


def test_server_is_valid(address: str) -> None:
    report = validate("--url", address)
    assert report["passed"]
    assert {criterion["passed"] for criterion in report["criteria"]} == {True}


def test_client_plays_a_suite(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER.parent))
    import groundling_env  # type: ignore[import-not-found, unused-ignore]

    replies, _ = transcripts(oracle, Suite.load("zs1"), "sentences")
    with groundling_env.GroundlingEnv(base_url=address).sync() as client:
        for index in range(20):
            result = client.reset(split="zs1", index=index)
            chat = [result.observation.text]
            while not result.done:
                reply = replies[tuple(chat)]
                result = client.step(groundling_env.GroundlingAction(reply=reply))
                chat += [reply, result.observation.text]
            assert result.observation.metadata["success"]
            assert client.state().step_count == result.observation.metadata["replies"]

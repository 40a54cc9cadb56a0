"""The OpenEnv server over a real WebSocket: the same chats as the suites, tasks, and nothing of the truth."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import uvicorn
from openenv.core import GenericEnvClient

from groundling.adapters.openenv_server import GroundlingEnvironment, make_app
from groundling.suites.suite import Suite
from tests.adapters.free_port import free_port
from tests.adapters.transcripts import CASES, PLAYERS, shown, transcripts


@contextmanager
def serve(view: str) -> Iterator[str]:
    """The address of a server."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(make_app(view), host="127.0.0.1", port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)


@pytest.mark.parametrize(("player", "name", "view"), CASES)
def test_players_score_as_without_openenv(player: str, name: str, view: str, size: str) -> None:
    suite = Suite.load(name, size)
    replies, success = transcripts(PLAYERS[player], suite, view)
    scored = []
    with serve(view) as address, GenericEnvClient(base_url=address).sync() as client:
        for index in range(len(suite)):
            result = client.reset(split=name, index=index)
            chat = [shown(result.observation["content"])]
            while not result.done:
                reply = replies[tuple(chat)]
                result = client.step({"reply": reply})
                chat += [reply, shown(result.observation["content"])]
            scored.append(result.observation["metadata"]["success"])
    assert scored == success
    assert player == "random" or all(success)


def test_task_api() -> None:
    with serve("sentences") as address, httpx.Client(base_url=f"{address}/groundling/") as client:
        splits = client.get("splits").json()
        assert [split["name"] for split in splits] == ["train", "normal", "zs1", "zs2", "paraphrase", "invented"]
        assert client.post("num_tasks", json={"split": "zs1"}).json() == {"num_tasks": 2000}
        task = client.post("task", json={"split": "zs1", "index": 3}).json()["task"]
        assert task == {"id": "zs1-3", "index": 3, "type": Suite.load("zs1")[3].type}
        assert client.post("task", json={"split": "zs1", "index": 2000}).status_code == 400


def test_seed_controls_the_episode() -> None:
    def text(**arguments: Any) -> str:
        return str(GroundlingEnvironment().reset(**arguments).text)

    assert text(seed=3, index=5) == text(seed=3, index=5)
    assert text(seed=3, index=5) != text(seed=4, index=5)


def test_observation_and_state_hold_nothing_of_the_truth() -> None:
    env = GroundlingEnvironment()
    observation = env.reset(split="normal", index=0)
    assert set(observation.model_dump()) == {"done", "reward", "metadata", "text", "content", "task"}
    assert set(observation.metadata) == {"replies", "invalid"}
    assert set(env.state.model_dump()) == {"episode_id", "step_count"}

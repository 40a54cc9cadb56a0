"""What `groundling bench page` measures: how long clients wait for a step with its explanation, all at once."""

import asyncio
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from groundling.errors import InputError

BAR_MS = 150.0
STEPS_ALONE = 20


@contextlib.contextmanager
def serving(checkpoint: str) -> Iterator[str]:
    """The real server in a process of its own; gives its address."""
    arguments = [sys.executable, "-m", "groundling", "play", checkpoint, "--port", "0", "--no-browser"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            if "http://" not in line:
                raise InputError(f"checkpoint {checkpoint!r}: the server did not start")
            yield line.split()[-1]
        finally:
            server.terminate()


def measure(checkpoint: str, clients: int, steps: int, pause: float) -> dict[str, Any]:
    """`clients` walk at the same time, each `steps` steps with a pause after each, as the page does.

    One walks alone before, which tells how fast the machine is at this hour.
    """
    with serving(checkpoint) as address:
        alone = float(np.median(asyncio.run(_all(address, 1, STEPS_ALONE, 0.0)))) * 1000
        start = time.perf_counter()
        walks = asyncio.run(_all(address, clients, steps, pause))
        seconds = time.perf_counter() - start
    waits = np.array([wait for walk in walks for wait in walk]) * 1000
    p95 = float(np.percentile(waits, 95)) if len(waits) else float("inf")
    dropped = clients * steps - len(waits)
    return {
        "clients": clients,
        "steps": len(waits),
        "pause_ms": 1000 * pause,
        "steps_per_second": len(waits) / seconds,
        "p50_ms": float(np.median(waits)) if len(waits) else float("inf"),
        "p95_ms": p95,
        "max_ms": float(waits.max()) if len(waits) else float("inf"),
        "alone_ms": alone,
        "p95_to_alone": p95 / alone,
        "dropped": dropped,
        "bar_ms": BAR_MS,
        "holds": p95 <= BAR_MS and dropped == 0,
    }


async def _all(address: str, clients: int, steps: int, pause: float) -> list[list[float]]:
    return await asyncio.gather(*(_walk(address, number, clients, steps, pause) for number in range(clients)))


async def _walk(address: str, number: int, clients: int, steps: int, pause: float) -> list[float]:
    """The seconds that one client waited for each step; fewer than `steps` if it was dropped."""
    waits: list[float] = []
    with contextlib.suppress(WebSocketException, OSError):
        async with connect(address.replace("http", "ws") + "talk", origin=address.rstrip("/")) as socket:  # type: ignore[arg-type]
            await socket.recv()
            world = await _ask(socket, {"do": "world", "seed": number})
            scene, at = world["scene"], world["scene"]["agent"]
            await asyncio.sleep(pause * number / clients)  # people do not press play at the same moment
            while len(waits) < steps:
                asked = {"do": "think", "agent": 0, "scene": {**scene, "agent": at}, "sentence": world["command"]}
                start = time.perf_counter()
                thought = await _ask(socket, {**asked, "from": scene["agent"]})
                waits.append(time.perf_counter() - start)
                move = thought["move"]
                at = scene["agent"] if move["ended"] else move["to"]
                await asyncio.sleep(pause)
    return waits


async def _ask(socket: ClientConnection, message: dict[str, Any]) -> dict[str, Any]:
    await socket.send(json.dumps({"id": 1, **message}))
    answer: dict[str, Any] = json.loads(await socket.recv())
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer

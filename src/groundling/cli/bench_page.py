"""Measurement of `groundling bench page`: latency of a step with its explanation, for concurrent clients."""

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

P95_LIMIT_MS = 150.0
SINGLE_CLIENT_STEPS = 20


@contextlib.contextmanager
def running_server(checkpoint: str, allow_import: bool) -> Iterator[str]:
    """The real server in a process of its own; yields its address."""
    arguments = [sys.executable, "-m", "groundling", "play", checkpoint, "--port", "0", "--no-browser"]
    arguments += ["--allow-import"] if allow_import else []
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            if "http://" not in line:
                raise InputError(f"the server did not start with checkpoint {checkpoint!r}; see its error above")
            yield line.split()[-1]
        finally:
            server.terminate()


def measure(checkpoint: str, clients: int, steps: int, pause: float, allow_import: bool = False) -> dict[str, Any]:
    """Latencies of `clients` concurrent clients, each with `steps` steps and a pause of `pause` seconds after each.

    A single client is measured before, as the baseline of this machine.
    """
    with running_server(checkpoint, allow_import) as address:
        single_client_ms = float(np.median(asyncio.run(_walk_all(address, 1, SINGLE_CLIENT_STEPS, 0.0)))) * 1000
        start = time.perf_counter()
        walks = asyncio.run(_walk_all(address, clients, steps, pause))
        seconds = time.perf_counter() - start
    latencies = np.array([latency for walk in walks for latency in walk]) * 1000
    p95 = float(np.percentile(latencies, 95)) if len(latencies) else float("inf")
    dropped = clients * steps - len(latencies)
    return {
        "clients": clients,
        "steps": len(latencies),
        "pause_ms": 1000 * pause,
        "steps_per_second": len(latencies) / seconds,
        "p50_ms": float(np.median(latencies)) if len(latencies) else float("inf"),
        "p95_ms": p95,
        "max_ms": float(latencies.max()) if len(latencies) else float("inf"),
        "single_client_p50_ms": single_client_ms,
        "p95_to_single_client": p95 / single_client_ms,
        "dropped_steps": dropped,
        "p95_limit_ms": P95_LIMIT_MS,
        "within_limit": p95 <= P95_LIMIT_MS and dropped == 0,
    }


async def _walk_all(address: str, clients: int, steps: int, pause: float) -> list[list[float]]:
    return await asyncio.gather(*(_walk(address, number, clients, steps, pause) for number in range(clients)))


async def _walk(address: str, number: int, clients: int, steps: int, pause: float) -> list[float]:
    """Latency of each step of one client in seconds; fewer than `steps` if its connection was closed."""
    latencies: list[float] = []
    with contextlib.suppress(WebSocketException, OSError):
        async with connect(address.replace("http", "ws") + "ws", origin=address.rstrip("/")) as socket:  # type: ignore[arg-type]
            await socket.recv()
            world = await _request(socket, "new_world", seed=number)
            scene, at = world["scene"], world["scene"]["agent"]
            fields = {"agent": 0, "sentence": world["command"], "start": scene["agent"]}
            await asyncio.sleep(pause * number / clients)  # clients start at different times
            while len(latencies) < steps:
                start = time.perf_counter()
                reply = await _request(socket, "step", scene={**scene, "agent": at}, **fields)
                latencies.append(time.perf_counter() - start)
                move = reply["move"]
                at = scene["agent"] if move["terminated"] else move["to"]
                await asyncio.sleep(pause)
    return latencies


async def _request(socket: ClientConnection, name: str, /, **fields: Any) -> dict[str, Any]:
    await socket.send(json.dumps({"id": 1, "request": name, **fields}))
    reply: dict[str, Any] = json.loads(await socket.recv())
    if "error" in reply:
        raise RuntimeError(reply["error"])
    return reply

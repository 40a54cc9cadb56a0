"""Half-open connections: does the server still serve others, and does it close them?

    python fuzz/half_open_connections.py [--connections 1100] [--files 1024]

Starts the real server on the loopback interface with a limit of `--files` open files, opens connections that never
complete their request head, and measures normal requests meanwhile. Exit code 1 if a limit below is exceeded.
Takes about 30 s. Needs a Unix system (module `resource`).
"""

import argparse
import contextlib
import resource
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import IO
from urllib.parse import urlsplit

REQUESTS = 20
MAX_LATENCY_MS = 100.0
MAX_OPEN_SECONDS = 15.0
MAX_LOG_BYTES = 10_000
START_SECONDS = 120.0
REQUEST_SECONDS = 10.0
INCOMPLETE_HEAD = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the server under half-open connections.")
    parser.add_argument("--connections", type=int, default=1100, help="Number of half-open connections.")
    parser.add_argument("--files", type=int, default=1024, help="Maximum number of open files of the server.")
    options = parser.parse_args()
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(options.connections + 100, hard_limit), hard_limit))
    with tempfile.TemporaryFile() as log, running_server(options.files, log) as address:
        request_latency_ms(address)  # the first request is slower than others
        start = time.monotonic()
        half_open = open_half(address, options.connections)
        opened = time.monotonic() - start
        latencies: list[float] = []
        while len(latencies) < REQUESTS and float("inf") not in latencies:
            latencies.append(request_latency_ms(address))
        still_open = wait_until_closed(half_open, start + opened + MAX_OPEN_SECONDS)
        closed = time.monotonic() - start - opened
        after = request_latency_ms(address)
        log_bytes = log.seek(0, 2)
    passed = {
        f"{len(latencies)} requests meanwhile: median {statistics.median(latencies):.1f} ms, maximum "
        f"{max(latencies):.1f} ms (limit {MAX_LATENCY_MS:g} ms)": max(latencies) <= MAX_LATENCY_MS,
        f"one request afterwards: {after:.1f} ms": after <= MAX_LATENCY_MS,
        f"half-open connections still open after {closed:.1f} s: {still_open} (limit: 0 after "
        f"{MAX_OPEN_SECONDS:g} s)": still_open == 0,
        f"log of the server: {log_bytes:,} bytes (limit {MAX_LOG_BYTES:,})": log_bytes <= MAX_LOG_BYTES,
    }
    print(f"{options.connections:,} half-open connections, opened in {opened:.1f} s; {options.files:,} files allowed")
    for line, is_passed in passed.items():
        print(f"{'pass' if is_passed else 'FAIL'}  {line}")
    return 0 if all(passed.values()) else 1


@contextlib.contextmanager
def running_server(files: int, log: IO[bytes]) -> Iterator[tuple[str, int]]:
    """The server in a process of its own, with at most `files` open files and stderr in `log`; yields its address."""
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}))\n"
    code = limited + "from groundling.cli import main; main(['play', '--port', '0', '--no-browser'])"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=log) as server:
        try:
            assert server.stdout is not None
            with selectors.DefaultSelector() as selector:
                selector.register(server.stdout, selectors.EVENT_READ)
                if not selector.select(START_SECONDS):
                    raise TimeoutError(f"the server must start within {START_SECONDS:g} s")
            line = server.stdout.readline().decode()
            address = urlsplit(line.split()[-1] if line else "")
            if address.hostname is None or address.port is None:
                log.seek(0)
                raise RuntimeError(f"the server did not start: {log.read(10_000).decode()}")
            yield address.hostname, address.port
        finally:
            server.kill()


def open_half(address: tuple[str, int], count: int) -> list[socket.socket]:
    """Connections that sent an incomplete request head."""
    half_open = []
    for _ in range(count):
        connection = socket.create_connection(address, timeout=REQUEST_SECONDS)
        with contextlib.suppress(ConnectionError):  # closed already
            connection.sendall(INCOMPLETE_HEAD)
        connection.setblocking(False)
        half_open.append(connection)
    return half_open


def request_latency_ms(address: tuple[str, int]) -> float:
    """Milliseconds from connecting to the status line of `GET /`; infinity if there is no reply."""
    start = time.perf_counter()
    try:
        with socket.create_connection(address, timeout=REQUEST_SECONDS) as connection:
            connection.sendall(INCOMPLETE_HEAD + b"Connection: close\r\n\r\n")
            is_served = connection.recv(64).startswith(b"HTTP/1.1 200")
    except OSError:
        is_served = False
    return (time.perf_counter() - start) * 1000 if is_served else float("inf")


def wait_until_closed(connections: list[socket.socket], deadline: float) -> int:
    """Wait until the server closed all connections; return how many it did not close before the deadline."""
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection, selectors.EVENT_READ)
        while selector.get_map() and time.monotonic() < deadline:
            for key, _ in selector.select(0.1):
                with contextlib.suppress(ConnectionError):
                    assert isinstance(key.fileobj, socket.socket)
                    if key.fileobj.recv(4096):
                        continue
                selector.unregister(key.fileobj)
        still_open = len(selector.get_map())
    for connection in connections:
        connection.close()
    return still_open


if __name__ == "__main__":
    sys.exit(main())

"""`groundling play`"""

import os
import re
import secrets
import signal
import subprocess
import sys
import threading
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from groundling.cli.output import MapSize, TrainedIcons, TrainedLanguage, set_threads
from groundling.cli.own_models import AllowImport, load_agent
from groundling.errors import InputError, check_int
from groundling.extras import needs

if TYPE_CHECKING:
    from groundling.page.app_state import AppState, ServedAgent
    from groundling.page.live_run import LiveRun

DEFAULT_AGENT = "zs2-90"
"""Most of its object words never occurred in a command, and it understands them."""
LIVE_RUN = ("fast", "--split", "zs2", "--holdout", "90", "--save-seconds", "5")
"""The run that `--train` starts: the recipe of the default agent, saved often."""
_FIRST_AGENT_SECONDS = 300.0
_training: list[subprocess.Popen[bytes]] = []


def play(
    checkpoint: Annotated[
        tyro.conf.Positional[str | None],
        tyro.conf.arg(
            metavar="[CHECKPOINT]",
            help="Checkpoint file, run folder or name of pretrained weights.",
            help_behavior_hint=f"(default: {DEFAULT_AGENT})",
        ),
    ] = None,
    compare: Annotated[str | None, tyro.conf.arg(help="Second checkpoint, shown beside the first.")] = None,
    ages: Annotated[
        Path | None,
        tyro.conf.arg(metavar="PATH", help="Folder of snapshots of one run (`groundling train --snapshots`)."),
    ] = None,
    train: Annotated[
        Path | None,
        tyro.conf.arg(metavar="PATH", help="Folder of a run to show live while it learns; started if there is none."),
    ] = None,
    icons: TrainedIcons = None,
    language: TrainedLanguage = None,
    size: MapSize = None,
    host: Annotated[
        str, tyro.conf.arg(help="Address to listen on; addresses reachable from other machines require a token.")
    ] = "127.0.0.1",
    port: Annotated[int, tyro.conf.arg(help="Port to listen on (0: a free port).")] = 8765,
    public: Annotated[
        str | None, tyro.conf.arg(metavar="NAME", help="Host name of a reverse proxy, for a demo without a token.")
    ] = None,
    threads: Annotated[int, tyro.conf.arg(help="PyTorch threads.")] = 1,
    no_browser: Annotated[bool, tyro.conf.arg(help="Print the address without opening a browser.")] = False,
    allow_import: AllowImport = False,
) -> None:
    """Serve a web page to run, inspect and teach an agent in an editable world."""
    address = _Address(host, port, public)
    earlier = {number: signal.signal(number, _exit) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        needs("agent")
        needs("page")
        address.check()
        # One thread by default: concurrent small requests gain nothing from threads within one operation.
        set_threads(threads)
        state, names = _state(checkpoint, compare, ages, train, icons, language, size, allow_import)
        _serve(state, names, address, no_browser)
    finally:
        _stop_training()
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _exit(number: int, _: object) -> None:
    """End at once without a traceback: Ctrl-C is the normal way to stop the server, and Python itself takes 1 to 2 s.

    It is called while the server loads; uvicorn raises the signal again after its own shutdown.
    """
    _stop_training()
    os._exit(0 if number == signal.SIGINT else 128 + number)


@dataclass(frozen=True)
class _Address:
    """Where the server listens, and the public name under which a reverse proxy forwards to it."""

    host: str
    port: int
    public: str | None

    def check(self) -> None:
        check_int("port", self.port, 0, (1 << 16) - 1)
        if self.public is not None and not re.fullmatch(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", self.public):
            raise InputError(f"public must be a host name in lower case without a port, got {self.public!r:.100}")


def _state(
    checkpoint: str | None,
    compare: str | None,
    ages: Path | None,
    train: Path | None,
    icons: str | None,
    language: str | None,
    size: int | None,
    allow_import: bool,
) -> "tuple[AppState, list[str]]":
    """The served agents: the given ones, then a series of snapshots; and the names of the given ones."""
    from groundling.page.ages import PRETRAINED_AGES, load_ages
    from groundling.page.app_state import AppState, ServedAgent
    from groundling.page.limits import Limits

    def load(name: str) -> ServedAgent:
        agent = load_agent(name, allow_import=allow_import, icons=icons, language=language)
        return ServedAgent(Path(name).stem, agent.resized(size))

    if train is not None:
        if size is not None:
            raise InputError(f"size cannot be given with --train, whose page shows the maps of training, got {size}")
        if checkpoint is not None:
            raise InputError("train shows the agent of a run; compare it with a checkpoint by --compare")
        run, first = _live_run(train)
        agents = [first] if compare is None else [first, load(compare)]
        state = AppState(agents, Limits(), run.metrics)
        run.follow(state, 0)
        return state, [str(train), *([compare] if compare else [])]
    names = [checkpoint or DEFAULT_AGENT, *([compare] if compare else [])]
    agents = [load(name) for name in names]
    if ages is not None:
        agents += load_ages(ages, size)
    elif checkpoint in (None, DEFAULT_AGENT) and compare is None and icons is None and PRETRAINED_AGES.is_dir():
        agents += load_ages(PRETRAINED_AGES, size)
    return AppState(agents, Limits()), names


def _live_run(folder: Path) -> "tuple[LiveRun, ServedAgent]":
    """The run in a folder and its first agent; the run is started if the folder has none."""
    from groundling.page.live_run import LiveRun

    is_running = threading.Event()
    is_running.set()
    if not (folder / "config.json").exists():
        command = [sys.executable, "-m", "groundling", "train", *LIVE_RUN, "--threads", "1", "--out", str(folder)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _training.append(process)

        def watch() -> None:
            if process.wait() != 0:
                is_running.clear()

        threading.Thread(target=watch, daemon=True).start()
        print(f"Training in {folder}", flush=True)
    run = LiveRun(folder)
    return run, run.wait(_FIRST_AGENT_SECONDS, is_running)


def _stop_training() -> None:
    """Ask the run that this process started to save and end."""
    while _training:
        _training.pop().terminate()


def _serve(state: "AppState", names: list[str], address: _Address, no_browser: bool) -> None:
    from groundling.page.access_control import is_local
    from groundling.page.server import Server, bind, uvicorn_server

    host, public = address.host, address.public
    bound = bind(host, address.port)
    token = None if is_local(host) or public is not None else secrets.token_urlsafe(32)
    url_host = f"[{host}]" if ":" in host else host
    url = f"http://{url_host}:{bound.getsockname()[1]}/" + (f"?token={token}" if token else "")
    state.warm_up()
    if public is not None:
        print(f"A reverse proxy must forward https://{public}/ with its Host header to the address below.", flush=True)
    print(f"Serving {' and '.join(names)} at {url}", flush=True)
    if host in ("0.0.0.0", "::") and public is None:
        print("From another machine, replace the host by the IP address of this machine.", flush=True)
    if not no_browser:
        webbrowser.open(url)
    uvicorn_server(Server(state), host, token, public).run(sockets=[bound])

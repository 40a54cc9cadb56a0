"""`groundling play`"""

import os
import secrets
import signal
import webbrowser
from pathlib import Path
from typing import Annotated

import tyro

from groundling.cli.output import OptionalCheckpoint, TrainedIcons, TrainedLanguage, set_threads
from groundling.cli.own_models import AllowImport, load_agent
from groundling.errors import check_int
from groundling.extras import needs


def play(
    checkpoint: OptionalCheckpoint = "normal",
    compare: Annotated[str | None, tyro.conf.arg(help="Second checkpoint, shown beside the first.")] = None,
    icons: TrainedIcons = None,
    language: TrainedLanguage = None,
    host: Annotated[
        str, tyro.conf.arg(help="Address to listen on; addresses reachable from other machines require a token.")
    ] = "127.0.0.1",
    port: Annotated[int, tyro.conf.arg(help="Port to listen on (0: a free port).")] = 8765,
    threads: Annotated[int, tyro.conf.arg(help="PyTorch threads.")] = 1,
    no_browser: Annotated[bool, tyro.conf.arg(help="Print the address without opening a browser.")] = False,
    allow_import: AllowImport = False,
) -> None:
    """Serve a web page to run, inspect and teach an agent in an editable world."""
    earlier = signal.signal(signal.SIGINT, _exit)
    try:
        _play(checkpoint, compare, icons, language, host, port, threads, no_browser, allow_import)
    finally:
        signal.signal(signal.SIGINT, earlier)


def _exit(*_: object) -> None:
    """End at once without a traceback: Ctrl-C is the normal way to stop the server, and Python itself takes 1 to 2 s.

    It is called while the server loads; uvicorn raises the signal again after its own shutdown.
    """
    os._exit(0)


def _play(
    checkpoint: str,
    compare: str | None,
    icons: str | None,
    language: str | None,
    host: str,
    port: int,
    threads: int,
    no_browser: bool,
    allow_import: bool,
) -> None:
    needs("agent")
    needs("page")
    check_int("port", port, 0, (1 << 16) - 1)
    # One thread by default: concurrent small requests gain nothing from threads within one operation.
    set_threads(threads)

    from groundling.page.access_control import is_local
    from groundling.page.app_state import AppState, ServedAgent
    from groundling.page.limits import Limits
    from groundling.page.server import Server, bind, uvicorn_server

    names = [checkpoint] if compare is None else [checkpoint, compare]
    agents = [
        ServedAgent(Path(name).stem, load_agent(name, allow_import=allow_import, icons=icons, language=language))
        for name in names
    ]
    state = AppState(agents, Limits())
    bound = bind(host, port)
    token = None if is_local(host) else secrets.token_urlsafe(32)
    url_host = f"[{host}]" if ":" in host else host
    url = f"http://{url_host}:{bound.getsockname()[1]}/" + (f"?token={token}" if token else "")
    state.warm_up()
    print(f"Serving {' and '.join(names)} at {url}", flush=True)
    if host in ("0.0.0.0", "::"):
        print("From another machine, replace the host by the IP address of this machine.", flush=True)
    if not no_browser:
        webbrowser.open(url)
    uvicorn_server(Server(state), host, token).run(sockets=[bound])

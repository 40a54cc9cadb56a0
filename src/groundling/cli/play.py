"""`groundling play`"""

import contextlib
import secrets
import signal
import webbrowser
from pathlib import Path
from typing import Annotated

import tyro

from groundling.errors import InputError
from groundling.extras import needs


def play(
    checkpoint: Annotated[
        tyro.conf.Positional[str], tyro.conf.arg(help="A file, a run's folder or shipped weights.")
    ] = "normal",
    compare: Annotated[str | None, tyro.conf.arg(help="Another checkpoint, to be shown beside the first.")] = None,
    host: Annotated[str, tyro.conf.arg(help="Address to listen on; others than this machine need a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, tyro.conf.arg(help="0 takes a free one.")] = 8765,
    no_browser: Annotated[bool, tyro.conf.arg(help="Print the address only.")] = False,
) -> None:
    """Open a page on which you talk to an agent, look inside it, change its world and teach it words."""
    needs("agent")
    needs("page")
    if not 0 <= port < 1 << 16:
        raise InputError(f"port {port}: it is from 0 to 65535")
    import torch

    from groundling.learn.trained_agent import load_agent
    from groundling.page.access_control import is_local
    from groundling.page.app_state import AppState, ServedAgent
    from groundling.page.limits import Limits
    from groundling.page.server import Server, bind, serve

    torch.set_num_threads(1)  # many small thoughts side by side: threads within one would only wait for each other
    names = [checkpoint] if compare is None else [checkpoint, compare]
    app = AppState([ServedAgent(Path(name).stem, load_agent(name)) for name in names], Limits())
    bound = bind(host, port)
    token = None if is_local(host) else secrets.token_urlsafe(32)
    quote = f"[{host}]" if ":" in host else host
    address = f"http://{quote}:{bound.getsockname()[1]}/" + (f"?token={token}" if token else "")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs are started without it
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C is how it ends
        app.warmup_updates()
        print(f"Talk to {' and '.join(names)}: {address}", flush=True)
        if host in ("0.0.0.0", "::"):
            print("From elsewhere, put this machine's IP address in the place of the host.", flush=True)
        if not no_browser:
            webbrowser.open(address)
        serve(Server(app), bound, host, token)

"""The server: `uvicorn server.app:app`, or `server` after an installation."""

import argparse

import uvicorn

from groundling.adapters.openenv_server import make_app

app = make_app()


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="Serve Groundling as an OpenEnv environment.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on")
    arguments = parser.parse_args()
    uvicorn.run(app, host=arguments.host, port=arguments.port)


if __name__ == "__main__":
    main()

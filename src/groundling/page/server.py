"""The server: a few files, the sheet of icons, and a websocket on which a client talks with its room."""

import asyncio
import contextlib
import json
import logging
import socket
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from groundling.errors import InputError
from groundling.page.access_control import AccessControl
from groundling.page.app_state import AppState
from groundling.page.client import Client
from groundling.page.connections import Connection, Connections
from groundling.page.message import Message
from groundling.page.static_files import STATIC

LOG = logging.getLogger("groundling.page")
GOING_AWAY, TOO_BIG, TRY_LATER = 1001, 1009, 1013
_IDS = 1 << 53
"""Message numbers are whole numbers of JavaScript."""


class Server:
    """Answers browsers; messages are worked on in threads, so that nobody waits for another's connection."""

    def __init__(self, app: AppState) -> None:
        self.app, self.settings = app, app.settings
        self.connections = Connections(app.settings)
        self.hello = json.dumps({"hello": app.hello()})

    def app(self, host: str, token: str | None) -> ASGIApp:
        routes = [
            Route("/", self.front),
            Route("/icons.png", self.icons),
            Route("/static/{name}", self.file),
            WebSocketRoute("/talk", self.talk),
        ]
        return AccessControl(Starlette(routes=routes, lifespan=self.lifespan), host, token)

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self.quick, self.slow = ThreadPoolExecutor(self.settings.threads), ThreadPoolExecutor(1)
        yield
        self.quick.shutdown(cancel_futures=True)
        self.slow.shutdown(cancel_futures=True)

    async def front(self, _: Request) -> Response:
        return Response(STATIC["index.html"].data, media_type=STATIC["index.html"].media_type)

    async def icons(self, _: Request) -> Response:
        return Response(self.app.sheet, media_type="image/png")

    async def file(self, request: Request) -> Response:
        file = STATIC.get(request.path_params["name"])
        if file is None:
            return PlainTextResponse("There is no such file.\n", status_code=404)
        return Response(file.data, media_type=file.media_type)

    async def talk(self, socket: WebSocket) -> None:
        await socket.accept()
        connection = await self.connections.admit(socket)
        if connection is None:
            return await socket.close(TRY_LATER, "too many connections are open, try again later")
        try:
            await self._converse(socket, connection)
        except WebSocketDisconnect:
            pass
        finally:
            self.connections.leave(connection)

    async def _converse(self, socket: WebSocket, connection: Connection) -> None:
        client = Client(self.app)
        await socket.send_text(self.hello)
        while socket.application_state is WebSocketState.CONNECTED:
            try:
                async with asyncio.timeout(self.settings.idle_seconds):
                    event = await socket.receive()
            except TimeoutError:
                return await socket.close(GOING_AWAY, "idle")
            if event["type"] == "websocket.disconnect":
                return
            text = event.get("text")
            if text is not None and len(text) > self.settings.message_bytes:
                return await socket.close(TOO_BIG, "the message is too long")
            answer = await self.reply(client, connection, text)
            if socket.application_state is WebSocketState.CONNECTED:
                await socket.send_text(answer)

    async def reply(self, client: Client, connection: Connection, text: str | None) -> str:
        """The answer to one message, whatever it is: a result or what is wrong, and never how the server is made."""
        number: int | None = None
        try:
            if not connection.may_speak():
                await asyncio.sleep(1 / self.settings.messages_per_second)  # or a flood would cost more than it does
                raise InputError(f"too many messages: {self.settings.messages_per_second:g} a second at the most")
            if text is None:
                raise InputError("a message is text, not bytes")
            message = Message.parse(text)
            number = message.whole("id", _IDS)
            do = message.one_of("do", tuple(client.requests))
            pool = self.slow if do in client.SLOW else self.quick
            result = await asyncio.get_running_loop().run_in_executor(pool, client.requests[do], message)
            return json.dumps({"id": number, **result})
        except InputError as error:
            return json.dumps({"id": number, "error": str(error)})
        except Exception:
            LOG.exception("a message could not be answered")
            return json.dumps({"id": number, "error": "the server could not answer this; its log says why"})


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        bound = socket.create_server((host, port), family=family)
    except OSError as error:
        raise InputError(f"{host}, port {port}: cannot listen there ({error.strerror}); give another --port") from error
    return bound


def serve(server: Server, bound: socket.socket, host: str, token: str | None) -> None:
    """Answer until a signal comes."""
    config = uvicorn.Config(
        server.app(host, token),
        ws="websockets-sansio",
        ws_max_size=server.settings.message_bytes,
        ws_per_message_deflate=False,  # to pack an answer takes longer than to send it
        timeout_graceful_shutdown=2,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
    )
    uvicorn.Server(config).run(sockets=[bound])

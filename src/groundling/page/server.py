"""The web server: the static files, the icons, and a websocket for the requests of clients."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from weakref import WeakValueDictionary

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.types import Message as Event
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from groundling.errors import Cancelled, InputError
from groundling.page.access_control import AccessControl
from groundling.page.app_state import AppState
from groundling.page.client import Client
from groundling.page.connections import Connection, Connections
from groundling.page.log_filter import LogFilter
from groundling.page.message import Message, to_json
from groundling.page.static_files import STATIC, StaticFile
from groundling.page.tcp_connections import ACCEPTED_AT_ONCE, WAITING_CONNECTIONS, limited_protocols

LOG = logging.getLogger("groundling.page")
GOING_AWAY, TOO_BIG, TRY_LATER = 1001, 1009, 1013
_MAX_ID = 1 << 53
"""JavaScript represents integers exactly up to this one."""


class Server:
    """Answers browsers. Messages are processed in threads, so that no client waits for another."""

    def __init__(self, state: AppState) -> None:
        self.state, self.limits = state, state.limits
        self.connections = Connections(state.limits)
        self._icons = StaticFile(state.icon_sheet, "image/webp")
        self._agent_icon = StaticFile(state.agent_icon, "image/png")
        self.slow_job = asyncio.Lock()
        self.slow_job_of_address: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def app(self, host: str, token: str | None, public: str | None = None) -> ASGIApp:
        """The ASGI application; see AccessControl for the arguments."""
        routes = [
            Route("/", self.index),
            Route("/icons.webp", self.icons),
            Route("/agent.png", self.agent_icon),
            Route("/static/{name}", self.static_file),
            WebSocketRoute("/ws", self.websocket),
        ]
        return AccessControl(Starlette(routes=routes, lifespan=self.lifespan), host, token, self.limits, public)

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self.workers, self.slow_worker = ThreadPoolExecutor(self.limits.threads), ThreadPoolExecutor(1)
        yield
        self.workers.shutdown(cancel_futures=True)
        self.slow_worker.shutdown(cancel_futures=True)

    async def index(self, request: Request) -> Response:
        return _unless_cached(request, STATIC["index.html"])

    async def icons(self, request: Request) -> Response:
        return _unless_cached(request, self._icons)

    async def agent_icon(self, request: Request) -> Response:
        return _unless_cached(request, self._agent_icon)

    async def static_file(self, request: Request) -> Response:
        file = STATIC.get(request.path_params["name"])
        if file is None:
            return PlainTextResponse("File not found.\n", status_code=404)
        return _unless_cached(request, file)

    async def websocket(self, socket: WebSocket) -> None:
        await socket.accept()
        connection = await self.connections.add(socket, socket.client.host if socket.client else "")
        if connection is None:
            return await socket.close(TRY_LATER, "too many open connections; try again later")
        try:
            await self._serve_client(socket, connection)
        except (WebSocketDisconnect, asyncio.CancelledError):  # uvicorn cancels those that do not end at its shutdown
            pass
        finally:
            self.connections.remove(connection)

    async def _serve_client(self, socket: WebSocket, connection: Connection) -> None:
        """Answer messages until the client leaves. Its requests are cancelled then."""
        messages: asyncio.Queue[Event] = asyncio.Queue(self.limits.queued_messages)
        tasks = [
            asyncio.create_task(self._receive_messages(socket, messages)),
            asyncio.create_task(self._answer_messages(socket, connection, messages)),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            connection.is_closed.set()
            for task in tasks:
                task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome

    @staticmethod
    async def _receive_messages(socket: WebSocket, messages: asyncio.Queue[Event]) -> None:
        while (event := await socket.receive())["type"] != "websocket.disconnect":
            await messages.put(event)

    async def _answer_messages(self, socket: WebSocket, connection: Connection, messages: asyncio.Queue[Event]) -> None:
        client = Client(self.state, connection.is_closed.is_set)
        await socket.send_text(self.state.hello_text)
        while socket.application_state is WebSocketState.CONNECTED and not connection.is_closed.is_set():
            try:
                async with asyncio.timeout(self.limits.idle_seconds):
                    text = (await messages.get()).get("text")
            except TimeoutError:
                return await socket.close(GOING_AWAY, "idle")
            if text is not None and len(text) > self.limits.message_bytes:
                return await socket.close(TOO_BIG, f"a message must have at most {self.limits.message_bytes:,} bytes")
            reply = await self.reply(client, connection, text)
            if socket.application_state is WebSocketState.CONNECTED:
                await socket.send_text(reply)

    async def reply(self, client: Client, connection: Connection, text: str | None) -> str:
        """The reply to one message: a result or an error, without details of the server."""
        message_id: int | None = None
        try:
            if not connection.allow_message():
                await asyncio.sleep(1 / self.limits.messages_per_second)  # slows down a flood of messages
                raise InputError(
                    f"a client must send at most {self.limits.messages_per_second:g} messages per second, got more; "
                    "try again in a moment"
                )
            if text is None:
                raise InputError("message must be text, got bytes")
            message = Message.parse(text)
            message_id = message.integer("id", _MAX_ID)
            name = message.choice("request", tuple(client.requests))
            run = asyncio.get_running_loop().run_in_executor
            if name in client.SLOW_REQUESTS:
                async with self._turn(connection):
                    result = await run(self.slow_worker, client.requests[name], message)
            else:
                result = await run(self.workers, client.requests[name], message)
            return to_json({"id": message_id, **result})
        except (InputError, Cancelled) as error:
            return to_json({"id": message_id, "error": str(error)})
        except Exception:
            LOG.exception("request failed")
            return to_json({"id": message_id, "error": "internal server error; see the server's log"})

    @contextlib.asynccontextmanager
    async def _turn(self, connection: Connection) -> AsyncIterator[None]:
        """Wait for the turn of a slow job. Jobs of one address wait for each other, so that addresses take turns."""
        of_address = self.slow_job_of_address.setdefault(connection.address, asyncio.Lock())
        async with of_address, self.slow_job:
            if connection.is_closed.is_set():
                raise Cancelled
            yield


def _unless_cached(request: Request, file: StaticFile) -> Response:
    """A file, or 304 if the browser has it already."""
    headers = {"ETag": file.etag}
    if file.etag in request.headers.get("if-none-match", "").replace("W/", "").split(", "):
        return Response(status_code=304, headers=headers)
    return Response(file.data, media_type=file.media_type, headers=headers)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 selects a free port."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        bound = socket.create_server((host, port), family=family)
    except OSError as error:
        raise InputError(f"cannot listen on {host}, port {port} ({error.strerror}); give another --port") from error
    return bound


class UvicornServer(uvicorn.Server):
    """uvicorn with a long queue of connections to be accepted, and with slow jobs that stop at its shutdown."""

    def __init__(self, config: uvicorn.Config, connections: Connections) -> None:
        super().__init__(config)
        self.websockets = connections

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or []:
            listening.listen(WAITING_CONNECTIONS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for connection in self.websockets.open:
            connection.is_closed.set()
        await super().shutdown(sockets)


def uvicorn_server(server: Server, host: str, token: str | None, public: str | None = None) -> uvicorn.Server:
    """The server with its limits of TCP connections; `run(sockets=[bound])` serves until a signal arrives."""
    http, websocket = limited_protocols(server.limits)
    config = uvicorn.Config(
        server.app(host, token, public),
        http=http,
        ws=websocket,
        ws_max_size=server.limits.message_bytes,
        ws_per_message_deflate=False,  # compressing a reply takes longer than sending it
        backlog=ACCEPTED_AT_ONCE,
        timeout_graceful_shutdown=1,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
    )
    for name in ("asyncio", "uvicorn.error", LOG.name):
        logging.getLogger(name).addFilter(LogFilter())
    return UvicornServer(config, server.connections)

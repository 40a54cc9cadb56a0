"""Who may come in: requests of this page itself, under an expected name, with the token where one is needed."""

import ipaddress
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "groundling"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


def is_local(host: str) -> bool:
    """Whether only this machine can reach a server bound there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class AccessControl:
    """Wraps an app. `host` is where the server is bound; `token` is None where only this machine can reach it.

    A web page elsewhere can make a browser send requests here under a name of its own (DNS rebinding), or open a
    websocket from its own origin. So the name must be one that nobody else controls, and the origin must be the same.
    """

    def __init__(self, app: ASGIApp, host: str, token: str | None) -> None:
        self.app, self.host, self.token = app, host, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        refusal = self.refusal(scope)
        if refusal is not None:
            return await self._refuse(refusal, scope, receive, send)
        if scope["type"] == "websocket":
            return await self.app(scope, receive, send)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        response = self._entrance(scope)
        await (response or self.app)(scope, receive, send_guarded)

    def refusal(self, scope: Scope) -> str | None:
        """Why a request may not come in, or None."""
        headers = Headers(scope=scope)
        name = headers.get("host", "")
        if not self.knows(name):
            return f"host {name[:100]!r}: this server does not go by that name"
        origin = headers.get("origin")
        if origin is None and scope["type"] == "websocket":
            return "a websocket needs an Origin header"
        if origin is not None and urlsplit(origin).netloc != name:
            return f"origin {origin[:100]!r}: only this server's own page may connect"
        if self.token is not None and not (self._has_cookie(headers) or self._has_query(scope)):
            return "a token is needed: open the address that the server printed"
        return None

    def knows(self, name: str) -> bool:
        """Whether a Host header is this server: by a name of this machine, or, bound elsewhere, by any IP address."""
        try:
            host = urlsplit(f"//{name}").hostname or ""
        except ValueError:
            return False
        if is_local(host) or host == self.host:
            return True
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return False
        return not is_local(self.host)

    def _has_cookie(self, headers: Headers) -> bool:
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        return COOKIE in cookies and self._is_token(cookies[COOKIE].value)

    def _has_query(self, scope: Scope) -> bool:
        """Only the front door takes the token from the address, and puts it into a cookie."""
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return scope["type"] == "http" and scope["path"] == "/" and self._is_token(given)

    def _is_token(self, given: str) -> bool:
        return self.token is not None and secrets.compare_digest(given.encode(), self.token.encode())

    def _entrance(self, scope: Scope) -> Response | None:
        if self.token is None or not self._has_query(scope):
            return None
        response = RedirectResponse("/", status_code=303)
        response.set_cookie(COOKIE, self.token, httponly=True, samesite="strict")
        return response

    @staticmethod
    async def _refuse(reason: str, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()  # the connect event
            short = reason.encode("ascii", "replace")[:120].decode()  # as long as a close frame may say
            await send({"type": "websocket.close", "code": 1008, "reason": short})
        else:
            await PlainTextResponse(reason + "\n", status_code=403, headers=HEADERS)(scope, receive, send)

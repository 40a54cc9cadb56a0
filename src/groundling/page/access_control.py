"""Access control: only the server's own page may send requests, under a known host name and with the token if any."""

import ipaddress
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "groundling"
SECURITY_HEADERS = {
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
    """Whether a server bound to `host` can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class AccessControl:
    """ASGI middleware that refuses foreign requests and adds security headers.

    `host` is the address to which the server is bound; `token` is None if only this machine can reach it.

    A foreign web page can make a browser send requests to this server under a name of its own (DNS rebinding), or open
    a websocket from its own origin. Therefore the Host header must be a name that nobody else controls, and the Origin
    must be this server.
    """

    def __init__(self, app: ASGIApp, host: str, token: str | None) -> None:
        self.app, self.host, self.token = app, host, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        reason = self.refusal_reason(scope)
        if reason is not None:
            return await self._refuse(reason, scope, receive, send)
        if scope["type"] == "websocket":
            return await self.app(scope, receive, send)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(SECURITY_HEADERS)
            await send(message)

        response = self._token_redirect(scope)
        await (response or self.app)(scope, receive, send_with_headers)

    def refusal_reason(self, scope: Scope) -> str | None:
        """The reason for which a request is refused, or None if it is accepted."""
        headers = Headers(scope=scope)
        name = headers.get("host", "")
        if not self.is_own_host(name):
            return f"Host must name this server, got {name[:100]!r}; open the address that the server printed"
        origin = headers.get("origin")
        if origin is None and scope["type"] == "websocket":
            return "a websocket request must have an Origin header"
        if origin is not None and urlsplit(origin).netloc != name:
            return f"Origin must be this server, got {origin[:100]!r}; only its own page can connect"
        if self.token is not None and not (self._has_token_cookie(headers) or self._has_token_query(scope)):
            return "a token is required; open the address that the server printed"
        return None

    def is_own_host(self, name: str) -> bool:
        """Whether a Host header names this server.

        Names of this machine and the bound host are accepted; if other machines can reach the server, any IP address.
        """
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

    def _has_token_cookie(self, headers: Headers) -> bool:
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        return COOKIE in cookies and self._is_token(cookies[COOKIE].value)

    def _has_token_query(self, scope: Scope) -> bool:
        """Whether the query string has the token; accepted for the index page only, which stores it in a cookie."""
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return scope["type"] == "http" and scope["path"] == "/" and self._is_token(given)

    def _is_token(self, given: str) -> bool:
        return self.token is not None and secrets.compare_digest(given.encode(), self.token.encode())

    def _token_redirect(self, scope: Scope) -> Response | None:
        """A redirect that moves the token from the query string to a cookie, or None if there is no token."""
        if self.token is None or not self._has_token_query(scope):
            return None
        response = RedirectResponse("/", status_code=303)
        response.set_cookie(COOKIE, self.token, httponly=True, samesite="strict")
        return response

    @staticmethod
    async def _refuse(reason: str, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()  # the connect event
            short = reason.encode("ascii", "replace")[:120].decode()  # a close frame holds at most 123 bytes of reason
            await send({"type": "websocket.close", "code": 1008, "reason": short})
        else:
            response = PlainTextResponse(reason + "\n", status_code=403, headers=SECURITY_HEADERS)
            await response(scope, receive, send)

"""Access control: only the server's own page may send requests, under a known host name and with the token if any."""

import ipaddress
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groundling.page.limits import Limits
from groundling.page.rate_limit import RateLimits

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


class Refusal(NamedTuple):
    """The HTTP status and the reason with which a request is refused."""

    status: int
    reason: str


class AccessControl:
    """ASGI middleware that refuses foreign requests and adds security headers.

    `host` is the address to which the server is bound; `token` is None if only this machine can reach it. `public` is
    the host name of a reverse proxy through which anybody may come; then no token is needed, and that name is the only
    one that is accepted besides those of this machine.

    A foreign web page can make a browser send requests to this server under a name of its own (DNS rebinding), or open
    a websocket from its own origin. Therefore the Host header must be a name that nobody else controls, and the Origin
    must be this server.

    Wrong tokens are limited per address. The right one is accepted nevertheless: it has 256 bits, so nobody guesses it,
    and nobody behind the same address can lock others out.
    """

    def __init__(self, app: ASGIApp, host: str, token: str | None, limits: Limits, public: str | None = None) -> None:
        self.app, self.host, self.token, self.public = app, host, token, public
        self.wrong_tokens = RateLimits(limits.wrong_tokens_per_minute / 60, limits.wrong_tokens_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        refusal = self.refusal(scope)
        if refusal is not None:
            return await self._refuse(refusal, scope, receive, send)
        if scope["type"] == "websocket":
            return await self.app(scope, receive, send)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(SECURITY_HEADERS)
            await send(message)

        response = self._token_redirect(scope)
        await (response or self.app)(scope, receive, send_with_headers)

    def refusal(self, scope: Scope) -> Refusal | None:
        """Why a request is refused, or None if it is accepted."""
        headers = Headers(scope=scope)
        name = headers.get("host", "")
        if not self.is_own_host(name):
            return Refusal(403, f"Host must name this server, got {name[:100]!r}; open the address that it printed")
        origin = headers.get("origin")
        if origin is None and scope["type"] == "websocket":
            return Refusal(403, "a websocket request must have an Origin header")
        if origin is not None and _host_of(origin) != name:
            return Refusal(403, f"Origin must be this server, got {origin[:100]!r}; only its own page can connect")
        return None if self.token is None else self._token_refusal(scope, headers)

    def _token_refusal(self, scope: Scope, headers: Headers) -> Refusal | None:
        given = [token for token in (_token_in_cookie(headers), _token_in_query(scope)) if token]
        if any(self._is_token(token) for token in given):
            return None
        address = scope["client"][0] if scope.get("client") else ""
        if given and not self.wrong_tokens.allow(address):
            return Refusal(429, "too many wrong tokens; open the address that the server printed")
        return Refusal(403, "a token is required; open the address that the server printed")

    def is_own_host(self, name: str) -> bool:
        """Whether a Host header names this server.

        Names of this machine and the bound host are accepted; if other machines can reach the server, any IP address.
        """
        try:
            host = urlsplit(f"//{name}").hostname or ""
        except ValueError:
            return False
        if self.public is not None:
            return host == self.public or is_local(host)
        if is_local(host) or host == self.host:
            return True
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return False
        return not is_local(self.host)

    def _is_token(self, given: str) -> bool:
        return self.token is not None and secrets.compare_digest(given.encode(), self.token.encode())

    def _token_redirect(self, scope: Scope) -> Response | None:
        """A redirect that moves the token from the query string to a cookie, or None if there is no token."""
        if self.token is None or not self._is_token(_token_in_query(scope)):
            return None
        response = RedirectResponse("/", status_code=303)
        response.set_cookie(COOKIE, self.token, httponly=True, samesite="strict")
        return response

    @staticmethod
    async def _refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()  # the connect event
            short = refusal.reason.encode("ascii", "replace")[:120].decode()  # of at most 123 bytes
            await send({"type": "websocket.close", "code": 1008, "reason": short})
        else:
            response = PlainTextResponse(refusal.reason + "\n", status_code=refusal.status, headers=SECURITY_HEADERS)
            await response(scope, receive, send)


def _host_of(origin: str) -> str | None:
    """The host and port of an Origin header, or None if it cannot be parsed."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _token_in_cookie(headers: Headers) -> str:
    """The token in the cookie of a request, or an empty string."""
    try:
        cookies = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return ""
    return cookies[COOKIE].value if COOKIE in cookies else ""


def _token_in_query(scope: Scope) -> str:
    """The token in the query string, or an empty string.

    It is accepted for the index page only, which stores it in a cookie.
    """
    if scope["type"] != "http" or scope["path"] != "/":
        return ""
    query: bytes = scope["query_string"]
    return parse_qs(query.decode("latin-1")).get("token", [""])[0]

"""Access control: requests of other hosts, origins and clients without the token are refused."""

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from groundling.page.access_control import COOKIE, AccessControl, is_local
from groundling.page.app_state import ServedAgent
from groundling.page.limits import Limits
from groundling.page.static_files import STATIC
from tests.page.conftest import BASE_URL, WEBSOCKET_URL, server_of

TOKEN = "test-token"


def test_files_have_a_strict_content_security_policy(http: TestClient) -> None:
    for path in ("/", "/icons.webp", *(f"/static/{name}" for name in STATIC)):
        response = http.get(path)
        assert response.status_code == 200, path
        assert "script-src 'self'; style-src 'self'" in response.headers["content-security-policy"]
        assert response.headers["x-content-type-options"] == "nosniff"
    assert http.get("/icons.webp").content.startswith(b"RIFF")


def test_page_has_no_inline_code_and_no_external_resources() -> None:
    index = STATIC["index.html"].text
    assert "<style" not in index
    assert "style=" not in index
    assert " onclick" not in index
    assert index.count("<script") == index.count('<script type="module" src=')
    for name, file in STATIC.items():
        if name.endswith((".html", ".css", ".js")):
            assert "http://" not in file.text, name
            assert "https://" not in file.text, name


@pytest.mark.parametrize(
    "path", ["/static/../server.py", "/static/%2e%2e/server.py", "/static//etc/passwd", "/etc/passwd"]
)
def test_only_static_files_are_served(http: TestClient, path: str) -> None:
    assert http.get(path).status_code == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "10.0.0.7", "[", ""])
def test_foreign_host_is_refused(http: TestClient, host: str) -> None:
    response = http.get("/", headers={"host": host})
    assert response.status_code == 403
    assert "Host must name this server" in response.text


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost", "localhost:1", "[::1]:8765"])
def test_local_host_is_accepted(http: TestClient, host: str) -> None:
    assert http.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://[", "http://[::1"])
def test_request_of_foreign_origin_is_refused(http: TestClient, origin: str) -> None:
    response = http.get("/", headers={"origin": origin})
    assert response.status_code == 403
    assert "Origin must be this server" in response.text


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "http://[", None])
def test_websocket_of_foreign_origin_is_refused(http: TestClient, origin: str | None) -> None:
    headers = {} if origin is None else {"origin": origin}
    with pytest.raises(WebSocketDisconnect) as refused, http.websocket_connect(WEBSOCKET_URL, headers=headers):
        pass
    assert refused.value.code == 1008


def test_public_address_requires_the_token(served: ServedAgent) -> None:
    app = server_of([served]).app("0.0.0.0", TOKEN)
    with TestClient(app, base_url=BASE_URL, follow_redirects=False) as client:
        assert client.get("/").status_code == 403
        assert client.get("/?token=wrong").status_code == 403
        assert client.get(f"/icons.webp?token={TOKEN}").status_code == 403
        with (
            pytest.raises(WebSocketDisconnect),
            client.websocket_connect(WEBSOCKET_URL, headers={"origin": BASE_URL}),
        ):
            pass
        redirect = client.get(f"/?token={TOKEN}")
        assert redirect.status_code == 303
        cookie = redirect.headers["set-cookie"]
        assert cookie.startswith(f"{COOKIE}={TOKEN}")
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert client.get("/").status_code == 200
        with client.websocket_connect(WEBSOCKET_URL, headers={"origin": BASE_URL}) as socket:
            assert "hello" in socket.receive_json()


def test_wrong_tokens_are_limited_per_address(served: ServedAgent) -> None:
    app = server_of([served], Limits(wrong_tokens_per_minute=3)).app("0.0.0.0", TOKEN)

    def client(address: str) -> TestClient:
        return TestClient(app, base_url=BASE_URL, follow_redirects=False, client=(address, 50000))

    guesser, other = client("10.0.0.1"), client("10.0.0.2")
    statuses = [guesser.get(f"/?token=guess-{k}").status_code for k in range(3)]
    statuses += [guesser.get("/", headers={"cookie": f"{COOKIE}=guess"}).status_code for _ in range(2)]
    assert statuses == [403, 403, 403, 429, 429]
    assert guesser.get("/").status_code == 403, "no token is no wrong token"
    assert guesser.get(f"/?token={TOKEN}").status_code == 303, "the right token is accepted"
    assert other.get("/?token=guess").status_code == 403
    assert other.get(f"/?token={TOKEN}").status_code == 303


def test_public_server_accepts_any_ip_address_but_no_foreign_name() -> None:
    async def app(*_: object) -> None:
        return None

    access_control = AccessControl(app, "0.0.0.0", TOKEN, Limits())
    assert access_control.is_own_host("192.168.0.3:8765")
    assert not access_control.is_own_host("evil.example")
    assert AccessControl(app, "my.machine", TOKEN, Limits()).is_own_host("my.machine:80")


@pytest.mark.parametrize(
    ("host", "local"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False)]
)
def test_is_local(host: str, local: bool) -> None:
    assert is_local(host) is local


def test_public_name_needs_no_token_and_is_the_only_name(served: ServedAgent) -> None:
    app = server_of([served]).app("0.0.0.0", None, "demo.example")
    own = {"host": "demo.example", "origin": "https://demo.example"}
    with TestClient(app, base_url="http://demo.example") as client:
        assert client.get("/", headers=own).status_code == 200
        with client.websocket_connect("ws://demo.example/ws", headers=own) as socket:
            assert "hello" in socket.receive_json()
        for host in ("evil.example", "demo.example.evil.example", "10.0.0.7", "xdemo.example"):
            assert client.get("/", headers={"host": host}).status_code == 403, host
        foreign = {"host": "demo.example", "origin": "https://evil.example"}
        assert client.get("/", headers=foreign).status_code == 403
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("ws://demo.example/ws", headers=foreign):
            pass


@pytest.mark.parametrize("path", ["/", "/icons.webp", "/agent.png", "/static/main.js"])
def test_files_are_loaded_again_only_if_they_changed(http: TestClient, path: str) -> None:
    first = http.get(path)
    again = http.get(path, headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304
    assert again.content == b""
    assert "content-security-policy" in again.headers
    assert http.get(path, headers={"if-none-match": '"other"'}).status_code == 200
    assert len(first.content) <= 400 * 1024

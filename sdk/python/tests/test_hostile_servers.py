"""Servers that are not Countersign, or that are but should not be believed."""

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx
import pytest
from support import World, is_token_request, issued

from countersign import ApiError, AsyncClient, Client, CountersignError, NetworkError


def endless() -> Iterator[bytes]:
    while True:
        yield b" " * 65_536


@pytest.mark.parametrize(
    "changes",
    [
        {"token_type": "mac"},
        {"token_type": None},
        {"token_type": ["Bearer"]},
        {"expires_in": 0},
        {"expires_in": -1},
        {"expires_in": None},
        {"expires_in": "3600"},
        {"expires_in": True},
        {"expires_in": [3600]},
        {"access_token": ""},
        {"access_token": None},
        {"access_token": "a b"},
        {"access_token": "a\r\nX-Injected: 1"},
        {"access_token": "é"},
        {"access_token": 5},
    ],
    ids=str,
)
def test_a_wrong_token_answer_is_refused(changes: dict[str, Any]) -> None:
    world = World(lambda request: issued(**changes))
    with pytest.raises(NetworkError) as refusal:
        world.client.token()
    assert refusal.value.code == "invalid_response"
    with pytest.raises(NetworkError):
        asyncio.run(world.async_client.token())


@pytest.mark.parametrize("lifetime", [10**12, 10**400, 1e308])
def test_a_token_is_not_kept_for_ever(lifetime: float) -> None:
    body = f'{{"access_token":"one","token_type":"bearer","expires_in":{lifetime}}}'
    world = World(lambda request: httpx.Response(200, content=body))
    world.client.token()
    world.now += 86_401
    world.client.token()
    assert len(world.seen) == 2


@pytest.mark.parametrize(
    "content",
    [
        b"<html><body>Welcome</body></html>",
        b"[]",
        b"null",
        b'"text"',
        b"\xff\xfe",
        b"{" * 100_000,
        b"[" * 100_000,
        b"NaN",
        b"",
    ],
    ids=lambda content: content[:12].decode("latin-1"),
)
def test_a_body_that_is_not_json_is_refused(content: bytes) -> None:
    for status in (200, 400, 503):
        world = World(lambda request, status=status: httpx.Response(status, content=content))  # type: ignore[misc]
        with pytest.raises(CountersignError):
            world.client.token()


def test_html_from_a_proxy_is_an_error_with_its_status() -> None:
    page = httpx.Response(502, html="<h1>Bad gateway</h1>")
    world = World(lambda request: issued() if is_token_request(request) else page)
    with pytest.raises(ApiError, match="502 unknown: no explanation"):
        world.client.get("/x")
    wrong = httpx.Response(400, json={"code": {"a": 1}, "message": ["x"]})
    world = World(lambda request: issued() if is_token_request(request) else wrong)
    with pytest.raises(ApiError, match="400 unknown: no explanation"):
        world.client.get("/x")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(status: int) -> None:
    """Neither with a secret nor with a token."""

    def away(request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, headers={"Location": "https://evil.example/api/v1/token"})

    world = World(away)
    with pytest.raises(ApiError, match="redirects to"):
        world.client.token()
    world = World(lambda request: issued() if is_token_request(request) else away(request))
    with pytest.raises(ApiError, match="redirects to"):
        world.client.get("/x")
    with pytest.raises(ApiError, match="redirects to"):
        asyncio.run(world.async_client.get("/x"))
    with pytest.raises(ApiError, match="redirects to"):
        list(world.client.lines("/x"))
    assert all(request.url.host == "id.example.com" for request in world.seen)


def test_a_request_to_this_machine_goes_through_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no TLS, so a proxy could read the secret."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = b'{"access_token":"one","token_type":"Bearer","expires_in":60}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        issuer = f"http://127.0.0.1:{server.server_port}"
        with Client(issuer, "agent", "secret") as client:
            assert client.token() == "one"

        async def token() -> str:
            async with AsyncClient(issuer, "agent", "secret") as client:
                return await client.token()

        assert asyncio.run(token()) == "one"
        server.shutdown()


def test_an_endless_body_is_refused() -> None:
    world = World(lambda request: httpx.Response(200, content=endless()))
    with pytest.raises(NetworkError, match="bytes"):
        world.client.token()
    world = World(
        lambda request: (
            issued() if is_token_request(request) else httpx.Response(400, content=endless())
        )
    )
    with pytest.raises(NetworkError, match="bytes"):
        world.client.get("/x")
    world = World(
        lambda request: (
            issued()
            if is_token_request(request)
            else httpx.Response(200, content=(b"a" * 65_536 for _ in range(10**9)))
        )
    )
    with pytest.raises(NetworkError, match="a line has more than"):
        list(world.client.lines("/audit/export"))


def test_a_compressed_body_is_refused() -> None:
    """It was not asked for, and it could be larger than it looks."""
    packed = httpx.Response(200, content=b"", headers={"Content-Encoding": "gzip"})
    world = World(lambda request: packed)
    with pytest.raises(NetworkError, match="compressed"):
        world.client.token()


def test_the_secret_is_in_no_error_and_no_repr() -> None:
    world = World(lambda request: httpx.Response(401, json={"error": "invalid_client"}), "s3cret")
    with pytest.raises(ApiError) as refusal:
        world.client.token()
    assert "s3cret" not in f"{refusal.value!r}{world.client!r}{vars(refusal.value)}"


@pytest.mark.parametrize("value", ["-5", "1e9", "", "soon", "Wed, 21 Oct 2015 07:28:00 GMT", "٣"])
def test_a_strange_retry_after_is_no_long_wait(value: str) -> None:
    headers = [(b"Retry-After", value.encode())]
    world = World(lambda request: httpx.Response(503, headers=headers))
    with pytest.raises(ApiError):
        world.client.token()
    assert sum(world.slept) < 10

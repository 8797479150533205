"""Tokens go to the address of the resource only."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import jwt
import pytest
from support import World, issued, refused

RESOURCE = "https://api.example.com/orders"


def world() -> World:
    made = World(lambda request: issued(f"token-{len(made.seen)}"))
    return made


def service(
    seen: list[httpx.Request], answer: Callable[[], httpx.Response] = lambda: httpx.Response(200)
) -> httpx.MockTransport:
    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return answer()

    return httpx.MockTransport(handle)


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com/orders",
        "https://api.example.com:443/orders/",
        "https://API.example.com/orders",
        "https://api.example.com/orders/1",
        "https://api.example.com/orders?page=2",
        "https://api.example.com/x/../orders/é",
    ],
)
@pytest.mark.parametrize("resource", [RESOURCE, f"{RESOURCE}/"])
def test_the_address_of_the_resource_gets_tokens(url: str, resource: str) -> None:
    seen: list[httpx.Request] = []
    client = world().client
    with httpx.Client(auth=client.auth(resource), transport=service(seen)) as http:
        http.get(url)
    assert seen[0].headers["Authorization"] == "Bearer token-1"


@pytest.mark.parametrize(
    "url",
    [
        "http://api.example.com/orders",
        "https://api.example.com:8443/orders",
        "https://api.example.com.evil.example/orders",
        "https://evil.example/?https://api.example.com",
        "https://api.example.com@evil.example/",
        "http://localhost/orders",
        "https://api.example.com",
        "https://api.example.com/admin",
        "https://api.example.com/orders2",
        "https://api.example.com/ORDERS",
        "https://api.example.com//orders",
        "https://api.example.com/?/orders",
        "https://api.example.com/orders/../admin",
        "https://api.example.com/orders/%2E%2e/admin",
        "https://api.example.com/orders/%2e%2e%2fadmin",
        "https://api.example.com/orders/..\\admin",
    ],
)
def test_other_addresses_get_none(url: str) -> None:
    seen: list[httpx.Request] = []
    made = world()
    with httpx.Client(auth=made.client.auth(RESOURCE), transport=service(seen)) as http:
        http.get(url)

    async def get() -> None:
        auth = made.async_client.auth(RESOURCE)
        async with httpx.AsyncClient(auth=auth, transport=service(seen)) as http:
            await http.get(url)

    asyncio.run(get())
    assert ["Bearer" in request.headers.get("Authorization", "") for request in seen] == [False] * 2
    assert made.seen == []


@pytest.mark.parametrize(
    ("url", "is_sent"),
    [
        ("https://gateway.example.com/v1/orders", True),
        ("https://gateway.example.com", True),
        (RESOURCE, False),
    ],
)
def test_an_origin_takes_the_place_of_the_address(url: str, is_sent: bool) -> None:
    seen: list[httpx.Request] = []
    auth = world().client.auth(RESOURCE, origin="https://gateway.example.com")
    with httpx.Client(auth=auth, transport=service(seen)) as http:
        http.get(url)
    assert ("Authorization" in seen[0].headers) == is_sent


def test_a_redirect_to_another_origin_gets_none() -> None:
    seen: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        if request.url.host == "evil.example":
            return refused()
        return httpx.Response(302, headers={"Location": "https://evil.example/"})

    auth = world().client.auth(RESOURCE)
    transport = httpx.MockTransport(handle)
    with httpx.Client(auth=auth, transport=transport, follow_redirects=True) as http:
        http.get(RESOURCE)
    evil = [request for request in seen if request.url.host == "evil.example"]
    assert evil
    assert all("Authorization" not in request.headers for request in evil)


@contextmanager
def redirecting_server() -> Iterator[tuple[str, list[tuple[str, str | None, str | None]]]]:
    """`/orders?to=/x` redirects to `/x`. Also returns the paths and the headers that arrived."""
    seen: list[tuple[str, str | None, str | None]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            seen.append((self.path, self.headers["Authorization"], self.headers["DPoP"]))
            _, _, path = self.path.partition("?to=")
            self.send_response(302 if path else 200)
            if path:
                self.send_header("Location", path)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", seen
        finally:
            server.shutdown()


@pytest.mark.parametrize(
    ("path", "has_token"),
    [
        ("orders/1", True),
        ("orders?page=2", True),
        ("admin", False),
        ("orders2", False),
        ("orders/%2e%2e%2fadmin", False),
        ("orders?to=/admin", False),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_a_redirect_keeps_the_token_below_the_resource_only(
    path: str, has_token: bool, is_async: bool
) -> None:
    made = world()
    traced: list[str] = []

    def trace(event: str, info: Any) -> None:
        traced.append(event)

    async def trace_async(event: str, info: Any) -> None:
        traced.append(event)

    async def get(origin: str) -> None:
        auth = made.async_client.auth(f"{origin}/orders")
        async with httpx.AsyncClient(auth=auth, follow_redirects=True, trust_env=False) as http:
            await http.get(f"{origin}/orders?to=/{path}", extensions={"trace": trace_async})

    with redirecting_server() as (origin, seen):
        if is_async:
            asyncio.run(get(origin))
        else:
            auth = made.client.auth(f"{origin}/orders")
            with httpx.Client(auth=auth, follow_redirects=True, trust_env=False) as http:
                http.get(f"{origin}/orders?to=/{path}", extensions={"trace": trace})
    assert seen[0][1] == "Bearer token-1"
    assert seen[-1][1] == ("Bearer token-1" if has_token else None)
    assert traced.count("http11.send_request_headers.started") == len(seen) > 1


@pytest.mark.parametrize(("path", "has_token"), [("orders/1?page=2", True), ("admin", False)])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_redirect_gets_a_proof_of_its_own(path: str, has_token: bool, is_async: bool) -> None:
    made = World(lambda _: issued("one", token_type="DPoP"), dpop=True)

    async def get(origin: str) -> None:
        auth = made.async_client.auth(f"{origin}/orders")
        async with httpx.AsyncClient(auth=auth, follow_redirects=True, trust_env=False) as http:
            await http.get(f"{origin}/orders?to=/{path}")

    with redirecting_server() as (origin, seen):
        if is_async:
            asyncio.run(get(origin))
        else:
            auth = made.client.auth(f"{origin}/orders")
            with httpx.Client(auth=auth, follow_redirects=True, trust_env=False) as http:
                http.get(f"{origin}/orders?to=/{path}")
    first, second = seen
    if not has_token:
        assert second == (f"/{path}", None, None)
        seen = [first]
    assert [each[1] for each in seen] == ["DPoP one"] * len(seen)
    proofs = [jwt.decode(str(each[2]), options={"verify_signature": False}) for each in seen]
    assert [each["htu"] for each in proofs] == [
        f"{origin}/orders",
        *([f"{origin}/orders/1"] if has_token else []),
    ]
    assert len({each["jti"] for each in proofs}) == len(proofs)


@pytest.mark.parametrize("resource", ["http://api.example.com", "orders", "", "urn:orders"])
def test_a_resource_without_https_needs_an_origin(resource: str) -> None:
    with pytest.raises(ValueError, match="resource"):
        world().client.auth(resource)
    with pytest.raises(ValueError, match="origin must use https"):
        world().client.auth(resource, origin="http://api.example.com")
    world().client.auth(resource, origin="https://api.example.com")
    world().client.auth(resource, origin="http://localhost:3000")


def test_a_refused_token_is_replaced_once() -> None:
    seen: list[tuple[str, bytes]] = []
    made = world()

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append((request.headers["Authorization"], request.content))
        return refused()

    transport = httpx.MockTransport(handle)
    with httpx.Client(auth=made.client.auth(RESOURCE), transport=transport) as http:
        assert http.post(RESOURCE, content=b"a").status_code == 401

    async def post() -> int:
        auth = made.async_client.auth(RESOURCE)
        async with httpx.AsyncClient(auth=auth, transport=transport) as http:
            return (await http.post(RESOURCE, content=b"b")).status_code

    assert asyncio.run(post()) == 401
    assert seen == [
        ("Bearer token-1", b"a"),
        ("Bearer token-2", b"a"),
        ("Bearer token-3", b"b"),
        ("Bearer token-4", b"b"),
    ]


def test_a_body_that_is_a_stream_is_sent_once() -> None:
    seen: list[httpx.Request] = []

    def body() -> Iterator[bytes]:
        yield b"x"

    auth = world().client.auth(RESOURCE)
    with httpx.Client(auth=auth, transport=service(seen, refused)) as http:
        assert http.post(RESOURCE, content=body()).status_code == 401
    assert len(seen) == 1


def test_other_401_are_not_repeated() -> None:
    seen: list[httpx.Request] = []

    def denied() -> httpx.Response:
        challenge = 'Bearer error="invalid_request"'
        return httpx.Response(401, headers={"WWW-Authenticate": challenge})

    auth = world().client.auth(RESOURCE, scope=["orders:read"])
    with httpx.Client(auth=auth, transport=service(seen, denied)) as http:
        http.get(RESOURCE)
    assert len(seen) == 1


def test_threads_and_asyncio_are_not_mixed() -> None:
    made = world()
    http = httpx.Client(auth=made.async_client.auth(RESOURCE))
    with http, pytest.raises(RuntimeError, match=r"httpx\.AsyncClient"):
        http.get(RESOURCE)

    async def get() -> None:
        async with httpx.AsyncClient(auth=made.client.auth(RESOURCE)) as http:
            await http.get(RESOURCE)

    with pytest.raises(RuntimeError, match=r"httpx\.Client"):
        asyncio.run(get())

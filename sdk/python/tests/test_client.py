import asyncio
import json
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from support import ISSUER, World, is_token_request, issued, refused

from countersign import ApiError, AsyncClient, Client, NetworkError, PrivateKey
from countersign.flows import HARMLESS, KEYED


def form(request: httpx.Request) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(request.content.decode()).items()}


# Tokens


def test_one_request_serves_many_threads() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        time.sleep(0.05)
        return issued()

    world = World(answer)
    with ThreadPoolExecutor(10) as pool:
        assert list(pool.map(lambda _: world.client.token(), range(10))) == ["one"] * 10
    assert len(world.seen) == 1


def test_one_request_serves_many_tasks_and_survives_a_cancelled_one() -> None:
    async def run() -> tuple[list[str], int]:
        async def answer(request: httpx.Request) -> httpx.Response:
            seen.append(request)
            await asyncio.sleep(0.05)
            return issued()

        seen: list[httpx.Request] = []
        client = AsyncClient(ISSUER, "agent", "secret", transport=httpx.MockTransport(answer))
        tasks = [asyncio.create_task(client.token()) for _ in range(10)]
        await asyncio.sleep(0.01)
        tasks[0].cancel()
        return await asyncio.gather(*tasks[1:]), len(seen)

    assert asyncio.run(run()) == (["one"] * 9, 1)


def test_a_failure_is_shared_by_the_threads_that_wait() -> None:
    started = threading.Event()

    def answer(request: httpx.Request) -> httpx.Response:
        started.wait(1)
        return httpx.Response(401, json={"error": "invalid_client"})

    world = World(answer)
    with ThreadPoolExecutor(5) as pool:
        calls = [pool.submit(world.client.token) for _ in range(5)]
        time.sleep(0.05)
        started.set()
        assert [type(call.exception()) for call in calls] == [ApiError] * 5
    assert len(world.seen) == 1


def test_tokens_are_cached_by_resource_and_scope_and_delegation() -> None:
    world = World(lambda request: issued(str(len(world.seen))))
    client = world.client
    first = client.token()
    assert client.token(scope="b a") == client.token(scope=["a", "b", "a"]) != first
    assert client.token(resource="https://api.example.com") != first
    delegated = client.redeem("delegation-token")
    assert delegated.token() == delegated.token() != first
    assert client.token() == first
    assert len(world.seen) == 4
    assert form(world.seen[1])["scope"] == "a b"
    assert form(world.seen[3]) == {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "client_id": "agent",
        "client_secret": "secret",
        "subject_token": "delegation-token",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
    }


@pytest.mark.parametrize("is_async", [False, True])
def test_a_token_is_renewed_at_80_percent_of_its_lifetime(is_async: bool) -> None:
    world = World(lambda request: issued(str(len(world.seen))))

    def token() -> str:
        return asyncio.run(world.async_client.token()) if is_async else world.client.token()

    assert token() == "1"
    world.now += 3600 * 0.75 - 1
    assert token() == "1"
    world.now += 3600 * 0.05 + 2
    assert token() == "2"


@pytest.mark.parametrize("is_async", [False, True])
def test_a_valid_token_outlives_a_renewal_that_fails(is_async: bool) -> None:
    answers = iter([issued("one", expires_in=100)])
    world = World(lambda request: next(answers, httpx.Response(503)))

    def token() -> str:
        return asyncio.run(world.async_client.token()) if is_async else world.client.token()

    assert token() == "one"
    world.now += 81
    assert token() == "one"
    attempts = len(world.seen)
    assert token() == "one"
    assert len(world.seen) == attempts, "there is a cool-down"
    world.now += 20
    with pytest.raises(ApiError):
        token()


def test_a_refused_renewal_is_an_error_at_once() -> None:
    answers = iter([issued("one", expires_in=100)])
    denied = httpx.Response(401, json={"error": "invalid_client"})
    world = World(lambda request: next(answers, denied))
    world.client.token()
    world.now += 81
    with pytest.raises(ApiError, match="invalid_client"):
        world.client.token()


# Proofs


def pem_of(key: Any) -> str:
    pem: bytes = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return pem.decode()


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [
        (rsa.generate_private_key(public_exponent=65537, key_size=2048), "RS256"),
        (ec.generate_private_key(ec.SECP256R1()), "ES256"),
        (ed25519.Ed25519PrivateKey.generate(), "EdDSA"),
    ],
    ids=["RSA", "P-256", "Ed25519"],
)
def test_a_private_key_signs_a_new_assertion_each_time(key: Any, algorithm: str) -> None:
    answers = iter([httpx.Response(503), issued()])
    world = World(lambda request: next(answers), PrivateKey(pem_of(key), key_id="k1"))
    world.client.token()
    sent = [form(request)["client_assertion"] for request in world.seen]
    claims = [
        jwt.decode(each, key.public_key(), algorithms=[algorithm], audience=ISSUER) for each in sent
    ]
    assert jwt.get_unverified_header(sent[0])["kid"] == "k1"
    assert {(each["iss"], each["sub"]) for each in claims} == {("agent", "agent")}
    assert claims[0]["jti"] != claims[1]["jti"]
    assert all(0 < each["exp"] - each["iat"] <= 300 for each in claims)


def test_a_private_key_is_never_sent_as_a_secret() -> None:
    pem = pem_of(ec.generate_private_key(ec.SECP256R1()))
    world = World(lambda request: issued(), pem)
    world.client.token()
    assert "client_secret" not in form(world.seen[0])
    assert "PRIVATE" not in repr(PrivateKey(pem))


def test_a_function_returns_the_token_of_a_workload() -> None:
    async def fetch() -> str:
        return "async-token"

    exchange = "urn:ietf:params:oauth:grant-type:token-exchange"
    world = World(lambda request: issued(), lambda: "platform-token\n")
    world.client.token(resource="https://api.example.com")
    assert world.seen[0].url.path == "/api/v1/oidc/token"
    assert form(world.seen[0]) == {
        "grant_type": exchange,
        "client_id": "agent",
        "subject_token": "platform-token",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "resource": "https://api.example.com",
    }
    # The token endpoint redeems delegations.
    world.client.redeem("delegation-token").token()
    assert world.seen[1].url.path == "/api/v1/token"
    redeemed = form(world.seen[1])
    assert (redeemed["grant_type"], redeemed["subject_token"]) == (exchange, "delegation-token")
    assert redeemed["client_assertion"] == "platform-token"
    world = World(lambda request: issued(), fetch)
    asyncio.run(world.async_client.token())
    assert form(world.seen[0])["subject_token"] == "async-token"
    with pytest.raises(TypeError, match="AsyncClient"):
        world.client.token()


@pytest.mark.parametrize("auth", ["", None, 5])
def test_other_kinds_of_auth_are_refused(auth: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="auth"):
        Client(ISSUER, "agent", auth)


@pytest.mark.parametrize(
    "issuer",
    [
        "http://id.example.com",
        "http://127.0.0.1.example.com",
        "https://user:password@id.example.com",
        "https://id.example.com?x=1",
        "https://id.example.com#x",
        "ftp://id.example.com",
        "id.example.com",
        "",
    ],
)
def test_an_issuer_that_is_not_safe_is_refused(issuer: str) -> None:
    with pytest.raises(ValueError, match="issuer"):
        Client(issuer, "agent", "secret")


@pytest.mark.parametrize("issuer", ["http://localhost:3000", "http://127.0.0.1/", "http://[::1]:1"])
def test_http_is_for_this_machine(issuer: str) -> None:
    Client(issuer, "agent", "secret").close()


# Retries


def test_waits_as_long_as_the_server_asks() -> None:
    answers = iter(
        [issued(), httpx.Response(429, headers={"Retry-After": "30"}), httpx.Response(200, json={})]
    )
    world = World(lambda request: next(answers))
    assert world.client.get("/x") == {}
    assert world.slept == [30]


def test_does_not_wait_for_the_next_day() -> None:
    answers = iter([issued(), httpx.Response(429, headers={"Retry-After": "40000"})])
    world = World(lambda request: next(answers))
    with pytest.raises(ApiError) as refusal:
        world.client.get("/x")
    assert (refusal.value.status, refusal.value.retry_after_seconds) == (429, 40000)
    assert world.slept == []


def test_gives_up_after_four_attempts() -> None:
    world = World(lambda request: issued() if is_token_request(request) else httpx.Response(503))
    with pytest.raises(ApiError) as refusal:
        world.client.get("/x")
    assert refusal.value.status == 503
    assert len(world.seen) == 5
    assert len(world.slept) == 3


@pytest.mark.parametrize("status", [400, 403, 404, 409, 500, 502, 504])
def test_other_answers_are_final(status: int) -> None:
    world = World(lambda request: issued() if is_token_request(request) else httpx.Response(status))
    with pytest.raises(ApiError):
        world.client.get("/x")
    assert len(world.seen) == 2


def lost(request: httpx.Request) -> httpx.Response:
    if is_token_request(request):
        return issued()
    raise httpx.ReadTimeout("lost", request=request)


@pytest.mark.parametrize(
    ("method", "path", "attempts"),
    [
        ("GET", "/x", 4),
        ("PUT", "/x", 4),
        ("DELETE", "/x", 4),
        ("POST", "/agents", 4),
        ("POST", "/agents/1/credentials", 4),
        ("POST", "/token/introspect", 4),
        ("POST", "/agents/1/credentials/2/rotate", 1),
        ("PATCH", "/agents/1", 1),
    ],
)
def test_a_request_without_an_answer_is_repeated_if_that_is_safe(
    method: str, path: str, attempts: int
) -> None:
    world = World(lost)
    with pytest.raises(NetworkError) as failure:
        world.client.request(method, path)
    assert failure.value.code == "timeout"
    sent = world.seen[1:]
    assert len(sent) == attempts
    if method == "POST" and path.startswith("/agents") and attempts > 1:
        assert len({request.headers["Idempotency-Key"] for request in sent}) == 1


@pytest.mark.parametrize(
    ("path", "body", "sent"),
    [
        ("/agents", {"owner": "me"}, {"owner": "me", "allowedScopes": []}),
        ("/agents", {"allowedScopes": ["agents:read"]}, {"allowedScopes": ["agents:read"]}),
        ("/webhooks", {"name": "x"}, {"name": "x"}),
    ],
)
def test_a_new_agent_gets_no_scopes_but_those_that_are_named(
    path: str, body: dict[str, Any], sent: dict[str, Any]
) -> None:
    world = World(
        lambda request: issued() if is_token_request(request) else httpx.Response(201, json={})
    )
    world.client.post(path, body)
    assert json.loads(world.seen[1].content) == sent


def test_the_requests_with_a_key_are_those_of_the_api() -> None:
    paths = json.loads((Path(__file__).parents[3] / "openapi.json").read_text())["paths"]
    posts = {
        re.sub(r"\{\w+\}", "1", path.removeprefix("/api/v1")): [
            parameter.get("name") for parameter in operations["post"].get("parameters", [])
        ]
        for path, operations in paths.items()
        if "post" in operations and path.startswith("/api/v1/")
    }
    keyed = {path for path, parameters in posts.items() if "Idempotency-Key" in parameters}
    assert keyed == {path for path in posts if KEYED.fullmatch(path)}
    assert len(keyed) > 3
    harmless = HARMLESS.pattern.removeprefix("/(").removesuffix(")").split("|")
    assert {f"/{path}" for path in harmless} <= posts.keys()


def test_a_request_that_was_not_sent_is_repeated() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if is_token_request(request):
            return issued()
        raise httpx.ConnectError("refused", request=request)

    world = World(answer)
    with pytest.raises(NetworkError) as failure:
        world.client.patch("/agents/1", {})
    assert failure.value.code == "unreachable"
    assert len(world.seen) == 5


# The API


@pytest.mark.parametrize("is_async", [False, True])
def test_a_refused_token_is_replaced_once(is_async: bool) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if is_token_request(request):
            return issued(str(len(world.token_requests)))
        is_fresh = request.headers["Authorization"] == "Bearer 2"
        return httpx.Response(200, json={"fresh": True}) if is_fresh else refused()

    world = World(answer)
    call = asyncio.run(world.async_client.get("/x")) if is_async else world.client.get("/x")
    assert call == {"fresh": True}
    assert len(world.seen) == 4


def test_a_token_that_is_refused_again_is_an_error() -> None:
    world = World(lambda request: issued() if is_token_request(request) else refused())
    with pytest.raises(ApiError, match="UNAUTHORIZED"):
        world.client.get("/x")
    assert len(world.seen) == 4


def test_an_error_has_code_details_and_request_id() -> None:
    body = {"code": "VALIDATION_ERROR", "message": "no", "details": {"fields": []}}
    denied = httpx.Response(400, json=body, headers={"X-Request-Id": "r1"})
    world = World(lambda request: issued() if is_token_request(request) else denied)
    with pytest.raises(ApiError) as refusal:
        world.client.get("/x")
    error = refusal.value
    assert (error.status, error.code, error.request_id) == (400, "VALIDATION_ERROR", "r1")
    assert error.details == {"fields": []}
    assert str(error) == "400 VALIDATION_ERROR: no (request r1)"


@pytest.mark.parametrize("path", ["x", "", "https://evil.example", "/../../x", "/a/../b", "/a\\b"])
def test_a_path_stays_in_the_api(path: str) -> None:
    with pytest.raises(ValueError, match="path"):
        World(lambda request: issued()).client.get(path)


@pytest.mark.parametrize(
    "path", ["//evil.example/x", "/@evil.example", "/%2e%2e/x", "/?x=http://a"]
)
def test_no_path_leads_to_another_host(path: str) -> None:
    world = World(lambda request: issued())
    world.client.get(path)
    assert {request.url.host for request in world.seen} == {"id.example.com"}


def test_iterates_over_pages_and_offsets_and_whole_lists() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if is_token_request(request):
            return issued()
        params, path = request.url.params, request.url.path
        if path.endswith("/webhooks"):
            return httpx.Response(200, json=[1, 2])
        start = int(params.get("offset", 0)) or (int(params.get("page", 1)) - 1) * 2
        entries = list(range(5))[start : start + int(params["limit"])]
        name = "deliveries" if path.endswith("/deliveries") else "data"
        return httpx.Response(200, json={name: entries, "total": 5})

    world = World(answer)
    for path in ("/agents", "/webhooks/1/deliveries"):
        assert list(world.client.iterate(path, limit=2)) == [0, 1, 2, 3, 4]
    assert list(world.client.iterate("/agents", limit=2, page=2)) == [2, 3, 4]
    assert list(world.client.iterate("/webhooks/1/deliveries", limit=2, offset=1)) == [1, 2, 3, 4]
    assert list(world.client.iterate("/webhooks")) == [1, 2]
    places = [(each.url.params.get("page"), each.url.params.get("offset")) for each in world.seen]
    assert places[1:] == [
        *[(None, None), ("2", None), ("3", None)],
        *[(None, None), (None, "2"), (None, "4")],
        *[("2", None), ("3", None)],
        *[(None, "1"), (None, "3")],
        (None, None),
    ]

    async def collect() -> list[Any]:
        return [entry async for entry in world.async_client.iterate("/agents", limit=2)]

    assert asyncio.run(collect()) == [0, 1, 2, 3, 4]


def test_a_list_that_never_ends_can_be_left() -> None:
    page = httpx.Response(200, json={"data": [1], "total": 10**9})
    world = World(lambda request: issued() if is_token_request(request) else page)
    entries = world.client.iterate("/agents")
    assert [next(entries) for _ in range(3)] == [1, 1, 1]


def test_reads_an_answer_line_by_line() -> None:
    def body() -> Iterator[bytes]:
        yield "é\nb".encode()[:1]
        yield "é\nb".encode()[1:]
        yield b"c\n\nd"

    async def async_body() -> Any:
        for chunk in body():
            yield chunk

    is_async = False

    def answer(request: httpx.Request) -> httpx.Response:
        if is_token_request(request):
            return issued()
        if request.url.path.endswith("/none"):
            return httpx.Response(403, json={"code": "FORBIDDEN", "message": "no"})
        return httpx.Response(200, content=async_body() if is_async else body())

    world = World(answer)
    assert list(world.client.lines("/audit/export")) == ["é", "bc", "", "d"]
    with pytest.raises(ApiError, match="FORBIDDEN"):
        list(world.client.lines("/none"))
    is_async = True

    async def collect() -> list[str]:
        return [line async for line in world.async_client.lines("/audit/export")]

    assert asyncio.run(collect()) == ["é", "bc", "", "d"]


def test_a_refused_token_is_replaced_before_the_first_line() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if is_token_request(request):
            return issued(str(len(world.token_requests)))
        is_fresh = request.headers["Authorization"] == "Bearer 2"
        return httpx.Response(200, text="a\nb\n") if is_fresh else refused()

    world = World(answer)
    assert list(world.client.lines("/audit/export")) == ["a", "b"]
    world.client.forget("2")
    with pytest.raises(ApiError, match="UNAUTHORIZED"):
        list(world.client.lines("/audit/export"))


# Delegation


def test_a_client_of_redeem_leaves_the_connections_open() -> None:
    world = World(lambda request: issued())
    with world.client.redeem("delegation-token") as acting:
        acting.token()
    world.client.token()

    async def run() -> None:
        async with world.async_client.redeem("delegation-token") as acting:
            await acting.token()
        await world.async_client.token()

    asyncio.run(run())


def test_delegates_and_passes_on() -> None:
    body = {
        "chainId": "c",
        "delegationToken": "secret-token",
        "scopes": ["a"],
        "expiresAt": "2030-01-01T00:00:00.000Z",
    }

    def answer(request: httpx.Request) -> httpx.Response:
        return issued() if is_token_request(request) else httpx.Response(201, json=body)

    world = World(answer)
    delegation = world.client.delegate("b", "a", resource="https://api.example.com", purpose="p")
    assert (delegation.chain_id, delegation.token) == ("c", "secret-token")
    assert "secret-token" not in repr(delegation)
    world.client.redeem("mine").delegate("b", ["a"])
    sent = [request for request in world.seen if not is_token_request(request)]
    assert b'"parentToken":"mine"' in sent[1].content
    # A token for a resource would not open the API.
    assert len(world.token_requests) == 1
    assert b'"resource":["https://api.example.com"]' in sent[0].content

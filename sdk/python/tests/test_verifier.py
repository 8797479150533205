import asyncio
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from support import issued

from countersign import AsyncClient, AsyncVerifier, Client, Subject, TokenError, Verifier
from countersign.introspection import IntrospectionCache, Introspector
from countersign.verified_token import Refused

CASES = json.loads((Path(__file__).parents[2] / "vectors.json").read_text())["tokens"]
ISSUER, AUDIENCE = CASES["issuer"], CASES["audience"]
ORGANIZATION = CASES["organizationId"]
OWN = CASES["accepted"][0]["token"]
UNKNOWN_KEY = next(each["token"] for each in CASES["refused"] if each["name"] == "unknown key id")


def active(**changes: Any) -> httpx.Response:
    token_id = jwt.decode(OWN, options={"verify_signature": False})["jti"]
    body = {"active": True, "scope": "orders:read orders:write", "jti": token_id} | changes
    return httpx.Response(200, json=body)


class KeyServer:
    """Publishes the keys, and answers introspection as the test says."""

    def __init__(self) -> None:
        self.jwks: Any = CASES["jwks"]
        self.status = 200
        self.now = 0.0
        self.fetches = 0
        self.introspections = 0
        self.introspection: httpx.Response | Exception = active()
        self.before_introspection: Callable[[], object] = lambda: None
        self.transport = httpx.MockTransport(self._handle)

    def verifier(self, **options: Any) -> Verifier:
        given = {"subjects": "agents", "revocation": "none", "transport": self.transport, **options}
        return Verifier(ISSUER, AUDIENCE, ORGANIZATION, monotonic=lambda: self.now, **given)

    def introspecting(self, **options: Any) -> Verifier:
        client = Client(
            ISSUER, "api", "secret", transport=self.transport, sleep=lambda seconds: None
        )
        return self.verifier(revocation="introspect", introspect_with=client, **options)

    def _handle(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/v1/token":
            return issued()
        if request.url.path == "/api/v1/token/introspect":
            self.introspections += 1
            self.before_introspection()
            assert request.headers["Authorization"] == "Bearer one"
            if isinstance(self.introspection, Exception):
                raise self.introspection
            return self.introspection
        assert request.url.path == "/.well-known/jwks.json"
        assert "Authorization" not in request.headers
        self.fetches += 1
        return httpx.Response(self.status, json=self.jwks)


@pytest.fixture
def server() -> KeyServer:
    return KeyServer()


def case_of(name: str) -> str:
    cases = [*CASES["accepted"], *CASES["refused"]]
    return str(next(each["token"] for each in cases if each["name"] == name))


PERSON = case_of("a person, where people are accepted")


@pytest.mark.parametrize("subjects", [None, "", "agent", "person", "ANY", ["agents"]])
def test_a_verifier_needs_to_know_which_subjects_it_accepts(subjects: Any) -> None:
    for kind in (Verifier, AsyncVerifier):
        with pytest.raises(ValueError, match='subjects must be "agents"'):
            kind(ISSUER, AUDIENCE, ORGANIZATION, subjects=subjects, revocation="none")
        with pytest.raises(TypeError, match="subjects"):
            kind(ISSUER, AUDIENCE, ORGANIZATION, revocation="none")  # type: ignore[call-arg]


def test_an_unwanted_subject_is_refused_before_the_server_is_asked(server: KeyServer) -> None:
    with pytest.raises(TokenError, match="only agents are accepted") as refusal:
        server.introspecting().verify(PERSON)
    assert (refusal.value.status, refusal.value.code) == (403, "insufficient_scope")
    assert server.introspections == 0
    verified = server.verifier(subjects="people").verify(PERSON)
    assert verified.subject == Subject("person", verified.claims["sub"])


@pytest.mark.parametrize("organization_id", [None, "", "acme", 5, [], [ORGANIZATION, "acme"]])
def test_a_verifier_needs_an_organization_or_the_option(organization_id: Any) -> None:
    with pytest.raises(ValueError, match="accept_any_organization"):
        Verifier(ISSUER, AUDIENCE, organization_id, subjects="agents", revocation="none")
    with pytest.raises(ValueError, match="accept_any_organization"):
        Verifier(
            ISSUER,
            AUDIENCE,
            organization_id,
            accept_any_organization="yes",  # type: ignore[arg-type]
            subjects="agents",
            revocation="none",
        )


def test_an_issuer_without_https_and_an_empty_audience_are_refused() -> None:
    with pytest.raises(ValueError, match="issuer must use https"):
        Verifier(
            "http://id.example.com", AUDIENCE, ORGANIZATION, subjects="agents", revocation="none"
        )
    with pytest.raises(ValueError, match="audience"):
        Verifier(ISSUER, "", ORGANIZATION, subjects="agents", revocation="none")


@pytest.mark.parametrize("tolerance", [-1, 300.1, float("inf"), float("nan")])
def test_a_clock_tolerance_has_limits(server: KeyServer, tolerance: float) -> None:
    with pytest.raises(ValueError, match="clock_tolerance must be from 0 to 300"):
        server.verifier(clock_tolerance=tolerance)
    server.verifier(clock_tolerance=300)


@pytest.mark.parametrize("max_depth", [-1, 11, float("inf"), float("nan")])
def test_a_depth_has_limits(server: KeyServer, max_depth: Any) -> None:
    with pytest.raises(ValueError, match="max_depth must be from 0 to 10"):
        server.verifier().verify(OWN, max_depth=max_depth)
    server.verifier().verify(OWN, max_depth=10)


# Where the token is


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {OWN}"},
        {"authorization": f"bearer {OWN}"},
        {"AUTHORIZATION": f"Bearer   {OWN} "},
        httpx.Headers({"Authorization": f"Bearer {OWN}"}),
    ],
    ids=range(4),
)
def test_reads_the_header(server: KeyServer, headers: Any) -> None:
    assert server.verifier().verify(headers).organization_id == ORGANIZATION


@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": ""}, {"Authorization": "Basic eA=="}, {"Authorization": "Bearer "}],
)
def test_a_request_without_a_token_is_told_how_to_authenticate(
    server: KeyServer, headers: dict[str, str]
) -> None:
    metadata = "https://api.example.com/.well-known/oauth-protected-resource"
    with pytest.raises(TokenError) as refusal:
        server.verifier(resource_metadata=metadata).verify(headers)
    assert refusal.value.status == 401
    assert refusal.value.www_authenticate == f'Bearer resource_metadata="{metadata}"'
    with pytest.raises(TokenError) as refusal:
        server.verifier().verify(headers)
    assert refusal.value.www_authenticate == "Bearer"


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {OWN}", "authorization": f"Bearer {OWN}"},
        {"Authorization": [f"Bearer {OWN}", "Bearer x"]},
    ],
    ids=range(2),
)
def test_two_headers_are_refused(server: KeyServer, headers: dict[str, Any]) -> None:
    with pytest.raises(TokenError) as refusal:
        server.verifier().verify(headers)
    assert (refusal.value.status, refusal.value.code) == (401, "invalid_request")


@pytest.mark.parametrize(
    "token",
    ["x" * 100_000, "é.é.é", '"\r\nX: 1', "a.b.c.d", "\ud800", "e30.e30.", "....", f"{OWN} "],
)
def test_texts_that_are_no_tokens_are_refused(server: KeyServer, token: str) -> None:
    with pytest.raises(TokenError) as refusal:
        server.verifier().verify(token)
    assert refusal.value.status == 401
    header = refusal.value.www_authenticate
    assert header.isascii() and "\n" not in header and "\r" not in header


def test_the_challenge_names_the_scope(server: KeyServer) -> None:
    with pytest.raises(TokenError) as refusal:
        server.verifier().verify(OWN, scopes="orders:read orders:delete")
    assert refusal.value.status == 403
    assert 'error="insufficient_scope"' in refusal.value.www_authenticate
    assert 'scope="orders:read orders:delete"' in refusal.value.www_authenticate
    with pytest.raises(TokenError) as refusal:
        server.verifier().verify({}, scopes=["orders:read", "orders:delete"])
    assert refusal.value.www_authenticate == 'Bearer scope="orders:read orders:delete"'
    with pytest.raises(TokenError) as refusal:
        server.verifier().verify("x", scopes="orders:read")
    assert refusal.value.status == 401
    assert 'error="invalid_token"' in refusal.value.www_authenticate
    assert 'scope="orders:read"' in refusal.value.www_authenticate


# Keys


def test_keys_are_fetched_once(server: KeyServer) -> None:
    verifier = server.verifier()
    for _ in range(3):
        verifier.verify(OWN)
    for _ in range(3):
        with pytest.raises(TokenError, match="unknown key"):
            verifier.verify(UNKNOWN_KEY)
    assert server.fetches == 1
    server.now = 30.0
    with pytest.raises(TokenError, match="unknown key"):
        verifier.verify(UNKNOWN_KEY)
    assert server.fetches == 2


def test_a_key_that_is_no_longer_published_is_refused_after_ten_minutes(server: KeyServer) -> None:
    verifier = server.verifier()
    verifier.verify(OWN)
    server.jwks = {"keys": [CASES["jwks"]["keys"][0] | {"kid": "next"}]}
    server.now = 599.0
    verifier.verify(OWN)
    server.now = 600.0
    with pytest.raises(TokenError, match="unknown key"):
        verifier.verify(OWN)


def test_the_last_keys_are_valid_for_a_day_while_the_issuer_is_away(server: KeyServer) -> None:
    verifier = server.verifier()
    verifier.verify(OWN)
    server.status = 503
    for server.now in (600.0, 610.0, 86_399.0):
        verifier.verify(OWN)
    assert server.fetches == 3, "with a cool-down"
    with pytest.raises(TokenError) as refusal:
        verifier.verify(UNKNOWN_KEY)
    assert refusal.value.status == 503, "it may be a new key"
    server.now = 86_400.0
    with pytest.raises(TokenError) as refusal:
        verifier.verify(OWN)
    assert refusal.value.status == 503


def test_a_cancelled_task_does_not_keep_the_others_from_the_keys() -> None:
    async def run() -> str:
        fetches = 0

        asked, may_answer = asyncio.Event(), asyncio.Event()

        async def keys(request: httpx.Request) -> httpx.Response:
            nonlocal fetches
            fetches += 1
            asked.set()
            await may_answer.wait()
            return httpx.Response(200, json=CASES["jwks"])

        transport = httpx.MockTransport(keys)
        verifier = AsyncVerifier(
            ISSUER,
            AUDIENCE,
            [ORGANIZATION],
            subjects="agents",
            revocation="none",
            transport=transport,
        )
        tasks = [asyncio.create_task(verifier.verify(OWN)) for _ in range(3)]
        await asked.wait()
        tasks[0].cancel()
        may_answer.set()
        verified = await asyncio.gather(*tasks[1:])
        assert fetches == 2
        return verified[0].organization_id

    assert asyncio.run(run()) == ORGANIZATION


def test_one_thread_fetches_and_the_others_wait(server: KeyServer) -> None:
    verifier = server.verifier()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: verifier.verify(OWN), range(8)))
    assert server.fetches == 1


def test_503_without_keys_and_no_second_fetch_at_once(server: KeyServer) -> None:
    verifier = server.verifier()
    server.status = 503
    for _ in range(3):
        with pytest.raises(TokenError, match="could not be fetched") as refusal:
            verifier.verify(OWN)
        assert (refusal.value.status, refusal.value.code) == (503, "temporarily_unavailable")
    assert server.fetches == 1
    server.status, server.now = 200, 30.0
    verifier.verify(OWN)


@pytest.mark.parametrize(
    "jwks",
    [
        None,
        [],
        {},
        {"keys": None},
        {"keys": [None] * 101},
        "<html>",
    ],
    ids=str,
)
def test_503_for_something_else_than_a_key_set(server: KeyServer, jwks: Any) -> None:
    server.jwks = jwks
    with pytest.raises(TokenError) as refusal:
        server.verifier().verify(OWN)
    assert refusal.value.status == 503


def test_keys_that_cannot_be_used_are_left_out(server: KeyServer) -> None:
    rsa = CASES["jwks"]["keys"][0]
    bad = [None, {}, {"kty": "oct", "k": "eA", "kid": "rsa"}, {"kty": "RSA", "kid": "rsa"}, 5]
    server.jwks = {"keys": [*bad, {**rsa, "use": "enc"}, {**rsa, "alg": "HS256"}]}
    with pytest.raises(TokenError, match="unknown key"):
        server.verifier().verify(OWN)
    server.jwks = {"keys": [*bad, rsa]}
    server.verifier().verify(OWN)


# Revocation


def test_revocation_is_a_decision_of_the_program() -> None:
    for each in (Verifier, AsyncVerifier):
        with pytest.raises(TypeError, match="revocation"):
            each(ISSUER, AUDIENCE, ORGANIZATION)  # type: ignore[call-arg]


def test_introspection_needs_a_client() -> None:
    with pytest.raises(ValueError, match="tokens:read"):
        Verifier(ISSUER, AUDIENCE, ORGANIZATION, subjects="agents", revocation="introspect")
    with pytest.raises(ValueError, match="revocation"):
        Verifier(ISSUER, AUDIENCE, ORGANIZATION, subjects="agents", revocation="always")  # type: ignore[arg-type]


def test_introspection_decides(server: KeyServer) -> None:
    verifier = server.introspecting(introspection_cache_seconds=0)
    assert verifier.verify(OWN).organization_id == ORGANIZATION
    server.introspection = httpx.Response(200, json={"active": False})
    with pytest.raises(TokenError, match="revoked") as refusal:
        verifier.verify(OWN)
    assert refusal.value.status == 401
    assert server.introspections == 2


@pytest.mark.parametrize(("options", "seconds"), [({}, 1), ({"introspection_cache_seconds": 5}, 5)])
def test_an_answer_of_introspection_counts_as_long_as_configured(
    server: KeyServer, options: dict[str, Any], seconds: float
) -> None:
    verifier = server.introspecting(**options)
    for server.now in (0.0, seconds - 0.1):
        verifier.verify(OWN)
    assert server.introspections == 1
    server.introspection = httpx.Response(200, json={"active": False})
    server.now = seconds
    for _ in range(2):
        with pytest.raises(TokenError, match="revoked"):
            verifier.verify(OWN)
    assert server.introspections == 2
    with pytest.raises(ValueError, match="from 0 to 300"):
        server.introspecting(introspection_cache_seconds=3600)


class WatchedCache(IntrospectionCache):
    """Each question looks here first, and finds the one that is under way in the same lock."""

    def __init__(self, seconds: float, monotonic: Callable[[], float]) -> None:
        super().__init__(seconds, monotonic)
        self.looked = threading.Semaphore(0)

    def get(self, key: bytes) -> Any:
        self.looked.release()
        return super().get(key)

    def wait_for(self, questions: int) -> None:
        for _ in range(questions):
            assert self.looked.acquire(timeout=10)


def held_introspector(
    server: KeyServer, seconds: float
) -> tuple[Introspector, WatchedCache, threading.Event, threading.Event]:
    """The server answers when the test says so."""
    client = Client(ISSUER, "api", "secret", transport=server.transport, sleep=lambda _: None)
    cache = WatchedCache(seconds, lambda: server.now)
    asked, may_answer = threading.Event(), threading.Event()

    def wait() -> None:
        asked.set()
        assert may_answer.wait(10)

    server.before_introspection = wait
    return Introspector(client, cache), cache, asked, may_answer


def test_threads_that_ask_about_one_token_share_the_answer(server: KeyServer) -> None:
    introspector, cache, asked, may_answer = held_introspector(server, 1.0)
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(introspector.ask, OWN)
        assert asked.wait(10)
        server.now = 0.9
        others = [pool.submit(introspector.ask, OWN) for _ in range(7)]
        cache.wait_for(8)
        may_answer.set()
        assert all(each.result()["active"] for each in [first, *others])
    assert server.introspections == 1
    server.introspection = httpx.Response(500)
    server.now = 1.0
    with pytest.raises(Refused):
        introspector.ask(OWN)
    server.introspection = active()
    assert introspector.ask(OWN)["active"], "a failure is not remembered"


@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_an_older_question_is_not_shared_and_its_answer_is_as_old(
    server: KeyServer, seconds: float
) -> None:
    introspector, cache, asked, may_answer = held_introspector(server, seconds)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(introspector.ask, OWN)
        assert asked.wait(10)
        asked.clear()
        server.now = seconds
        second = pool.submit(introspector.ask, OWN)
        assert asked.wait(10), "it is asked again"
        may_answer.set()
        assert first.result()["active"] and second.result()["active"]
    assert server.introspections == 2
    server.now = seconds * 2
    introspector.ask(OWN)
    assert server.introspections == 3


def test_an_answer_is_as_old_as_its_question(server: KeyServer) -> None:
    def wait() -> None:
        server.now += 0.75

    server.before_introspection = wait
    verifier = server.introspecting()
    verifier.verify(OWN)
    verifier.verify(OWN)
    assert server.introspections == 1
    server.now += 0.25
    verifier.verify(OWN)
    assert server.introspections == 2


def test_introspection_takes_scopes_away_and_gives_none(server: KeyServer) -> None:
    verifier = server.introspecting()
    server.introspection = active(scope="orders:read orders:delete")
    assert verifier.verify(OWN, scopes="orders:read").scopes == ("orders:read",)
    for scope in ("orders:write", "orders:delete"):
        with pytest.raises(TokenError) as refusal:
            verifier.verify(OWN, scopes=scope)
        assert refusal.value.status == 403


def test_a_token_that_is_not_valid_is_not_introspected(server: KeyServer) -> None:
    verifier = server.introspecting()
    for case in CASES["refused"][:5]:
        with pytest.raises(TokenError):
            verifier.verify(case["token"])
    assert server.introspections == 0


@pytest.mark.parametrize(
    "answer",
    [
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("slow"),
        httpx.Response(403, json={"code": "INSUFFICIENT_SCOPE", "message": "no"}),
        httpx.Response(429, headers={"Retry-After": "60"}),
        httpx.Response(500),
        httpx.Response(302, headers={"Location": "https://evil.example"}),
        httpx.Response(200, html="<html>"),
        httpx.Response(200, json=[]),
        httpx.Response(200, json={}),
        active(active="true"),
        active(active=1),
        active(jti="another"),
        active(jti=None),
        active(scope=None),
        active(scope=["orders:read"]),
        httpx.Response(204),
    ],
    ids=str,
)
def test_503_when_introspection_does_not_answer(server: KeyServer, answer: Any) -> None:
    server.introspection = answer
    with pytest.raises(TokenError) as refusal:
        server.introspecting().verify(OWN)
    assert (refusal.value.status, refusal.value.code) == (503, "temporarily_unavailable")


def test_asyncio_introspects_too(server: KeyServer) -> None:
    async def verify() -> str:
        client = AsyncClient(ISSUER, "api", "secret", transport=server.transport)
        verifier = AsyncVerifier(
            ISSUER,
            AUDIENCE,
            ORGANIZATION,
            subjects="agents",
            revocation="introspect",
            introspect_with=client,
            transport=server.transport,
            monotonic=lambda: server.now,
        )
        verified = await asyncio.gather(*(verifier.verify(OWN) for _ in range(5)))
        assert server.fetches == 1
        assert server.introspections == 1
        server.now += 1
        server.introspection = httpx.Response(500)
        with pytest.raises(TokenError) as refusal:
            await verifier.verify(OWN)
        assert refusal.value.status == 503
        return verified[0].organization_id

    assert asyncio.run(verify()) == ORGANIZATION


# MCP


def test_an_mcp_server_does_not_say_401_while_a_token_cannot_be_checked(server: KeyServer) -> None:
    from countersign.mcp import McpTokenVerifier

    verifier = McpTokenVerifier(
        AsyncVerifier(
            ISSUER,
            AUDIENCE,
            ORGANIZATION,
            subjects="agents",
            revocation="none",
            transport=server.transport,
        )
    )
    assert asyncio.run(verifier.verify_token("x")) is None
    server.status = 503
    with pytest.raises(TokenError) as refusal:
        asyncio.run(verifier.verify_token(OWN))
    assert refusal.value.status == 503

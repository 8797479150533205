"""Verifiers that receive security events, with a server that a test controls."""

import asyncio
import json
import os
import signal
import threading
import time
import traceback
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Annotated, Any

import httpx
import pytest
from support import (
    AGENT,
    AUDIENCE,
    ISSUED_AT,
    ISSUER,
    ORGANIZATION,
    Issuer,
    is_token_request,
    issued,
    person_or_agent,
    security_event,
    uuid7,
)

from countersign import AsyncClient, AsyncVerifier, Client, Signals, TokenError, Verifier
from countersign.signal_state import EVENTS
from countersign.token_cache import IssuedToken, TokenCache, TokenKey, TokenStore

MADE = Issuer()
TOKEN = MADE.token()
YOUNG = MADE.token(jti=uuid7(ISSUED_AT + 60_000))
LIMIT_SECONDS = 20.0


class SignalServer:
    """A poll waits until there are events, or until the server fails."""

    def __init__(self) -> None:
        self.is_away = False
        self.broken_polls = 0
        self.streams: list[str] = []
        self.deleted: list[str] = []
        self.acknowledged: list[str] = []
        self.introspections = 0
        self.is_active = True
        self.monotonic = 0.0
        self._events: dict[str, str] = {}
        self._lock = threading.Lock()

    def add(self, event: dict[str, Any]) -> None:
        with self._lock:
            self._events[event["jti"]] = MADE.event(event)

    def answer(self, request: httpx.Request) -> httpx.Response | None:
        """None: the poll goes on."""
        path = request.url.path
        if path == "/.well-known/jwks.json":
            return httpx.Response(200, json=MADE.jwks)
        if self.is_away:
            self.broken_polls += "/poll/" in path
            raise httpx.ConnectError("away", request=request)
        if is_token_request(request):
            return issued()
        with self._lock:
            return self._answer(request, path)

    def _answer(self, request: httpx.Request, path: str) -> httpx.Response | None:
        if path == "/api/v1/token/introspect":
            self.introspections += 1
            body = {"active": self.is_active, "scope": "orders:read", "jti": uuid7(ISSUED_AT)}
            return httpx.Response(200, json=body)
        is_stream = path == "/api/v1/ssf/stream"
        if is_stream and request.method == "POST":
            self.streams.append(f"stream-{len(self.streams) + 1}")
            return httpx.Response(201, json=self._stream(self.streams[-1]))
        name = path.removeprefix("/api/v1/ssf/poll/")
        is_status = path == "/api/v1/ssf/status"
        stream_id = request.url.params["stream_id"] if is_stream or is_status else name
        if stream_id in self.deleted or stream_id not in self.streams:
            return httpx.Response(404, json={"code": "NOT_FOUND", "message": "gone"})
        if is_stream and request.method == "DELETE":
            self.deleted.append(stream_id)
            return httpx.Response(204)
        if is_stream:
            return httpx.Response(200, json=self._stream(stream_id))
        if is_status:
            return httpx.Response(200, json={"stream_id": stream_id, "status": "enabled"})
        body = json.loads(request.content)
        for event_id in body["ack"]:
            if self._events.pop(event_id, None):
                self.acknowledged.append(event_id)
        if self._events or body["returnImmediately"]:
            answer = {"sets": dict(self._events), "moreAvailable": False}
            return httpx.Response(200, json=answer)
        return None

    def _stream(self, stream_id: str) -> dict[str, Any]:
        return {"stream_id": stream_id, "aud": "api", "events_delivered": EVENTS}

    def handle(self, request: httpx.Request) -> httpx.Response:
        while (answer := self.answer(request)) is None:
            time.sleep(0.005)
        return answer

    async def handle_async(self, request: httpx.Request) -> httpx.Response:
        while (answer := self.answer(request)) is None:
            await asyncio.sleep(0.005)
        return answer

    def options(self) -> dict[str, Any]:
        return {
            "subjects": "agents",
            "revocation": "signals",
            "now": lambda: ISSUED_AT / 1000 + 90,
            "monotonic": lambda: self.monotonic,
        }

    def verifier(self, when_silent: Any, **changes: Any) -> Verifier:
        transport = httpx.MockTransport(self.handle)
        client = Client(ISSUER, "api", "secret", transport=transport, sleep=lambda _: None)
        signals = Signals(client, when_silent, **changes)
        options = self.options() | {"signals": signals, "transport": transport}
        return Verifier(ISSUER, AUDIENCE, ORGANIZATION, **options)

    def async_verifier(self, when_silent: Any, **changes: Any) -> AsyncVerifier:
        transport = httpx.MockTransport(self.handle_async)

        async def sleep(_: float) -> None:
            await asyncio.sleep(0)

        client = AsyncClient(ISSUER, "api", "secret", transport=transport, sleep=sleep)
        signals = Signals(client, when_silent, **changes)
        options = self.options() | {"signals": signals, "transport": transport}
        return AsyncVerifier(ISSUER, AUDIENCE, ORGANIZATION, **options)


@pytest.fixture
def server() -> SignalServer:
    return SignalServer()


def until(condition: Callable[[], object]) -> None:
    limit = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.005)


async def async_until(condition: Callable[[], Awaitable[object]]) -> None:
    limit = time.monotonic() + LIMIT_SECONDS
    while not await condition():
        assert time.monotonic() < limit
        await asyncio.sleep(0.005)


def status_of(verifier: Verifier, token: str = TOKEN) -> int:
    try:
        verifier.verify(token)
    except TokenError as error:
        return error.status
    return 200


async def async_status_of(verifier: AsyncVerifier, token: str = TOKEN) -> int:
    try:
        await verifier.verify(token)
    except TokenError as error:
        return error.status
    return 200


ENDING = security_event("session-revoked", person_or_agent(AGENT), ISSUED_AT + 30_000)


def test_signals_need_their_options() -> None:
    for kind in (Verifier, AsyncVerifier):
        with pytest.raises(ValueError, match="when_silent"):
            kind(ISSUER, AUDIENCE, ORGANIZATION, subjects="agents", revocation="signals")


@pytest.mark.parametrize("revocation", [..., None, "", "offline", "SIGNALS"], ids=str)
def test_there_is_no_default(revocation: Any) -> None:
    given: Any = {} if revocation is ... else {"revocation": revocation}
    for kind in (Verifier, AsyncVerifier):
        with pytest.raises((TypeError, ValueError), match="revocation"):
            kind(ISSUER, AUDIENCE, ORGANIZATION, subjects="agents", **given)


def test_the_client_is_of_the_same_issuer() -> None:
    """The stream of another server, such as one for tests, has no end of these tokens."""
    other = "https://test.id.example.com"
    options: Any = {"subjects": "agents", "revocation": "signals"}
    clients: tuple[tuple[Any, Any], ...] = (
        (Verifier, Client(other, "api", "secret")),
        (AsyncVerifier, AsyncClient(other, "api", "secret")),
    )
    for kind, client in clients:
        with pytest.raises(ValueError, match=f"client.*{other}"):
            kind(ISSUER, AUDIENCE, ORGANIZATION, signals=Signals(client, "accept"), **options)


def test_a_verifier_without_signals_has_no_status() -> None:
    verifier = Verifier(ISSUER, AUDIENCE, ORGANIZATION, subjects="agents", revocation="none")
    assert verifier.start() is None
    assert verifier.status() is None


def receiving_threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name == "countersign-signals"}


def test_an_event_ends_a_token(server: SignalServer) -> None:
    before = receiving_threads()
    with server.verifier("refuse") as verifier:
        status = verifier.start()
        assert status is not None and status.state == "current"
        assert status_of(verifier) == 200
        server.add(ENDING)
        until(lambda: status_of(verifier) == 401)
        with pytest.raises(TokenError, match="revoked") as refusal:
            verifier.verify(TOKEN)
        assert refusal.value.code == "invalid_token"
        assert status_of(verifier, YOUNG) == 200, "issued later"
        until(lambda: server.acknowledged == [ENDING["jti"]])
        assert server.introspections == 0
    assert server.deleted == server.streams == ["stream-1"]
    assert receiving_threads() <= before


def test_events_of_the_time_before_the_start_count(server: SignalServer) -> None:
    server.add(ENDING)
    with server.verifier("accept") as verifier:
        verifier.start()
        assert status_of(verifier) == 401
        assert status_of(verifier, YOUNG) == 200


@pytest.mark.parametrize("when_silent", ["introspect", "accept", "refuse"])
def test_silence(server: SignalServer, when_silent: str) -> None:
    seen: list[str] = []
    verifier = server.verifier(when_silent, on_status=lambda status: seen.append(status.state))
    with verifier:
        server.add(ENDING | {"sub_id": person_or_agent(uuid7(1))})
        verifier.start()
        until(lambda: server.acknowledged)
        assert status_of(verifier) == 200
        assert server.introspections == 0
        # The open poll breaks, and the server stays away.
        server.is_away = True
        until(lambda: server.broken_polls)
        server.monotonic += 61
        status = verifier.status()
        assert status is not None
        assert (status.state, status.silent_seconds, status.known) == ("silent", 61.0, 1)
        # There is no answer to introspection either.
        assert status_of(verifier) == {"introspect": 503, "accept": 200, "refuse": 503}[when_silent]
        server.is_away = False
        until(lambda: (verifier.status() or status).state == "current")
        assert status_of(verifier) == 200
        assert seen == ["current", "silent", "current"]
    assert server.streams == server.deleted == ["stream-1"]


def test_before_the_first_events_the_server_is_asked(server: SignalServer) -> None:
    """Here the first token starts it."""
    may_answer = threading.Event()
    answer = server.answer

    def slow(request: httpx.Request) -> httpx.Response | None:
        if "/ssf/" in request.url.path and not may_answer.is_set():
            return None
        return answer(request)

    server.answer = slow  # type: ignore[method-assign]
    with server.verifier("introspect") as verifier:
        assert verifier.verify(TOKEN).scopes == ("orders:read",)
        assert server.introspections == 1
        server.monotonic += 2
        server.is_active = False
        assert status_of(verifier) == 401
        may_answer.set()
        until(lambda: status_of(verifier) == 200)
        asked = server.introspections
        assert status_of(verifier) == 200
        assert server.introspections == asked


def test_a_deleted_stream_is_created_anew(server: SignalServer) -> None:
    with server.verifier("refuse") as verifier:
        verifier.start()
        server.deleted.append("stream-1")
        server.add(ENDING)
        until(lambda: status_of(verifier) == 401)
        assert server.streams == ["stream-1", "stream-2"]
    assert server.deleted == ["stream-1", "stream-2"]


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_receiver_that_the_program_ended_starts_again(
    server: SignalServer, kind: type[BaseException]
) -> None:
    """The next token starts it."""
    before = receiving_threads()
    answer = server.answer

    def end(request: httpx.Request) -> httpx.Response | None:
        if "/poll/" in request.url.path:
            raise kind
        return answer(request)

    with server.verifier("refuse") as verifier:
        verifier.start()
        server.answer = end  # type: ignore[method-assign]
        until(lambda: receiving_threads() <= before)
        server.answer = answer  # type: ignore[method-assign]
        server.add(ENDING)
        until(lambda: status_of(verifier) == 401)
        assert len(receiving_threads() - before) == 1
    assert server.streams == server.deleted == ["stream-1"]
    verifier.start(timeout=0.05)
    assert receiving_threads() <= before, "it is closed"


def test_closing_does_not_wait_for_a_server_that_is_away(server: SignalServer) -> None:
    verifier = server.verifier("refuse")
    server.is_away = True
    status = verifier.start(timeout=0.05)
    assert status is not None and status.state == "silent"
    assert status_of(verifier) == 503
    verifier.close()
    verifier.close()
    server.is_away = False
    assert status_of(verifier) == 503
    assert server.streams == [], "nothing starts after the end"


def test_a_forked_process_does_not_wait_for_a_token_that_its_parent_fetches() -> None:
    cache, key = TokenCache(TokenStore()), TokenKey()
    cache._flights[key] = Future()
    cache.renew()
    assert cache.get(key, lambda _: IssuedToken("token", 60.0, time.monotonic())) == "token"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_process_has_a_stream_of_its_own(server: SignalServer) -> None:
    with server.verifier("refuse") as verifier:
        verifier.start()
        receiving, sending = os.pipe()
        # As if the receiver, which has no thread in the child, held them at that moment.
        tokens = verifier._signals._client._tokens  # type: ignore[union-attr]
        with tokens._lock, verifier._keys._lock, server._lock:
            child = os.fork()
            if child == 0:  # the copy of the server has one stream
                signal.alarm(int(2 * LIMIT_SECONDS))
                server._lock = threading.Lock()
                is_good = False
                try:
                    verifier.start(timeout=LIMIT_SECONDS)
                    has_streams = server.streams == ["stream-1", "stream-2"]
                    is_accepted = status_of(verifier) == 200
                    verifier.close()
                    is_good = has_streams and is_accepted and server.deleted == ["stream-2"]
                except BaseException:
                    traceback.print_exc()
                finally:  # it must not go on as a second pytest
                    os.write(sending, b"y" if is_good else b"n")
                    os._exit(0)
        os.close(sending)
        assert os.read(receiving, 1) == b"y"
        os.waitpid(child, 0)
        assert status_of(verifier) == 200


def test_asyncio(server: SignalServer) -> None:
    async def run() -> None:
        async with server.async_verifier("introspect") as verifier:
            assert await async_status_of(verifier) == 200
            assert server.introspections == 1, "the first events are not here yet"
            status = await verifier.start()
            assert status is not None and status.state == "current"
            server.add(ENDING)

            async def is_refused() -> bool:
                return await async_status_of(verifier) == 401

            await async_until(is_refused)
            assert await async_status_of(verifier, YOUNG) == 200
            assert server.introspections == 1
            server.is_away = True

            async def is_broken() -> bool:
                return server.broken_polls > 0

            await async_until(is_broken)
            server.monotonic += 61
            assert await async_status_of(verifier, YOUNG) == 503
            assert await async_status_of(verifier) == 401, "that is known"
            server.is_away = False

            async def is_current() -> bool:
                return await async_status_of(verifier, YOUNG) == 200

            await async_until(is_current)
        assert server.streams == server.deleted == ["stream-1"]
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())


def test_asyncio_closed_while_the_stream_is_being_made(server: SignalServer) -> None:
    async def run() -> None:
        asked, may_answer = asyncio.Event(), asyncio.Event()
        handle = server.handle_async

        async def slow(request: httpx.Request) -> httpx.Response:
            if request.method == "POST" and request.url.path == "/api/v1/ssf/stream":
                asked.set()
                await may_answer.wait()
            return await handle(request)

        server.handle_async = slow  # type: ignore[method-assign]
        verifier = server.async_verifier("refuse")
        starting = asyncio.create_task(verifier.start())
        await asked.wait()
        closing = asyncio.create_task(verifier.aclose())
        await asyncio.sleep(0)
        may_answer.set()
        await closing
        assert server.streams == server.deleted == ["stream-1"]
        starting.cancel()

    asyncio.run(run())


def test_asyncio_without_a_server(server: SignalServer) -> None:
    async def run() -> None:
        server.is_away = True
        verifier = server.async_verifier("refuse")
        status = await verifier.start(timeout=0.05)
        assert status is not None and status.state == "silent"
        assert await async_status_of(verifier) == 503
        await verifier.aclose()
        await verifier.aclose()
        assert await async_status_of(verifier) == 503
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())


@pytest.mark.parametrize("is_async", [False, True])
def test_fastapi(server: SignalServer, is_async: bool) -> None:
    from fastapi import Depends, FastAPI

    from countersign import VerifiedToken
    from countersign.fastapi import require_token

    async def run() -> None:
        verifier: Any = server.async_verifier("refuse") if is_async else server.verifier("refuse")
        app = FastAPI()
        required = require_token(verifier, "orders:read")

        @app.get("/orders")
        def read(agent: Annotated[VerifiedToken, Depends(required)]) -> str:
            return agent.agent_id

        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(
            transport=transport, base_url="https://api.example.com"
        ) as http:
            headers = {"Authorization": f"Bearer {TOKEN}"}

            async def has(status: int) -> bool:
                return (await http.get("/orders", headers=headers)).status_code == status

            async def is_accepted() -> bool:
                return await has(200)

            async def is_refused() -> bool:
                return await has(401)

            await async_until(is_accepted)
            server.add(ENDING)
            await async_until(is_refused)
        if is_async:
            await verifier.aclose()
        else:
            await asyncio.to_thread(verifier.close)

    asyncio.run(run())
    assert server.deleted == server.streams


def test_mcp(server: SignalServer) -> None:
    from countersign.mcp import McpTokenVerifier

    async def run() -> None:
        async with server.async_verifier("refuse") as verifier:
            await verifier.start()
            adapter = McpTokenVerifier(verifier)
            token = await adapter.verify_token(TOKEN)
            assert token is not None and token.client_id == AGENT
            server.add(ENDING)

            async def is_refused() -> bool:
                return await adapter.verify_token(TOKEN) is None

            await async_until(is_refused)

    asyncio.run(run())

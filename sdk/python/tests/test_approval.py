"""Requests for approval. The client for threads and the one for asyncio do the same."""

import asyncio
import inspect
import json
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest
from support import ISSUER, World, issued

from countersign import (
    ApiError,
    ApprovalCanceled,
    ApprovalDenied,
    ApprovalError,
    ApprovalExpired,
    AsyncClient,
    Client,
    NetworkError,
)

RESOURCE = "https://api.example.com"
DETAILS = [{"type": "payment", "amount": 120}]
REQUESTED = {
    "auth_req_id": "request-1",
    "approval_id": "approval-1",
    "expires_in": 58,
    "interval": 5,
}
Answering = Callable[[], httpx.Response]
both = pytest.mark.parametrize("is_async", [False, True])


def refuse(error: str, status: int = 400, **headers: str) -> Answering:
    return lambda: httpx.Response(status, json={"error": error}, headers=headers)


def grant() -> httpx.Response:
    return issued(refresh_token="refresh-1", scope="pay", authorization_details=DETAILS)


def fail() -> httpx.Response:
    raise httpx.ReadError("lost")


pending = refuse("authorization_pending")


def form(request: httpx.Request) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(request.content.decode()).items()}


class Stage:
    """The answers to the polls in their order; the last one is repeated."""

    def __init__(self, *polls: Answering, is_async: bool = False) -> None:
        self.polls = list(polls)
        self.is_async = is_async
        self.refreshed: Answering = lambda: issued("two", refresh_token="refresh-2")
        self.world = World(self._answer)
        self.client: Any = self.world.async_client if is_async else self.world.client

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/v1/bc-authorize":
            return httpx.Response(200, json=REQUESTED)
        if request.method == "DELETE":
            return httpx.Response(204)
        if request.url.path == "/api/v1/token/revoke":
            return httpx.Response(200)
        grant_type = form(request)["grant_type"]
        if grant_type == "client_credentials":
            return issued("own")
        if grant_type == "refresh_token":
            return self.refreshed()
        return (self.polls.pop(0) if len(self.polls) > 1 else self.polls[0])()

    def run(self, work: Callable[[], Any]) -> Any:
        if not self.is_async:
            return work()

        async def run() -> Any:
            result = work()
            return await result if inspect.isawaitable(result) else result

        return asyncio.run(run())

    def ask(self, **changes: Any) -> Any:
        options = {"scopes": "pay", "login_hint": "approvers"} | changes
        return self.run(lambda: self.client.request_approval(RESOURCE, **options))

    @property
    def polled(self) -> list[dict[str, str]]:
        sent = [form(request) for request in self.world.token_requests]
        return [each for each in sent if each["grant_type"].endswith("ciba")]


@both
def test_request(is_async: bool) -> None:
    stage = Stage(pending, is_async=is_async)
    approval = stage.ask(
        details=DETAILS,
        message="Pay for order 7",
        expires_in=300,
        access_expires_in=900,
        notification_token="ping-1",
    )
    assert (approval.approval_id, approval.auth_req_id) == ("approval-1", "request-1")
    assert approval.expires_in == 58
    assert form(stage.world.seen[0]) == {
        "resource": RESOURCE,
        "scope": "pay",
        "authorization_details": json.dumps(DETAILS),
        "login_hint": "approvers",
        "binding_message": "Pay for order 7",
        "requested_expiry": "300",
        "access_expires_in": "900",
        "client_notification_token": "ping-1",
        "client_id": "agent",
        "client_secret": "secret",
    }


@pytest.mark.parametrize("wrong", [{"login_hint": ""}, {"scopes": " "}, {"scopes": None}])
def test_options_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="request_approval needs"):
        Stage(pending).ask(**wrong)


def test_a_refused_request_and_an_answer_of_another_program() -> None:
    with pytest.raises(ApiError) as refusal:
        World(lambda _: refuse("unknown_user_id")()).client.request_approval(
            RESOURCE, scopes="pay", login_hint="ada@example.com"
        )
    assert refusal.value.code == "unknown_user_id"
    answers: list[Any] = [{}, [], REQUESTED | {"expires_in": 0}, REQUESTED | {"interval": "5"}]
    remaining = iter(answers)
    world = World(lambda _: httpx.Response(200, json=next(remaining)))
    for _ in answers:
        with pytest.raises(NetworkError):
            world.client.request_approval(RESOURCE, scopes="pay", login_hint="approvers")


@both
def test_wait_polls_at_the_pace_of_the_server(is_async: bool) -> None:
    stage = Stage(pending, refuse("slow_down"), pending, grant, is_async=is_async)
    approval = stage.ask()
    seen: list[int] = []
    assert stage.run(lambda: approval.wait(on_pending=lambda: seen.append(1))) == "one"
    assert stage.world.slept == [5, 10, 10]
    assert len(seen) == 3
    assert stage.polled[0] == {
        "grant_type": "urn:openid:params:grant-type:ciba",
        "auth_req_id": "request-1",
        "client_id": "agent",
        "client_secret": "secret",
    }
    assert approval.scopes == ("pay",)
    assert approval.authorization_details == tuple(DETAILS)
    assert stage.run(approval.wait) == "one"
    assert len(stage.polled) == 4


@both
def test_wait_goes_on_after_temporary_failures(is_async: bool) -> None:
    busy = refuse("busy", 429, **{"Retry-After": "17"})
    stage = Stage(busy, refuse("down", 502), fail, pending, grant, is_async=is_async)
    approval = stage.ask()
    assert stage.run(approval.wait) == "one"
    assert stage.world.slept == [17, 10, 20, 5]


@both
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("access_denied", ApprovalDenied),
        ("expired_token", ApprovalExpired),
        ("invalid_grant", ApprovalError),
    ],
)
def test_wait_raises_the_outcome(is_async: bool, error: str, kind: type[ApprovalError]) -> None:
    stage = Stage(pending, refuse(error), is_async=is_async)
    approval = stage.ask()
    for _ in range(2):
        with pytest.raises(kind) as refusal:
            stage.run(approval.wait)
        assert (refusal.value.code, refusal.value.approval_id) == (error, "approval-1")
    assert len(stage.polled) == 2
    with pytest.raises(ApprovalError, match="request_approval"):
        stage.run(approval.token)


@both
def test_the_lapse_ends_the_wait(is_async: bool) -> None:
    stage = Stage(pending, is_async=is_async)
    approval = stage.ask()
    with pytest.raises(ApprovalExpired):
        stage.run(approval.wait)
    assert sum(stage.world.slept) == 58
    assert len(stage.polled) == 13


@both
def test_without_an_answer_at_the_lapse_nothing_is_known(is_async: bool) -> None:
    stage = Stage(*[refuse("down", 500)] * 5, grant, is_async=is_async)
    approval = stage.ask()
    with pytest.raises(ApiError):
        stage.run(approval.wait)
    assert stage.run(approval.wait) == "one"


@both
def test_a_wrong_secret_ends_the_wait(is_async: bool) -> None:
    stage = Stage(refuse("invalid_client", 401), is_async=is_async)
    approval = stage.ask()
    with pytest.raises(ApiError, match="invalid_client"):
        stage.run(approval.wait)


def test_timeout() -> None:
    stage = Stage(pending)
    approval = stage.ask()
    with pytest.raises(TimeoutError):
        approval.wait(timeout=7)
    assert stage.world.slept == [5, 2]


@both
def test_the_token_is_refreshed_while_the_access_lasts(is_async: bool) -> None:
    stage = Stage(grant, is_async=is_async)
    approval = stage.ask()
    assert stage.run(approval.wait) == "one"
    assert stage.run(approval.token) == "one"
    stage.world.now += 3_000
    assert stage.run(approval.token) == "two"
    assert form(stage.world.seen[-1]) == {
        "grant_type": "refresh_token",
        "refresh_token": "refresh-1",
        "client_id": "agent",
        "client_secret": "secret",
    }
    stage.client.forget("two")
    stage.refreshed = refuse("invalid_grant")
    with pytest.raises(ApprovalError) as refusal:
        stage.run(approval.token)
    assert form(stage.world.seen[-1])["refresh_token"] == "refresh-2"
    assert refusal.value.code == "authorization_required"


@both
def test_end_revokes_the_refresh_token(is_async: bool) -> None:
    stage = Stage(grant, is_async=is_async)
    approval = stage.ask()
    stage.run(approval.wait)
    stage.run(approval.end)
    assert form(stage.world.seen[-1])["token"] == "refresh-1"


@both
def test_cancel(is_async: bool) -> None:
    stage = Stage(pending, is_async=is_async)
    approval = stage.ask()
    stage.run(approval.cancel)
    sent = stage.world.seen[-1]
    assert (sent.method, sent.url.path) == ("DELETE", "/api/v1/approvals/approval-1")
    assert sent.headers["Authorization"] == "Bearer own"
    with pytest.raises(ApprovalCanceled):
        stage.run(approval.wait)
    assert stage.polled == []


def test_a_ping_wakes_a_thread() -> None:
    """With the real clock: a pause of 58 seconds ends at once."""
    polled = threading.Event()
    answers = iter([pending, grant])

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/v1/bc-authorize":
            return httpx.Response(200, json=REQUESTED | {"interval": 58})
        polled.set()
        return next(answers)()

    with Client(ISSUER, "agent", "secret", transport=httpx.MockTransport(answer)) as client:
        approval = client.request_approval(
            RESOURCE, scopes="pay", login_hint="approvers", notification_token="ping-1"
        )
        tokens: list[str] = []
        thread = threading.Thread(target=lambda: tokens.append(approval.wait()), daemon=True)
        thread.start()
        assert polled.wait(30)
        ping = json.dumps({"auth_req_id": "request-1"})
        while thread.is_alive() and not tokens:
            assert client.handle_ping(ping, {"Authorization": "Bearer ping-1"}) == 204
            thread.join(0.05)
        assert tokens == ["one"]


def test_a_ping_wakes_a_task() -> None:
    async def run() -> str:
        polled = asyncio.Event()
        answers = iter([pending, grant])

        async def answer(request: httpx.Request) -> httpx.Response:
            if request.url.path == "/api/v1/bc-authorize":
                return httpx.Response(200, json=REQUESTED | {"interval": 58})
            polled.set()
            return next(answers)()

        transport = httpx.MockTransport(answer)
        async with AsyncClient(ISSUER, "agent", "secret", transport=transport) as client:
            approval = await client.request_approval(
                RESOURCE, scopes="pay", login_hint="approvers", notification_token="ping-1"
            )
            task = asyncio.create_task(approval.wait())
            await polled.wait()
            ping = b'{"auth_req_id": "request-1"}'
            while not task.done():
                assert client.handle_ping(ping, {"authorization": "Bearer ping-1"}) == 204
                await asyncio.wait([task], timeout=0.05)
            return await task

    assert asyncio.run(run()) == "one"


def test_a_ping_that_is_not_genuine() -> None:
    stage = Stage(pending)
    stage.ask(notification_token="ping-1")
    ping = json.dumps({"auth_req_id": "request-1"})
    handle = stage.client.handle_ping
    for token in ("ping-2", "ping-", "PING-1", "ping-11", ""):
        assert handle(ping, {"Authorization": f"Bearer {token}"}) == 401
    assert handle(ping, {}) == 401
    assert handle(ping, {"Authorization": "Basic ping-1"}) == 401
    assert handle(ping, {"Authorization": ["Bearer ping-1", "Bearer ping-1"]}) == 401
    good = {"Authorization": "Bearer ping-1"}
    assert handle('{"auth_req_id": "request-2"}', good) == 401
    for body in ("", "{", "null", "[]", '{"auth_req_id": 1}', b"\xff"):
        assert handle(body, good) == 400
    assert handle(ping, good) == 204

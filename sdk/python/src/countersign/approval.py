"""Requests for approval (OpenID CIBA): an agent asks a person for access, and waits for the answer.

The rules without I/O are in `PendingApproval`. A poll at the pace of the server decides it; a ping,
which `handle_ping` of a client takes, brings the next poll forward.
"""

import asyncio
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import httpx

from countersign.answer import Answer, invalid_answer, network_error, refusal
from countersign.dpop import Dpop
from countersign.errors import (
    ApiError,
    ApprovalCanceled,
    ApprovalDenied,
    ApprovalError,
    ApprovalExpired,
    NetworkError,
)
from countersign.flows import Outcome, read_issued, refresh_flow
from countersign.token_cache import IssuedToken, TokenKey, read_scope

if TYPE_CHECKING:
    from countersign.async_client import AsyncClient
    from countersign.client import Client

CIBA = "urn:openid:params:grant-type:ciba"
SLOW_DOWN_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 60.0
PENDING = ("authorization_pending", "slow_down")
PingStatus: TypeAlias = Literal[204, 400, 401]


def approval_form(
    resource: str,
    scopes: str | Iterable[str] | None,
    details: Iterable[Mapping[str, Any]] | None,
    login_hint: str,
    message: str | None,
    expires_in: int | None,
    access_expires_in: int | None,
    notification_token: str | None,
) -> dict[str, str]:
    listed = None if details is None else [dict(each) for each in details]
    scope = read_scope(scopes)
    if not resource or not login_hint:
        raise ValueError("request_approval needs resource and login_hint")
    if not scope and not listed:
        raise ValueError("request_approval needs scopes, details, or both")
    fields = {
        "resource": resource,
        "scope": scope or None,
        "authorization_details": json.dumps(listed) if listed else None,
        "login_hint": login_hint,
        "binding_message": message,
        "requested_expiry": expires_in,
        "access_expires_in": access_expires_in,
        "client_notification_token": notification_token,
    }
    return {name: str(value) for name, value in fields.items() if value is not None}


class PendingApproval:
    """The request and its outcome. It does no I/O.

    `approval_id` names it in the API. `expires_in` are the seconds until it lapses. After `wait`,
    `scopes` and `authorization_details` are what was granted.
    """

    def __init__(self, answer: Any, now: Callable[[], float], dpop: Dpop | None) -> None:
        fields = answer if isinstance(answer, dict) else {}
        approval_id, auth_req_id = fields.get("approval_id"), fields.get("auth_req_id")
        expires_in: Any = fields.get("expires_in")
        interval: Any = fields.get("interval", 5)
        if not isinstance(approval_id, str) or not isinstance(auth_req_id, str):
            raise invalid_answer("it has no auth_req_id and approval_id")
        if not _is_positive(expires_in) or not _is_positive(interval):
            raise invalid_answer("expires_in and interval must be positive numbers")
        self.approval_id = approval_id
        self.auth_req_id = auth_req_id
        self.expires_in: float = expires_in
        self.scopes: tuple[str, ...] = ()
        self.authorization_details: tuple[dict[str, Any], ...] = ()
        self._now = now
        self._dpop = dpop
        self._interval = float(interval)
        self._lapses_at: float = now() + self.expires_in
        self._next_poll_at = now()
        self._failures = 0
        self._is_settled = False
        self._is_canceled = False
        self._error: ApprovalError | None = None
        self._first: IssuedToken | None = None
        self._refresh_token = ""

    @property
    def _key(self) -> TokenKey:
        return TokenKey(approval=self.approval_id)

    @property
    def _poll_form(self) -> dict[str, str]:
        return {"grant_type": CIBA, "auth_req_id": self.auth_req_id}

    def _pause_seconds(self) -> float:
        return min(self._next_poll_at, self._lapses_at) - self._now()

    def _settle(self, outcome: Outcome, asked_at: float) -> None:
        """Sets the time of the next poll, unless the answer decides.

        Raises errors that say nothing about the approval.
        """
        error = self._read(outcome, asked_at)
        if error is None:
            return
        code, status, asked = "", 503, 0.0
        if isinstance(error, ApiError):
            code, status, asked = error.code, error.status, error.retry_after_seconds or 0.0
        is_pending = code in PENDING
        if is_pending:
            self._failures = 0
        elif status == 429 or status >= 500:
            self._failures += 1
        elif status == 400:
            self._refuse(code, error)
            return
        else:
            raise error
        if self._now() >= self._lapses_at:
            if not is_pending:  # a person may have approved
                raise error
            self._refuse("expired_token", error)
            return
        if code == "slow_down":
            self._interval += SLOW_DOWN_SECONDS
        backoff = 0.0
        if self._failures > 1:
            backoff = min(LONGEST_PAUSE_SECONDS, self._interval * 2 ** (self._failures - 1))
        self._next_poll_at = self._now() + max(self._interval, asked, backoff)

    def _read(self, outcome: Outcome, asked_at: float) -> ApiError | NetworkError | None:
        if isinstance(outcome, httpx.TransportError):
            return network_error(outcome)
        if not outcome.is_success:
            return refusal(outcome)
        try:
            issued = read_issued(outcome, asked_at, self._dpop)
        except NetworkError as error:
            return error
        self._first = issued
        self._is_settled = True
        self._keep(issued)
        return None

    def _refuse(self, code: str, cause: Exception) -> None:
        problem: ApprovalError
        if code == "access_denied" and self._is_canceled:
            problem = self._canceled()
        elif code == "access_denied":
            message = "the request was denied or canceled"
            problem = ApprovalDenied(code, self.approval_id, message)
        elif code == "expired_token":
            message = "no decision in time: ask again"
            problem = ApprovalExpired(code, self.approval_id, message)
        else:
            problem = ApprovalError(code, self.approval_id, str(cause))
        problem.__cause__ = cause
        self._error = problem
        self._is_settled = True

    def _cancel(self) -> None:
        if not self._is_settled:
            self._error = self._canceled()
            self._is_settled = True

    def _canceled(self) -> ApprovalCanceled:
        message = "this program has canceled the request"
        return ApprovalCanceled("canceled", self.approval_id, message)

    def _keep(self, issued: IssuedToken) -> IssuedToken:
        self.scopes = issued.scopes
        self.authorization_details = issued.authorization_details
        self._refresh_token = issued.refresh_token or self._refresh_token
        return issued

    def _take_first(self) -> IssuedToken | None:
        """The tokens of the approval, once. Later the refresh token is used."""
        first, self._first = self._first, None
        if first is None and not self._refresh_token:
            raise self._ended("there is no token: wait for the decision, or")
        return first

    def _ended(self, reason: str) -> ApprovalError:
        message = f"{reason} call request_approval again"
        return ApprovalError("authorization_required", self.approval_id, message)

    def _after_refresh(self, error: ApiError) -> Exception:
        if error.code != "invalid_grant":
            return error
        self._refresh_token = ""
        return self._ended("the access has ended:")

    def _revocation(self) -> dict[str, str]:
        token, self._refresh_token = self._refresh_token, ""
        return {"token": token, "token_type_hint": "refresh_token"} if token else {}


class Approval(PendingApproval):
    """A request for approval; `Client.request_approval` makes it. Threads may share it."""

    def __init__(self, client: "Client", answer: Any, now: Callable[[], float]) -> None:
        super().__init__(answer, now, client.dpop)
        self._client = client
        self._polling = threading.Lock()
        self._wake = threading.Event()

    def wait(
        self, *, timeout: float | None = None, on_pending: Callable[[], object] | None = None
    ) -> str:
        """The access token, once a person has approved.

        Raises ApprovalDenied, ApprovalExpired or ApprovalCanceled, and TimeoutError after `timeout`
        seconds. `on_pending` is called after each answer that there is no decision yet.
        """
        until = None if timeout is None else self._now() + timeout
        while not self._is_settled:
            self._pause(until)
            with self._polling:
                # Another thread may have polled.
                if self._is_settled or self._pause_seconds() > 0:
                    continue
                asked_at = self._now()
                poll = self._client._form_flow("/token", self._poll_form)
                self._settle(self._client._run(poll), asked_at)
            if not self._is_settled and self._failures == 0 and on_pending is not None:
                on_pending()
        if self._error is not None:
            raise self._error
        return self.token()

    def token(self) -> str:
        """After `wait`: an access token, which is refreshed while the access lasts.

        After a 401, call `forget` of the client with the token, and then this method again.
        """
        return self._client._tokens.get(self._key, self._fetch)

    def cancel(self) -> None:
        """Takes the request back."""
        self._is_canceled = True
        try:
            self._client._derive("").request("DELETE", f"/approvals/{self.approval_id}")
        except BaseException:
            self._is_canceled = False
            raise
        self._cancel()
        self.notified()

    def notified(self) -> None:
        """Polls now: the program has learned in another way that the request is decided."""
        self._next_poll_at = self._now()
        self._wake.set()

    def end(self) -> None:
        """Ends the access, when the work is done."""
        fields = self._revocation()
        if fields:
            _check(self._client._run(self._client._form_flow("/token/revoke", fields)))

    def _pause(self, until: float | None) -> None:
        seconds = self._pause_seconds()
        if until is not None:
            left = until - self._now()
            if left <= 0 < seconds:
                raise TimeoutError("no decision yet")
            seconds = min(seconds, left)
        if seconds <= 0:
            return
        sleep = self._client._sleep
        if sleep is not time.sleep:
            sleep(seconds)
        elif self._wake.wait(seconds):
            self._wake.clear()

    def _fetch(self, has_token: bool) -> IssuedToken:
        first = self._take_first()
        if first is not None:
            return first
        client = self._client
        flow = refresh_flow(
            client.issuer, client.client_id, self._refresh_token, self._now, client.dpop
        )
        try:
            return self._keep(self._client._run(flow))
        except ApiError as error:
            raise self._after_refresh(error) from error


class AsyncApproval(PendingApproval):
    """A request for approval; `AsyncClient.request_approval` makes it. For one event loop."""

    def __init__(self, client: "AsyncClient", answer: Any, now: Callable[[], float]) -> None:
        super().__init__(answer, now, client.dpop)
        self._client = client
        self._polling = asyncio.Lock()
        self._wake = asyncio.Event()

    async def wait(self, *, on_pending: Callable[[], object] | None = None) -> str:
        """See `Approval.wait`. For a time limit, use `asyncio.wait_for`."""
        while not self._is_settled:
            await self._pause()
            async with self._polling:
                if self._is_settled or self._pause_seconds() > 0:
                    continue
                # A task that is cancelled does not throw the tokens away.
                await asyncio.shield(asyncio.ensure_future(self._poll()))
            if not self._is_settled and self._failures == 0 and on_pending is not None:
                on_pending()
        if self._error is not None:
            raise self._error
        return await self.token()

    async def token(self) -> str:
        """See `Approval.token`."""
        return await self._client._tokens.get(self._key, self._fetch)

    async def cancel(self) -> None:
        """Takes the request back."""
        self._is_canceled = True
        try:
            await self._client._derive("").request("DELETE", f"/approvals/{self.approval_id}")
        except BaseException:
            self._is_canceled = False
            raise
        self._cancel()
        self.notified()

    def notified(self) -> None:
        """Polls now: the program has learned in another way that the request is decided."""
        self._next_poll_at = self._now()
        self._wake.set()

    async def end(self) -> None:
        """Ends the access, when the work is done."""
        fields = self._revocation()
        if fields:
            _check(await self._client._run(self._client._form_flow("/token/revoke", fields)))

    async def _poll(self) -> None:
        asked_at = self._now()
        poll = self._client._form_flow("/token", self._poll_form)
        self._settle(await self._client._run(poll), asked_at)

    async def _pause(self) -> None:
        seconds = self._pause_seconds()
        if seconds <= 0:
            return
        ends = [asyncio.ensure_future(self._client._sleep(seconds))]
        ends.append(asyncio.ensure_future(_until_set(self._wake)))
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in ends:
                each.cancel()
        self._wake.clear()

    async def _fetch(self, has_token: bool) -> IssuedToken:
        first = self._take_first()
        if first is not None:
            return first
        client = self._client
        flow = refresh_flow(
            client.issuer, client.client_id, self._refresh_token, self._now, client.dpop
        )
        try:
            return self._keep(await self._client._run(flow))
        except ApiError as error:
            raise self._after_refresh(error) from error


class Pings:
    """Requests with a notification token, until they lapse."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._entries: dict[str, tuple[bytes, float, Approval | AsyncApproval]] = {}

    def add(self, approval: Approval | AsyncApproval, token: str) -> None:
        now = self._now()
        self._entries = {name: each for name, each in self._entries.items() if now < each[1]}
        entry = (_digest(token), now + approval.expires_in, approval)
        self._entries[approval.auth_req_id] = entry

    def handle(self, body: bytes | str, headers: Mapping[str, Any]) -> PingStatus:
        values = [value for name, value in headers.items() if name.lower() == "authorization"]
        if len(values) != 1 or not isinstance(values[0], str):
            return 401
        kind, _, token = values[0].strip().partition(" ")
        if kind.lower() != "bearer":
            return 401
        ping: Any = None
        with suppress(ValueError, RecursionError):
            ping = json.loads(body)
        name = ping.get("auth_req_id") if isinstance(ping, dict) else None
        if not isinstance(name, str):
            return 400
        expected, _, approval = self._entries.get(name, (b"", 0.0, None))
        if not hmac.compare_digest(_digest(token.strip()), expected) or approval is None:
            return 401
        approval.notified()
        return 204


async def _until_set(event: asyncio.Event) -> None:
    await event.wait()


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _check(outcome: Outcome) -> None:
    if isinstance(outcome, httpx.TransportError):
        raise network_error(outcome) from outcome
    if isinstance(outcome, Answer) and not outcome.is_success:
        raise refusal(outcome)


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0

"""A stream of security events (SSF 1.0, polled as in RFC 8936), for threads and asyncio alike.

A flow is a generator. It yields a step, and gets the step's result, or its error is thrown into it.
"""

import random
import re
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import jwt

from countersign.answer import invalid_answer
from countersign.errors import ApiError
from countersign.flows import ApiCall
from countersign.signal_state import EVENTS, SignalState, logger
from countersign.verified_token import MAX_TOKEN_LENGTH, Refused

POLL = "urn:ietf:rfc:8936"
# The server deletes a stream that was not polled for so long. It keeps events longer.
INACTIVITY_SECONDS = 300
# Others in the organization may change a stream.
CHECK_SECONDS = 60.0
MAX_EVENTS = 100
# The server answers a poll that waits for events after this time at the latest.
LONG_POLL_SECONDS = 25.0
POLL_SECONDS = 35.0
REQUEST_SECONDS = 10.0
# After a failure, and twice as long after each further one: a connection that a dying process of
# the server got is never answered.
FIRST_RETRY_SECONDS = 0.5
# After the first failure it tries again at once.
FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 5.0
LONGEST_REFUSED_PAUSE_SECONDS = 30.0
SHORT_POLL_SECONDS = 1.0
SHORT_PAUSE_SECONDS = 0.2
MAX_DESCRIPTION_LENGTH = 255
STREAM_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


@dataclass(frozen=True)
class Call:
    """An API call. Its result is the JSON of the answer."""

    call: ApiCall


@dataclass(frozen=True)
class FindKey:
    """A key of the issuer."""

    kid: str


@dataclass(frozen=True)
class Rest:
    seconds: float


Step: TypeAlias = Call | FindKey | Rest
Flow: TypeAlias = Generator[Step, Any, Any]


class StreamChanged(Exception):
    """The stream leaves events out that end tokens, or sends none."""

    def __init__(self) -> None:
        super().__init__("the stream leaves out events that end tokens, or is not enabled")


class SignalStream:
    """The stream of one process, which reads events into the state."""

    def __init__(self, issuer: str, description: str, state: SignalState) -> None:
        self._issuer = issuer
        self._description = description[:MAX_DESCRIPTION_LENGTH]
        self._state = state
        self._since_check = state.stopwatch()
        self.is_creating = False
        self._id = ""
        self._audience = ""
        self._acknowledged: list[str] = []
        self._has_read_all = False

    def receive(self) -> Generator[Step, Any, NoReturn]:
        failures = 0
        while True:
            try:
                if not self._id:
                    yield from self._create()
                yield from self._poll(failures)
                failures = 0
                self._state.problem = None
            except Exception as error:  # of the network, of the server, or of the program's auth
                failures += 1
                self._has_read_all = False
                self._state.problem = str(error) or type(error).__name__
                if failures == 2:
                    logger.warning("security events cannot be read; trying again: %s", error)
                self._state.observe()
                pause = _pause_after(error, failures)
                status = error.status if isinstance(error, ApiError) else None
                is_changed = isinstance(error, StreamChanged)
                if self._id and (status == 404 or is_changed):
                    if is_changed:  # what came may not be all
                        self._state.mark_incomplete()
                    yield from self._remove()
                yield Rest(pause)

    def delete(self) -> ApiCall | None:
        """The call that deletes the stream, once."""
        stream_id, self._id = self._id, ""
        if not stream_id:
            return None
        return ApiCall("DELETE", "/ssf/stream", {"stream_id": stream_id}, max_wait=0)

    def _remove(self) -> Flow:
        """Another stream takes its place."""
        call = self.delete()
        if call is not None:
            # Otherwise the server deletes it after a while.
            with suppress(Exception):
                yield Call(call)

    def _create(self) -> Flow:
        """A new stream has all events that can still matter."""
        body = {
            "delivery": {"method": POLL},
            "events_requested": EVENTS,
            "inactivity_timeout": INACTIVITY_SECONDS,
            "description": self._description,
        }
        self.is_creating = True
        try:
            answer = yield Call(ApiCall("POST", "/ssf/stream", json=body, max_wait=0))
        finally:
            self.is_creating = False
        fields = answer if isinstance(answer, dict) else {}
        stream_id, audience = fields.get("stream_id"), fields.get("aud")
        if not isinstance(stream_id, str) or STREAM_ID.fullmatch(stream_id) is None:
            raise invalid_answer("it has no stream_id")
        if not isinstance(audience, str) or not audience:
            raise invalid_answer("it has no aud")
        self._id = stream_id
        self._audience = audience
        self._acknowledged = []
        self._has_read_all = False
        self._since_check = self._state.stopwatch()
        _require_all_events(fields)

    def _check(self) -> Flow:
        params = {"stream_id": self._id}
        answer = yield Call(ApiCall("GET", "/ssf/stream", params, max_wait=0))
        _require_all_events(answer if isinstance(answer, dict) else {})
        # A poll of a paused or disabled stream is answered as if nothing happened.
        answer = yield Call(ApiCall("GET", "/ssf/status", params, max_wait=0))
        if not isinstance(answer, dict) or answer.get("status") != "enabled":
            raise StreamChanged
        self._since_check = self._state.stopwatch()

    def _poll(self, failures: int) -> Flow:
        if self._since_check.elapsed() >= CHECK_SECONDS:
            yield from self._check()
        since_question = self._state.stopwatch()
        is_long = self._has_read_all
        timeout = POLL_SECONDS if is_long else _timeout_after(failures)
        body = {
            "maxEvents": MAX_EVENTS,
            "returnImmediately": not is_long,
            "ack": self._acknowledged,
        }
        path = f"/ssf/poll/{self._id}"
        answer = yield Call(ApiCall("POST", path, json=body, max_wait=0, timeout=timeout))
        # A proxy, or a process that was stopped, may have held the answer back.
        age = max(0.0, since_question.elapsed() - (LONG_POLL_SECONDS if is_long else 0.0))
        since_answer = self._state.stopwatch(age)
        sets, has_more = _read_poll(answer)
        self._acknowledged = []
        problem: Refused | None = None
        for event_id, token in sets.items():
            try:
                self._state.apply((yield from self._verify(event_id, token)))
                self._acknowledged.append(event_id)
            except Refused as error:
                # It is not acknowledged, so it comes again.
                problem = error
        if problem is not None:
            raise problem
        elapsed = since_question.elapsed()
        # A server that stops answers at once.
        is_short = not sets and elapsed < SHORT_POLL_SECONDS and (is_long or has_more)
        # An answer that has waited here, in a process that was stopped, is old.
        self._has_read_all = not has_more and elapsed <= POLL_SECONDS
        if self._has_read_all:
            self._state.mark_read(since_answer)
        if is_short:
            yield Rest(SHORT_PAUSE_SECONDS)

    def _verify(self, event_id: str, token: Any) -> Flow:
        if not isinstance(token, str) or len(token) > MAX_TOKEN_LENGTH:
            raise Refused("this is not a security event token")
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, ValueError, RecursionError) as error:
            raise Refused("this is not a security event token") from error
        kind, kid = str(header.get("typ", "")).lower(), header.get("kid")
        if kind not in ("secevent+jwt", "application/secevent+jwt") or "crit" in header:
            raise Refused("this is not a security event token")
        if not isinstance(kid, str):
            raise Refused("the security event token names no key")
        key: jwt.PyJWK = yield FindKey(kid)
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                issuer=self._issuer,
                audience=self._audience,
                options={
                    "require": ["iss", "aud", "iat", "jti"],
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                    "verify_sub": False,
                },
            )
        except Exception as error:  # it is hostile until it is verified
            raise Refused(f"the security event token is not valid: {error}") from error
        if claims["jti"] != event_id:
            raise Refused("the security event token has another id")
        return claims


def _require_all_events(fields: dict[str, Any]) -> None:
    delivered = fields.get("events_delivered")
    if not isinstance(delivered, list) or not all(each in delivered for each in EVENTS):
        raise StreamChanged


def _read_poll(answer: Any) -> tuple[dict[str, Any], bool]:
    fields = answer if isinstance(answer, dict) else {}
    sets, has_more = fields.get("sets"), fields.get("moreAvailable", False)
    if not isinstance(sets, dict) or not isinstance(has_more, bool):
        raise invalid_answer("it is not the answer to a poll")
    return sets, has_more


def _timeout_after(failures: int) -> float:
    if failures == 0:
        return REQUEST_SECONDS
    longest: float = FIRST_RETRY_SECONDS * 2 ** min(failures - 1, 10)
    return min(longest, REQUEST_SECONDS)


def _pause_after(error: Exception, failures: int) -> float:
    """At first it tries again soon: another server may answer."""
    if failures == 1:
        return _retry_after(error)
    most = 1.0 if failures < 10 else LONGEST_PAUSE_SECONDS
    if isinstance(error, ApiError) and 400 <= error.status < 500:
        most = LONGEST_REFUSED_PAUSE_SECONDS  # a second attempt hardly changes it
    longest: float = min(FIRST_PAUSE_SECONDS * 2 ** min(failures - 2, 10), most)
    pause = longest * (0.5 + random.random() / 2)  # noqa: S311 (no secret)
    return max(pause, _retry_after(error))


def _retry_after(error: Exception) -> float:
    asked = (error.retry_after_seconds or 0.0) if isinstance(error, ApiError) else 0.0
    return min(asked, LONGEST_REFUSED_PAUSE_SECONDS)

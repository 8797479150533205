import itertools
import random
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from support import (
    AGENT,
    AUDIENCE,
    ISSUED_AT,
    ISSUER,
    ORGANIZATION,
    Issuer,
    an_id,
    opaque,
    person_or_agent,
    security_event,
    uuid7,
)

from countersign import Signals, SignalStatus, VerifiedToken
from countersign.signal_state import SignalState, issue_time
from countersign.verified_token import Refused, read_claims

CHAIN, ROOT, CREDENTIAL = an_id(10), an_id(11), an_id(12)
PERSON, MIDDLE = an_id(20), an_id(21)
MADE = Issuer()


def a_token(**changes: Any) -> VerifiedToken:
    claims = jwt.decode(MADE.token(**changes), options={"verify_signature": False})
    return read_claims(claims)


def delegated(**changes: Any) -> VerifiedToken:
    return a_token(
        sub=PERSON,
        sub_profile="person",
        act={"sub": AGENT, "act": {"sub": MIDDLE}},
        chain_id=CHAIN,
        chain_path=[ROOT, CHAIN],
        credential_id=CREDENTIAL,
        **changes,
    )


class Clock:
    def __init__(self) -> None:
        self.now = ISSUED_AT / 1000
        self.monotonic = 0.0


def a_state(clock: Clock | None = None, **options: Any) -> SignalState:
    moved = clock or Clock()
    signals = Signals(None, "refuse", **options)
    return SignalState(ISSUER, AUDIENCE, signals, lambda: moved.now, lambda: moved.monotonic)


@pytest.mark.parametrize(
    ("claims", "time"),
    [
        ({"jti": uuid7(ISSUED_AT), "iat": 5}, ISSUED_AT),
        ({"jti": an_id(1), "iat": 5}, 5_000),
        ({"jti": uuid7(ISSUED_AT).upper().replace("7000", "7ABC"), "iat": 5}, 5_000),
        ({"jti": 7, "iat": 5.25}, 5_250),
        ({"iat": "5"}, 0),
        ({"iat": True}, 0),
        ({"iat": -1}, 0),
        ({"iat": float("inf")}, 0),
        ({}, 0),
    ],
    ids=range(9),
)
def test_the_time_of_issue(claims: dict[str, Any], time: int) -> None:
    assert issue_time(claims) == time


# No token is issued by them after their end.
FINAL = (
    opaque(CHAIN),
    opaque(ROOT),
    opaque(CREDENTIAL),
    {"format": "jwt_id", "iss": ISSUER, "jti": uuid7(ISSUED_AT)},
)


@pytest.mark.parametrize(
    "subject",
    [
        person_or_agent(AGENT),
        person_or_agent(PERSON),
        person_or_agent(MIDDLE),
        opaque(CHAIN),
        opaque(ROOT),
        opaque(CREDENTIAL),
        opaque(ORGANIZATION),
        {"format": "jwt_id", "iss": ISSUER, "jti": uuid7(ISSUED_AT)},
    ],
    ids=[
        "agent",
        "person",
        "actor",
        "chain",
        "parent chain",
        "credential",
        "organization",
        "token",
    ],
)
def test_an_ending_ends_the_tokens_issued_up_to_its_time(subject: dict[str, str]) -> None:
    is_final = subject in FINAL
    for at, is_ended in ((ISSUED_AT - 2001, is_final), (ISSUED_AT - 2000, True), (ISSUED_AT, True)):
        state = a_state()
        assert state.find_ending(delegated()) is None
        state.apply(security_event("session-revoked", subject, at))
        assert (state.find_ending(delegated()) is not None) == is_ended, at
        # An older event that comes later takes nothing back.
        state.apply(security_event("session-revoked", subject, at - 5))
        assert (state.find_ending(delegated()) is not None) == is_ended, at


@pytest.mark.parametrize(
    "subject",
    [person_or_agent(AGENT), person_or_agent(PERSON), opaque(ORGANIZATION)],
    ids=["agent", "person", "organization"],
)
def test_a_permanent_ending_ends_all_tokens(subject: dict[str, str]) -> None:
    """Also one that a node issued whose clock was 20 seconds ahead."""
    state = a_state()
    ahead = delegated(jti=uuid7(ISSUED_AT + 20_000))
    state.apply(security_event("session-revoked", subject, permanent="true"))
    assert state.find_ending(ahead) is None
    state.apply(security_event("session-revoked", subject, permanent=True))
    # An event that comes later takes nothing back.
    state.apply(security_event("session-revoked", subject, ISSUED_AT - 5))
    assert state.find_ending(ahead) is not None


@pytest.mark.parametrize(
    ("change", "is_ended"),
    [("revoke", True), ("delete", True), ("update", False), ("create", False), (None, True)],
)
def test_a_rotated_credential_ends_nothing(change: str | None, is_ended: bool) -> None:
    state = a_state()
    state.apply(security_event("credential-change", opaque(CREDENTIAL), change_type=change))
    assert (state.find_ending(delegated()) is not None) == is_ended
    assert state.find_ending(a_token()) is None


@pytest.mark.parametrize(
    "claims",
    [
        security_event("session-revoked", person_or_agent(an_id(99))),
        security_event("session-established", person_or_agent(AGENT)),
        security_event("credential-change", person_or_agent(AGENT), change_type="update"),
        security_event("x", person_or_agent(AGENT)) | {"events": {"verification": None}},
        security_event("x", person_or_agent(AGENT)) | {"events": {}},
    ],
    ids=range(5),
)
def test_other_events_change_nothing(claims: dict[str, Any]) -> None:
    state = a_state()
    state.apply(claims)
    assert state.find_ending(delegated()) is None


ENDING = security_event("session-revoked", person_or_agent(AGENT))


@pytest.mark.parametrize(
    "claims",
    [
        security_event("session-revoked", person_or_agent(AGENT) | {"iss": "https://evil.example"}),
        security_event("session-revoked", {"format": "email", "email": AGENT}),
        security_event("session-revoked", {"format": "opaque", "id": None}),
        security_event("session-revoked", {"format": ["opaque"], "id": AGENT}),
        security_event("session-revoked", {}),
        security_event("credential-change", {}, change_type="revoke"),
        ENDING | {"events": []},
        ENDING | {"events": {next(iter(ENDING["events"])): None}},
        ENDING | {"events": {next(iter(ENDING["events"])): {}}, "iat": "now"},
        ENDING | {"sub_id": AGENT},
        security_event("token-claims-change", person_or_agent(AGENT), claims={"scope": ""}),
        {},
    ],
    ids=range(12),
)
def test_an_event_that_is_not_understood_is_refused(claims: dict[str, Any]) -> None:
    """It might end a token."""
    state = a_state()
    with pytest.raises(Refused, match="a security event has an unknown"):
        state.apply(claims)
    assert state.find_ending(delegated()) is None


def test_without_a_time_the_whole_second_counts() -> None:
    claims = security_event("session-revoked", person_or_agent(AGENT), ISSUED_AT - 100)
    for event in claims["events"].values():
        event["event_timestamp"] = "soon"
    state = a_state()
    state.apply(claims)
    assert state.find_ending(a_token()) is not None
    assert state.find_ending(a_token(jti=uuid7(ISSUED_AT + 3000))) is None


# Scopes


def narrowed(owner: str | None, scope: Any, at: int, uri: str = AUDIENCE) -> dict[str, Any]:
    subject: dict[str, Any] = {"format": "complex", "application": {"format": "uri", "uri": uri}}
    if owner is not None:
        subject["user"] = person_or_agent(owner)
    return security_event("token-claims-change", subject, at, claims={"scope": scope})


@pytest.mark.parametrize(
    ("event", "is_ended"),
    [
        (narrowed(PERSON, "orders:read", ISSUED_AT), True),
        (narrowed(PERSON, "", ISSUED_AT), True),
        # The grant of an agent that acts does not limit what a person has lent.
        (narrowed(AGENT, "", ISSUED_AT), False),
        (narrowed(None, "orders:read", ISSUED_AT), True),
        (narrowed(PERSON, "orders:write orders:read more", ISSUED_AT), False),
        (narrowed(PERSON, "orders:read", ISSUED_AT - 2000), True),
        (narrowed(PERSON, "orders:read", ISSUED_AT - 2001), False),
        (narrowed(MIDDLE, "", ISSUED_AT), False),
        (narrowed(PERSON, "", ISSUED_AT, "https://other.example.com"), False),
    ],
    ids=range(9),
)
def test_a_token_with_withdrawn_scopes_is_refused(event: dict[str, Any], is_ended: bool) -> None:
    state = a_state()
    state.apply(event)
    assert (state.find_ending(delegated()) is not None) == is_ended
    assert state.find_ending(delegated(scope="")) is None


def test_changes_of_scopes_in_any_order_say_the_same() -> None:
    """Compared with a list of all changes."""
    choice = random.Random(41)
    scopes = ["a", "b", "c"]
    for _ in range(200):
        changes = [
            (ISSUED_AT + choice.randrange(4), frozenset(choice.sample(scopes, choice.randrange(4))))
            for _ in range(choice.randrange(1, 6))
        ]
        state = a_state()
        for at, remaining in changes:
            state.apply(narrowed(AGENT, " ".join(remaining), at))
        for issued_at, scope in itertools.product(
            range(ISSUED_AT + 1999, ISSUED_AT + 2005), scopes
        ):
            expected = any(
                issued_at - 2000 <= at and scope not in remaining for at, remaining in changes
            )
            token = a_token(jti=uuid7(issued_at), scope=scope)
            assert (state.find_ending(token) is not None) == expected, changes
        assert len(state._remaining[AGENT]) <= len(scopes) + 1


# Bounds


def test_beyond_the_bound_older_tokens_are_no_longer_covered() -> None:
    """Endings and changes of scopes have one bound together."""
    state = a_state(max_entries=100)
    state.mark_read()
    for number in range(50):
        event = security_event("session-revoked", opaque(an_id(number)), ISSUED_AT + 2 * number)
        state.apply(event)
        state.apply(narrowed(an_id(number), "", ISSUED_AT + 2 * number + 1))
    assert state.status().known == 100
    assert state.covers(a_token(jti=uuid7(ISSUED_AT)))
    for number, forgotten in ((50, ISSUED_AT), (51, ISSUED_AT + 1)):
        event = security_event("session-revoked", opaque(an_id(number)), ISSUED_AT + 200)
        state.apply(event)
        assert state.status().known == 100
        assert not state.covers(a_token(jti=uuid7(forgotten + 2_000))), "the oldest is forgotten"
        assert state.covers(a_token(jti=uuid7(forgotten + 2_001)))


def test_endings_leave_when_all_their_tokens_have_expired() -> None:
    clock = Clock()
    state = a_state(clock)
    state.mark_read()
    state.apply(security_event("session-revoked", opaque(an_id(1))))
    state.apply(narrowed(AGENT, "", ISSUED_AT))
    clock.now += 7_200
    state.apply(security_event("session-revoked", opaque(an_id(2)), ISSUED_AT + 7_000_000))
    assert state.status().known == 3
    clock.now += 1
    state.apply(security_event("session-revoked", opaque(an_id(3)), ISSUED_AT + 7_000_000))
    assert state.status().known == 2
    state.mark_read()
    assert state.covers(a_token(jti=uuid7(ISSUED_AT + 2_001)))
    # If the clock was wrong, some of them have not expired.
    clock.now = ISSUED_AT / 1000
    assert not state.covers(a_token())


# Status


def test_the_status_and_its_changes() -> None:
    clock, seen = Clock(), list[SignalStatus]()
    state = a_state(clock, on_status=seen.append, max_silence_seconds=40)
    clock.monotonic = 3.0
    assert state.observe() == SignalStatus("silent", 3.0, 0, None)
    assert not state.has_read and not state.covers(a_token())
    state.mark_read()
    clock.now += 5
    state.apply(security_event("session-revoked", opaque(an_id(1)), ISSUED_AT))
    state.problem = "no"
    clock.monotonic = 43.0
    assert state.observe() == SignalStatus("current", 40.0, 1, ISSUED_AT / 1000 + 5, "no")
    assert state.covers(a_token())
    clock.monotonic = 43.1
    assert not state.covers(a_token())
    assert state.observe().state == "silent"
    state.mark_read()
    assert [each.state for each in seen] == ["current", "silent", "current"]


def test_silence_by_the_clock_that_says_more() -> None:
    for set_back in (False, True):
        clock = Clock()
        state = a_state(clock, max_silence_seconds=40)
        state.mark_read()
        if set_back:
            clock.now -= 3_600
            clock.monotonic += 41
        else:
            clock.now += 41
        status = state.status()
        assert (status.state, status.silent_seconds) == ("silent", 41.0)


def test_a_stream_that_left_something_out() -> None:
    state = a_state()
    state.mark_read()
    state.mark_incomplete()
    assert state.status().state == "silent"
    state.mark_read()
    assert state.status().state == "current"


def test_an_error_of_the_program_does_not_reach_the_stream() -> None:
    def fail(_: SignalStatus) -> None:
        raise RuntimeError

    state = a_state(on_status=fail)
    state.mark_read()
    assert state.status().state == "current"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"when_silent": "ignore"}, "when_silent must be"),
        ({"max_silence_seconds": 29}, "max_silence_seconds"),
        ({"max_silence_seconds": 3601}, "max_silence_seconds"),
        ({"max_silence_seconds": float("nan")}, "max_silence_seconds"),
        ({"max_silence_seconds": float("inf")}, "max_silence_seconds"),
        ({"max_entries": 99}, "max_entries must be from 100 "),
    ],
    ids=range(6),
)
def test_options_have_limits(options: dict[str, Any], problem: str) -> None:
    make: Callable[..., Any] = Signals
    with pytest.raises(ValueError, match=problem):
        make(**({"client": None, "when_silent": "refuse"} | options))
    with pytest.raises(TypeError, match="when_silent"):
        make(client=None)

"""The flow of the stream, step by step."""

from collections.abc import Mapping
from typing import Any

import jwt
import pytest
from support import AGENT, AUDIENCE, ISSUER, Issuer, an_id, person_or_agent, security_event

from countersign import ApiError, NetworkError, Signals
from countersign.flows import ApiCall
from countersign.key_set import read_key_set
from countersign.signal_state import EVENTS, SignalState
from countersign.signal_stream import Call, FindKey, Rest, SignalStream
from countersign.verified_token import Refused

MADE = Issuer()
KEYS = read_key_set(MADE.jwks)
A_STREAM = {"stream_id": "s1", "aud": "api", "events_delivered": list(EVENTS)}


class Driver:
    """Answers the steps of a stream, and remembers the calls."""

    def __init__(self) -> None:
        self.now = 0.0
        self.state = SignalState(
            ISSUER, AUDIENCE, Signals(None, "refuse"), lambda: 0, lambda: self.now
        )
        self.stream = SignalStream(ISSUER, "x" * 300, self.state)
        self._flow = self.stream.receive()
        self._step: Any = next(self._flow)

    def call(self) -> ApiCall:
        """The next call."""
        self._find_keys()
        assert isinstance(self._step, Call), self._step
        return self._step.call

    def answer(self, answer: Any) -> None:
        self.call()
        if isinstance(answer, Exception):
            self._step = self._flow.throw(answer)
        else:
            self._step = self._flow.send(answer)

    def rest(self) -> float:
        self._find_keys()
        assert isinstance(self._step, Rest), self._step
        seconds = self._step.seconds
        self._step = self._flow.send(None)
        return seconds

    def _find_keys(self) -> None:
        while isinstance(self._step, FindKey):
            key = KEYS.get(self._step.kid)
            problem = Refused("the token is signed with an unknown key")
            self._step = self._flow.send(key) if key else self._flow.throw(problem)

    def created(self) -> "Driver":
        self.answer(A_STREAM)
        return self


def sets(*events: Mapping[str, Any], more: bool = False) -> dict[str, Any]:
    return {"sets": {each["jti"]: MADE.event(each) for each in events}, "moreAvailable": more}


def ending(number: int) -> dict[str, Any]:
    event = security_event("session-revoked", person_or_agent(an_id(number)))
    return event | {"jti": f"event-{number}"}


def polled(call: ApiCall) -> tuple[bool, list[str]]:
    assert (call.method, call.path) == ("POST", "/ssf/poll/s1")
    return call.json["returnImmediately"], call.json["ack"]


def test_reads_all_events_and_then_waits_for_more() -> None:
    driver = Driver()
    create = driver.call()
    assert (create.method, create.path) == ("POST", "/ssf/stream")
    assert create.json["delivery"] == {"method": "urn:ietf:rfc:8936"}
    assert create.json["inactivity_timeout"] == 300
    assert len(create.json["events_requested"]) == 3
    assert len(create.json["description"]) == 255
    driver.created()
    assert polled(driver.call()) == (True, [])
    driver.answer(sets(ending(1), ending(2), more=True))
    assert polled(driver.call()) == (True, ["event-1", "event-2"])
    assert driver.state.status().known == 2
    assert driver.state.status().state == "silent", "there is more"
    driver.answer(sets(ending(3)))
    assert polled(driver.call()) == (False, ["event-3"])
    assert driver.state.status().state == "current"
    timeout = driver.call().timeout
    assert timeout is not None and timeout > 25
    driver.now = 25.0
    driver.answer(sets())
    assert polled(driver.call()) == (False, [])


def test_a_server_that_stops_answers_at_once() -> None:
    driver = Driver().created()
    driver.answer(sets())
    driver.call()
    driver.answer(sets())
    assert driver.rest() == 0.2
    assert polled(driver.call()) == (False, [])


def test_an_answer_that_has_waited_here_is_not_the_present() -> None:
    driver = Driver().created()
    driver.call()
    driver.now = 36.0
    driver.answer(sets())
    assert polled(driver.call()) == (True, []), "it asks again at once"
    assert driver.state.status().state == "silent"
    driver.answer(sets())
    assert polled(driver.call()) == (False, [])
    assert driver.state.status().state == "current"


def test_silence_counts_from_the_question_if_the_poll_does_not_wait() -> None:
    driver = Driver().created()
    driver.call()
    driver.now = 9.0
    driver.answer(sets())
    assert driver.state.status().silent_seconds == 9


@pytest.mark.parametrize(("seconds", "silent_seconds"), [(20.0, 0.0), (34.0, 9.0)])
def test_silence_counts_from_25_seconds_after_the_question_at_the_latest(
    seconds: float, silent_seconds: float
) -> None:
    driver = Driver().created()
    driver.answer(sets())
    assert polled(driver.call()) == (False, [])
    driver.now = seconds
    driver.answer(sets(ending(1)))
    driver.call()
    assert driver.state.status().silent_seconds == silent_seconds
    driver.now += 60 - silent_seconds
    assert driver.state.status().state == "current"
    driver.now += 0.1
    assert driver.state.status().state == "silent"


def test_a_server_that_has_more_but_sends_nothing() -> None:
    driver = Driver().created()
    driver.answer(sets(more=True))
    assert driver.rest() == 0.2
    assert polled(driver.call()) == (True, [])


def test_failures_and_pauses() -> None:
    driver = Driver().created()
    driver.answer(sets(ending(1)))
    lost = NetworkError("unreachable", "no")
    driver.call()
    driver.answer(lost)
    pauses = []
    for _ in range(12):
        pauses.append(driver.rest())
        assert polled(driver.call()) == (True, ["event-1"]), "the acknowledgement is not lost"
        driver.answer(lost)
    assert pauses[0] == 0
    assert all(0 < each <= 1 for each in pauses[1:9]), pauses
    assert 1 < max(pauses) <= 5
    assert driver.state.status().problem == "no"
    driver.rest()
    driver.answer(sets())
    assert driver.state.status().problem is None
    assert polled(driver.call()) == (False, [])
    driver.answer(ApiError(429, "RATE_LIMITED", "wait", retry_after_seconds=7.0))
    assert driver.rest() == 7
    driver.answer(ApiError(429, "RATE_LIMITED", "wait", retry_after_seconds=7000.0))
    assert driver.rest() == 30
    for _ in range(12):
        driver.answer(ApiError(403, "INSUFFICIENT_SCOPE", "needs tokens:read"))
        pause = driver.rest()
    assert 15 <= pause <= 30
    driver.answer(RuntimeError("of the program"))
    driver.rest()
    assert polled(driver.call())[0]


def test_after_a_failure_a_request_that_hangs_is_given_up_soon() -> None:
    """A connection that a dying process of the server got is never answered."""
    driver = Driver().created()
    timeouts = []
    for _ in range(7):
        timeouts.append(driver.call().timeout)
        driver.answer(OSError("reset"))
        driver.rest()
    assert timeouts == [10.0, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0]


def test_a_stream_that_is_gone_is_created_anew() -> None:
    driver = Driver().created()
    driver.answer(sets(ending(1)))
    driver.call()
    driver.answer(ApiError(404, "SIGNAL_STREAM_NOT_FOUND", "gone"))
    assert driver.call().method == "DELETE"
    driver.answer(ApiError(404, "SIGNAL_STREAM_NOT_FOUND", "gone"))
    assert driver.rest() == 0
    assert driver.call().path == "/ssf/stream"
    assert driver.state.status().state == "current"
    driver.created()
    assert polled(driver.call()) == (True, [])
    assert driver.state.status().known == 1


@pytest.mark.parametrize(
    "answer", [{"status": "paused"}, {"status": "disabled"}, {}, None], ids=str
)
def test_a_stream_that_is_not_enabled_is_replaced_and_was_not_complete(answer: Any) -> None:
    driver = Driver().created()
    driver.answer(sets())
    driver.now = 60.0
    driver.answer(sets())
    driver.answer(A_STREAM)
    call = driver.call()
    assert (call.method, call.path, call.params) == ("GET", "/ssf/status", {"stream_id": "s1"})
    assert driver.state.status().state == "current"
    driver.answer(answer)
    assert driver.state.status().state == "silent"
    delete = driver.call()
    assert (delete.method, delete.params) == ("DELETE", {"stream_id": "s1"})
    driver.answer(None)
    assert driver.rest() == 0
    driver.created()
    driver.answer(sets())
    driver.call()
    assert driver.state.status().state == "current"


@pytest.mark.parametrize("delivered", [None, "all", [], list(EVENTS)[1:]], ids=str)
def test_a_stream_that_leaves_events_out_is_not_used(delivered: Any) -> None:
    driver = Driver()
    changed = A_STREAM | {"events_delivered": delivered}
    driver.answer(changed)
    assert driver.call().method == "DELETE"
    driver.answer(None)
    driver.rest()
    # Others may change it later.
    driver.created()
    driver.answer(sets())
    driver.now = 59.0
    driver.answer(sets())
    driver.now = 60.0
    driver.answer(sets())
    check = driver.call()
    assert (check.method, check.path, check.params) == ("GET", "/ssf/stream", {"stream_id": "s1"})
    driver.answer(A_STREAM)
    driver.answer({"status": "enabled"})
    assert polled(driver.call()) == (False, [])
    assert driver.state.status().state == "current"
    driver.now = 120.0
    driver.answer(sets())
    driver.answer(changed)
    assert driver.state.status().state == "silent"
    assert driver.call().method == "DELETE"


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {},
        *(A_STREAM | {"stream_id": name} for name in (None, "../x", "")),
        *(A_STREAM | {"aud": name} for name in (None, "", ["api"])),
    ],
    ids=str,
)
def test_a_stream_without_an_id(answer: Any) -> None:
    driver = Driver()
    driver.answer(answer)
    driver.rest()
    assert driver.call().path == "/ssf/stream"


@pytest.mark.parametrize(
    "answer",
    [None, [], {}, {"sets": []}, {"sets": {}, "moreAvailable": "no"}, {"sets": {"a": 1}}],
    ids=str,
)
def test_answers_that_are_none_of_a_poll(answer: Any) -> None:
    driver = Driver().created()
    driver.answer(answer)
    driver.rest()
    assert polled(driver.call()) == (True, [])
    assert driver.state.status().state == "silent"


def forged(**header: Any) -> str:
    return MADE.sign(ending(1), header.pop("typ", "secevent+jwt"), **header)


@pytest.mark.parametrize(
    "token",
    [
        forged(typ="at+jwt"),
        forged(kid="other"),
        forged(crit=["exp"]),
        Issuer().event(ending(1)),
        MADE.event(ending(1) | {"aud": "another"}),
        MADE.event(ending(1) | {"iss": "https://evil.example"}),
        MADE.event(ending(1) | {"jti": "event-2"}),
        MADE.event({name: value for name, value in ending(1).items() if name != "iat"}),
        MADE.event(ending(1) | {"sub_id": {"format": "unknown"}}),
        jwt.encode(ending(1), "", "none", {"typ": "secevent+jwt", "kid": "k1"}),
        "x",
        "x" * 20_000,
    ],
    ids=range(12),
)
def test_an_event_that_is_not_genuine_is_not_applied(token: str) -> None:
    driver = Driver().created()
    answer = sets(ending(3))
    driver.answer({"sets": {"event-1": token, **answer["sets"]}, "moreAvailable": False})
    driver.rest()
    assert polled(driver.call()) == (True, ["event-3"]), "the others are applied"
    status = driver.state.status()
    assert (status.known, status.state) == (1, "silent")


def test_unknown_events_are_acknowledged() -> None:
    driver = Driver().created()
    event = security_event("something-new", person_or_agent(AGENT))
    driver.answer(sets(event))
    assert polled(driver.call()) == (False, [event["jti"]])
    assert driver.state.status().state == "current"


def test_the_stream_is_deleted_once() -> None:
    driver = Driver()
    assert driver.stream.delete() is None
    driver.created()
    call = driver.stream.delete()
    assert call is not None
    assert (call.method, call.path, call.params) == ("DELETE", "/ssf/stream", {"stream_id": "s1"})
    assert driver.stream.delete() is None

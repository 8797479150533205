"""What security events have ended, and which tokens that concerns. It does no I/O."""

import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from countersign.stopwatch import Stopwatch
from countersign.verified_token import UUID, Refused, VerifiedToken, is_number

EVENT = "https://schemas.openid.net/secevent/caep/event-type/"
SESSION_REVOKED = f"{EVENT}session-revoked"
CREDENTIAL_CHANGE = f"{EVENT}credential-change"
TOKEN_CLAIMS_CHANGE = f"{EVENT}token-claims-change"
EVENTS = (SESSION_REVOKED, CREDENTIAL_CHANGE, TOKEN_CLAIMS_CHANGE)
# As long as the server keeps them: twice the longest life of a token.
KEPT_SECONDS = 7_200.0
MAX_ENTRIES = 100_000
MIN_ENTRIES = 100
MAX_SILENCE_SECONDS = 60.0
# A poll without events is answered after 25 seconds.
MIN_SILENCE_SECONDS = 30.0
LONGEST_SILENCE_SECONDS = 3_600.0
# In milliseconds. A token counts as issued before an end up to this long after it: the nodes that
# issue tokens and end them have clocks of their own. A token that an agent gets after its end has a
# later time.
ISSUE_TOLERANCE = 2_000

NEVER = -math.inf

WhenSilent: TypeAlias = Literal["introspect", "accept", "refuse"]
C = TypeVar("C")
logger = logging.getLogger("countersign")


@dataclass(frozen=True)
class SignalStatus:
    """How well a verifier knows what has ended.

    `state` is "current", or "silent" if no poll was answered for `max_silence_seconds`, and before
    the first one was. `silent_seconds` is the time since the last answer, or since the time at
    which a late one was due. `known` counts the endings in memory, and `last_event_at` is when the
    last one arrived, in seconds since 1970. `problem` is why the last request failed, such as a
    missing scope.
    """

    state: Literal["current", "silent"]
    silent_seconds: float
    known: int
    last_event_at: float | None
    problem: str | None = None


@dataclass(frozen=True)
class Signals(Generic[C]):
    """How a verifier with `revocation="signals"` receives security events.

    The agent of `client` needs the scope `tokens:read`. `when_silent` says what happens to a token
    while events may be missing: "introspect" asks the server about it, "accept" takes it unless it
    is known to have ended, and "refuse" refuses it with 503. There is no default. `on_status` is
    called with the status whenever its state changes. At most `max_entries` endings are in memory.
    """

    client: C
    when_silent: WhenSilent
    max_silence_seconds: float = MAX_SILENCE_SECONDS
    on_status: Callable[[SignalStatus], object] | None = None
    max_entries: int = MAX_ENTRIES

    def __post_init__(self) -> None:
        if self.when_silent not in ("introspect", "accept", "refuse"):
            raise ValueError('when_silent must be "introspect", "accept" or "refuse"')
        # Neither infinity nor NaN is in between.
        if not MIN_SILENCE_SECONDS <= self.max_silence_seconds <= LONGEST_SILENCE_SECONDS:
            raise ValueError("max_silence_seconds must be from 30 to 3600")
        if not MIN_ENTRIES <= self.max_entries <= 10_000_000:
            raise ValueError("max_entries must be from 100 to 10000000")


@dataclass(frozen=True)
class Ending:
    """`is_permanent`: it never comes back, so all its tokens have ended, whatever their time."""

    at: int
    is_permanent: bool

    def ends(self, issued_at: int) -> bool:
        return self.is_permanent or issued_at <= self.at


class SignalState:
    """The endings that can still concern a token. Threads may share it.

    An ending that leaves is forgotten: tokens that are not younger than it are no longer covered,
    and are treated as while the stream is silent. It leaves when they have expired, or earlier
    because of the bound.
    """

    def __init__(
        self,
        issuer: str,
        audience: str,
        options: Signals[Any],
        now: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._issuer = issuer
        self._audience = audience
        self._options = options
        self._now = now
        self._monotonic = monotonic
        self._lock = threading.Lock()
        # All times of events are milliseconds since 1970. The names are unique: they are UUIDs.
        self._ended: OrderedDict[str, Ending] = OrderedDict()
        # By owner of the grant; "" is the API itself. See `_narrowed`.
        self._remaining: OrderedDict[str, list[tuple[int, frozenset[str]]]] = OrderedDict()
        self._forgotten_until = NEVER
        self._last_event_at: float | None = None
        self.problem: str | None = None
        self._since_start = self.stopwatch()
        self._since_read: Stopwatch | None = None
        self._reported: Literal["current", "silent"] = "silent"

    def stopwatch(self, already: float = 0.0) -> Stopwatch:
        return Stopwatch(self._now, self._monotonic, already)

    def apply(self, claims: Mapping[str, Any]) -> None:
        """Takes a verified security event token. Other kinds of events change nothing.

        Raises Refused for one that cannot be understood: it might end a token.
        """
        events = claims.get("events")
        if not isinstance(events, dict):
            raise _unknown("events")
        for kind, event in events.items():
            if kind in EVENTS:
                self._apply(kind, event, claims.get("sub_id"), _time_of(event, claims))

    @property
    def has_read(self) -> bool:
        return self._since_read is not None

    def mark_read(self, since_answer: Stopwatch | None = None) -> None:
        """All events that the server had at that time are applied. Now by default."""
        self._since_read = since_answer or self.stopwatch()
        self.observe()

    def mark_incomplete(self) -> None:
        """The stream left something out, so what is applied may not be all."""
        self._since_read = None
        self.observe()

    def find_ending(self, verified: VerifiedToken) -> str | None:
        """Why a token has ended; None if that is not known."""
        issued_at = issue_time(verified.claims) - ISSUE_TOLERANCE
        with self._lock:
            is_final = any(name in self._ended for name in _final_names_of(verified))
            endings = (self._ended.get(name) for name in _parties_of(verified))
            if is_final or any(each and each.ends(issued_at) for each in endings):
                return "the token was revoked, or it has ended"
            # A delegated token has scopes of its subject: grants of other agents do not limit it.
            for owner in ("", verified.subject.id):
                for changed_at, remaining in self._remaining.get(owner, ()):
                    if issued_at <= changed_at and not remaining.issuperset(verified.scopes):
                        return "the token has scopes that were withdrawn"
        return None

    def covers(self, verified: VerifiedToken) -> bool:
        """False: an ending of the token may be missing here."""
        is_current = self.observe().state == "current"
        issued_at = issue_time(verified.claims) - ISSUE_TOLERANCE
        return is_current and issued_at > self._forgotten_until

    def status(self) -> SignalStatus:
        since_read = self._since_read
        silent_seconds = (since_read or self._since_start).elapsed()
        is_current = since_read is not None and silent_seconds <= self._options.max_silence_seconds
        return SignalStatus(
            state="current" if is_current else "silent",
            silent_seconds=silent_seconds,
            known=self._count(),
            last_event_at=self._last_event_at,
            problem=self.problem,
        )

    def observe(self) -> SignalStatus:
        """The status. Reports a change of its state."""
        status = self.status()
        if status.state == self._reported:
            return status
        with self._lock:
            if status.state == self._reported:
                return status
            self._reported = status.state
        if status.state == "silent":
            logger.warning(
                "no security events for %.0f seconds; when_silent is %s",
                status.silent_seconds,
                self._options.when_silent,
            )
        if self._options.on_status is not None:
            try:
                self._options.on_status(status)
            except Exception:  # it is the program's, and must not end the stream
                logger.exception("on_status failed")
        return status

    def _apply(self, kind: str, event: dict[str, Any], subject: Any, at: int) -> None:
        if kind == CREDENTIAL_CHANGE and event.get("change_type") in ("create", "update"):
            return
        if kind == TOKEN_CLAIMS_CHANGE:
            owner, resource, scopes = self._read_change(event, subject)
            if resource != self._audience:
                return
        else:
            name = self._name_of(subject)
        with self._lock:
            if kind == TOKEN_CLAIMS_CHANGE:
                self._remaining[owner] = _narrowed(self._remaining.pop(owner, []), at, scopes)
            else:
                before = self._ended.pop(name, Ending(at, False))
                is_permanent = before.is_permanent or event.get("permanent") is True
                self._ended[name] = Ending(max(at, before.at), is_permanent)
            self._last_event_at = self._now()
            self._purge()

    def _read_change(self, event: dict[str, Any], subject: Any) -> tuple[str, str, frozenset[str]]:
        """The owner of the grant, the API, and the scopes that remain."""
        fields = subject if isinstance(subject, dict) else {}
        application, claims = fields.get("application"), event.get("claims")
        resource = application.get("uri") if isinstance(application, dict) else None
        scope = claims.get("scope") if isinstance(claims, dict) else None
        if not isinstance(resource, str) or not isinstance(scope, str):
            raise _unknown("subject or claims")
        owner = self._name_of(fields["user"]) if "user" in fields else ""
        return owner, resource, frozenset(scope.split())

    def _name_of(self, subject: Any) -> str:
        fields = subject if isinstance(subject, dict) else {}
        kind = str(fields.get("format"))
        name = fields.get({"opaque": "id", "iss_sub": "sub", "jwt_id": "jti"}.get(kind, ""))
        is_ours = kind == "opaque" or fields.get("iss") == self._issuer
        if not is_ours or not isinstance(name, str) or not name:
            raise _unknown("subject")
        return name

    def _purge(self) -> None:
        oldest = (self._now() - KEPT_SECONDS) * 1000
        while True:
            ended_at = next((each.at for each in self._ended.values()), math.inf)
            changed_at = next((each[-1][0] for each in self._remaining.values()), math.inf)
            first_at = min(ended_at, changed_at)
            if self._count() <= self._options.max_entries and first_at >= oldest:
                break
            first: OrderedDict[str, Any] = self._ended
            if changed_at < ended_at:
                first = self._remaining
            first.popitem(last=False)
            self._forget(first_at)

    def _count(self) -> int:
        return len(self._ended) + len(self._remaining)

    def _forget(self, ended_at: float) -> None:
        # Its tokens have expired, unless it left early, or the clock here was wrong.
        self._forgotten_until = max(self._forgotten_until, ended_at)


def issue_time(claims: Mapping[str, Any]) -> int:
    """In milliseconds. The id of a token begins with it (UUID version 7); `iat` has seconds."""
    token_id, issued_at = claims.get("jti"), claims.get("iat")
    if isinstance(token_id, str) and UUID.fullmatch(token_id) and token_id[14] == "7":
        return int(token_id[:8] + token_id[9:13], 16)
    return _milliseconds(issued_at) or 0


def _final_names_of(verified: VerifiedToken) -> Iterator[str]:
    """What ends for good: no token is issued by it afterwards, so times do not matter."""
    claims = verified.claims
    path = claims.get("chain_path")
    above = path if isinstance(path, list) else ()
    return _texts(claims.get("jti"), verified.chain_id, *above, claims.get("credential_id"))


def _parties_of(verified: VerifiedToken) -> Iterator[str]:
    """What may be active again, unless its ending is permanent."""
    subject = verified.subject.id
    return _texts(verified.agent_id, subject, *verified.actors, verified.organization_id)


def _texts(*names: Any) -> Iterator[str]:
    return (name for name in names if isinstance(name, str))


def _narrowed(
    entries: list[tuple[int, frozenset[str]]], at: int, remaining: frozenset[str]
) -> list[tuple[int, frozenset[str]]]:
    """Each entry has the scopes that tokens up to its time may have, also after later changes.

    So the sets grow with the time, and there are no more of them than scopes.
    """
    later = [each for each in entries if each[0] >= at]
    for _, scopes in later:
        remaining &= scopes
    earlier = [(time, scopes & remaining) for time, scopes in entries if time < at]
    narrowed = [*earlier, (at, remaining), *later]
    # Of two with the same scopes, the later one says it for both.
    following = [*(scopes for _, scopes in narrowed[1:]), None]
    return [each for each, after in zip(narrowed, following, strict=True) if each[1] != after]


def _time_of(event: Any, claims: Mapping[str, Any]) -> int:
    if not isinstance(event, dict):
        raise _unknown("events")
    at = _milliseconds(event.get("event_timestamp"))
    if at is not None:
        return at
    issued_at = _milliseconds(claims.get("iat"))
    if issued_at is None:
        raise _unknown("time")
    # Whole seconds: it may have happened at the end of that second.
    return issued_at + 999


def _unknown(part: str) -> Refused:
    return Refused(f"a security event has an unknown {part}")


def _milliseconds(seconds: Any) -> int | None:
    return round(seconds * 1000) if is_number(seconds) and 0 <= seconds < 1e11 else None

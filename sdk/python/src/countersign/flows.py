"""The client's protocol without I/O, for threads and for asyncio alike.

A flow is a generator. It yields a step, and gets the step's result: an answer for `Send` and `Open`
(or the error of the network), a proof for `Prove`, a token for `Acquire`, nothing for `Pause`.
"""

import random
import re
import uuid
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import httpx

from countersign.answer import (
    HEADERS,
    MAX_ANSWER_BYTES,
    MAX_SMALL_ANSWER_BYTES,
    Answer,
    OpenAnswer,
    invalid_answer,
    network_error,
    read_json,
    refusal,
    retry_after,
)
from countersign.dpop import Dpop, demands_nonce
from countersign.proof import is_workload_token, proof_fields
from countersign.token_cache import IssuedToken, TokenKey

ATTEMPTS = 4
# All waits together. A rate window lasts a minute; a longer Retry-After means that the quota of
# the day is used up.
LONGEST_WAIT_SECONDS = 65.0
BACKOFF_SECONDS = 0.25
LONGEST_BACKOFF_SECONDS = 8.0
MAX_LIFETIME_SECONDS = 86_400
# The server answers the same refresh token again for ten seconds, and takes a later use for theft.
REFRESH_WAIT_SECONDS = 3.0
TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"  # noqa: S105
JWT_TYPE = "urn:ietf:params:oauth:token-type:jwt"
# The characters of a bearer token (RFC 6750).
BEARER = re.compile(r"[A-Za-z0-9._~+/-]+=*")
INVALID_TOKEN = re.compile(r'\berror="?invalid_token\b')
# POST operations that a second attempt cannot do twice: they take an idempotency key, or change
# nothing.
KEYED = re.compile(
    r"/(agents|resources|webhooks|delegations|organizations"
    r"|agents/[^/]+/credentials|organizations/[^/]+/connections)"
)
HARMLESS = re.compile(r"/(token/introspect|token/revoke|tokens/preview|delegations/verify)")


@dataclass(frozen=True)
class Send:
    """`request` are the arguments of `httpx.Client.build_request`."""

    request: dict[str, Any] = field(repr=False)
    limit: int


@dataclass(frozen=True)
class Open:
    """The same for a large answer: a success is an `OpenAnswer`."""

    request: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class Prove:
    pass


@dataclass(frozen=True)
class Acquire:
    pass


Step: TypeAlias = Send | Open | Pause | Prove | Acquire
Outcome: TypeAlias = Answer | httpx.TransportError


@dataclass(frozen=True)
class ApiCall:
    method: str
    path: str
    params: Mapping[str, Any] | None = None
    json: Any = None
    data: Mapping[str, str] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    # All waits together.
    max_wait: float = LONGEST_WAIT_SECONDS
    # For one answer, instead of the client's.
    timeout: float | None = None
    needs_token: bool = True
    # Of the path. A few operations are at the root of the server.
    base: str = "/api/v1"


def token_flow(
    issuer: str,
    client_id: str,
    key: TokenKey,
    now: Callable[[], float],
    has_token: bool,
    dpop: Dpop | None = None,
) -> Generator[Step, Any, IssuedToken]:
    """`has_token`: a token is renewed early. The caller does not wait for a busy server."""
    asked_at = now()

    def attempt() -> Generator[Step, Any, Outcome]:
        nonlocal asked_at
        # A new proof each time: an assertion can be used once.
        path, form = _token_request(client_id, key, (yield Prove()))
        asked_at = now()
        return (yield from _post(f"{issuer}/api/v1{path}", form, dpop))

    answer = yield from _patiently(
        lambda: _with_nonce(attempt), True, 0 if has_token else LONGEST_WAIT_SECONDS
    )
    return read_issued(answer, asked_at, dpop)


def _token_request(client_id: str, key: TokenKey, proof: Any) -> tuple[str, dict[str, str]]:
    """Path and form.

    A workload exchanges its own token. Other clients, and workloads that redeem a delegation, prove
    their identity at the token endpoint.
    """
    optional = {"resource": key.resource, "scope": key.scope}
    common = {"client_id": client_id} | {name: text for name, text in optional.items() if text}
    if key.delegation:
        return "/token", common | _exchange(key.delegation) | proof_fields(proof)
    if is_workload_token(proof):
        return "/oidc/token", common | _exchange(proof.strip())
    return "/token", common | {"grant_type": "client_credentials"} | proof_fields(proof)


def form_flow(
    issuer: str, client_id: str, path: str, form: Mapping[str, str], dpop: Dpop | None = None
) -> Generator[Step, Any, Outcome]:
    """Sends a form once, with a proof of the agent's identity."""

    def attempt() -> Generator[Step, Any, Outcome]:
        proof = proof_fields((yield Prove()))
        fields = {**form, "client_id": client_id, **proof}
        return (yield from _post(f"{issuer}/api/v1{path}", fields, dpop))

    return (yield from _with_nonce(attempt))


def request_flow(issuer: str, client_id: str, form: Mapping[str, str]) -> Generator[Step, Any, Any]:
    """Asks for an approval. After a lost answer it is not repeated: people would be asked twice."""
    answer = yield from _patiently(
        lambda: form_flow(issuer, client_id, "/bc-authorize", form), False
    )
    return read_json(answer)


def refresh_flow(
    issuer: str,
    client_id: str,
    refresh_token: str,
    now: Callable[[], float],
    dpop: Dpop | None = None,
) -> Generator[Step, Any, IssuedToken]:
    asked_at = now()
    form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
    answer = yield from _patiently(
        lambda: form_flow(issuer, client_id, "/token", form, dpop), True, REFRESH_WAIT_SECONDS
    )
    return read_issued(answer, asked_at, dpop)


def _post(url: str, form: Mapping[str, str], dpop: Dpop | None) -> Generator[Step, Any, Outcome]:
    headers = HEADERS if dpop is None else {**HEADERS, "DPoP": dpop.proof("POST", url)}
    request = {"method": "POST", "url": url, "data": form, "headers": headers}
    return (yield from _send(request, MAX_SMALL_ANSWER_BYTES, dpop))


def _send(request: dict[str, Any], limit: int, dpop: Dpop | None) -> Generator[Step, Any, Outcome]:
    return (yield from _perform(Send(request, limit), dpop))


def _perform(step: Send | Open, dpop: Dpop | None) -> Generator[Step, Any, Outcome]:
    outcome: Outcome = yield step
    if dpop is not None and isinstance(outcome, Answer):
        dpop.learn_nonce(step.request["url"], outcome.headers)
    return outcome


def _with_nonce(
    attempt: Callable[[], Generator[Step, Any, Outcome]],
) -> Generator[Step, Any, Outcome]:
    """A server that wants its nonce in the proof has done nothing else."""
    outcome = yield from attempt()
    if isinstance(outcome, Answer) and demands_nonce(
        outcome.status, outcome.headers, outcome.content
    ):
        outcome = yield from attempt()
    return outcome


def _exchange(token: str) -> dict[str, str]:
    return {
        "grant_type": TOKEN_EXCHANGE,
        "subject_token": token,
        "subject_token_type": JWT_TYPE,
    }


def api_flow(
    issuer: str, call: ApiCall, discard: Callable[[str], None], dpop: Dpop | None = None
) -> Generator[Step, Any, Answer]:
    """Sends the call with a token. A refused token is replaced once."""
    return (yield from _call_flow(issuer, call, discard, dpop, False))


def stream_flow(
    issuer: str, call: ApiCall, discard: Callable[[str], None], dpop: Dpop | None = None
) -> Generator[Step, Any, httpx.Response]:
    """The same for a large answer. Its body is still to be read, and the response to be closed."""
    answer = yield from _call_flow(issuer, call, discard, dpop, True)
    if not isinstance(answer, OpenAnswer):
        raise refusal(answer)
    return answer.response


def _call_flow(
    issuer: str,
    call: ApiCall,
    discard: Callable[[str], None],
    dpop: Dpop | None,
    is_stream: bool,
) -> Generator[Step, Any, Answer]:
    url = api_url(issuer, call.path, call.base)
    headers = {**HEADERS, **({"Accept": "*/*"} if is_stream else {}), **call.headers}
    method = call.method.upper()
    is_keyed = method == "POST" and KEYED.fullmatch(call.path) is not None
    if is_keyed and not any(name.lower() == "idempotency-key" for name in headers):
        headers["Idempotency-Key"] = str(uuid.uuid4())
    is_repeatable = (
        method in ("GET", "HEAD", "PUT", "DELETE")
        or is_keyed
        or (method == "POST" and HARMLESS.fullmatch(call.path) is not None)
    )

    json = call.json
    if method == "POST" and call.path == "/agents" and isinstance(json, Mapping):
        # A new agent gets only the scopes of this API that the program names, not the default of
        # the server.
        json = {"allowedScopes": [], **json}

    def attempt_with(token: str | None) -> Callable[[], Generator[Step, Any, Outcome]]:
        def attempt() -> Generator[Step, Any, Outcome]:
            presented = {} if token is None else authorization(token, method, url, dpop)
            request = {
                "method": method,
                "url": url,
                "params": _without_none(call.params),
                "json": json,
                "data": call.data,
                "headers": headers | presented,
            }
            if call.timeout is not None:
                request["timeout"] = call.timeout
            step = Open(request) if is_stream else Send(request, MAX_ANSWER_BYTES)
            return (yield from _perform(step, dpop))

        return lambda: _with_nonce(attempt)

    if not call.needs_token:
        return (yield from _patiently(attempt_with(None), is_repeatable, call.max_wait))
    token: str = yield Acquire()
    answer = yield from _patiently(attempt_with(token), is_repeatable, call.max_wait)
    if is_refused_token(answer.status, answer.headers):
        discard(token)
        token = yield Acquire()
        answer = yield from _patiently(attempt_with(token), is_repeatable, call.max_wait)
    return answer


def api_url(issuer: str, path: str, base: str = "/api/v1") -> str:
    """Raises ValueError for a path that leads out of the API."""
    if (
        not path.startswith("/")
        or "\\" in path
        or any(part in (".", "..") for part in path.split("/"))
    ):
        raise ValueError("path must begin with / and is relative to /api/v1")
    return f"{issuer}{base}{path}"


def authorization(
    token: str, method: str, url: str, dpop: Dpop | None, body: bytes = b""
) -> dict[str, str]:
    """The headers that present a token."""
    if dpop is None:
        return {"Authorization": f"Bearer {token}"}
    proof = dpop.proof(method, url, access_token=token, body=body)
    return {"Authorization": f"DPoP {token}", "DPoP": proof}


def is_refused_token(status: int, headers: Mapping[str, str]) -> bool:
    challenge = headers.get("WWW-Authenticate", "")
    return status == 401 and INVALID_TOKEN.search(challenge) is not None


def _patiently(
    attempt: Callable[[], Generator[Step, Any, Outcome]],
    is_repeatable: bool,
    max_wait: float = LONGEST_WAIT_SECONDS,
) -> Generator[Step, Any, Answer]:
    """Tries again after 429, 503 and errors of the network, and only then."""
    waited = 0.0
    for number in range(1, ATTEMPTS + 1):
        outcome = yield from attempt()
        wait = _wait_after(outcome, number, is_repeatable)
        if wait is None or number == ATTEMPTS or waited + wait > max_wait:
            break
        waited += wait
        yield Pause(wait)
    if isinstance(outcome, httpx.TransportError):
        raise network_error(outcome) from outcome
    return outcome


def _wait_after(outcome: Outcome, attempts: int, is_repeatable: bool) -> float | None:
    """In seconds. None: a second attempt does not help, or it may do the work twice."""
    longest = min(BACKOFF_SECONDS * 2 ** (attempts - 1), LONGEST_BACKOFF_SECONDS)
    backoff = longest * (0.5 + random.random() / 2)  # noqa: S311 (no secret)
    if isinstance(outcome, Answer):
        # A full rate window refuses before any work is done.
        if outcome.status == 429 or (outcome.status == 503 and is_repeatable):
            asked = retry_after(outcome.headers)
            return backoff if asked is None else asked
        return None
    if isinstance(outcome, httpx.UnsupportedProtocol | httpx.ProxyError):
        return None
    # Without a connection the server has not seen the request.
    is_unsent = isinstance(outcome, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
    return backoff if is_unsent or is_repeatable else None


def _without_none(params: Mapping[str, Any] | None) -> dict[str, Any] | None:
    given = {name: value for name, value in (params or {}).items() if value is not None}
    return given or None


def read_issued(answer: Answer, asked_at: float, dpop: Dpop | None = None) -> IssuedToken:
    body = read_json(answer)
    if not isinstance(body, dict):
        raise invalid_answer("the token endpoint answered with no JSON object")
    token, kind = body.get("access_token"), body.get("token_type")
    lifetime: Any = body.get("expires_in")
    if not isinstance(token, str) or BEARER.fullmatch(token) is None:
        raise invalid_answer("access_token is not a bearer token")
    expected = "Bearer" if dpop is None else "DPoP"
    if not isinstance(kind, str) or kind.lower() != expected.lower():
        raise invalid_answer(f"token_type must be {expected}")
    is_number = isinstance(lifetime, int | float) and not isinstance(lifetime, bool)
    if not is_number or not lifetime > 0:
        raise invalid_answer("expires_in must be a positive number")
    refresh, scope = body.get("refresh_token"), body.get("scope")
    details = body.get("authorization_details")
    return IssuedToken(
        token,
        float(min(lifetime, MAX_LIFETIME_SECONDS)),
        asked_at,
        scopes=tuple(scope.split()) if isinstance(scope, str) else (),
        refresh_token=refresh if isinstance(refresh, str) else "",
        authorization_details=tuple(details) if isinstance(details, list) else (),
    )

"""Checks access tokens that others present to this agent."""

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import jwt

# A made-up key id must not make us ask for the keys each time.
COOL_DOWN_SECONDS = 30
# A key that is no longer published is refused after this time at the latest.
KEYS_MAX_AGE_SECONDS = 600
CLOCK_TOLERANCE_SECONDS = 5
# The algorithms that an instance may have. The key decides which one it is.
ALGORITHMS = ("RS256", "ES256", "EdDSA")
MAX_ACTORS = 10
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class InvalidToken(Exception):
    """The token is not to be believed."""


@dataclass(frozen=True)
class VerifiedToken:
    """A genuine access token. It is delegated when `actors` is not empty.

    `agent_id` is the agent that acts, which the token was issued to (`client_id`); `subject` is
    the agent on whose behalf it acts (`sub`), the same unless the token is delegated. `actors`
    are the agents of the delegation chain (`act`): the one that acts now first, the subject's own
    delegatee last. `chain_id` is the delegation.
    """

    agent_id: str
    subject: str
    actors: tuple[str, ...]
    chain_id: str | None
    scopes: tuple[str, ...]
    organization_id: str
    claims: dict[str, Any]


class Verifier:
    def __init__(
        self,
        issuer: str,
        audience: str,
        organization_id: str | None = None,
        *,
        accept_any_organization: bool = False,
        transport: httpx.BaseTransport | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`issuer` is the API's address; `audience` is whom tokens must be meant for.

        Tokens of `organization_id` are accepted. With `accept_any_organization` those of every
        organization on the instance are: compare `VerifiedToken.organization_id` yourself.
        """
        if accept_any_organization is not True and not _is_id(organization_id):
            raise ValueError("organization_id must be a UUID; or set accept_any_organization")
        self._issuer = issuer
        self._audience = audience
        self._organization_id = None if accept_any_organization is True else organization_id
        self._transport = transport
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at: float | None = None
        self._attempted_at: float | None = None

    def verify(self, token: str) -> VerifiedToken:
        """Raises InvalidToken."""
        try:
            header = jwt.get_unverified_header(token)
            if str(header.get("typ", "")).lower() not in ("at+jwt", "application/at+jwt"):
                raise InvalidToken("this is not an access token")
            if "crit" in header:
                raise InvalidToken("the token demands an extension that is not known here")
            key = self._key(header.get("kid"))
            if key.algorithm_name not in ALGORITHMS:
                raise InvalidToken("the key is of a kind that is not known here")
            claims = jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                issuer=self._issuer,
                audience=self._audience,
                leeway=CLOCK_TOLERANCE_SECONDS,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.PyJWTError as error:
            raise InvalidToken(str(error)) from error
        verified = _read(claims)
        if self._organization_id not in (None, verified.organization_id):
            raise InvalidToken(
                f"the token is of organization {verified.organization_id}, "
                f"not {self._organization_id}"
            )
        return verified

    def _key(self, kid: str | None) -> jwt.PyJWK:
        with self._lock:
            now = self._monotonic()
            fresh = _within(KEYS_MAX_AGE_SECONDS, self._fetched_at, now)
            known = fresh and kid in self._keys
            if not known and not _within(COOL_DOWN_SECONDS, self._attempted_at, now):
                self._attempted_at = now
                self._keys = self._fetch()
                self._fetched_at = now
                fresh = True
            if not fresh:
                raise InvalidToken("the keys could not be fetched; the token cannot be checked")
            if kid not in self._keys:
                raise InvalidToken("the token is signed with an unknown key")
            return self._keys[kid]

    def _fetch(self) -> dict[str, jwt.PyJWK]:
        with httpx.Client(transport=self._transport, timeout=10) as http:
            response = http.get(f"{self._issuer}/.well-known/jwks.json").raise_for_status()
        key_set = jwt.PyJWKSet.from_dict(response.json())
        return {key.key_id: key for key in key_set.keys if key.key_id is not None}


def _within(seconds: float, since: float | None, now: float) -> bool:
    return since is not None and now - since < seconds


def _read(claims: dict[str, Any]) -> VerifiedToken:
    scope = claims.get("scope", "")
    if not isinstance(scope, str):
        raise InvalidToken("scope must be a string")
    agent_id = _read_id(claims, "client_id")
    subject = _read_id(claims, "sub")
    actors, chain_id = _read_delegation(claims)
    return VerifiedToken(
        agent_id=agent_id,
        subject=subject,
        actors=actors,
        chain_id=chain_id,
        scopes=tuple(scope.split()),
        organization_id=_read_id(claims, "organization_id"),
        claims=claims,
    )


def _read_delegation(claims: dict[str, Any]) -> tuple[tuple[str, ...], str | None]:
    if "act" not in claims:
        if "chain_id" in claims:
            raise InvalidToken("chain_id without act")
        if claims["sub"] != claims["client_id"]:
            raise InvalidToken("sub and client_id differ, but act is missing")
        return (), None
    actors: list[str] = []
    holder = claims
    while "act" in holder:
        act = holder["act"]
        if not isinstance(act, dict) or not _is_id(act.get("sub")):
            raise InvalidToken("act must name an agent in sub")
        if len(actors) == MAX_ACTORS:
            raise InvalidToken(f"act names more than {MAX_ACTORS} agents")
        actors.append(act["sub"])
        holder = act
    if actors[0] != claims["client_id"]:
        raise InvalidToken("act names another agent than client_id")
    return tuple(actors), _read_id(claims, "chain_id")


def _read_id(claims: dict[str, Any], claim: str) -> str:
    value = claims.get(claim)
    if not _is_id(value):
        raise InvalidToken(f"{claim} must be a UUID")
    return value


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and UUID.fullmatch(value) is not None

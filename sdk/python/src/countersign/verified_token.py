"""The claims of an access token, checked without I/O."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from countersign.errors import TokenError, TokenErrorCode

# The algorithms that an instance may have. The key decides which one it is.
ALGORITHMS = ("RS256", "ES256", "EdDSA")
MAX_ACTORS = 10
MAX_TOKEN_LENGTH = 16_384
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Refused(Exception):
    """Why a token is refused. `is_missing`: there is none, so the challenge names no error."""

    def __init__(
        self, reason: str, code: TokenErrorCode = "invalid_token", *, is_missing: bool = False
    ) -> None:
        super().__init__(reason)
        self.code: TokenErrorCode = code
        self.is_missing = is_missing


class NeedsProof(Refused):
    """A bound token without a proof, or with one that is not good. The challenge is of DPoP."""

    def __init__(self, reason: str, code: TokenErrorCode = "invalid_dpop_proof") -> None:
        super().__init__(reason, code)


@dataclass(frozen=True)
class Subject:
    """On whose behalf an agent acts: `sub` and `sub_profile`."""

    type: Literal["person", "agent"]
    id: str


@dataclass(frozen=True)
class VerifiedToken:
    """A genuine access token. It is delegated when it has a `chain_id`.

    `agent_id` is the agent that acts, which the token was issued to (`client_id`); `subject` is
    the person or the agent on whose behalf it acts (`sub`), the agent itself unless the token is
    delegated. `actors` are the agents that act (`act`): the one that acts now first, the subject's
    own delegatee last; the agent alone unless delegated. Actors that another issuer named are no
    agents of the instance: they have an `iss`, and are only in `claims["act"]`. `chain_id` is the
    delegation. Of `claims`, those about the agent (`agent_type` and others) are no reason to allow
    a delegated call: the delegator may have made the agent. `authorization_details` are what
    exactly a person approved (RFC 9396); empty: the scopes alone say it. `key_thumbprint` is the
    key that the token is bound to (`cnf`), which the caller has proved to hold; None for a bearer
    token.
    """

    agent_id: str
    subject: Subject
    actors: tuple[str, ...]
    chain_id: str | None
    scopes: tuple[str, ...]
    organization_id: str
    claims: dict[str, Any] = field(repr=False)
    authorization_details: tuple[dict[str, Any], ...] = ()
    key_thumbprint: str | None = None

    def require_detail(
        self, kind: str, matches: Callable[[dict[str, Any]], bool] = lambda _: True
    ) -> dict[str, Any]:
        """The first detail of this type that `matches` accepts. Raises TokenError (403) otherwise.

        Compare each value that counts: `require_detail("payment", lambda it: it["amount"] == 120)`.
        """
        if not kind:
            raise ValueError("require_detail needs a type of detail")
        of_kind = [each for each in self.authorization_details if each["type"] == kind]
        found = next((each for each in of_kind if matches(each)), None)
        if found is not None:
            return found
        problem = f"the token has no authorization_details of the type {kind}"
        if of_kind:
            problem = f"the authorization_details of the type {kind} are of another action"
        code: TokenErrorCode = "insufficient_authorization_details"
        scheme = "Bearer" if self.key_thumbprint is None else "DPoP"
        challenge = f'{scheme} error="{code}", error_description="{quotable(problem)}"'
        raise TokenError(problem, status=403, code=code, www_authenticate=challenge)


def check_header(header: Mapping[str, Any]) -> str:
    """The id of the key."""
    if str(header.get("typ", "")).lower() not in ("at+jwt", "application/at+jwt"):
        raise Refused("this is not an access token")
    if "crit" in header:
        raise Refused("the token demands an extension that is not known here")
    kid = header.get("kid")
    if not isinstance(kid, str):
        raise Refused("the token names no key")
    return kid


def check_times(claims: Mapping[str, Any], now: float, tolerance: float) -> None:
    expiry: Any = claims.get("exp")
    if not is_number(expiry):
        raise Refused("exp must be a number")
    if not now < expiry + tolerance:
        raise Refused("the token has expired")
    start: Any = claims.get("nbf")
    if start is not None and not is_number(start):
        raise Refused("nbf must be a number")
    if start is not None and not start <= now + tolerance:
        raise Refused("the token is not valid yet")


def read_claims(claims: dict[str, Any]) -> VerifiedToken:
    scope = claims.get("scope", "")
    if not isinstance(scope, str):
        raise Refused("scope must be a string")
    agent_id = _read_id(claims, "client_id")
    subject = _read_subject(claims)
    actors, chain_id = _read_delegation(claims, agent_id, subject)
    return VerifiedToken(
        agent_id=agent_id,
        subject=subject,
        actors=actors,
        chain_id=chain_id,
        scopes=tuple(scope.split()),
        organization_id=_read_id(claims, "organization_id"),
        claims=claims,
        authorization_details=_read_details(claims),
        key_thumbprint=_read_thumbprint(claims),
    )


def _read_subject(claims: dict[str, Any]) -> Subject:
    """Only tokens of people have `sub_profile`."""
    subject_id = _read_id(claims, "sub")
    if "sub_profile" not in claims:
        return Subject("agent", subject_id)
    if claims["sub_profile"] != "person":
        raise Refused("sub_profile must be person")
    return Subject("person", subject_id)


def _read_delegation(
    claims: dict[str, Any], agent_id: str, subject: Subject
) -> tuple[tuple[str, ...], str | None]:
    if "act" not in claims:
        if subject.type == "person":
            raise Refused("sub is a person, but act is missing")
        if "chain_id" in claims:
            raise Refused("chain_id without act")
        if subject.id != agent_id:
            raise Refused("sub and client_id differ, but act is missing")
        return (agent_id,), None
    actors: list[str] = []
    holder = claims
    while "act" in holder:
        act = holder["act"]
        if actors and _is_asserted(act):
            _check_asserted(act)
            break
        # Tokens of agents do not say that the actor is one.
        if (
            not isinstance(act, dict)
            or _is_asserted(act)
            or not is_id(act.get("sub"))
            or act.get("sub_profile", "ai_agent") != "ai_agent"
        ):
            raise Refused("act must name an agent in sub")
        if len(actors) == MAX_ACTORS:
            raise Refused(f"act names more than {MAX_ACTORS} agents")
        actors.append(act["sub"])
        holder = act
    if actors[0] != agent_id:
        raise Refused("act names another agent than client_id")
    if subject.type == "person" and subject.id in actors:
        raise Refused("sub is a person, but act names it as an agent")
    return tuple(actors), _read_id(claims, "chain_id")


def _is_asserted(act: object) -> bool:
    """Of another issuer, which an identity assertion named. Earlier actors are so, too."""
    return isinstance(act, dict) and "iss" in act


def _check_asserted(outermost: dict[str, Any]) -> None:
    holder: dict[str, Any] = {"act": outermost}
    count = 0
    while "act" in holder:
        act = holder["act"]
        if not isinstance(act, dict) or not _is_text(act.get("iss")) or not _is_text(act.get("sub")):
            raise Refused("act of another issuer must name an actor in iss and sub")
        if count == MAX_ACTORS:
            raise Refused(f"act names more than {MAX_ACTORS} actors of other issuers")
        count += 1
        holder = act


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _read_thumbprint(claims: Mapping[str, Any]) -> str | None:
    """The key that a token is bound to; None if it is a bearer token."""
    if "cnf" not in claims:
        return None
    confirmation = claims["cnf"]
    jkt = confirmation.get("jkt") if isinstance(confirmation, dict) else None
    if not isinstance(jkt, str) or not jkt or len(confirmation) != 1:
        raise Refused("the token is bound in a way that cannot be checked here")
    return jkt


def _read_details(claims: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    details = claims.get("authorization_details", [])
    if not isinstance(details, list) or not all(
        isinstance(each, dict) and isinstance(each.get("type"), str) for each in details
    ):
        raise Refused("authorization_details must be a list of objects with a type")
    return tuple(details)


def _read_id(claims: dict[str, Any], claim: str) -> str:
    value = claims.get(claim)
    if not is_id(value):
        raise Refused(f"{claim} must be a UUID")
    return str(value)


def is_id(value: Any) -> bool:
    return isinstance(value, str) and UUID.fullmatch(value) is not None


def quotable(text: str) -> str:
    """What a quoted string of a header may contain (RFC 6750): no quotation mark, no line break."""
    kept = (char if " " <= char <= "~" and char not in '"\\' else "'" for char in text)
    return "".join(kept)[:500]


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

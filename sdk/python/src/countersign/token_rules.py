"""What a presented token must be. It does no I/O."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import httpx
import jwt

from countersign.addresses import checked_issuer, checked_url, path_of
from countersign.dpop_checks import (
    ALGORITHM_NAMES,
    CheckedProof,
    Request,
    check_body,
    check_proof,
)
from countersign.errors import TokenError, TokenErrorStatus
from countersign.introspection import unanswered
from countersign.verified_token import (
    MAX_ACTORS,
    MAX_TOKEN_LENGTH,
    NeedsProof,
    Refused,
    VerifiedToken,
    check_header,
    check_times,
    is_id,
    quotable,
    read_claims,
)

CLOCK_TOLERANCE_SECONDS = 5.0
MAX_CLOCK_TOLERANCE_SECONDS = 300
ORIGIN = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
Subjects: TypeAlias = Literal["agents", "people", "any"]
DpopUse: TypeAlias = Literal["accept", "require", "refuse"]
Credentials: TypeAlias = str | Mapping[str, Any]


@dataclass(frozen=True)
class Presented:
    """A token as it was presented. A bearer token has no proof."""

    token: str = field(repr=False)
    proof: str | None = None


class TokenRules:
    """What a token must be."""

    def __init__(
        self,
        issuer: str,
        audience: str,
        organization_id: str | Iterable[str] | None,
        accept_any_organization: bool,
        subjects: Subjects,
        clock_tolerance: float,
        resource_metadata: str | None,
        dpop: DpopUse,
        public_url: str | Iterable[str] | None,
        require_content_digest: bool,
        now: Callable[[], float],
    ) -> None:
        self.issuer = checked_issuer(issuer)
        if not audience:
            raise ValueError("audience must not be empty")
        # Neither infinity nor NaN is in between.
        if not 0 <= clock_tolerance <= MAX_CLOCK_TOLERANCE_SECONDS:
            raise ValueError(f"clock_tolerance must be from 0 to {MAX_CLOCK_TOLERANCE_SECONDS}")
        self._organizations = _organizations(organization_id, accept_any_organization)
        if subjects not in ("agents", "people", "any"):
            raise ValueError(
                'subjects must be "agents" (agents that act for themselves or for other agents), '
                '"people" (agents that act for a person) or "any"'
            )
        self._subjects = subjects
        self.audience = audience
        self._tolerance = clock_tolerance
        self._metadata = resource_metadata
        if dpop not in ("accept", "require", "refuse"):
            raise ValueError('dpop must be "accept", "require" or "refuse"')
        self._dpop = dpop
        self._addresses = _read_addresses(public_url, audience)
        if dpop == "require" and not self._addresses:
            raise ValueError('dpop="require" needs public_url, because audience is no address')
        self._requires_digest = require_content_digest
        self._now = now

    def find_token(self, credentials: Credentials, request: Request | None) -> Presented:
        """The token itself, or that of the header Authorization."""
        if isinstance(credentials, str):
            return Presented(credentials)
        values = [value for name, value in credentials.items() if name.lower() == "authorization"]
        if not values:
            raise Refused("no access token was presented", is_missing=True)
        value = values[0]
        if len(values) > 1 or not isinstance(value, str):
            raise Refused("there is more than one header Authorization", "invalid_request")
        kind, _, token = value.strip().partition(" ")
        if kind.lower() == "dpop" and request is not None and token.strip():
            proofs = [value for name, value in credentials.items() if name.lower() == "dpop"]
            # Two headers may have been joined.
            if len(proofs) != 1 or not isinstance(proofs[0], str) or "," in proofs[0]:
                raise NeedsProof("there must be one header DPoP")
            return Presented(token.strip(), proofs[0].strip())
        if kind.lower() != "bearer" or not token.strip():
            raise Refused("no access token was presented", is_missing=True)
        return Presented(token.strip())

    def read_request(
        self, method: str | None, url: str | None, body: object | None
    ) -> Request | None:
        """The method and the public address of the request, without which no proof is taken."""
        if method is None and url is None and body is None:
            return None
        if not method or not url:
            raise ValueError("verify needs both method and url")
        if self._requires_digest and body is None:
            raise ValueError("require_content_digest needs body")
        if self._dpop == "refuse" or not self._addresses:
            return None
        # The origin that a request names is the choice of its sender.
        path = url if url.startswith("/") else ORIGIN.sub("", url)
        return Request(method, tuple(f"{address}{path}" for address in self._addresses))

    def check_possession(
        self, presented: Presented, verified: VerifiedToken, request: Request | None
    ) -> CheckedProof | None:
        """None for a bearer token."""
        bound_to = verified.key_thumbprint
        if presented.proof is None:
            if bound_to is not None:
                raise NeedsProof(
                    "the token is bound to a key; it is no bearer token", "invalid_token"
                )
            if self._dpop == "require":
                raise NeedsProof("the token must be bound to a key", "invalid_token")
            return None
        if bound_to is None or request is None:
            raise NeedsProof(
                "the token is not bound to a key; it is a bearer token", "invalid_token"
            )
        return check_proof(presented.proof, presented.token, bound_to, request, self._now())

    def needs_body(self, proof: CheckedProof) -> bool:
        return self._requires_digest or proof.digest is not None

    def check_body(self, proof: CheckedProof, body: bytes) -> None:
        check_body(proof.digest, body, self._requires_digest)

    def key_id(self, token: str) -> str:
        if len(token) > MAX_TOKEN_LENGTH:
            raise Refused("the token is too long")
        try:
            return check_header(jwt.get_unverified_header(token))
        except (jwt.PyJWTError, ValueError, RecursionError) as error:
            raise Refused("this is not a signed token") from error

    def decode(self, token: str, key: jwt.PyJWK) -> VerifiedToken:
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                issuer=self.issuer,
                audience=self.audience,
                # Times are checked below, by the clock of this object.
                options={
                    "require": ["exp", "iss", "aud"],
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                    "verify_sub": False,
                    "verify_jti": False,
                },
            )
        except Exception as error:  # the token is hostile until it is verified
            raise Refused(f"the token is not valid: {error}") from error
        check_times(claims, self._now(), self._tolerance)
        verified = read_claims(claims)
        accepted = self._organizations
        if accepted is not None and verified.organization_id not in accepted:
            raise Refused(
                f"the token is of organization {verified.organization_id}, "
                f"not {' or '.join(accepted)}"
            )
        self._check_subject(verified)
        return verified

    def _check_subject(self, verified: VerifiedToken) -> None:
        """A genuine token that is not wanted here: 403, because a new one would be no better."""
        is_person = verified.subject.type == "person"
        if is_person and self._subjects == "agents":
            raise Refused(
                "the subject of the token is a person; only agents are accepted",
                "insufficient_scope",
            )
        if not is_person and self._subjects == "people":
            raise Refused(
                "the subject of the token is an agent; only people are accepted",
                "insufficient_scope",
            )

    def check_use(self, verified: VerifiedToken, needed: list[str], max_depth: int | None) -> None:
        missing = [scope for scope in needed if scope not in verified.scopes]
        if missing:
            raise Refused(f"the token lacks the scope {' '.join(missing)}", "insufficient_scope")
        depth = 0 if verified.chain_id is None else len(verified.actors)
        if max_depth is not None and depth > max_depth:
            allowed = f"at most {max_depth} times" if max_depth else "not at all"
            raise Refused(
                f"the token is delegated {depth} times; this call allows it {allowed}",
                "insufficient_scope",
            )

    def apply_introspection(self, verified: VerifiedToken, answer: Any) -> VerifiedToken:
        """The token with the scopes that it still has."""
        if not isinstance(answer, dict) or not isinstance(answer.get("active"), bool):
            raise unanswered()
        if not answer["active"]:
            raise Refused("the token was revoked, or it has ended")
        scope, token_id = answer.get("scope"), answer.get("jti")
        if not isinstance(scope, str) or token_id != verified.claims.get("jti"):
            raise unanswered()
        current = scope.split()
        scopes = tuple(scope for scope in verified.scopes if scope in current)
        return replace(verified, scopes=scopes)

    def error(self, refused: Refused, needed: list[str], presented: Presented | None) -> TokenError:
        """The challenge names the scopes that the call needs, so that a client can ask for them."""
        is_bound = isinstance(refused, NeedsProof) or self._dpop == "require"
        if presented is not None and presented.proof is not None:
            is_bound = True
        fields = {}
        if not refused.is_missing:
            fields = {"error": refused.code, "error_description": str(refused)}
        if needed:
            fields["scope"] = " ".join(needed)
        if self._metadata:
            fields["resource_metadata"] = self._metadata
        if is_bound:
            fields["algs"] = ALGORITHM_NAMES
        challenge = ", ".join(f'{name}="{quotable(value)}"' for name, value in fields.items())
        status: TokenErrorStatus = 401
        if refused.code == "insufficient_scope":
            status = 403
        elif refused.code == "temporarily_unavailable":
            status = 503
        header = f"{'DPoP' if is_bound else 'Bearer'} {challenge}".strip()
        return TokenError(str(refused), status=status, code=refused.code, www_authenticate=header)


def _organizations(
    organization_id: str | Iterable[str] | None, accept_any: bool
) -> tuple[str, ...] | None:
    """None accepts all of them."""
    if accept_any is True:
        return None
    given = (organization_id,) if isinstance(organization_id, str) else organization_id
    accepted = tuple(given) if isinstance(given, Iterable) else ()
    if not accepted or not all(is_id(each) for each in accepted):
        raise ValueError("organization_id must be a UUID; or set accept_any_organization")
    return accepted


def _read_addresses(public_url: str | Iterable[str] | None, audience: str) -> tuple[str, ...]:
    """Where clients reach the service. Without any, no proof can be checked."""
    if public_url is not None:
        given = (public_url,) if isinstance(public_url, str) else tuple(public_url)
        if not given:
            raise ValueError("public_url must be an address, or several")
        urls = [checked_url(each, "public_url") for each in given]
        return tuple(f"{_origin(url)}{path_of(url.raw_path).rstrip('/')}" for url in urls)
    try:
        return (_origin(checked_url(audience, "audience")),)
    except ValueError:
        return ()


def _origin(url: httpx.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def read_scopes(scopes: str | Iterable[str]) -> list[str]:
    return scopes.split() if isinstance(scopes, str) else list(scopes)


def check_max_depth(max_depth: int | None) -> None:
    if max_depth is not None and not 0 <= max_depth <= MAX_ACTORS:
        raise ValueError(f"max_depth must be from 0 to {MAX_ACTORS}")

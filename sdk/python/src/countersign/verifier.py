"""Verifies access tokens that others present to you."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import httpx
import jwt

from countersign.addresses import checked_issuer, may_use_proxy
from countersign.async_client import AsyncClient
from countersign.client import Client
from countersign.errors import TokenError, TokenErrorStatus
from countersign.introspection_cache import IntrospectionCache
from countersign.key_set import AsyncKeySet, KeyCache, KeySet
from countersign.verified_token import (
    MAX_ACTORS,
    MAX_TOKEN_LENGTH,
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
# A caller is waiting.
INTROSPECTION_WAIT = 2.0
Revocation: TypeAlias = Literal["none", "introspect"]
Subjects: TypeAlias = Literal["agents", "people", "any"]
Credentials: TypeAlias = str | Mapping[str, Any]


class TokenRules:
    """What a token must be. It does no I/O."""

    def __init__(
        self,
        issuer: str,
        audience: str,
        organization_id: str | Iterable[str] | None,
        accept_any_organization: bool,
        subjects: Subjects,
        clock_tolerance: float,
        resource_metadata: str | None,
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
        self._now = now

    def find_token(self, credentials: Credentials) -> str:
        """The token itself, or that of the header Authorization."""
        if isinstance(credentials, str):
            return credentials
        values = [value for name, value in credentials.items() if name.lower() == "authorization"]
        if not values:
            raise Refused("no access token was presented", is_missing=True)
        value = values[0]
        if len(values) > 1 or not isinstance(value, str):
            raise Refused("there is more than one header Authorization", "invalid_request")
        kind, _, token = value.strip().partition(" ")
        if kind.lower() != "bearer" or not token.strip():
            raise Refused("no access token was presented", is_missing=True)
        return token.strip()

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
            raise _unanswered()
        if not answer["active"]:
            raise Refused("the token was revoked, or it has ended")
        scope, token_id = answer.get("scope"), answer.get("jti")
        if not isinstance(scope, str) or token_id != verified.claims.get("jti"):
            raise _unanswered()
        current = scope.split()
        scopes = tuple(scope for scope in verified.scopes if scope in current)
        return replace(verified, scopes=scopes)

    def error(self, refused: Refused, needed: list[str]) -> TokenError:
        """The challenge names the scopes that the call needs, so that a client can ask for them."""
        fields = {}
        if not refused.is_missing:
            fields = {"error": refused.code, "error_description": str(refused)}
        if needed:
            fields["scope"] = " ".join(needed)
        if self._metadata:
            fields["resource_metadata"] = self._metadata
        challenge = ", ".join(f'{name}="{quotable(value)}"' for name, value in fields.items())
        status: TokenErrorStatus = 401
        if refused.code == "insufficient_scope":
            status = 403
        elif refused.code == "temporarily_unavailable":
            status = 503
        header = f"Bearer {challenge}".strip()
        return TokenError(str(refused), status=status, code=refused.code, www_authenticate=header)


def _unanswered() -> Refused:
    return Refused("it is not known if the token was revoked", "temporarily_unavailable")


class Verifier:
    """Verifies tokens, for threads.

    `issuer` is the address of Countersign. `audience` is the identifier of your resource. Tokens of
    `organization_id`, which may be several, are accepted. With `accept_any_organization`, those of
    every organization on the instance are: compare `VerifiedToken.organization_id` yourself.

    `subjects` says on whose behalf the calling agents may act: "agents" (themselves or other
    agents), "people", or "any". There is no default.

    `revocation="none"` works offline: a token counts until it expires. `revocation="introspect"`
    asks the server about each token that is otherwise valid, with the client `introspect_with`,
    whose agent needs the scope `tokens:read`. A token keeps only the scopes that it still has.
    Without an answer it is refused. An answer counts for `introspection_cache_seconds`: the server
    limits how many questions a client may ask.
    """

    def __init__(
        self,
        issuer: str,
        audience: str,
        organization_id: str | Iterable[str] | None = None,
        *,
        accept_any_organization: bool = False,
        subjects: Subjects,
        revocation: Revocation,
        introspect_with: Client | None = None,
        introspection_cache_seconds: float = 0,
        clock_tolerance: float = CLOCK_TOLERANCE_SECONDS,
        resource_metadata: str | None = None,
        timeout: float = 10.0,
        transport: httpx.BaseTransport | None = None,
        now: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rules = TokenRules(
            issuer,
            audience,
            organization_id,
            accept_any_organization,
            subjects,
            clock_tolerance,
            resource_metadata,
            now,
        )
        self.issuer = self._rules.issuer
        self.audience = audience
        _check_revocation(revocation, introspect_with)
        self._client = introspect_with if revocation == "introspect" else None
        self._answers = IntrospectionCache(introspection_cache_seconds, monotonic)
        self._http = httpx.Client(
            timeout=timeout, transport=transport, trust_env=may_use_proxy(self.issuer)
        )
        url = f"{self.issuer}/.well-known/jwks.json"
        self._keys = KeySet(url, self._http, KeyCache(monotonic))

    def verify(
        self,
        token_or_headers: Credentials,
        *,
        scopes: str | Iterable[str] = (),
        max_depth: int | None = None,
    ) -> VerifiedToken:
        """Raises TokenError.

        The token must have all `scopes`. `max_depth` is how often it may be delegated: 0 accepts
        only tokens of agents that act for themselves.
        """
        rules, needed = self._rules, read_scopes(scopes)
        _check_max_depth(max_depth)
        try:
            token = rules.find_token(token_or_headers)
            verified = rules.decode(token, self._keys.key(rules.key_id(token)))
            rules.check_use(verified, needed, max_depth)
            if self._client:
                answer = self._introspect(self._client, token)
                verified = rules.apply_introspection(verified, answer)
                rules.check_use(verified, needed, max_depth)
            return verified
        except Refused as error:
            raise rules.error(error, needed) from error

    def close(self) -> None:
        self._http.close()

    def _introspect(self, client: Client, token: str) -> Any:
        cached = self._answers.get(token)
        if cached is not None:
            return cached
        try:
            answer = client.request(
                "POST", "/token/introspect", data={"token": token}, max_wait=INTROSPECTION_WAIT
            )
        except Exception as error:  # without an answer no token is accepted
            raise _unanswered() from error
        self._answers.put(token, answer)
        return answer


class AsyncVerifier:
    """Verifies tokens, for asyncio. See `Verifier`."""

    def __init__(
        self,
        issuer: str,
        audience: str,
        organization_id: str | Iterable[str] | None = None,
        *,
        accept_any_organization: bool = False,
        subjects: Subjects,
        revocation: Revocation,
        introspect_with: AsyncClient | None = None,
        introspection_cache_seconds: float = 0,
        clock_tolerance: float = CLOCK_TOLERANCE_SECONDS,
        resource_metadata: str | None = None,
        timeout: float = 10.0,
        transport: httpx.AsyncBaseTransport | None = None,
        now: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rules = TokenRules(
            issuer,
            audience,
            organization_id,
            accept_any_organization,
            subjects,
            clock_tolerance,
            resource_metadata,
            now,
        )
        self.issuer = self._rules.issuer
        self.audience = audience
        _check_revocation(revocation, introspect_with)
        self._client = introspect_with if revocation == "introspect" else None
        self._answers = IntrospectionCache(introspection_cache_seconds, monotonic)
        self._http = httpx.AsyncClient(
            timeout=timeout, transport=transport, trust_env=may_use_proxy(self.issuer)
        )
        url = f"{self.issuer}/.well-known/jwks.json"
        self._keys = AsyncKeySet(url, self._http, KeyCache(monotonic))

    async def verify(
        self,
        token_or_headers: Credentials,
        *,
        scopes: str | Iterable[str] = (),
        max_depth: int | None = None,
    ) -> VerifiedToken:
        """Raises TokenError. See `Verifier.verify`."""
        rules, needed = self._rules, read_scopes(scopes)
        _check_max_depth(max_depth)
        try:
            token = rules.find_token(token_or_headers)
            verified = rules.decode(token, await self._keys.key(rules.key_id(token)))
            rules.check_use(verified, needed, max_depth)
            if self._client:
                answer = await self._introspect(self._client, token)
                verified = rules.apply_introspection(verified, answer)
                rules.check_use(verified, needed, max_depth)
            return verified
        except Refused as error:
            raise rules.error(error, needed) from error

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _introspect(self, client: AsyncClient, token: str) -> Any:
        cached = self._answers.get(token)
        if cached is not None:
            return cached
        try:
            answer = await client.request(
                "POST", "/token/introspect", data={"token": token}, max_wait=INTROSPECTION_WAIT
            )
        except Exception as error:  # without an answer no token is accepted
            raise _unanswered() from error
        self._answers.put(token, answer)
        return answer


def _check_revocation(revocation: Revocation, client: object) -> None:
    if revocation not in ("none", "introspect"):
        raise ValueError('revocation must be "none" or "introspect"')
    if revocation == "introspect" and client is None:
        raise ValueError(
            'revocation="introspect" needs introspect_with: a client with the scope tokens:read'
        )


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


def read_scopes(scopes: str | Iterable[str]) -> list[str]:
    return scopes.split() if isinstance(scopes, str) else list(scopes)


def _check_max_depth(max_depth: int | None) -> None:
    if max_depth is not None and not 0 <= max_depth <= MAX_ACTORS:
        raise ValueError(f"max_depth must be from 0 to {MAX_ACTORS}")

"""Verifies access tokens that others present to you."""

import inspect
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Literal, TypeAlias

import httpx

from countersign.addresses import may_use_proxy
from countersign.async_client import AsyncClient
from countersign.client import Client
from countersign.dpop_checks import CheckedProof
from countersign.introspection import (
    INTROSPECTION_CACHE_SECONDS,
    AsyncIntrospector,
    IntrospectionCache,
    Introspector,
    unanswered,
)
from countersign.key_set import AsyncKeySet, KeyCache, KeySet
from countersign.replay_store import MemoryReplayStore, ReplayStore
from countersign.signal_receiver import AsyncSignalReceiver, SignalReceiver
from countersign.signal_state import Signals, SignalState, SignalStatus
from countersign.token_rules import (
    CLOCK_TOLERANCE_SECONDS,
    Credentials,
    DpopUse,
    Presented,
    Subjects,
    TokenRules,
    check_max_depth,
    read_scopes,
)
from countersign.verified_token import NeedsProof, Refused, VerifiedToken

Revocation: TypeAlias = Literal["none", "introspect", "signals"]
Body: TypeAlias = bytes | Callable[[], bytes]
AsyncBody: TypeAlias = bytes | Callable[[], bytes | Awaitable[bytes]]
# How long `start` waits for the first events.
START_SECONDS = 10.0


class Verifier:
    """Verifies tokens, for threads.

    `issuer` is the address of Countersign. `audience` is the identifier of your API. Tokens of
    `organization_id`, which may be several, are accepted. With `accept_any_organization`, those of
    every organization on the instance are: compare `VerifiedToken.organization_id` yourself.

    `subjects` says on whose behalf the calling agents may act: "agents" (themselves or other
    agents), "people", or "any". There is no default.

    `revocation="none"` works offline: a token counts until it expires. `revocation="introspect"`
    asks the server about each token that is otherwise valid, with the client `introspect_with`,
    whose agent needs the scope `tokens:read`. A token keeps only the scopes that it still has.
    Without an answer it is refused. An answer counts for `introspection_cache_seconds` (1 by
    default; with 0 every call asks) from its question, and calls at the same time share it: the
    server limits how many questions a client may ask. `revocation="signals"` with `signals`
    receives security events in a thread, and refuses tokens that have ended without a question.
    `start` begins with it; otherwise the first token does. Call `close` at the end.

    Tokens that are bound to a key (DPoP) are accepted if `verify` gets the request. With
    `dpop="require"` they alone are, and with "refuse" none. `public_url` is where clients reach the
    service, or several such addresses: by default the origin of the audience. Behind a proxy that
    removes a part of the path, add that part. `replay_store` remembers used proofs, by default in
    this process alone. With `require_content_digest`, proofs need a digest of the body.
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
        introspection_cache_seconds: float = INTROSPECTION_CACHE_SECONDS,
        signals: Signals[Client] | None = None,
        clock_tolerance: float = CLOCK_TOLERANCE_SECONDS,
        resource_metadata: str | None = None,
        dpop: DpopUse = "accept",
        public_url: str | Iterable[str] | None = None,
        require_content_digest: bool = False,
        replay_store: ReplayStore | None = None,
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
            dpop,
            public_url,
            require_content_digest,
            now,
        )
        self.issuer = self._rules.issuer
        self.audience = audience
        _check_revocation(revocation, introspect_with, signals, self.issuer)
        self._proofs = MemoryReplayStore(now=now) if replay_store is None else replay_store
        self._http = httpx.Client(
            timeout=timeout, transport=transport, trust_env=may_use_proxy(self.issuer)
        )
        url = f"{self.issuer}/.well-known/jwks.json"
        self._keys = KeySet(url, self._http, KeyCache(monotonic))
        self._introspector: Introspector | None = None
        self._signals: SignalReceiver | None = None
        self._when_silent = "introspect"
        client = introspect_with
        if revocation == "signals" and signals is not None:
            options, client = signals, signals.client
            self._when_silent = options.when_silent
            self._signals = SignalReceiver(
                client,
                f"verifier of {audience}",
                self._keys,
                lambda: SignalState(self.issuer, audience, options, now, monotonic),
            )
        if revocation != "none" and client is not None:
            cache = IntrospectionCache(introspection_cache_seconds, monotonic)
            self._introspector = Introspector(client, cache)

    def __enter__(self) -> "Verifier":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self, timeout: float = START_SECONDS) -> SignalStatus | None:
        """Begins to receive signals, and waits until all that the server has are here.

        After `timeout` seconds it goes on in the background. None without signals.
        """
        return None if self._signals is None else self._signals.start(timeout)

    def status(self) -> SignalStatus | None:
        """How well the verifier knows what has ended. None without signals."""
        return None if self._signals is None else self._signals.state.observe()

    def verify(
        self,
        token_or_headers: Credentials,
        *,
        scopes: str | Iterable[str] = (),
        max_depth: int | None = None,
        method: str | None = None,
        url: str | None = None,
        body: Body | None = None,
    ) -> VerifiedToken:
        """Raises TokenError.

        The token must have all `scopes`. `max_depth` is how often it may be delegated: 0 accepts
        only tokens of agents that act for themselves.

        `method` and `url` of the request are needed for tokens that are bound to a key; `url` may
        be the path alone. `body` are the bytes that came, or a function that reads them: it is
        called once the token and its proof are good, and only for a proof with a digest of the
        body.
        """
        rules, needed = self._rules, read_scopes(scopes)
        check_max_depth(max_depth)
        request = rules.read_request(method, url, body)
        presented: Presented | None = None
        try:
            presented = rules.find_token(token_or_headers, request)
            token = presented.token
            verified = rules.decode(token, self._keys.key(rules.key_id(token)))
            proof = rules.check_possession(presented, verified, request)
            if proof is not None:
                self._check_proof(proof, body)
            rules.check_use(verified, needed, max_depth)
            verified = self._check_status(token, verified)
            rules.check_use(verified, needed, max_depth)
            return verified
        except Refused as error:
            raise rules.error(error, needed, presented) from error

    def close(self) -> None:
        """Closes the connections, and deletes the stream of signals."""
        if self._signals is not None:
            self._signals.close()
        self._http.close()

    def _check_status(self, token: str, verified: VerifiedToken) -> VerifiedToken:
        """The token with the scopes that it still has."""
        if self._signals is not None:
            self._signals.ensure_started()
            if _is_decided(self._signals.state, self._when_silent, verified):
                return verified
        if self._introspector is None:
            return verified
        return self._rules.apply_introspection(verified, self._introspector.ask(token))

    def _check_proof(self, proof: CheckedProof, body: Body | None) -> None:
        try:
            is_new = self._proofs.add(proof.proof_id, proof.expires_at)
            if not isinstance(is_new, bool):
                raise TypeError("add must return True or False; awaitables are for AsyncVerifier")
        except Exception as error:  # it may have been used
            raise Refused("the proof cannot be checked", "temporarily_unavailable") from error
        if not is_new:
            raise NeedsProof("the proof was used already")
        if body is None or not self._rules.needs_body(proof):
            return
        self._rules.check_body(proof, body() if callable(body) else body)


class AsyncVerifier:
    """Verifies tokens, for asyncio. See `Verifier`; signals are received in a task."""

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
        introspection_cache_seconds: float = INTROSPECTION_CACHE_SECONDS,
        signals: Signals[AsyncClient] | None = None,
        clock_tolerance: float = CLOCK_TOLERANCE_SECONDS,
        resource_metadata: str | None = None,
        dpop: DpopUse = "accept",
        public_url: str | Iterable[str] | None = None,
        require_content_digest: bool = False,
        replay_store: ReplayStore | None = None,
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
            dpop,
            public_url,
            require_content_digest,
            now,
        )
        self.issuer = self._rules.issuer
        self.audience = audience
        _check_revocation(revocation, introspect_with, signals, self.issuer)
        self._proofs = MemoryReplayStore(now=now) if replay_store is None else replay_store
        self._http = httpx.AsyncClient(
            timeout=timeout, transport=transport, trust_env=may_use_proxy(self.issuer)
        )
        url = f"{self.issuer}/.well-known/jwks.json"
        self._keys = AsyncKeySet(url, self._http, KeyCache(monotonic))
        self._introspector: AsyncIntrospector | None = None
        self._signals: AsyncSignalReceiver | None = None
        self._when_silent = "introspect"
        client = introspect_with
        if revocation == "signals" and signals is not None:
            options, client = signals, signals.client
            self._when_silent = options.when_silent
            self._signals = AsyncSignalReceiver(
                client,
                f"verifier of {audience}",
                self._keys,
                lambda: SignalState(self.issuer, audience, options, now, monotonic),
            )
        if revocation != "none" and client is not None:
            cache = IntrospectionCache(introspection_cache_seconds, monotonic)
            self._introspector = AsyncIntrospector(client, cache)

    async def __aenter__(self) -> "AsyncVerifier":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def start(self, timeout: float = START_SECONDS) -> SignalStatus | None:
        """Begins to receive signals, and waits until all that the server has are here.

        After `timeout` seconds it goes on in the background. None without signals.
        """
        return None if self._signals is None else await self._signals.start(timeout)

    def status(self) -> SignalStatus | None:
        """How well the verifier knows what has ended. None without signals."""
        return None if self._signals is None else self._signals.state.observe()

    async def verify(
        self,
        token_or_headers: Credentials,
        *,
        scopes: str | Iterable[str] = (),
        max_depth: int | None = None,
        method: str | None = None,
        url: str | None = None,
        body: AsyncBody | None = None,
    ) -> VerifiedToken:
        """Raises TokenError. See `Verifier.verify`."""
        rules, needed = self._rules, read_scopes(scopes)
        check_max_depth(max_depth)
        request = rules.read_request(method, url, body)
        presented: Presented | None = None
        try:
            presented = rules.find_token(token_or_headers, request)
            token = presented.token
            verified = rules.decode(token, await self._keys.key(rules.key_id(token)))
            proof = rules.check_possession(presented, verified, request)
            if proof is not None:
                await self._check_proof(proof, body)
            rules.check_use(verified, needed, max_depth)
            verified = await self._check_status(token, verified)
            rules.check_use(verified, needed, max_depth)
            return verified
        except Refused as error:
            raise rules.error(error, needed, presented) from error

    async def aclose(self) -> None:
        """Closes the connections, and deletes the stream of signals."""
        if self._signals is not None:
            await self._signals.aclose()
        await self._http.aclose()

    async def _check_status(self, token: str, verified: VerifiedToken) -> VerifiedToken:
        """The token with the scopes that it still has."""
        if self._signals is not None:
            self._signals.ensure_started()
            if _is_decided(self._signals.state, self._when_silent, verified):
                return verified
        if self._introspector is None:
            return verified
        return self._rules.apply_introspection(verified, await self._introspector.ask(token))

    async def _check_proof(self, proof: CheckedProof, body: AsyncBody | None) -> None:
        try:
            is_new = self._proofs.add(proof.proof_id, proof.expires_at)
            if inspect.isawaitable(is_new):
                is_new = await is_new
            if not isinstance(is_new, bool):
                raise TypeError("add must return True or False")
        except Exception as error:  # it may have been used
            raise Refused("the proof cannot be checked", "temporarily_unavailable") from error
        if not is_new:
            raise NeedsProof("the proof was used already")
        if body is None or not self._rules.needs_body(proof):
            return
        content = body() if callable(body) else body
        if inspect.isawaitable(content):
            content = await content
        self._rules.check_body(proof, content)


def _is_decided(state: SignalState, when_silent: str, verified: VerifiedToken) -> bool:
    """False: the server must be asked."""
    problem = state.find_ending(verified)
    if problem is not None:
        raise Refused(problem)
    if state.covers(verified) or when_silent == "accept":
        return True
    if when_silent == "refuse":
        raise unanswered()
    return False


def _check_revocation(
    revocation: Revocation, client: object, signals: Signals[Any] | None, issuer: str
) -> None:
    if revocation not in ("none", "introspect", "signals"):
        raise ValueError('revocation must be "none", "introspect" or "signals"')
    if revocation == "introspect" and client is None:
        raise ValueError(
            'revocation="introspect" needs introspect_with: a client with the scope tokens:read'
        )
    if revocation != "signals":
        return
    if signals is None:
        raise ValueError('revocation="signals" needs signals, with a client and when_silent')
    # The stream of another server would look complete without any end of these tokens.
    if signals.client.issuer != issuer:
        raise ValueError(f"the client of signals is for {signals.client.issuer}, not {issuer}")

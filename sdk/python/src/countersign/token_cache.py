"""Caches access tokens by API, scope and delegation. Each is fetched once at a time."""

import asyncio
import random
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from countersign.errors import ApiError, NetworkError

# A token is renewed after this part of its lifetime, less up to the jitter.
RENEWAL = 0.8
JITTER = 0.05
# A renewal that failed is not repeated for this time, while the token is still valid.
RENEWAL_COOL_DOWN_SECONDS = 10.0
MAX_ENTRIES = 1_000


@dataclass(frozen=True)
class TokenKey:
    """Which token is meant. `delegation` is a delegation token; empty for the agent's own token.

    `approval` is the id of an approval whose tokens are meant.
    """

    resource: str = ""
    scope: str = ""
    delegation: str = field(default="", repr=False)
    approval: str = ""


def token_key(
    resource: str | None, scope: str | Iterable[str] | None, delegation: str = ""
) -> TokenKey:
    return TokenKey(resource or "", read_scope(scope), delegation)


def read_scope(scope: str | Iterable[str] | None) -> str:
    scopes = scope.split() if isinstance(scope, str) else list(scope or ())
    return " ".join(sorted(set(scopes)))


@dataclass(frozen=True)
class IssuedToken:
    access_token: str = field(repr=False)
    lifetime_seconds: float
    # By the cache's clock, before the request was sent.
    asked_at: float
    scopes: tuple[str, ...] = ()
    # Of a person's token.
    refresh_token: str = field(default="", repr=False)
    authorization_details: tuple[dict[str, Any], ...] = ()


@dataclass
class CachedToken:
    access_token: str
    renew_at: float
    expires_at: float


class TokenStore:
    """The tokens. Not safe for threads by itself."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.now = monotonic
        self._entries: OrderedDict[TokenKey, CachedToken] = OrderedDict()

    def get(self, key: TokenKey) -> CachedToken | None:
        """A token that has not expired."""
        cached = self._entries.get(key)
        if cached is None or self.now() >= cached.expires_at:
            return None
        self._entries.move_to_end(key)
        return cached

    def is_due(self, cached: CachedToken) -> bool:
        return self.now() >= cached.renew_at

    def put(self, key: TokenKey, issued: IssuedToken) -> str:
        part = RENEWAL - JITTER * random.random()  # noqa: S311 (no secret)
        self._entries[key] = CachedToken(
            issued.access_token,
            issued.asked_at + issued.lifetime_seconds * part,
            issued.asked_at + issued.lifetime_seconds,
        )
        self._entries.move_to_end(key)
        while len(self._entries) > MAX_ENTRIES:
            self._entries.popitem(last=False)
        return issued.access_token

    def discard(self, access_token: str) -> None:
        for key, cached in list(self._entries.items()):
            if cached.access_token == access_token:
                del self._entries[key]

    def after_failure(self, key: TokenKey, error: Exception) -> str | None:
        """The present token, if it is still valid and the failure says nothing about it."""
        cached = self.get(key)
        is_temporary = isinstance(error, NetworkError) or (
            isinstance(error, ApiError) and error.status in (429, 503)
        )
        if cached is None or not is_temporary:
            return None
        cached.renew_at = self.now() + RENEWAL_COOL_DOWN_SECONDS
        return cached.access_token


class TokenCache:
    """For threads: those that need the same token at the same time share one request."""

    def __init__(self, store: TokenStore) -> None:
        self._store = store
        self.renew()

    def renew(self) -> None:
        """Also in a process that was forked: the threads of its parent never finish there."""
        self._lock = threading.Lock()
        self._flights: dict[TokenKey, Future[str]] = {}

    def get(self, key: TokenKey, fetch: Callable[[bool], IssuedToken]) -> str:
        while True:
            with self._lock:
                cached = self._store.get(key)
                if cached and not self._store.is_due(cached):
                    return cached.access_token
                flight = self._flights.get(key)
                if flight and cached:
                    return cached.access_token
                if flight is None:
                    mine = self._flights[key] = Future()
            if flight is None:
                return self._fetch(key, partial(fetch, cached is not None), mine)
            try:
                return flight.result()
            except CancelledError:
                continue

    def discard(self, access_token: str) -> None:
        with self._lock:
            self._store.discard(access_token)

    def _fetch(self, key: TokenKey, fetch: Callable[[], IssuedToken], flight: "Future[str]") -> str:
        try:
            issued = fetch()
        except Exception as error:
            with self._lock:
                del self._flights[key]
                token = self._store.after_failure(key, error)
            if token is None:
                flight.set_exception(error)
                raise
        except BaseException:
            # This thread is interrupted. The others try again.
            with self._lock:
                del self._flights[key]
            flight.cancel()
            raise
        else:
            with self._lock:
                del self._flights[key]
                token = self._store.put(key, issued)
        flight.set_result(token)
        return token


class AsyncTokenCache:
    """For the tasks of one event loop."""

    def __init__(self, store: TokenStore) -> None:
        self._store = store
        self._flights: dict[TokenKey, asyncio.Task[str]] = {}

    async def get(self, key: TokenKey, fetch: Callable[[bool], Awaitable[IssuedToken]]) -> str:
        cached = self._store.get(key)
        if cached and not self._store.is_due(cached):
            return cached.access_token
        flight = self._flights.get(key)
        if flight and not flight.done() and cached:
            return cached.access_token
        if flight is None or flight.done():
            flight = asyncio.ensure_future(self._fetch(key, fetch(cached is not None)))
            flight.add_done_callback(partial(self._land, key))
            self._flights[key] = flight
        # A task that is cancelled does not take the request from the others.
        return await asyncio.shield(flight)

    def discard(self, access_token: str) -> None:
        self._store.discard(access_token)

    async def _fetch(self, key: TokenKey, issued: Awaitable[IssuedToken]) -> str:
        try:
            return self._store.put(key, await issued)
        except Exception as error:
            token = self._store.after_failure(key, error)
            if token is None:
                raise
            return token

    def _land(self, key: TokenKey, flight: "asyncio.Task[str]") -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
        # Otherwise asyncio warns of an error that no task has seen.
        if not flight.cancelled():
            flight.exception()

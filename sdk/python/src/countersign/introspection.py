"""Asks the server about tokens: once for callers that ask at the same time, and at most once in a
short time.
"""

import asyncio
import hashlib
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import Any

from countersign.async_client import AsyncClient
from countersign.client import Client
from countersign.verified_token import Refused

MAX_ENTRIES = 10_000
INTROSPECTION_CACHE_SECONDS = 1.0
# A caller is waiting.
MAX_WAIT_SECONDS = 2.0


class IntrospectionCache:
    """Answers. It has hashes of the tokens, not the tokens. Not safe for threads by itself.

    The age of an answer counts from its question: the server may have looked that early.
    """

    def __init__(self, seconds: float, monotonic: Callable[[], float]) -> None:
        if not 0 <= seconds <= 300:
            raise ValueError("introspection_cache_seconds must be from 0 to 300")
        self._seconds = seconds
        self.now = monotonic
        self._entries: dict[bytes, tuple[float, Any]] = {}

    def counts(self, asked_at: float) -> bool:
        """Whether the answer to a question of that time counts."""
        return self.now() - asked_at < self._seconds

    def get(self, key: bytes) -> Any:
        """None unless there is an answer that still counts."""
        asked_at, answer = self._entries.get(key, (0.0, None))
        return answer if self.counts(asked_at) else None

    def put(self, key: bytes, asked_at: float, answer: Any) -> None:
        if self._seconds == 0:
            return
        self._entries.pop(key, None)
        while len(self._entries) >= MAX_ENTRIES:
            del self._entries[next(iter(self._entries))]
        self._entries[key] = (asked_at, answer)


class Introspector:
    """For threads."""

    def __init__(self, client: Client, cache: IntrospectionCache) -> None:
        self._client = client
        self._cache = cache
        self._lock = threading.Lock()
        self._flights: dict[bytes, tuple[float, Future[Any]]] = {}

    def ask(self, token: str) -> Any:
        """Raises Refused if there is no answer."""
        key = _key(token)
        while True:
            with self._lock:
                cached = self._cache.get(key)
                if cached is not None:
                    return cached
                flight = self._flights.get(key)
                if flight is None or not self._cache.counts(flight[0]):
                    flight = None
                    mine = self._flights[key] = (self._cache.now(), Future[Any]())
            if flight is None:
                return self._ask(key, token, mine)
            try:
                return flight[1].result()
            except CancelledError:
                continue

    def _ask(self, key: bytes, token: str, mine: "tuple[float, Future[Any]]") -> Any:
        asked_at, flight = mine
        try:
            answer = self._client.request("POST", "/token/introspect", **_question(token))
        except Exception as error:  # without an answer no token is accepted
            self._land(key, mine)
            refused = unanswered()
            flight.set_exception(refused)
            raise refused from error
        except BaseException:
            # This thread is interrupted. The others ask again.
            self._land(key, mine)
            flight.cancel()
            raise
        with self._lock:
            self._cache.put(key, asked_at, answer)
        self._land(key, mine)
        flight.set_result(answer)
        return answer

    def _land(self, key: bytes, mine: "tuple[float, Future[Any]]") -> None:
        with self._lock:
            if self._flights.get(key) is mine:
                del self._flights[key]


class AsyncIntrospector:
    """For the tasks of one event loop."""

    def __init__(self, client: AsyncClient, cache: IntrospectionCache) -> None:
        self._client = client
        self._cache = cache
        self._flights: dict[bytes, tuple[float, asyncio.Task[Any]]] = {}

    async def ask(self, token: str) -> Any:
        """Raises Refused if there is no answer."""
        key = _key(token)
        cached = self._cache.get(key)
        if cached is not None:
            return cached
        flight = self._flights.get(key)
        if flight is None or flight[1].done() or not self._cache.counts(flight[0]):
            asked_at = self._cache.now()
            task = asyncio.ensure_future(self._ask(key, token, asked_at))
            task.add_done_callback(partial(self._land, key))
            flight = self._flights[key] = (asked_at, task)
        # A task that is cancelled does not take the answer from the others.
        return await asyncio.shield(flight[1])

    async def _ask(self, key: bytes, token: str, asked_at: float) -> Any:
        try:
            answer = await self._client.request("POST", "/token/introspect", **_question(token))
        except Exception as error:  # without an answer no token is accepted
            raise unanswered() from error
        self._cache.put(key, asked_at, answer)
        return answer

    def _land(self, key: bytes, task: "asyncio.Task[Any]") -> None:
        flight = self._flights.get(key)
        if flight is not None and flight[1] is task:
            del self._flights[key]
        # Otherwise asyncio warns of an error that no task has seen.
        if not task.cancelled():
            task.exception()


def unanswered() -> Refused:
    return Refused("it is not known if the token was revoked", "temporarily_unavailable")


def _question(token: str) -> dict[str, Any]:
    return {"data": {"token": token}, "max_wait": MAX_WAIT_SECONDS}


def _key(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()

"""The public keys of the instance, cached."""

import asyncio
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import jwt

from countersign.answer import (
    HEADERS,
    MAX_SMALL_ANSWER_BYTES,
    Answer,
    async_exchange,
    exchange,
    invalid_answer,
    read_json,
)
from countersign.verified_token import ALGORITHMS, Refused

# Between two requests for the keys: a made-up key id must not cause a request each time.
COOL_DOWN_SECONDS = 30
# A key that is no longer published is refused after this time at the latest.
REFRESH_SECONDS = 600
# While the issuer cannot be reached, its last keys are valid.
MAX_AGE_SECONDS = 86_400
MAX_KEYS = 100


class KeyCache:
    """What is known of the keys, and when to ask for them."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._now = monotonic
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at: float | None = None
        self._attempted_at: float | None = None
        self._has_failed = False

    def get(self, kid: str) -> jwt.PyJWK | None:
        return self._keys.get(kid) if self._is_younger_than(MAX_AGE_SECONDS) else None

    def is_due(self) -> bool:
        return not self._is_younger_than(REFRESH_SECONDS)

    def start_fetch(self) -> bool:
        """True once in the cool-down. The caller fetches then, and says how it ended."""
        now = self._now()
        if self._attempted_at is not None and now - self._attempted_at < COOL_DOWN_SECONDS:
            return False
        self._attempted_at = now
        return True

    def put(self, answer: Answer) -> None:
        self._keys = read_key_set(read_json(answer))
        self._fetched_at = self._now()
        self._has_failed = False

    def fail(self) -> None:
        self._has_failed = True

    def cancel_fetch(self) -> None:
        """The caller was interrupted. The next one may fetch at once."""
        self._attempted_at = None

    def require(self, kid: str) -> jwt.PyJWK:
        key = self.get(kid)
        if key:
            return key
        if self._has_failed or not self._is_younger_than(MAX_AGE_SECONDS):
            raise Refused(
                "the keys could not be fetched; the token cannot be checked",
                "temporarily_unavailable",
            )
        raise Refused("the token is signed with an unknown key")

    def _is_younger_than(self, seconds: float) -> bool:
        return self._fetched_at is not None and self._now() - self._fetched_at < seconds


class KeySet:
    """For threads: one fetches. The others wait only if they need a key that is not known."""

    def __init__(self, url: str, http: httpx.Client, cache: KeyCache) -> None:
        self._url = url
        self._http = http
        self._cache = cache
        self._lock = threading.Lock()

    def renew(self) -> None:
        """In a process that was forked: the threads of its parent never finish there."""
        self._lock = threading.Lock()
        self._cache.cancel_fetch()

    def key(self, kid: str) -> jwt.PyJWK:
        known = self._cache.get(kid)
        if known and not self._cache.is_due():
            return known
        if not self._lock.acquire(blocking=known is None):
            return known or self.key(kid)
        try:
            is_needed = self._cache.get(kid) is None or self._cache.is_due()
            if is_needed and self._cache.start_fetch():
                self._fetch()
            return self._cache.require(kid)
        finally:
            self._lock.release()

    def _fetch(self) -> None:
        request = self._http.build_request("GET", self._url, headers=HEADERS)
        try:
            self._cache.put(exchange(self._http, request, MAX_SMALL_ANSWER_BYTES))
        except Exception:  # `require` decides what it means
            self._cache.fail()
        except BaseException:
            self._cache.cancel_fetch()
            raise


class AsyncKeySet:
    """The same for the tasks of an event loop."""

    def __init__(self, url: str, http: httpx.AsyncClient, cache: KeyCache) -> None:
        self._url = url
        self._http = http
        self._cache = cache
        self._lock = asyncio.Lock()

    async def key(self, kid: str) -> jwt.PyJWK:
        known = self._cache.get(kid)
        if known and (not self._cache.is_due() or self._lock.locked()):
            return known
        async with self._lock:
            is_needed = self._cache.get(kid) is None or self._cache.is_due()
            if is_needed and self._cache.start_fetch():
                await self._fetch()
            return self._cache.require(kid)

    async def _fetch(self) -> None:
        request = self._http.build_request("GET", self._url, headers=HEADERS)
        try:
            self._cache.put(await async_exchange(self._http, request, MAX_SMALL_ANSWER_BYTES))
        except Exception:  # `require` decides what it means
            self._cache.fail()
        except BaseException:
            self._cache.cancel_fetch()
            raise


def read_key_set(body: Any) -> dict[str, jwt.PyJWK]:
    """The keys by id. Keys of other kinds, and keys without an id, are left out."""
    entries = body.get("keys") if isinstance(body, dict) else None
    if not isinstance(entries, list) or len(entries) > MAX_KEYS:
        raise invalid_answer("this is not a key set")
    keys: dict[str, jwt.PyJWK] = {}
    for entry in entries:
        key = _read_key(entry)
        if key is not None and isinstance(key.key_id, str):
            keys.setdefault(key.key_id, key)
    return keys


def _read_key(entry: Any) -> jwt.PyJWK | None:
    if not isinstance(entry, dict) or entry.get("use", "sig") != "sig":
        return None
    try:
        key = jwt.PyJWK.from_json(json.dumps(entry))
    except Exception:  # the library raises many kinds of errors for a key that is not one
        return None
    return key if key.algorithm_name in ALGORITHMS and "d" not in entry else None

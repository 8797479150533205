"""Answers of introspection, cached for a few seconds."""

import hashlib
import threading
import time
from collections.abc import Callable
from typing import Any

MAX_ENTRIES = 10_000


class IntrospectionCache:
    """Threads may share it. It has hashes of the tokens, not the tokens."""

    def __init__(self, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        if not 0 <= seconds <= 300:
            raise ValueError("introspection_cache_seconds must be from 0 to 300")
        self._seconds = seconds
        self._now = monotonic
        self._lock = threading.Lock()
        self._entries: dict[bytes, tuple[float, Any]] = {}

    def get(self, token: str) -> Any:
        """None unless there is an answer that still counts."""
        with self._lock:
            until, answer = self._entries.get(_key(token), (0.0, None))
            return answer if self._now() < until else None

    def put(self, token: str, answer: Any) -> None:
        if self._seconds == 0:
            return
        with self._lock:
            while len(self._entries) >= MAX_ENTRIES:
                del self._entries[next(iter(self._entries))]
            self._entries[_key(token)] = (self._now() + self._seconds, answer)


def _key(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()

"""Which proofs were used already."""

import threading
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

MAX_PROOFS = 100_000


class ReplayStore(Protocol):
    """For APIs with several processes, keep the ids in a store that they share."""

    def add(self, proof_id: str, expires_at: float) -> bool | Awaitable[bool]:
        """Remembers a proof until `expires_at` (seconds since 1970). False: it was used already.

        `AsyncVerifier` awaits it if it returns an awaitable.
        """


class MemoryReplayStore:
    """The proofs that this process has seen. Threads may share it.

    Those that have expired leave, and the oldest ones if there are too many. All proofs that are as
    old are refused from then on, also if the clock is set back. So none is accepted twice.
    """

    def __init__(
        self, max_proofs: int = MAX_PROOFS, *, now: Callable[[], float] = time.time
    ) -> None:
        if max_proofs < 1:
            raise ValueError("max_proofs must be at least 1")
        self._max_proofs = max_proofs
        self._now = now
        self._lock = threading.Lock()
        # By the second in which they expire.
        self._proofs: dict[int, set[str]] = {}
        self._count = 0
        self._refused_until = -1
        self._purged_at = 0

    def add(self, proof_id: str, expires_at: float) -> bool:
        second = int(expires_at)
        with self._lock:
            self._purge(int(self._now()))
            if second <= self._refused_until:
                return False
            proofs = self._proofs.setdefault(second, set())
            if proof_id in proofs:
                return False
            proofs.add(proof_id)
            self._count += 1
            while self._count > self._max_proofs:
                oldest = min(self._proofs)
                self._count -= len(self._proofs.pop(oldest))
                self._refused_until = max(self._refused_until, oldest)
            return True

    def _purge(self, now: int) -> None:
        if now == self._purged_at:
            return
        self._purged_at = now
        self._refused_until = max(self._refused_until, now - 1)
        for second in [each for each in self._proofs if each < now]:
            self._count -= len(self._proofs.pop(second))

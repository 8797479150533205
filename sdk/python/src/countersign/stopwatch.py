"""How much time has passed."""

import time
from collections.abc import Callable


class Stopwatch:
    """The seconds since it was made, and `already` more.

    The clock that says more counts: one can be set back, the other one may stand still while the
    computer sleeps.
    """

    def __init__(
        self,
        now: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        already: float = 0.0,
    ) -> None:
        self._now = now
        self._monotonic = monotonic
        self._already = already
        self._started_at = now(), monotonic()

    def elapsed(self) -> float:
        time_then, steady_then = self._started_at
        passed = max(0.0, self._now() - time_then, self._monotonic() - steady_then)
        return self._already + passed

"""The export of one day.

All its links are of the day that the signed statement names, and it begins where the day before
ended.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from countersign.audit_findings import Finding


@dataclass
class Days:
    """Of the checkpoints of an export, which are those of their links."""

    # Of the checkpoint that the chain goes on from.
    start: str | None = None
    # Of the first checkpoint, and of the last one: they never go back.
    first: str | None = None
    last: str | None = None

    def add(self, day: str) -> None:
        if self.first is None:
            self.first = day
        self.last = day

    def check(self, statement: Mapping[str, Any], chains: int) -> None:
        day = statement.get("day")
        if day is None:
            if self.start is not None:
                raise Finding("EXPORT_DAY_MISSING")
            return
        is_that_day = (
            isinstance(day, str)
            and statement.get("organizationId") is not None
            and chains <= 1
            and self.first in (None, day)
            and self.last in (None, day)
            and (self.start is None or self.start < day)
            # Before its end, the day was not complete.
            and statement["at"][:10] > day
        )
        if not is_that_day:
            raise Finding("EXPORT_DAY_MISMATCH", day=day)

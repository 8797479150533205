"""An operation of the API as data. The typed methods are made of these, for threads and asyncio."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from countersign.flows import ApiCall

T = TypeVar("T")
BASE = "/api/v1"


@dataclass(frozen=True)
class OperationCall(ApiCall, Generic[T]):
    """A call whose answer is `T`."""


@dataclass(frozen=True)
class Operation(Generic[T]):
    method: str
    path: str
    needs_token: bool = True
    takes_form: bool = False

    def __call__(
        self,
        *values: str,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        idempotency_key: str | None = None,
    ) -> OperationCall[T]:
        """`values` are those of the path, in its order."""
        path = _fill(self.path, values)
        base = BASE if path.startswith(f"{BASE}/") else ""
        return OperationCall(
            self.method,
            path.removeprefix(base),
            params=query,
            json=None if self.takes_form else body,
            data=_form(body) if self.takes_form else None,
            headers={} if idempotency_key is None else {"Idempotency-Key": idempotency_key},
            needs_token=self.needs_token,
            base=base,
        )


def _fill(template: str, values: tuple[str, ...]) -> str:
    parts = template.split("/")
    given = iter(values)
    return "/".join(_segment(part, next(given)) if part.startswith("{") else part for part in parts)


def _segment(name: str, value: str) -> str:
    """`..` would lead to another operation."""
    if not isinstance(value, str) or value in ("", ".", ".."):
        raise ValueError(f"{name.strip('{}')} must be a text that is not empty")
    return quote(value, safe="")


def _form(body: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (body or {}).items() if value is not None}

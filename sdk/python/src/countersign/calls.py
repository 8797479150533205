"""How the typed methods of the API send their requests."""

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from countersign.operation import OperationCall
from countersign.stream import AsyncStream, Stream

if TYPE_CHECKING:
    from countersign.async_client import AsyncClient
    from countersign.client import Client

T = TypeVar("T")


class Calls:
    def __init__(self, client: "Client") -> None:
        self._client = client

    def _call(self, call: OperationCall[T]) -> T:
        answer: T = self._client._call(call)
        return answer

    def _iterate(self, call: OperationCall[Any]) -> Iterator[Any]:
        return self._client._iterate(call)

    def _stream(self, call: OperationCall[Any]) -> Stream:
        return self._client._stream(call)


class AsyncCalls:
    def __init__(self, client: "AsyncClient") -> None:
        self._client = client

    async def _call(self, call: OperationCall[T]) -> T:
        answer: T = await self._client._call(call)
        return answer

    def _iterate(self, call: OperationCall[Any]) -> AsyncIterator[Any]:
        return self._client._iterate(call)

    def _stream(self, call: OperationCall[Any]) -> AsyncStream:
        return self._client._stream(call)

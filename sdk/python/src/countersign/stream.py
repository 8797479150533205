"""Answers that are no JSON: exports, archives and streams of events."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import aclosing, closing

import httpx

from countersign.answer import (
    MAX_ANSWER_BYTES,
    async_lines_of,
    invalid_answer,
    lines_of,
    network_error,
    text_of,
)


class Stream:
    """The body of an answer. Each of the methods sends the request."""

    def __init__(self, send: Callable[[], httpx.Response]) -> None:
        self._send = send

    def lines(self) -> Iterator[str]:
        """The lines as they come."""
        with closing(self.chunks()) as chunks:
            yield from lines_of(chunks)

    def chunks(self) -> Generator[bytes, None, None]:
        """The bytes as they come: for large files."""
        response = self._send()
        try:
            yield from response.iter_bytes()
        except httpx.TransportError as error:
            raise network_error(error) from error
        finally:
            response.close()

    def read(self) -> bytes:
        """All bytes: 16 MiB at most."""
        whole = Whole()
        with closing(self.chunks()) as chunks:
            for chunk in chunks:
                whole.add(chunk)
        return whole.bytes()

    def text(self) -> str:
        """All bytes as text (UTF-8)."""
        return text_of(self.read(), "the answer")


class AsyncStream:
    """The same for asyncio."""

    def __init__(self, send: Callable[[], Awaitable[httpx.Response]]) -> None:
        self._send = send

    async def lines(self) -> AsyncIterator[str]:
        """The lines as they come."""
        async with aclosing(self.chunks()) as chunks:
            async for line in async_lines_of(chunks):
                yield line

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The bytes as they come: for large files."""
        response = await self._send()
        try:
            async for chunk in response.aiter_bytes():
                yield chunk
        except httpx.TransportError as error:
            raise network_error(error) from error
        finally:
            await response.aclose()

    async def read(self) -> bytes:
        """All bytes: 16 MiB at most."""
        whole = Whole()
        async with aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                whole.add(chunk)
        return whole.bytes()

    async def text(self) -> str:
        """All bytes as text (UTF-8)."""
        return text_of(await self.read(), "the answer")


class Whole:
    """Collects chunks up to a limit."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._size = 0

    def add(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._size += len(chunk)
        if self._size > MAX_ANSWER_BYTES:
            raise invalid_answer(f"the answer has more than {MAX_ANSWER_BYTES} bytes; use chunks")

    def bytes(self) -> bytes:
        return b"".join(self._chunks)

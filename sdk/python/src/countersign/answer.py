"""Answers of the server: read up to a limit, and understood without trust."""

import json
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from countersign.errors import ApiError, NetworkError

MAX_ANSWER_BYTES = 16 * 1024 * 1024
MAX_SMALL_ANSWER_BYTES = 256 * 1024
MAX_LINE_BYTES = 4 * 1024 * 1024
# From the first byte of an answer to its last.
ANSWER_SECONDS = 60.0
# Compressed answers could be larger than they look.
HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity"}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: httpx.Headers
    content: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True)
class OpenAnswer(Answer):
    """A success whose body is still to be read. The reader closes the response."""

    response: httpx.Response


class BoundedBody:
    """Collects the chunks of a body. Raises NetworkError when it is too large or too slow."""

    def __init__(self, response: httpx.Response, limit: int) -> None:
        self._response = response
        self._limit = limit
        self._deadline = time.monotonic() + ANSWER_SECONDS
        self._chunks: list[bytes] = []
        self._size = 0
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise invalid_answer("the answer is compressed")

    def add(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._size += len(chunk)
        if self._size > self._limit:
            raise invalid_answer(f"the answer has more than {self._limit} bytes")
        if time.monotonic() > self._deadline:
            raise invalid_answer(f"the answer takes more than {ANSWER_SECONDS:.0f} s")

    def answer(self) -> Answer:
        response = self._response
        return Answer(response.status_code, response.headers, b"".join(self._chunks))


def read_bounded(response: httpx.Response, limit: int) -> Answer:
    body = BoundedBody(response, limit)
    for chunk in response.iter_bytes():
        body.add(chunk)
    return body.answer()


async def async_read_bounded(response: httpx.Response, limit: int) -> Answer:
    body = BoundedBody(response, limit)
    async for chunk in response.aiter_bytes():
        body.add(chunk)
    return body.answer()


def exchange(http: httpx.Client, request: httpx.Request, limit: int = MAX_ANSWER_BYTES) -> Answer:
    """Sends a request. It follows no redirect: a redirect is an answer like any other."""
    response = http.send(request, stream=True, follow_redirects=False, auth=None)
    try:
        return read_bounded(response, limit)
    finally:
        response.close()


async def async_exchange(
    http: httpx.AsyncClient, request: httpx.Request, limit: int = MAX_ANSWER_BYTES
) -> Answer:
    response = await http.send(request, stream=True, follow_redirects=False, auth=None)
    try:
        return await async_read_bounded(response, limit)
    finally:
        await response.aclose()


def open_answer(http: httpx.Client, request: httpx.Request) -> Answer:
    """Leaves a success open. Of a refusal it reads the body."""
    response = http.send(request, stream=True, follow_redirects=False, auth=None)
    if response.is_success:
        return OpenAnswer(response.status_code, response.headers, b"", response)
    try:
        return read_bounded(response, MAX_SMALL_ANSWER_BYTES)
    finally:
        response.close()


async def async_open_answer(http: httpx.AsyncClient, request: httpx.Request) -> Answer:
    response = await http.send(request, stream=True, follow_redirects=False, auth=None)
    if response.is_success:
        return OpenAnswer(response.status_code, response.headers, b"", response)
    try:
        return await async_read_bounded(response, MAX_SMALL_ANSWER_BYTES)
    finally:
        await response.aclose()


class LineSplitter:
    """Splits a stream of bytes into lines of UTF-8."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> Iterator[str]:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > MAX_LINE_BYTES:
            raise invalid_answer(f"a line has more than {MAX_LINE_BYTES} bytes")
        for line in lines:
            yield text_of(line)

    def end(self) -> Iterator[str]:
        if self._rest:
            yield text_of(self._rest)


def text_of(content: bytes, name: str = "a line") -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise invalid_answer(f"{name} is not UTF-8") from error


def lines_of(chunks: Iterator[bytes]) -> Iterator[str]:
    splitter = LineSplitter()
    for chunk in chunks:
        yield from splitter.feed(chunk)
    yield from splitter.end()


async def async_lines_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    splitter = LineSplitter()
    async for chunk in chunks:
        for line in splitter.feed(chunk):
            yield line
    for line in splitter.end():
        yield line


def read_json(answer: Answer) -> Any:
    """The body of a successful answer. Raises ApiError for a refusal."""
    if not answer.is_success:
        raise refusal(answer)
    if not answer.content:
        return None
    try:
        return json.loads(answer.content)
    except (ValueError, RecursionError) as error:
        raise invalid_answer("the answer is not JSON") from error


def refusal(answer: Answer) -> ApiError:
    try:
        body = json.loads(answer.content)
    except (ValueError, RecursionError):  # not from the API itself: perhaps from a proxy
        body = None
    fields = body if isinstance(body, dict) else {}
    location = answer.headers.get("Location")
    default = "no explanation was given"
    if 300 <= answer.status < 400:
        default = f"the server redirects to {location!r:.200}; use that address"
    return ApiError(
        answer.status,
        _first_text(fields, "code", "error") or "unknown",
        _first_text(fields, "message", "error_description") or default,
        request_id=answer.headers.get("X-Request-Id"),
        details=fields.get("details"),
        retry_after_seconds=retry_after(answer.headers),
    )


def invalid_answer(problem: str) -> NetworkError:
    return NetworkError("invalid_response", f"this is no answer of Countersign: {problem}")


def network_error(error: httpx.TransportError) -> NetworkError:
    if isinstance(error, httpx.TimeoutException):
        return NetworkError("timeout", "the server did not answer in time")
    return NetworkError("unreachable", f"the server cannot be reached: {error}")


def retry_after(headers: httpx.Headers) -> float | None:
    """`Retry-After` in seconds: a number, or a date."""
    value = headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None


def _first_text(fields: dict[str, Any], *names: str) -> str | None:
    texts = (fields.get(name) for name in names)
    return next((text for text in texts if isinstance(text, str) and text), None)

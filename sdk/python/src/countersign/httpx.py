"""Adds access tokens to the requests of your own httpx clients.

A token is sent to the address of the resource and to addresses below it only, over https or to this
machine. A redirect to any other address is followed without it.
"""

import re
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import httpx

from countersign.addresses import checked_url, origin_of, path_of
from countersign.flows import is_refused_token

if TYPE_CHECKING:
    from countersign.async_client import AsyncClient
    from countersign.client import Client


class Target:
    """A resource and the addresses that get its tokens."""

    def __init__(
        self, resource: str, scope: str | Iterable[str] | None, origin: str | None
    ) -> None:
        url = checked_url(origin or resource, "origin" if origin else "resource")
        self._origin = origin_of(url.scheme, url.host, url.port)
        self._folder = path_of(url.raw_path).rstrip("/")
        self.resource = resource
        self.scope = scope if scope is None or isinstance(scope, str) else tuple(scope)

    def permits(self, url: Any) -> bool:
        if origin_of(url.scheme, url.host, url.port) != self._origin:
            return False
        # `..` that is encoded leads out of the folder at some servers.
        if any(part in (".", "..") for part in re.split(r"[/\\]", url.path)):
            return False
        path = path_of(url.raw_path)
        return path == self._folder or path.startswith(f"{self._folder}/")

    def remove_token(self, event: str, info: Mapping[str, Any]) -> None:
        """httpx follows redirects without the flow. Its connections report each request here."""
        if not event.endswith("send_request_headers.started"):
            return
        sent = info["request"]
        scheme, host, port, path = sent.url.scheme, sent.url.host, sent.url.port, sent.url.target
        try:
            url = httpx.URL(scheme=scheme.decode(), host=host.decode(), port=port, raw_path=path)
        except httpx.InvalidURL:  # the whole address, for a proxy that would read the token
            url = None
        if url is None or not self.permits(url):
            sent.headers = [each for each in sent.headers if each[0].lower() != b"authorization"]


class BearerFlow:
    """The flow for any library with the interface of httpx."""

    def __init__(
        self,
        client: "Client",
        resource: str,
        *,
        scope: str | Iterable[str] | None = None,
        origin: str | None = None,
    ) -> None:
        self._client = client
        self._target = Target(resource, scope, origin)

    def sync_auth_flow(self, request: Any) -> Generator[Any, Any, None]:
        if not self._target.permits(request.url):
            yield request
            return
        is_repeatable = _is_repeatable(request)
        request.extensions["trace"] = self._traced(request.extensions.get("trace"))
        token = self._token()
        response = yield _with_token(request, token)
        if is_repeatable and is_refused_token(response.status_code, response.headers):
            self._client.forget(token)
            yield _with_token(request, self._token())

    async def async_auth_flow(self, request: Any) -> AsyncGenerator[Any, Any]:
        raise RuntimeError("this is for httpx.Client; httpx.AsyncClient needs auth of AsyncClient")
        yield request

    def _traced(self, other: Any) -> Any:
        def trace(event: str, info: Mapping[str, Any]) -> None:
            self._target.remove_token(event, info)
            if other is not None:
                other(event, info)

        return trace

    def _token(self) -> str:
        return self._client.token(resource=self._target.resource, scope=self._target.scope)


class AsyncBearerFlow:
    """The same for asyncio."""

    def __init__(
        self,
        client: "AsyncClient",
        resource: str,
        *,
        scope: str | Iterable[str] | None = None,
        origin: str | None = None,
    ) -> None:
        self._client = client
        self._target = Target(resource, scope, origin)

    async def async_auth_flow(self, request: Any) -> AsyncGenerator[Any, Any]:
        if not self._target.permits(request.url):
            yield request
            return
        is_repeatable = _is_repeatable(request)
        request.extensions["trace"] = self._traced(request.extensions.get("trace"))
        token = await self._token()
        response = yield _with_token(request, token)
        if is_repeatable and is_refused_token(response.status_code, response.headers):
            self._client.forget(token)
            yield _with_token(request, await self._token())

    def sync_auth_flow(self, request: Any) -> Generator[Any, Any, None]:
        raise RuntimeError("this is for httpx.AsyncClient; httpx.Client needs auth of Client")
        yield request

    def _traced(self, other: Any) -> Any:
        async def trace(event: str, info: Mapping[str, Any]) -> None:
            self._target.remove_token(event, info)
            if other is not None:
                await other(event, info)

        return trace

    async def _token(self) -> str:
        return await self._client.token(resource=self._target.resource, scope=self._target.scope)


class BearerAuth(BearerFlow, httpx.Auth):
    """For `httpx.Client`; `Client.auth` makes it."""


class AsyncBearerAuth(AsyncBearerFlow, httpx.Auth):
    """For `httpx.AsyncClient`; `AsyncClient.auth` makes it."""


def _with_token(request: Any, token: str) -> Any:
    request.headers["Authorization"] = f"Bearer {token}"
    return request


def _is_repeatable(request: Any) -> bool:
    """A body that is a stream cannot be sent again."""
    try:
        return request.content is not None
    except RuntimeError:
        return False

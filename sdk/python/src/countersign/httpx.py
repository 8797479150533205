"""Adds access tokens to the requests of your own httpx clients.

A token is sent to the address of the API and to addresses below it only, over https or to this
machine. A redirect to any other address is followed without it. If the client's tokens are bound to
a key, each request has a proof, with a digest of the body unless that is a stream.
"""

import re
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import httpx

from countersign.addresses import checked_url, origin_of, path_of
from countersign.dpop import Dpop, demands_nonce
from countersign.flows import authorization, is_refused_token

if TYPE_CHECKING:
    from countersign.async_client import AsyncClient
    from countersign.client import Client


class Target:
    """An API and the addresses that get its tokens."""

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

    def correct(self, event: str, info: Mapping[str, Any], presented: "Presented") -> None:
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
            sent.headers = _without(sent.headers, b"authorization", b"dpop")
        elif presented.dpop is not None:
            proof = presented.proof_for(sent.method.decode(), str(url))
            sent.headers = [*_without(sent.headers, b"dpop"), (b"DPoP", proof.encode())]


class Presented:
    """The token of a request, and the proof that goes with it."""

    def __init__(self, request: Any, dpop: Dpop | None) -> None:
        self.dpop = dpop
        self.is_repeatable = _is_repeatable(request)
        self._request = request
        self._url = str(request.url)
        self._method = request.method
        self._body: bytes = request.content if self.is_repeatable else b""
        self._token = ""
        self._proof = ""

    def with_token(self, token: str) -> Any:
        request = self._request
        headers = authorization(token, self._method, self._url, self.dpop, self._body)
        request.headers.update(headers)
        self._token, self._proof = token, headers.get("DPoP", "")
        return request

    def proof_for(self, method: str, url: str) -> str:
        """A redirect needs a proof of its own."""
        is_same = method == self._method
        if self.dpop is None or (is_same and url == self._url):
            return self._proof
        # A redirect with another method has no body.
        body = self._body if is_same else b""
        return self.dpop.proof(method, url, access_token=self._token, body=body)

    def is_repeated_for_nonce(self, response: Any) -> bool:
        if self.dpop is None:
            return False
        self.dpop.learn_nonce(self._url, response.headers)
        return self.is_repeatable and demands_nonce(response.status_code, response.headers)

    def is_refused(self, response: Any) -> bool:
        return self.is_repeatable and is_refused_token(response.status_code, response.headers)


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
        presented = Presented(request, self._client.dpop)
        request.extensions["trace"] = self._traced(request.extensions.get("trace"), presented)
        token = self._token()
        response = yield presented.with_token(token)
        if presented.is_repeated_for_nonce(response):
            response = yield presented.with_token(token)
        if presented.is_refused(response):
            self._client.forget(token)
            yield presented.with_token(self._token())

    async def async_auth_flow(self, request: Any) -> AsyncGenerator[Any, Any]:
        raise RuntimeError("this is for httpx.Client; httpx.AsyncClient needs auth of AsyncClient")
        yield request

    def _traced(self, other: Any, presented: Presented) -> Any:
        def trace(event: str, info: Mapping[str, Any]) -> None:
            self._target.correct(event, info, presented)
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
        presented = Presented(request, self._client.dpop)
        request.extensions["trace"] = self._traced(request.extensions.get("trace"), presented)
        token = await self._token()
        response = yield presented.with_token(token)
        if presented.is_repeated_for_nonce(response):
            response = yield presented.with_token(token)
        if presented.is_refused(response):
            self._client.forget(token)
            yield presented.with_token(await self._token())

    def sync_auth_flow(self, request: Any) -> Generator[Any, Any, None]:
        raise RuntimeError("this is for httpx.AsyncClient; httpx.Client needs auth of Client")
        yield request

    def _traced(self, other: Any, presented: Presented) -> Any:
        async def trace(event: str, info: Mapping[str, Any]) -> None:
            self._target.correct(event, info, presented)
            if other is not None:
                await other(event, info)

        return trace

    async def _token(self) -> str:
        return await self._client.token(resource=self._target.resource, scope=self._target.scope)


class BearerAuth(BearerFlow, httpx.Auth):
    """For `httpx.Client`; `Client.auth` makes it."""


class AsyncBearerAuth(AsyncBearerFlow, httpx.Auth):
    """For `httpx.AsyncClient`; `AsyncClient.auth` makes it."""


def _without(headers: Any, *names: bytes) -> list[Any]:
    return [each for each in headers if each[0].lower() not in names]


def _is_repeatable(request: Any) -> bool:
    """A body that is a stream cannot be sent again."""
    try:
        return request.content is not None
    except RuntimeError:
        return False

"""A server that answers as a test says, and a clock that a test moves."""

import threading
from collections.abc import Callable
from typing import Any

import httpx

from countersign import AsyncClient, Client

ISSUER = "https://id.example.com"
Answering = Callable[[httpx.Request], httpx.Response]


def issued(token: str = "one", **changes: Any) -> httpx.Response:
    body = {"access_token": token, "token_type": "Bearer", "expires_in": 3600} | changes
    return httpx.Response(200, json=body)


def refused(code: str = "UNAUTHORIZED") -> httpx.Response:
    headers = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
    return httpx.Response(401, json={"code": code, "message": "no"}, headers=headers)


def is_token_request(request: httpx.Request) -> bool:
    return request.url.path in ("/api/v1/token", "/api/v1/oidc/token")


class World:
    def __init__(self, answer: Answering, auth: Any = "secret") -> None:
        self.now = 1_000.0
        self.slept: list[float] = []
        self.seen: list[httpx.Request] = []
        self._lock = threading.Lock()
        self._answer = answer
        transport = httpx.MockTransport(self._handle)
        self.client = Client(
            ISSUER,
            "agent",
            auth,
            transport=transport,
            monotonic=lambda: self.now,
            sleep=self._sleep,
        )
        self.async_client = AsyncClient(
            ISSUER,
            "agent",
            auth,
            transport=transport,
            monotonic=lambda: self.now,
            sleep=self._async_sleep,
        )

    @property
    def token_requests(self) -> list[httpx.Request]:
        return [request for request in self.seen if is_token_request(request)]

    def _handle(self, request: httpx.Request) -> httpx.Response:
        with self._lock:
            self.seen.append(request)
        return self._answer(request)

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def _async_sleep(self, seconds: float) -> None:
        self._sleep(seconds)

"""Calls the API with an access token that is fetched when first needed, kept, and renewed."""

import threading
import time
from collections.abc import Callable
from typing import Any

import httpx

# A token this close to its end is renewed before it is used.
RENEWAL_MARGIN_SECONDS = 60
# A rate window lasts a minute. A longer Retry-After means that the quota of the day is used up.
LONGEST_WAIT_SECONDS = 65
REQUEST_TIMEOUT_SECONDS = 10
ATTEMPTS = 4


class ApiError(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code


class Client:
    """Safe to share between threads."""

    def __init__(
        self,
        api_url: str,
        client_id: str,
        client_secret: str,
        *,
        transport: httpx.BaseTransport | None = None,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._http = httpx.Client(
            base_url=f"{api_url}/api/v1", timeout=REQUEST_TIMEOUT_SECONDS, transport=transport
        )
        self._client_id = client_id
        self._client_secret = client_secret
        self._now = now
        self._sleep = sleep
        self._lock = threading.Lock()
        self._token: str | None = None
        self._expires_at = 0.0

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def token(self) -> str:
        """A token that is good for another minute at least.

        Threads that need a new one at the same time wait for one request.
        """
        with self._lock:
            if self._token is None or self._expires_at - self._now() <= RENEWAL_MARGIN_SECONDS:
                asked = self._now()
                answer = self._request_token()
                self._token = answer["access_token"]
                self._expires_at = asked + answer["expires_in"]
            return self._token

    def get(self, path: str) -> Any:
        return self.request("GET", path)

    def request(self, method: str, path: str, json: Any = None) -> Any:
        """`path` is relative to /api/v1. A refused token is replaced once."""
        token = self.token()
        response = self._send(method, path, token, json)
        if response.status_code == httpx.codes.UNAUTHORIZED:
            self._forget(token)
            response = self._send(method, path, self.token(), json)
        return _answer_of(response)

    def _send(self, method: str, path: str, token: str, json: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"}
        return self._patiently(lambda: self._http.request(method, path, headers=headers, json=json))

    def _request_token(self) -> dict[str, Any]:
        fields = {
            "grant_type": "client_credentials",
            "client_id": self._client_id,
            "client_secret": self._client_secret,
        }
        return _answer_of(self._patiently(lambda: self._http.post("/token", data=fields)))

    def _forget(self, token: str) -> None:
        with self._lock:
            if self._token == token:
                self._token = None

    def _patiently(self, send: Callable[[], httpx.Response]) -> httpx.Response:
        """Waits out a full rate window."""
        for _ in range(ATTEMPTS - 1):
            response = send()
            if response.status_code != httpx.codes.TOO_MANY_REQUESTS:
                return response
            wait = self._wait_after(response.headers)
            if wait > LONGEST_WAIT_SECONDS:
                return response
            self._sleep(wait)
        return send()

    def _wait_after(self, headers: httpx.Headers) -> float:
        if headers.get("Retry-After", "").isdigit():
            return max(float(headers["Retry-After"]), 1)
        if headers.get("X-RateLimit-Reset", "").isdigit():
            return max(float(headers["X-RateLimit-Reset"]) - self._now(), 1)
        return 1


def _answer_of(response: httpx.Response) -> Any:
    if response.is_success:
        return response.json() if response.content else None
    try:
        answer = response.json()
    except ValueError:  # not from the API itself: a proxy, perhaps
        answer = {}
    raise ApiError(
        response.status_code,
        answer.get("code") or answer.get("error") or "UNKNOWN",
        answer.get("message") or answer.get("error_description") or "no explanation was given",
    )

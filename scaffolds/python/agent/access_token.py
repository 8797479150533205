"""Checks access tokens that others present to this agent."""

import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import jwt

# A made-up key id must not make us ask for the keys each time.
COOL_DOWN_SECONDS = 30


class InvalidToken(Exception):
    """The token is not to be believed."""


class Verifier:
    def __init__(
        self,
        issuer: str,
        audience: str,
        *,
        transport: httpx.BaseTransport | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`issuer` is the API's address; `audience` is whom tokens must be meant for."""
        self._issuer = issuer
        self._audience = audience
        self._transport = transport
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at: float | None = None

    def verify(self, token: str) -> dict[str, Any]:
        """The token's claims; raises InvalidToken."""
        try:
            header = jwt.get_unverified_header(token)
            if str(header.get("typ", "")).lower() not in ("at+jwt", "application/at+jwt"):
                raise InvalidToken("this is not an access token")
            return jwt.decode(
                token,
                self._key(header.get("kid")),
                algorithms=["RS256"],
                issuer=self._issuer,
                audience=self._audience,
                options={"require": ["exp", "iss", "aud", "sub", "client_id"]},
            )
        except jwt.PyJWTError as error:
            raise InvalidToken(str(error)) from error

    def _key(self, kid: str | None) -> jwt.PyJWK:
        with self._lock:
            if kid not in self._keys and self._may_fetch():
                self._fetched_at = self._monotonic()
                self._keys = self._fetch()
            if kid not in self._keys:
                raise InvalidToken("the token is signed with an unknown key")
            return self._keys[kid]

    def _may_fetch(self) -> bool:
        fetched_at = self._fetched_at
        return fetched_at is None or self._monotonic() - fetched_at >= COOL_DOWN_SECONDS

    def _fetch(self) -> dict[str, jwt.PyJWK]:
        with httpx.Client(transport=self._transport, timeout=10) as http:
            response = http.get(f"{self._issuer}/.well-known/jwks.json").raise_for_status()
        key_set = jwt.PyJWKSet.from_dict(response.json())
        return {key.key_id: key for key in key_set.keys if key.key_id is not None}

"""What the clients for threads and for asyncio share. It does no I/O."""

from collections.abc import Callable, Generator, Mapping
from typing import Any, TypeVar

from countersign.addresses import checked_issuer
from countersign.approval import Pings, PingStatus
from countersign.dpop import DpopKey, read_dpop
from countersign.flows import Outcome, Step, form_flow, token_flow
from countersign.proof import AsyncAuth, prover
from countersign.token_cache import IssuedToken, TokenKey

C = TypeVar("C", bound="ClientBase")


class ClientBase:
    """The agent, and the delegation that it acts within."""

    def __init__(
        self,
        issuer: str,
        client_id: str,
        auth: AsyncAuth,
        dpop: bool | DpopKey,
        monotonic: Callable[[], float],
    ) -> None:
        self.issuer = checked_issuer(issuer)
        self.client_id = client_id
        self._prove = prover(client_id, self.issuer, auth)
        # None unless the tokens are bound to a key.
        self.dpop = read_dpop(dpop)
        self._now = monotonic
        self._delegation = ""
        self._pings = Pings(monotonic)

    def redeem(self: C, delegation_token: str) -> C:
        """A client that acts within a delegation: its tokens name the delegator as subject.

        It shares connections and cache with this client.
        """
        if not delegation_token:
            raise ValueError("delegation_token must not be empty")
        return self._derive(delegation_token)

    def handle_ping(self, body: bytes | str, headers: Mapping[str, Any]) -> PingStatus:
        """For the server at the agent's `notificationUri`: wakes `wait` of the decided approval.

        Answer the request with the status that this returns: 204, or 401 and 400 for a request that
        is not genuine.
        """
        return self._pings.handle(body, headers)

    def _derive(self: C, delegation: str) -> C:
        derived = object.__new__(type(self))
        derived.__dict__.update(self.__dict__)
        derived._delegation = delegation
        return derived

    def _api_resource(self) -> str | None:
        # A delegation of an API must not present the token of that API to Countersign.
        return self.issuer if self._delegation else None

    def _form_flow(self, path: str, form: Mapping[str, str]) -> Generator[Step, Any, Outcome]:
        dpop = self.dpop if path == "/token" else None
        return form_flow(self.issuer, self.client_id, path, form, dpop)

    def _token_flow(self, key: TokenKey, has_token: bool) -> Generator[Step, Any, IssuedToken]:
        return token_flow(self.issuer, self.client_id, key, self._now, has_token, self.dpop)

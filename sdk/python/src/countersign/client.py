"""The client for threads."""

import inspect
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from countersign.addresses import may_use_proxy
from countersign.answer import Answer, exchange, open_answer, read_json
from countersign.approval import Approval, approval_form
from countersign.client_base import ClientBase
from countersign.delegation import Delegation, delegation_request, read_delegation
from countersign.dpop import DpopKey
from countersign.flows import (
    LONGEST_WAIT_SECONDS,
    Acquire,
    ApiCall,
    Open,
    Pause,
    Prove,
    Send,
    Step,
    api_flow,
    request_flow,
    stream_flow,
)
from countersign.pages import PageReader
from countersign.proof import Auth
from countersign.stream import Stream
from countersign.token_cache import TokenCache, TokenStore, token_key

if TYPE_CHECKING:
    from countersign.api import Api
    from countersign.httpx import BearerAuth

T = TypeVar("T")
C = TypeVar("C", bound="Client")


class Client(ClientBase):
    """An agent: it gets access tokens and calls the API. Threads may share it.

    `issuer` is the address of Countersign. `auth` is the agent's secret, its `PrivateKey`, or a
    function that returns the token of the platform that the agent runs on (workload identity).

    With `dpop`, access tokens are bound to a key, which is new, or the `DpopKey` given. They are of
    no use without it. Each request that presents one has a proof of the key.
    """

    def __init__(
        self,
        issuer: str,
        client_id: str,
        auth: Auth,
        *,
        dpop: bool | DpopKey = False,
        timeout: float = 10.0,
        transport: httpx.BaseTransport | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(issuer, client_id, auth, dpop, monotonic)
        self._http = httpx.Client(
            timeout=timeout, transport=transport, trust_env=may_use_proxy(self.issuer)
        )
        self._sleep = sleep
        self._tokens = TokenCache(TokenStore(monotonic))

    def __enter__(self: C) -> C:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections. Clients of `redeem` use those of the first client."""
        if not self._delegation:
            self._http.close()

    @property
    def api(self) -> "Api":
        """Every operation of the API, with types: `client.api.get_agent(agent_id)`."""
        from countersign.api import Api

        return Api(self)

    def token(
        self, *, resource: str | None = None, scope: str | Iterable[str] | None = None
    ) -> str:
        """An access token: for the Countersign API, or for the API `resource` (its identifier).

        It is cached, and renewed before it expires.
        """
        key = token_key(resource, scope, self._delegation)
        return self._tokens.get(key, lambda has_token: self._run(self._token_flow(key, has_token)))

    def forget(self, access_token: str) -> None:
        """Removes a token that was refused from the cache."""
        self._tokens.discard(access_token)

    def auth(
        self,
        resource: str,
        *,
        scope: str | Iterable[str] | None = None,
        origin: str | None = None,
    ) -> "BearerAuth":
        """For `httpx.Client(auth=…)`: adds tokens for the API to requests to its address.

        Addresses below it get them, too. `origin` is the address of the service, if the identifier
        of the API is another one.
        """
        from countersign.httpx import BearerAuth

        return BearerAuth(self, resource, scope=scope, origin=origin)

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        data: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        max_wait: float = LONGEST_WAIT_SECONDS,
    ) -> Any:
        """Calls the API and returns the JSON of its answer. `path` is relative to /api/v1.

        `max_wait` is how many seconds it may wait in all before it sends the request again.
        """
        call = ApiCall(method, path, params, json, data, headers or {}, max_wait)
        return self._call(call)

    def get(self, path: str, **params: Any) -> Any:
        return self.request("GET", path, params=params)

    def post(self, path: str, json: Any = None) -> Any:
        return self.request("POST", path, json=json)

    def put(self, path: str, json: Any = None) -> Any:
        return self.request("PUT", path, json=json)

    def patch(self, path: str, json: Any = None) -> Any:
        return self.request("PATCH", path, json=json)

    def delete(self, path: str) -> Any:
        return self.request("DELETE", path)

    def iterate(self, path: str, **params: Any) -> Iterator[Any]:
        """The entries of a list, page after page."""
        return self._iterate(ApiCall("GET", path, params))

    def lines(self, path: str, **params: Any) -> Iterator[str]:
        """The lines of a large answer, such as `/audit/export`, as they come."""
        return self._stream(ApiCall("GET", path, params)).lines()

    def delegate(
        self,
        delegatee_id: str,
        scopes: str | Iterable[str],
        *,
        resource: str | Iterable[str] | None = None,
        expires_in: int | None = None,
        purpose: str | None = None,
        allow_redelegation: bool = False,
    ) -> Delegation:
        """Lends scopes to another agent. A client of `redeem` passes its delegation on."""
        body = delegation_request(
            delegatee_id,
            scopes,
            resource=resource,
            expires_in=expires_in,
            purpose=purpose,
            allow_redelegation=allow_redelegation,
            parent_token=self._delegation or None,
        )
        own = self._derive("")
        return read_delegation(own.request("POST", "/delegations", json=body))

    def request_approval(
        self,
        resource: str,
        *,
        login_hint: str,
        scopes: str | Iterable[str] | None = None,
        details: Iterable[Mapping[str, Any]] | None = None,
        message: str | None = None,
        expires_in: int | None = None,
        access_expires_in: int | None = None,
        notification_token: str | None = None,
    ) -> Approval:
        """Asks a person for access. `wait` of the result gives the token once a person approves.

        `login_hint` is the id of a person, their verified e-mail address, or "approvers". `details`
        are what exactly the agent wants to do, of types that the API describes. The request
        lapses after `expires_in` seconds; the access is to last `access_expires_in` seconds. With a
        `notification_token`, the server tells the agent's `notificationUri` of the decision: see
        `handle_ping`.
        """
        form = approval_form(
            resource,
            scopes,
            details,
            login_hint,
            message,
            expires_in,
            access_expires_in,
            notification_token,
        )
        answer = self._run(request_flow(self.issuer, self.client_id, form))
        approval = Approval(self, answer, self._now)
        if notification_token is not None:
            self._pings.add(approval, notification_token)
        return approval

    def _call(self, call: ApiCall) -> Any:
        return read_json(self._run(api_flow(self.issuer, call, self.forget, self.dpop)))

    def _iterate(self, call: ApiCall) -> Iterator[Any]:
        reader = PageReader(call.params or {})
        while not reader.is_last:
            yield from reader.entries(self._call(replace(call, params=reader.params)))

    def _stream(self, call: ApiCall) -> Stream:
        return Stream(lambda: self._run(stream_flow(self.issuer, call, self.forget, self.dpop)))

    def _api_token(self) -> str:
        return self.token(resource=self._api_resource())

    def _run(self, flow: Generator[Step, Any, T]) -> T:
        result: Any = None
        while True:
            try:
                step = flow.send(result)
            except StopIteration as end:
                value: T = end.value
                return value
            result = self._perform(step)

    def _perform(self, step: Step) -> Any:
        match step:
            case Send() | Open():
                try:
                    return self._answer(step)
                except httpx.TransportError as error:
                    return error
            case Pause(seconds):
                return self._sleep(seconds)
            case Prove():
                proof = self._prove()
                if inspect.iscoroutine(proof):
                    proof.close()
                    raise TypeError("auth must not be a coroutine function; use AsyncClient")
                return proof
            case Acquire():
                return self._api_token()

    def _answer(self, step: Send | Open) -> Answer:
        request = self._http.build_request(**step.request)
        if isinstance(step, Open):
            return open_answer(self._http, request)
        return exchange(self._http, request, step.limit)

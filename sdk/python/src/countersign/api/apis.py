"""The operations of "APIs".

Generated from the API description by `npm run openapi`; do not edit.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Literal

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.types import (
    Grant,
    GrantPage,
    ListedResourceShare,
    NewResource,
    ReceivedShare,
    ReceivedSharePage,
    Resource,
    ResourceChange,
    ResourcePage,
    ResourceScopeNames,
    ResourceShare,
    ResourceSharePage,
    ResourceVerificationRequest,
)

ACCEPT_SHARE = Operation[ReceivedShare]("POST", "/api/v1/shares/{resourceId}/accept")
CREATE_RESOURCE = Operation[Resource]("POST", "/api/v1/resources")
DECLINE_SHARE = Operation[None]("DELETE", "/api/v1/shares/{resourceId}")
DELETE_AGENT_GRANT = Operation[None]("DELETE", "/api/v1/agents/{agentId}/grants/{resourceId}")
DELETE_RESOURCE = Operation[None]("DELETE", "/api/v1/resources/{resourceId}")
DELETE_RESOURCE_SHARE = Operation[None](
    "DELETE", "/api/v1/resources/{resourceId}/shares/{organizationId}"
)
GET_RESOURCE = Operation[Resource]("GET", "/api/v1/resources/{resourceId}")
LIST_AGENT_GRANTS = Operation[GrantPage]("GET", "/api/v1/agents/{agentId}/grants")
LIST_RECEIVED_SHARES = Operation[ReceivedSharePage]("GET", "/api/v1/shares")
LIST_RESOURCE_GRANTS = Operation[GrantPage]("GET", "/api/v1/resources/{resourceId}/grants")
LIST_RESOURCE_SHARES = Operation[ResourceSharePage]("GET", "/api/v1/resources/{resourceId}/shares")
LIST_RESOURCES = Operation[ResourcePage]("GET", "/api/v1/resources")
PUT_AGENT_GRANT = Operation[Grant]("PUT", "/api/v1/agents/{agentId}/grants/{resourceId}")
PUT_RESOURCE_SHARE = Operation[ResourceShare](
    "PUT", "/api/v1/resources/{resourceId}/shares/{organizationId}"
)
UPDATE_RESOURCE = Operation[Resource]("PATCH", "/api/v1/resources/{resourceId}")
VERIFY_RESOURCE = Operation[Resource]("POST", "/api/v1/resources/{resourceId}/verify")


class ApisApi(Calls):
    def accept_share(self, resource_id: str) -> ReceivedShare:
        """Accept the scopes of an API that another organization offers to yours.

        Its agents have none of them until they are granted. Needs a token, and the policies must
        permit `shares:decide`.
        """
        return self._call(ACCEPT_SHARE(resource_id))

    def create_resource(self, body: NewResource, *, idempotency_key: str | None = None) -> Resource:
        """Register an API, so that agents can get tokens for it.

        Where identifiers must be proven (`RESOURCE_IDENTIFIERS=verified`) the API is `pending`, and
        no token is issued for it until it is verified. Several organizations may register the same
        identifier; the first that verifies it has it. Needs a token with the scope
        `resources:write`.
        """
        return self._call(CREATE_RESOURCE(body=body, idempotency_key=idempotency_key))

    def decline_share(self, resource_id: str) -> None:
        """Decline an offer, or leave a share with all grants of your organization's agents.

        The owner can offer the API again 24 hours later. Needs a token, and the policies must
        permit `shares:decide`. The call does not count against the plan's calls a day.
        """
        self._call(DECLINE_SHARE(resource_id))

    def delete_agent_grant(self, agent_id: str, resource_id: str) -> None:
        """Take a grant from an agent; the agent's tokens for the API end at once for
        introspection.

        Needs the right to make the grant. To stop an agent without it, suspend the agent. Needs a
        token with the scope `agents:write`. The call does not count against the plan's calls a day.
        """
        self._call(DELETE_AGENT_GRANT(agent_id, resource_id))

    def delete_resource(self, resource_id: str) -> None:
        """Delete an API with its shares and grants; its identifier stays reserved for your
        organization.

        Needs a token with the scope `resources:write`. The call does not count against the plan's
        calls a day.
        """
        self._call(DELETE_RESOURCE(resource_id))

    def delete_resource_share(self, resource_id: str, organization_id: str) -> None:
        """End a share or an offer, with all grants of the other organization's agents.

        Needs a token with the scope `resources:write`. The call does not count against the plan's
        calls a day.
        """
        self._call(DELETE_RESOURCE_SHARE(resource_id, organization_id))

    def get_resource(self, resource_id: str) -> Resource:
        """Read one API; of a shared one, only the scopes that are shared with you.

        Needs a token with the scope `resources:read`.
        """
        return self._call(GET_RESOURCE(resource_id))

    def list_agent_grants(
        self,
        agent_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        resource_id: str | None = None,
    ) -> GrantPage:
        """List the grants of an agent, newest first.

        Needs a token with the scope `agents:read`.
        """
        query = {"page": page, "limit": limit, "resourceId": resource_id}
        return self._call(LIST_AGENT_GRANTS(agent_id, query=query))

    def iterate_agent_grants(
        self,
        agent_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        resource_id: str | None = None,
    ) -> Iterator[Grant]:
        """All items of `list_agent_grants`, page after page."""
        query = {"page": page, "limit": limit, "resourceId": resource_id}
        return self._iterate(LIST_AGENT_GRANTS(agent_id, query=query))

    def list_received_shares(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        status: Literal["offered", "accepted"] | None = None,
    ) -> ReceivedSharePage:
        """List the APIs that other organizations share with yours or offer to it, newest first.

        An offer gives nothing until an admin of your organization accepts it. Needs a token with
        the scope `resources:read`.
        """
        query = {"page": page, "limit": limit, "status": status}
        return self._call(LIST_RECEIVED_SHARES(query=query))

    def iterate_received_shares(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        status: Literal["offered", "accepted"] | None = None,
    ) -> Iterator[ReceivedShare]:
        """All items of `list_received_shares`, page after page."""
        query = {"page": page, "limit": limit, "status": status}
        return self._iterate(LIST_RECEIVED_SHARES(query=query))

    def list_resource_grants(
        self,
        resource_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        scope: str | None = None,
    ) -> GrantPage:
        """List the grants that your organization's agents have for an API, newest first.

        Needs a token with the scope `resources:read`.
        """
        query = {"page": page, "limit": limit, "scope": scope}
        return self._call(LIST_RESOURCE_GRANTS(resource_id, query=query))

    def iterate_resource_grants(
        self,
        resource_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        scope: str | None = None,
    ) -> Iterator[Grant]:
        """All items of `list_resource_grants`, page after page."""
        query = {"page": page, "limit": limit, "scope": scope}
        return self._iterate(LIST_RESOURCE_GRANTS(resource_id, query=query))

    def list_resource_shares(
        self,
        resource_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
    ) -> ResourceSharePage:
        """List the organizations that an API is shared with or offered to, newest first.

        Of their agents it shows the number, not the names. Needs a token with the scope
        `resources:write`.
        """
        query = {"page": page, "limit": limit}
        return self._call(LIST_RESOURCE_SHARES(resource_id, query=query))

    def iterate_resource_shares(
        self,
        resource_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
    ) -> Iterator[ListedResourceShare]:
        """All items of `list_resource_shares`, page after page."""
        query = {"page": page, "limit": limit}
        return self._iterate(LIST_RESOURCE_SHARES(resource_id, query=query))

    def list_resources(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        since: str | None = None,
        until: str | None = None,
        q: str | None = None,
    ) -> ResourcePage:
        """List the organization's APIs, then those shared with it, each newest first.

        Needs a token with the scope `resources:read`.
        """
        query = {"page": page, "limit": limit, "since": since, "until": until, "q": q}
        return self._call(LIST_RESOURCES(query=query))

    def iterate_resources(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        since: str | None = None,
        until: str | None = None,
        q: str | None = None,
    ) -> Iterator[Resource]:
        """All items of `list_resources`, page after page."""
        query = {"page": page, "limit": limit, "since": since, "until": until, "q": q}
        return self._iterate(LIST_RESOURCES(query=query))

    def put_agent_grant(self, agent_id: str, resource_id: str, body: ResourceScopeNames) -> Grant:
        """Set the scopes of an API that an agent may hold.

        Besides the scope of your token you need one of: `resources:write` in the organization that
        owns the API; the role admin; each of these scopes by a grant of your own, if the agent has
        the same values as yours in the fields that the API carries as claims. The same right is
        needed for scopes that are left out. Tokens with such a scope end at once for introspection;
        a server that verifies tokens offline accepts them until they expire (`tokenLifetimeSeconds`
        of the API). Needs a token with the scope `agents:write`.
        """
        return self._call(PUT_AGENT_GRANT(agent_id, resource_id, body=body))

    def put_resource_share(
        self,
        resource_id: str,
        organization_id: str,
        body: ResourceScopeNames,
    ) -> ResourceShare:
        """Offer another organization scopes of an API, to grant them to its agents.

        Scopes that are new to the share wait in `offeredScopes` until an admin of the other
        organization accepts them; those of an operator are accepted at once. A scope that is left
        out ends in the share and in the grants of its agents at once. After the other organization
        has declined or left, the owner can offer again 24 hours later. Needs a token with the scope
        `resources:write`.
        """
        return self._call(PUT_RESOURCE_SHARE(resource_id, organization_id, body=body))

    def update_resource(self, resource_id: str, body: ResourceChange | None = None) -> Resource:
        """Change an API; a scope that it loses ends in all shares and grants at once.

        Needs a token with the scope `resources:write`.
        """
        return self._call(UPDATE_RESOURCE(resource_id, body=body))

    def verify_resource(
        self,
        resource_id: str,
        body: ResourceVerificationRequest | None = None,
    ) -> Resource:
        """Prove that you control the host of an API's identifier.

        Looks for `countersign-verification=<token>`, with the token of `verification`, in the TXT
        records of `_countersign.<host>` (without the port) and in the text at
        `https://<host>/.well-known/countersign-verification` (on the port of the identifier). An
        operator can send `approve` instead. An API that is verified already is answered as it is.
        Needs a token with the scope `resources:write`. At most 30 requests a minute for each
        organization.
        """
        return self._call(VERIFY_RESOURCE(resource_id, body=body))


class AsyncApisApi(AsyncCalls):
    async def accept_share(self, resource_id: str) -> ReceivedShare:
        """Accept the scopes of an API that another organization offers to yours.

        Its agents have none of them until they are granted. Needs a token, and the policies must
        permit `shares:decide`.
        """
        return await self._call(ACCEPT_SHARE(resource_id))

    async def create_resource(
        self,
        body: NewResource,
        *,
        idempotency_key: str | None = None,
    ) -> Resource:
        """Register an API, so that agents can get tokens for it.

        Where identifiers must be proven (`RESOURCE_IDENTIFIERS=verified`) the API is `pending`, and
        no token is issued for it until it is verified. Several organizations may register the same
        identifier; the first that verifies it has it. Needs a token with the scope
        `resources:write`.
        """
        return await self._call(CREATE_RESOURCE(body=body, idempotency_key=idempotency_key))

    async def decline_share(self, resource_id: str) -> None:
        """Decline an offer, or leave a share with all grants of your organization's agents.

        The owner can offer the API again 24 hours later. Needs a token, and the policies must
        permit `shares:decide`. The call does not count against the plan's calls a day.
        """
        await self._call(DECLINE_SHARE(resource_id))

    async def delete_agent_grant(self, agent_id: str, resource_id: str) -> None:
        """Take a grant from an agent; the agent's tokens for the API end at once for
        introspection.

        Needs the right to make the grant. To stop an agent without it, suspend the agent. Needs a
        token with the scope `agents:write`. The call does not count against the plan's calls a day.
        """
        await self._call(DELETE_AGENT_GRANT(agent_id, resource_id))

    async def delete_resource(self, resource_id: str) -> None:
        """Delete an API with its shares and grants; its identifier stays reserved for your
        organization.

        Needs a token with the scope `resources:write`. The call does not count against the plan's
        calls a day.
        """
        await self._call(DELETE_RESOURCE(resource_id))

    async def delete_resource_share(self, resource_id: str, organization_id: str) -> None:
        """End a share or an offer, with all grants of the other organization's agents.

        Needs a token with the scope `resources:write`. The call does not count against the plan's
        calls a day.
        """
        await self._call(DELETE_RESOURCE_SHARE(resource_id, organization_id))

    async def get_resource(self, resource_id: str) -> Resource:
        """Read one API; of a shared one, only the scopes that are shared with you.

        Needs a token with the scope `resources:read`.
        """
        return await self._call(GET_RESOURCE(resource_id))

    async def list_agent_grants(
        self,
        agent_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        resource_id: str | None = None,
    ) -> GrantPage:
        """List the grants of an agent, newest first.

        Needs a token with the scope `agents:read`.
        """
        query = {"page": page, "limit": limit, "resourceId": resource_id}
        return await self._call(LIST_AGENT_GRANTS(agent_id, query=query))

    def iterate_agent_grants(
        self,
        agent_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        resource_id: str | None = None,
    ) -> AsyncIterator[Grant]:
        """All items of `list_agent_grants`, page after page."""
        query = {"page": page, "limit": limit, "resourceId": resource_id}
        return self._iterate(LIST_AGENT_GRANTS(agent_id, query=query))

    async def list_received_shares(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        status: Literal["offered", "accepted"] | None = None,
    ) -> ReceivedSharePage:
        """List the APIs that other organizations share with yours or offer to it, newest first.

        An offer gives nothing until an admin of your organization accepts it. Needs a token with
        the scope `resources:read`.
        """
        query = {"page": page, "limit": limit, "status": status}
        return await self._call(LIST_RECEIVED_SHARES(query=query))

    def iterate_received_shares(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        status: Literal["offered", "accepted"] | None = None,
    ) -> AsyncIterator[ReceivedShare]:
        """All items of `list_received_shares`, page after page."""
        query = {"page": page, "limit": limit, "status": status}
        return self._iterate(LIST_RECEIVED_SHARES(query=query))

    async def list_resource_grants(
        self,
        resource_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        scope: str | None = None,
    ) -> GrantPage:
        """List the grants that your organization's agents have for an API, newest first.

        Needs a token with the scope `resources:read`.
        """
        query = {"page": page, "limit": limit, "scope": scope}
        return await self._call(LIST_RESOURCE_GRANTS(resource_id, query=query))

    def iterate_resource_grants(
        self,
        resource_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        scope: str | None = None,
    ) -> AsyncIterator[Grant]:
        """All items of `list_resource_grants`, page after page."""
        query = {"page": page, "limit": limit, "scope": scope}
        return self._iterate(LIST_RESOURCE_GRANTS(resource_id, query=query))

    async def list_resource_shares(
        self,
        resource_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
    ) -> ResourceSharePage:
        """List the organizations that an API is shared with or offered to, newest first.

        Of their agents it shows the number, not the names. Needs a token with the scope
        `resources:write`.
        """
        query = {"page": page, "limit": limit}
        return await self._call(LIST_RESOURCE_SHARES(resource_id, query=query))

    def iterate_resource_shares(
        self,
        resource_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[ListedResourceShare]:
        """All items of `list_resource_shares`, page after page."""
        query = {"page": page, "limit": limit}
        return self._iterate(LIST_RESOURCE_SHARES(resource_id, query=query))

    async def list_resources(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        since: str | None = None,
        until: str | None = None,
        q: str | None = None,
    ) -> ResourcePage:
        """List the organization's APIs, then those shared with it, each newest first.

        Needs a token with the scope `resources:read`.
        """
        query = {"page": page, "limit": limit, "since": since, "until": until, "q": q}
        return await self._call(LIST_RESOURCES(query=query))

    def iterate_resources(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        since: str | None = None,
        until: str | None = None,
        q: str | None = None,
    ) -> AsyncIterator[Resource]:
        """All items of `list_resources`, page after page."""
        query = {"page": page, "limit": limit, "since": since, "until": until, "q": q}
        return self._iterate(LIST_RESOURCES(query=query))

    async def put_agent_grant(
        self,
        agent_id: str,
        resource_id: str,
        body: ResourceScopeNames,
    ) -> Grant:
        """Set the scopes of an API that an agent may hold.

        Besides the scope of your token you need one of: `resources:write` in the organization that
        owns the API; the role admin; each of these scopes by a grant of your own, if the agent has
        the same values as yours in the fields that the API carries as claims. The same right is
        needed for scopes that are left out. Tokens with such a scope end at once for introspection;
        a server that verifies tokens offline accepts them until they expire (`tokenLifetimeSeconds`
        of the API). Needs a token with the scope `agents:write`.
        """
        return await self._call(PUT_AGENT_GRANT(agent_id, resource_id, body=body))

    async def put_resource_share(
        self,
        resource_id: str,
        organization_id: str,
        body: ResourceScopeNames,
    ) -> ResourceShare:
        """Offer another organization scopes of an API, to grant them to its agents.

        Scopes that are new to the share wait in `offeredScopes` until an admin of the other
        organization accepts them; those of an operator are accepted at once. A scope that is left
        out ends in the share and in the grants of its agents at once. After the other organization
        has declined or left, the owner can offer again 24 hours later. Needs a token with the scope
        `resources:write`.
        """
        return await self._call(PUT_RESOURCE_SHARE(resource_id, organization_id, body=body))

    async def update_resource(
        self,
        resource_id: str,
        body: ResourceChange | None = None,
    ) -> Resource:
        """Change an API; a scope that it loses ends in all shares and grants at once.

        Needs a token with the scope `resources:write`.
        """
        return await self._call(UPDATE_RESOURCE(resource_id, body=body))

    async def verify_resource(
        self,
        resource_id: str,
        body: ResourceVerificationRequest | None = None,
    ) -> Resource:
        """Prove that you control the host of an API's identifier.

        Looks for `countersign-verification=<token>`, with the token of `verification`, in the TXT
        records of `_countersign.<host>` (without the port) and in the text at
        `https://<host>/.well-known/countersign-verification` (on the port of the identifier). An
        operator can send `approve` instead. An API that is verified already is answered as it is.
        Needs a token with the scope `resources:write`. At most 30 requests a minute for each
        organization.
        """
        return await self._call(VERIFY_RESOURCE(resource_id, body=body))

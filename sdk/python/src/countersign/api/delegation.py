"""The operations of "Delegation".

Generated from the API description by `npm run openapi`; do not edit.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Literal

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.types import (
    CreatedDelegation,
    DelegationChain,
    DelegationPage,
    DelegationQuestion,
    DelegationWithLinks,
    NewDelegation,
    VerifiedDelegation,
)

CREATE_DELEGATION = Operation[CreatedDelegation]("POST", "/api/v1/delegations")
GET_DELEGATION = Operation[DelegationWithLinks]("GET", "/api/v1/delegations/{chainId}")
LIST_DELEGATION_DESCENDANTS = Operation[DelegationPage](
    "GET", "/api/v1/delegations/{chainId}/descendants"
)
LIST_DELEGATIONS = Operation[DelegationPage]("GET", "/api/v1/delegations")
REVOKE_DELEGATION = Operation[None]("DELETE", "/api/v1/delegations/{chainId}")
VERIFY_DELEGATION = Operation[VerifiedDelegation]("POST", "/api/v1/delegations/verify")


class DelegationApi(Calls):
    def create_delegation(
        self,
        body: NewDelegation,
        *,
        idempotency_key: str | None = None,
    ) -> CreatedDelegation:
        """Let another agent act on your behalf, or pass on what you were given.

        The answer has a delegation token, once. The delegatee redeems it at `POST /api/v1/token`
        for an access token. An admin can lend the scopes of another agent with `delegatorId`. Needs
        a token, with any scope.
        """
        return self._call(CREATE_DELEGATION(body=body, idempotency_key=idempotency_key))

    def get_delegation(self, chain_id: str) -> DelegationWithLinks:
        """Get a delegation with the links it hangs on.

        Needs a token, with any scope.
        """
        return self._call(GET_DELEGATION(chain_id))

    def list_delegation_descendants(
        self,
        chain_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        status: Literal["active", "expired", "revoked"] | None = None,
    ) -> DelegationPage:
        """List what was passed on from a delegation: what ends together with it.

        The links below this one, nearest first. Revoking it revokes the active ones too. Needs a
        token, with any scope.
        """
        query = {"page": page, "limit": limit, "status": status}
        return self._call(LIST_DELEGATION_DESCENDANTS(chain_id, query=query))

    def iterate_delegation_descendants(
        self,
        chain_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        status: Literal["active", "expired", "revoked"] | None = None,
    ) -> Iterator[DelegationChain]:
        """All items of `list_delegation_descendants`, page after page."""
        query = {"page": page, "limit": limit, "status": status}
        return self._iterate(LIST_DELEGATION_DESCENDANTS(chain_id, query=query))

    def list_delegations(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        since: str | None = None,
        until: str | None = None,
        role: Literal["delegator", "delegatee", "any"] | None = None,
        status: Literal["active", "expired", "revoked"] | None = None,
        agent_id: str | None = None,
        subject_type: Literal["agent", "person"] | None = None,
        person_id: str | None = None,
        organization_id: str | None = None,
    ) -> DelegationPage:
        """List the delegations you gave and were given, newest first.

        With `agentId` it lists those of another agent, with `organizationId`, `subjectType` or
        `personId` those of the whole organization. Needs a token, with any scope.
        """
        query = {
            "page": page,
            "limit": limit,
            "since": since,
            "until": until,
            "role": role,
            "status": status,
            "agentId": agent_id,
            "subjectType": subject_type,
            "personId": person_id,
            "organizationId": organization_id,
        }
        return self._call(LIST_DELEGATIONS(query=query))

    def iterate_delegations(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        since: str | None = None,
        until: str | None = None,
        role: Literal["delegator", "delegatee", "any"] | None = None,
        status: Literal["active", "expired", "revoked"] | None = None,
        agent_id: str | None = None,
        subject_type: Literal["agent", "person"] | None = None,
        person_id: str | None = None,
        organization_id: str | None = None,
    ) -> Iterator[DelegationChain]:
        """All items of `list_delegations`, page after page."""
        query = {
            "page": page,
            "limit": limit,
            "since": since,
            "until": until,
            "role": role,
            "status": status,
            "agentId": agent_id,
            "subjectType": subject_type,
            "personId": person_id,
            "organizationId": organization_id,
        }
        return self._iterate(LIST_DELEGATIONS(query=query))

    def revoke_delegation(self, chain_id: str) -> None:
        """End a delegation, all that was passed on from it, and their tokens.

        Needs a token, with any scope.
        """
        self._call(REVOKE_DELEGATION(chain_id))

    def verify_delegation(self, body: DelegationQuestion) -> VerifiedDelegation:
        """Ask whether a delegation token, or a token redeemed with one, still holds.

        Needs a token, with any scope.
        """
        return self._call(VERIFY_DELEGATION(body=body))


class AsyncDelegationApi(AsyncCalls):
    async def create_delegation(
        self,
        body: NewDelegation,
        *,
        idempotency_key: str | None = None,
    ) -> CreatedDelegation:
        """Let another agent act on your behalf, or pass on what you were given.

        The answer has a delegation token, once. The delegatee redeems it at `POST /api/v1/token`
        for an access token. An admin can lend the scopes of another agent with `delegatorId`. Needs
        a token, with any scope.
        """
        return await self._call(CREATE_DELEGATION(body=body, idempotency_key=idempotency_key))

    async def get_delegation(self, chain_id: str) -> DelegationWithLinks:
        """Get a delegation with the links it hangs on.

        Needs a token, with any scope.
        """
        return await self._call(GET_DELEGATION(chain_id))

    async def list_delegation_descendants(
        self,
        chain_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        status: Literal["active", "expired", "revoked"] | None = None,
    ) -> DelegationPage:
        """List what was passed on from a delegation: what ends together with it.

        The links below this one, nearest first. Revoking it revokes the active ones too. Needs a
        token, with any scope.
        """
        query = {"page": page, "limit": limit, "status": status}
        return await self._call(LIST_DELEGATION_DESCENDANTS(chain_id, query=query))

    def iterate_delegation_descendants(
        self,
        chain_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        status: Literal["active", "expired", "revoked"] | None = None,
    ) -> AsyncIterator[DelegationChain]:
        """All items of `list_delegation_descendants`, page after page."""
        query = {"page": page, "limit": limit, "status": status}
        return self._iterate(LIST_DELEGATION_DESCENDANTS(chain_id, query=query))

    async def list_delegations(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        since: str | None = None,
        until: str | None = None,
        role: Literal["delegator", "delegatee", "any"] | None = None,
        status: Literal["active", "expired", "revoked"] | None = None,
        agent_id: str | None = None,
        subject_type: Literal["agent", "person"] | None = None,
        person_id: str | None = None,
        organization_id: str | None = None,
    ) -> DelegationPage:
        """List the delegations you gave and were given, newest first.

        With `agentId` it lists those of another agent, with `organizationId`, `subjectType` or
        `personId` those of the whole organization. Needs a token, with any scope.
        """
        query = {
            "page": page,
            "limit": limit,
            "since": since,
            "until": until,
            "role": role,
            "status": status,
            "agentId": agent_id,
            "subjectType": subject_type,
            "personId": person_id,
            "organizationId": organization_id,
        }
        return await self._call(LIST_DELEGATIONS(query=query))

    def iterate_delegations(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        since: str | None = None,
        until: str | None = None,
        role: Literal["delegator", "delegatee", "any"] | None = None,
        status: Literal["active", "expired", "revoked"] | None = None,
        agent_id: str | None = None,
        subject_type: Literal["agent", "person"] | None = None,
        person_id: str | None = None,
        organization_id: str | None = None,
    ) -> AsyncIterator[DelegationChain]:
        """All items of `list_delegations`, page after page."""
        query = {
            "page": page,
            "limit": limit,
            "since": since,
            "until": until,
            "role": role,
            "status": status,
            "agentId": agent_id,
            "subjectType": subject_type,
            "personId": person_id,
            "organizationId": organization_id,
        }
        return self._iterate(LIST_DELEGATIONS(query=query))

    async def revoke_delegation(self, chain_id: str) -> None:
        """End a delegation, all that was passed on from it, and their tokens.

        Needs a token, with any scope.
        """
        await self._call(REVOKE_DELEGATION(chain_id))

    async def verify_delegation(self, body: DelegationQuestion) -> VerifiedDelegation:
        """Ask whether a delegation token, or a token redeemed with one, still holds.

        Needs a token, with any scope.
        """
        return await self._call(VERIFY_DELEGATION(body=body))

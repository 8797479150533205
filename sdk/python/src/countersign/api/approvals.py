"""The operations of "Approvals".

Generated from the API description by `npm run openapi`; do not edit.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Literal

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.types import (
    Approval,
    ApprovalPage,
    ApprovalPolicy,
    ApprovalPolicyChange,
    BackchannelAnswer,
    BackchannelRequest,
)

CANCEL_APPROVAL = Operation[None]("DELETE", "/api/v1/approvals/{approvalId}")
GET_APPROVAL = Operation[Approval]("GET", "/api/v1/approvals/{approvalId}")
GET_APPROVAL_POLICY = Operation[ApprovalPolicy](
    "GET", "/api/v1/organizations/{orgId}/approval-policy"
)
LIST_APPROVALS = Operation[ApprovalPage]("GET", "/api/v1/approvals")
PUT_APPROVAL_POLICY = Operation[ApprovalPolicy](
    "PUT", "/api/v1/organizations/{orgId}/approval-policy"
)
REQUEST_APPROVAL = Operation[BackchannelAnswer](
    "POST", "/api/v1/bc-authorize", needs_token=False, takes_form=True
)


class ApprovalsApi(Calls):
    def cancel_approval(self, approval_id: str) -> None:
        """Cancel a request that waits for a decision.

        For the agent that asked, and for administrators of its organization. Needs a token, with
        any scope.
        """
        self._call(CANCEL_APPROVAL(approval_id))

    def get_approval(self, approval_id: str) -> Approval:
        """Read a request for approval.

        For the agent that asked, and for callers with the scope `audit:read`. Needs a token, with
        any scope.
        """
        return self._call(GET_APPROVAL(approval_id))

    def get_approval_policy(self, org_id: str) -> ApprovalPolicy:
        """Read the organization's rules for approvals.

        Needs a token, and the policies must permit `organizations:managePeople`.
        """
        return self._call(GET_APPROVAL_POLICY(org_id))

    def list_approvals(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        status: Literal["pending", "approved", "denied", "expired", "canceled", None] = None,
        agent_id: str | None = None,
    ) -> ApprovalPage:
        """List the organization's requests for approval, newest first.

        Needs a token with the scope `audit:read`.
        """
        query = {"page": page, "limit": limit, "status": status, "agentId": agent_id}
        return self._call(LIST_APPROVALS(query=query))

    def iterate_approvals(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        status: Literal["pending", "approved", "denied", "expired", "canceled", None] = None,
        agent_id: str | None = None,
    ) -> Iterator[Approval]:
        """All items of `list_approvals`, page after page."""
        query = {"page": page, "limit": limit, "status": status, "agentId": agent_id}
        return self._iterate(LIST_APPROVALS(query=query))

    def put_approval_policy(self, org_id: str, body: ApprovalPolicyChange) -> ApprovalPolicy:
        """Set the organization's rules for approvals.

        A field that is absent gets its default. The rules count where a person decides, also for
        requests that wait already; they end no access that was approved. Needs a token, and the
        policies must permit `organizations:managePeople`.
        """
        return self._call(PUT_APPROVAL_POLICY(org_id, body=body))

    def request_approval(self, body: BackchannelRequest) -> BackchannelAnswer:
        """Ask a person to approve an action (OpenID CIBA, RFC 9396).

        The agent authenticates as at the token endpoint. It then polls there with the
        `auth_req_id`, or is told by a ping at its `notificationUri`. An approval is a delegation of
        the person who gave it. The request carries its own credentials instead of a token.
        """
        return self._call(REQUEST_APPROVAL(body=body))


class AsyncApprovalsApi(AsyncCalls):
    async def cancel_approval(self, approval_id: str) -> None:
        """Cancel a request that waits for a decision.

        For the agent that asked, and for administrators of its organization. Needs a token, with
        any scope.
        """
        await self._call(CANCEL_APPROVAL(approval_id))

    async def get_approval(self, approval_id: str) -> Approval:
        """Read a request for approval.

        For the agent that asked, and for callers with the scope `audit:read`. Needs a token, with
        any scope.
        """
        return await self._call(GET_APPROVAL(approval_id))

    async def get_approval_policy(self, org_id: str) -> ApprovalPolicy:
        """Read the organization's rules for approvals.

        Needs a token, and the policies must permit `organizations:managePeople`.
        """
        return await self._call(GET_APPROVAL_POLICY(org_id))

    async def list_approvals(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        status: Literal["pending", "approved", "denied", "expired", "canceled", None] = None,
        agent_id: str | None = None,
    ) -> ApprovalPage:
        """List the organization's requests for approval, newest first.

        Needs a token with the scope `audit:read`.
        """
        query = {"page": page, "limit": limit, "status": status, "agentId": agent_id}
        return await self._call(LIST_APPROVALS(query=query))

    def iterate_approvals(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        status: Literal["pending", "approved", "denied", "expired", "canceled", None] = None,
        agent_id: str | None = None,
    ) -> AsyncIterator[Approval]:
        """All items of `list_approvals`, page after page."""
        query = {"page": page, "limit": limit, "status": status, "agentId": agent_id}
        return self._iterate(LIST_APPROVALS(query=query))

    async def put_approval_policy(self, org_id: str, body: ApprovalPolicyChange) -> ApprovalPolicy:
        """Set the organization's rules for approvals.

        A field that is absent gets its default. The rules count where a person decides, also for
        requests that wait already; they end no access that was approved. Needs a token, and the
        policies must permit `organizations:managePeople`.
        """
        return await self._call(PUT_APPROVAL_POLICY(org_id, body=body))

    async def request_approval(self, body: BackchannelRequest) -> BackchannelAnswer:
        """Ask a person to approve an action (OpenID CIBA, RFC 9396).

        The agent authenticates as at the token endpoint. It then polls there with the
        `auth_req_id`, or is told by a ping at its `notificationUri`. An approval is a delegation of
        the person who gave it. The request carries its own credentials instead of a token.
        """
        return await self._call(REQUEST_APPROVAL(body=body))

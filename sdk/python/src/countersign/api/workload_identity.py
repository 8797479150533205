"""The operations of "Workload identity".

Generated from the API description by `npm run openapi`; do not edit.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Literal

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.types import (
    ExchangedToken,
    IdTokenRequest,
    IdTokenResponse,
    NewTrustPolicy,
    OutsideTokenExchange,
    TestedToken,
    TrustPolicy,
    TrustPolicyChange,
    TrustPolicyPage,
    TrustTest,
)

CREATE_TRUST_POLICY = Operation[TrustPolicy]("POST", "/api/v1/oidc/trust-policies")
DELETE_TRUST_POLICY = Operation[None]("DELETE", "/api/v1/oidc/trust-policies/{policyId}")
EXCHANGE_OUTSIDE_TOKEN = Operation[ExchangedToken](
    "POST", "/api/v1/oidc/token", needs_token=False, takes_form=True
)
GET_TRUST_POLICY = Operation[TrustPolicy]("GET", "/api/v1/oidc/trust-policies/{policyId}")
ISSUE_ID_TOKEN = Operation[IdTokenResponse]("POST", "/api/v1/oidc/id-token", takes_form=True)
LIST_TRUST_POLICIES = Operation[TrustPolicyPage]("GET", "/api/v1/oidc/trust-policies")
TEST_TRUST_POLICY = Operation[TrustTest]("POST", "/api/v1/oidc/trust-policies/{policyId}/test")
UPDATE_TRUST_POLICY = Operation[TrustPolicy]("PATCH", "/api/v1/oidc/trust-policies/{policyId}")


class WorkloadIdentityApi(Calls):
    def create_trust_policy(self, body: NewTrustPolicy) -> TrustPolicy:
        """Create a trust policy: whose tokens admit a workload as an agent.

        Needs a token with the scope `agents:write`.
        """
        return self._call(CREATE_TRUST_POLICY(body=body))

    def delete_trust_policy(self, policy_id: str) -> None:
        """Delete a trust policy; from then on it admits no token.

        Needs a token with the scope `agents:write`.
        """
        self._call(DELETE_TRUST_POLICY(policy_id))

    def exchange_outside_token(self, body: OutsideTokenExchange) -> ExchangedToken:
        """Exchange another issuer's token for an access token (RFC 8693).

        The request carries its own credentials instead of a token.
        """
        return self._call(EXCHANGE_OUTSIDE_TOKEN(body=body))

    def get_trust_policy(self, policy_id: str) -> TrustPolicy:
        """Read a trust policy.

        Needs a token with the scope `agents:read`.
        """
        return self._call(GET_TRUST_POLICY(policy_id))

    def issue_id_token(self, body: IdTokenRequest) -> IdTokenResponse:
        """Get an ID token, which identifies the agent to other services.

        Needs a token of the agent itself, with any scope; a delegated token is refused.
        """
        return self._call(ISSUE_ID_TOKEN(body=body))

    def list_trust_policies(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        since: str | None = None,
        until: str | None = None,
        agent_id: str | None = None,
        provider: Literal[
            "github",
            "gitlab",
            "kubernetes",
            "aws",
            "gcp",
            "azure",
            "spiffe",
            "custom",
            None,
        ] = None,
        status: Literal["active", "disabled"] | None = None,
    ) -> TrustPolicyPage:
        """List trust policies, newest first.

        Needs a token with the scope `agents:read`.
        """
        query = {
            "page": page,
            "limit": limit,
            "since": since,
            "until": until,
            "agentId": agent_id,
            "provider": provider,
            "status": status,
        }
        return self._call(LIST_TRUST_POLICIES(query=query))

    def iterate_trust_policies(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        since: str | None = None,
        until: str | None = None,
        agent_id: str | None = None,
        provider: Literal[
            "github",
            "gitlab",
            "kubernetes",
            "aws",
            "gcp",
            "azure",
            "spiffe",
            "custom",
            None,
        ] = None,
        status: Literal["active", "disabled"] | None = None,
    ) -> Iterator[TrustPolicy]:
        """All items of `list_trust_policies`, page after page."""
        query = {
            "page": page,
            "limit": limit,
            "since": since,
            "until": until,
            "agentId": agent_id,
            "provider": provider,
            "status": status,
        }
        return self._iterate(LIST_TRUST_POLICIES(query=query))

    def test_trust_policy(self, policy_id: str, body: TestedToken) -> TrustTest:
        """Test a trust policy with a token; issues nothing.

        Needs a token with the scope `agents:read`.
        """
        return self._call(TEST_TRUST_POLICY(policy_id, body=body))

    def update_trust_policy(
        self,
        policy_id: str,
        body: TrustPolicyChange | None = None,
    ) -> TrustPolicy:
        """Change a trust policy; takes effect at once.

        Needs a token with the scope `agents:write`.
        """
        return self._call(UPDATE_TRUST_POLICY(policy_id, body=body))


class AsyncWorkloadIdentityApi(AsyncCalls):
    async def create_trust_policy(self, body: NewTrustPolicy) -> TrustPolicy:
        """Create a trust policy: whose tokens admit a workload as an agent.

        Needs a token with the scope `agents:write`.
        """
        return await self._call(CREATE_TRUST_POLICY(body=body))

    async def delete_trust_policy(self, policy_id: str) -> None:
        """Delete a trust policy; from then on it admits no token.

        Needs a token with the scope `agents:write`.
        """
        await self._call(DELETE_TRUST_POLICY(policy_id))

    async def exchange_outside_token(self, body: OutsideTokenExchange) -> ExchangedToken:
        """Exchange another issuer's token for an access token (RFC 8693).

        The request carries its own credentials instead of a token.
        """
        return await self._call(EXCHANGE_OUTSIDE_TOKEN(body=body))

    async def get_trust_policy(self, policy_id: str) -> TrustPolicy:
        """Read a trust policy.

        Needs a token with the scope `agents:read`.
        """
        return await self._call(GET_TRUST_POLICY(policy_id))

    async def issue_id_token(self, body: IdTokenRequest) -> IdTokenResponse:
        """Get an ID token, which identifies the agent to other services.

        Needs a token of the agent itself, with any scope; a delegated token is refused.
        """
        return await self._call(ISSUE_ID_TOKEN(body=body))

    async def list_trust_policies(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        since: str | None = None,
        until: str | None = None,
        agent_id: str | None = None,
        provider: Literal[
            "github",
            "gitlab",
            "kubernetes",
            "aws",
            "gcp",
            "azure",
            "spiffe",
            "custom",
            None,
        ] = None,
        status: Literal["active", "disabled"] | None = None,
    ) -> TrustPolicyPage:
        """List trust policies, newest first.

        Needs a token with the scope `agents:read`.
        """
        query = {
            "page": page,
            "limit": limit,
            "since": since,
            "until": until,
            "agentId": agent_id,
            "provider": provider,
            "status": status,
        }
        return await self._call(LIST_TRUST_POLICIES(query=query))

    def iterate_trust_policies(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        since: str | None = None,
        until: str | None = None,
        agent_id: str | None = None,
        provider: Literal[
            "github",
            "gitlab",
            "kubernetes",
            "aws",
            "gcp",
            "azure",
            "spiffe",
            "custom",
            None,
        ] = None,
        status: Literal["active", "disabled"] | None = None,
    ) -> AsyncIterator[TrustPolicy]:
        """All items of `list_trust_policies`, page after page."""
        query = {
            "page": page,
            "limit": limit,
            "since": since,
            "until": until,
            "agentId": agent_id,
            "provider": provider,
            "status": status,
        }
        return self._iterate(LIST_TRUST_POLICIES(query=query))

    async def test_trust_policy(self, policy_id: str, body: TestedToken) -> TrustTest:
        """Test a trust policy with a token; issues nothing.

        Needs a token with the scope `agents:read`.
        """
        return await self._call(TEST_TRUST_POLICY(policy_id, body=body))

    async def update_trust_policy(
        self,
        policy_id: str,
        body: TrustPolicyChange | None = None,
    ) -> TrustPolicy:
        """Change a trust policy; takes effect at once.

        Needs a token with the scope `agents:write`.
        """
        return await self._call(UPDATE_TRUST_POLICY(policy_id, body=body))

"""The operations of "Analytics".

Generated from the API description by `npm run openapi`; do not edit.
"""

from collections.abc import AsyncIterator, Iterator

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.types import (
    AgentActivity,
    ApprovalsByAgent,
    ApprovalsByAgentData,
    TokensByAgent,
    TokensByDay,
)

GET_ACTIVITY_ANALYTICS = Operation[AgentActivity]("GET", "/api/v1/analytics/agents/activity")
GET_AGENT_ANALYTICS = Operation[TokensByAgent]("GET", "/api/v1/analytics/agents")
GET_APPROVAL_ANALYTICS = Operation[ApprovalsByAgent]("GET", "/api/v1/analytics/approvals")
GET_TOKEN_ANALYTICS = Operation[TokensByDay]("GET", "/api/v1/analytics/tokens")


class AnalyticsApi(Calls):
    def get_activity_analytics(self) -> AgentActivity:
        """When in the week your agents are active.

        Counts the tokens of the last 90 days by weekday and hour (UTC). Needs a token, with any
        scope.
        """
        return self._call(GET_ACTIVITY_ANALYTICS())

    def get_agent_analytics(self) -> TokensByAgent:
        """Tokens issued to each of your agents this month.

        Needs a token, with any scope.
        """
        return self._call(GET_AGENT_ANALYTICS())

    def get_approval_analytics(
        self,
        *,
        days: int | None = None,
        page: int | None = None,
        limit: int | None = None,
    ) -> ApprovalsByAgent:
        """Requests for approval by agent and outcome.

        Needs a token, with any scope.
        """
        query = {"days": days, "page": page, "limit": limit}
        return self._call(GET_APPROVAL_ANALYTICS(query=query))

    def iterate_approval_analytics(
        self,
        *,
        days: int | None = None,
        page: int | None = None,
        limit: int | None = None,
    ) -> Iterator[ApprovalsByAgentData]:
        """All items of `get_approval_analytics`, page after page."""
        query = {"days": days, "page": page, "limit": limit}
        return self._iterate(GET_APPROVAL_ANALYTICS(query=query))

    def get_token_analytics(self, *, days: int | None = None) -> TokensByDay:
        """Tokens issued to your organization, day by day.

        Needs a token, with any scope.
        """
        query = {"days": days}
        return self._call(GET_TOKEN_ANALYTICS(query=query))


class AsyncAnalyticsApi(AsyncCalls):
    async def get_activity_analytics(self) -> AgentActivity:
        """When in the week your agents are active.

        Counts the tokens of the last 90 days by weekday and hour (UTC). Needs a token, with any
        scope.
        """
        return await self._call(GET_ACTIVITY_ANALYTICS())

    async def get_agent_analytics(self) -> TokensByAgent:
        """Tokens issued to each of your agents this month.

        Needs a token, with any scope.
        """
        return await self._call(GET_AGENT_ANALYTICS())

    async def get_approval_analytics(
        self,
        *,
        days: int | None = None,
        page: int | None = None,
        limit: int | None = None,
    ) -> ApprovalsByAgent:
        """Requests for approval by agent and outcome.

        Needs a token, with any scope.
        """
        query = {"days": days, "page": page, "limit": limit}
        return await self._call(GET_APPROVAL_ANALYTICS(query=query))

    def iterate_approval_analytics(
        self,
        *,
        days: int | None = None,
        page: int | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[ApprovalsByAgentData]:
        """All items of `get_approval_analytics`, page after page."""
        query = {"days": days, "page": page, "limit": limit}
        return self._iterate(GET_APPROVAL_ANALYTICS(query=query))

    async def get_token_analytics(self, *, days: int | None = None) -> TokensByDay:
        """Tokens issued to your organization, day by day.

        Needs a token, with any scope.
        """
        query = {"days": days}
        return await self._call(GET_TOKEN_ANALYTICS(query=query))

"""The operations of "Usage".

Generated from the API description by `npm run openapi`; do not edit.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.stream import AsyncStream, Stream
from countersign.types import AgentUsage, AgentUsagePage, Usage, UsageLimits

EXPORT_USAGE = Operation[Any]("GET", "/api/v1/usage/export")
GET_USAGE = Operation[Usage]("GET", "/api/v1/usage")
GET_USAGE_LIMITS = Operation[UsageLimits]("GET", "/api/v1/usage/limits")
LIST_USAGE_BY_AGENT = Operation[AgentUsagePage]("GET", "/api/v1/usage/agents")


class UsageApi(Calls):
    def export_usage(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        metric: Literal[
            "api_calls",
            "tokens_issued",
            "token_exchanges",
            "delegations_created",
            "webhook_deliveries",
            "introspections",
            None,
        ] = None,
        format: Literal["csv", "jsonl"] | None = None,
    ) -> Stream:
        """Usage of each agent and day, as a file.

        Needs a token, with any scope.
        """
        query = {"from": from_, "to": to, "metric": metric, "format": format}
        return self._stream(EXPORT_USAGE(query=query))

    def get_usage(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        metric: Literal[
            "api_calls",
            "tokens_issued",
            "token_exchanges",
            "delegations_created",
            "webhook_deliveries",
            "introspections",
            None,
        ] = None,
        group_by: Literal["day", "agent"] | None = None,
    ) -> Usage:
        """Usage of your organization, by day or by agent.

        Needs a token, with any scope.
        """
        query = {"from": from_, "to": to, "metric": metric, "groupBy": group_by}
        return self._call(GET_USAGE(query=query))

    def get_usage_limits(self) -> UsageLimits:
        """Your plan's limits, and how much of each is left.

        Needs a token, with any scope. The call does not count against the plan's calls a day.
        """
        return self._call(GET_USAGE_LIMITS())

    def list_usage_by_agent(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        metric: Literal[
            "api_calls",
            "tokens_issued",
            "token_exchanges",
            "delegations_created",
            "webhook_deliveries",
            "introspections",
            None,
        ] = None,
        page: int | None = None,
        limit: int | None = None,
    ) -> AgentUsagePage:
        """Usage of each agent of your organization, the one with the most calls first.

        Needs a token, with any scope.
        """
        query = {"from": from_, "to": to, "metric": metric, "page": page, "limit": limit}
        return self._call(LIST_USAGE_BY_AGENT(query=query))

    def iterate_usage_by_agent(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        metric: Literal[
            "api_calls",
            "tokens_issued",
            "token_exchanges",
            "delegations_created",
            "webhook_deliveries",
            "introspections",
            None,
        ] = None,
        page: int | None = None,
        limit: int | None = None,
    ) -> Iterator[AgentUsage]:
        """All items of `list_usage_by_agent`, page after page."""
        query = {"from": from_, "to": to, "metric": metric, "page": page, "limit": limit}
        return self._iterate(LIST_USAGE_BY_AGENT(query=query))


class AsyncUsageApi(AsyncCalls):
    def export_usage(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        metric: Literal[
            "api_calls",
            "tokens_issued",
            "token_exchanges",
            "delegations_created",
            "webhook_deliveries",
            "introspections",
            None,
        ] = None,
        format: Literal["csv", "jsonl"] | None = None,
    ) -> AsyncStream:
        """Usage of each agent and day, as a file.

        Needs a token, with any scope.
        """
        query = {"from": from_, "to": to, "metric": metric, "format": format}
        return self._stream(EXPORT_USAGE(query=query))

    async def get_usage(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        metric: Literal[
            "api_calls",
            "tokens_issued",
            "token_exchanges",
            "delegations_created",
            "webhook_deliveries",
            "introspections",
            None,
        ] = None,
        group_by: Literal["day", "agent"] | None = None,
    ) -> Usage:
        """Usage of your organization, by day or by agent.

        Needs a token, with any scope.
        """
        query = {"from": from_, "to": to, "metric": metric, "groupBy": group_by}
        return await self._call(GET_USAGE(query=query))

    async def get_usage_limits(self) -> UsageLimits:
        """Your plan's limits, and how much of each is left.

        Needs a token, with any scope. The call does not count against the plan's calls a day.
        """
        return await self._call(GET_USAGE_LIMITS())

    async def list_usage_by_agent(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        metric: Literal[
            "api_calls",
            "tokens_issued",
            "token_exchanges",
            "delegations_created",
            "webhook_deliveries",
            "introspections",
            None,
        ] = None,
        page: int | None = None,
        limit: int | None = None,
    ) -> AgentUsagePage:
        """Usage of each agent of your organization, the one with the most calls first.

        Needs a token, with any scope.
        """
        query = {"from": from_, "to": to, "metric": metric, "page": page, "limit": limit}
        return await self._call(LIST_USAGE_BY_AGENT(query=query))

    def iterate_usage_by_agent(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        metric: Literal[
            "api_calls",
            "tokens_issued",
            "token_exchanges",
            "delegations_created",
            "webhook_deliveries",
            "introspections",
            None,
        ] = None,
        page: int | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[AgentUsage]:
        """All items of `list_usage_by_agent`, page after page."""
        query = {"from": from_, "to": to, "metric": metric, "page": page, "limit": limit}
        return self._iterate(LIST_USAGE_BY_AGENT(query=query))

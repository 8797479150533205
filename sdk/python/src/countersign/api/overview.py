"""The operations of "Overview".

Generated from the API description by `npm run openapi`; do not edit.
"""

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.types import Overview

GET_OVERVIEW = Operation[Overview]("GET", "/api/v1/overview")


class OverviewApi(Calls):
    def get_overview(
        self,
        *,
        organization_id: str | None = None,
        start_of_day: str | None = None,
    ) -> Overview:
        """The state of your organization: tokens, refusals, and things that need attention.

        Parts that need another scope than agents:read are null for a caller without that scope:
        `tokens`, `refusals`, `approvals` and `audit` need audit:read, and `failingDeliveries` needs
        webhooks:read. Needs a token with the scope `agents:read`.
        """
        query = {"organizationId": organization_id, "startOfDay": start_of_day}
        return self._call(GET_OVERVIEW(query=query))


class AsyncOverviewApi(AsyncCalls):
    async def get_overview(
        self,
        *,
        organization_id: str | None = None,
        start_of_day: str | None = None,
    ) -> Overview:
        """The state of your organization: tokens, refusals, and things that need attention.

        Parts that need another scope than agents:read are null for a caller without that scope:
        `tokens`, `refusals`, `approvals` and `audit` need audit:read, and `failingDeliveries` needs
        webhooks:read. Needs a token with the scope `agents:read`.
        """
        query = {"organizationId": organization_id, "startOfDay": start_of_day}
        return await self._call(GET_OVERVIEW(query=query))

"""The operations of "Plans".

Generated from the API description by `npm run openapi`; do not edit.
"""

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.types import TierCheckout, TierStatus, TierUpgrade

GET_TIER_STATUS = Operation[TierStatus]("GET", "/api/v1/tiers/status")
UPGRADE_TIER = Operation[TierCheckout]("POST", "/api/v1/tiers/upgrade")


class PlansApi(Calls):
    def get_tier_status(self) -> TierStatus:
        """Your organization's plan, its limits, and their usage.

        Needs a token, with any scope. The call does not count against the plan's calls a day.
        """
        return self._call(GET_TIER_STATUS())

    def upgrade_tier(self, body: TierUpgrade) -> TierCheckout:
        """Start the payment for a higher plan.

        After the first order the policies must permit `billing:manage`. Needs a token of the agent
        itself, with any scope; a delegated token is refused. The call does not count against the
        plan's calls a day.
        """
        return self._call(UPGRADE_TIER(body=body))


class AsyncPlansApi(AsyncCalls):
    async def get_tier_status(self) -> TierStatus:
        """Your organization's plan, its limits, and their usage.

        Needs a token, with any scope. The call does not count against the plan's calls a day.
        """
        return await self._call(GET_TIER_STATUS())

    async def upgrade_tier(self, body: TierUpgrade) -> TierCheckout:
        """Start the payment for a higher plan.

        After the first order the policies must permit `billing:manage`. Needs a token of the agent
        itself, with any scope; a delegated token is refused. The call does not count against the
        plan's calls a day.
        """
        return await self._call(UPGRADE_TIER(body=body))

"""The operations of "Compliance".

Generated from the API description by `npm run openapi`; do not edit.
"""

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.types import AgentCard, ComplianceReport, Soc2Controls

EXPORT_AGENT_CARDS = Operation[list[AgentCard]]("GET", "/api/v1/compliance/agent-cards")
GET_COMPLIANCE_REPORT = Operation[ComplianceReport]("GET", "/api/v1/compliance/report")
GET_CONTROLS = Operation[Soc2Controls]("GET", "/api/v1/compliance/controls", needs_token=False)


class ComplianceApi(Calls):
    def export_agent_cards(self) -> list[AgentCard]:
        """The cards of all the organization's active agents.

        Needs a token, with any scope.
        """
        return self._call(EXPORT_AGENT_CARDS())

    def get_compliance_report(self) -> ComplianceReport:
        """The organization's compliance report; X-Cache says whether it was kept from earlier.

        The list of approvals needs the scope audit:read; without it `approvals.data` is null. Needs
        a token, with any scope.
        """
        return self._call(GET_COMPLIANCE_REPORT())

    def get_controls(self) -> Soc2Controls:
        """The SOC 2 controls of this instance, as they were last checked.

        Needs no token.
        """
        return self._call(GET_CONTROLS())


class AsyncComplianceApi(AsyncCalls):
    async def export_agent_cards(self) -> list[AgentCard]:
        """The cards of all the organization's active agents.

        Needs a token, with any scope.
        """
        return await self._call(EXPORT_AGENT_CARDS())

    async def get_compliance_report(self) -> ComplianceReport:
        """The organization's compliance report; X-Cache says whether it was kept from earlier.

        The list of approvals needs the scope audit:read; without it `approvals.data` is null. Needs
        a token, with any scope.
        """
        return await self._call(GET_COMPLIANCE_REPORT())

    async def get_controls(self) -> Soc2Controls:
        """The SOC 2 controls of this instance, as they were last checked.

        Needs no token.
        """
        return await self._call(GET_CONTROLS())

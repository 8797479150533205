"""The operations of "Federation".

Generated from the API description by `npm run openapi`; do not edit.
"""

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.types import (
    FederationPartner,
    FederationPartnerChange,
    NewFederationPartner,
    PartnerToken,
    PartnerTokenVerification,
)

GET_PARTNER = Operation[FederationPartner]("GET", "/api/v1/federation/partners/{id}")
LIST_PARTNERS = Operation[list[FederationPartner]]("GET", "/api/v1/federation/partners")
REMOVE_PARTNER = Operation[None]("DELETE", "/api/v1/federation/partners/{id}")
TRUST_PARTNER = Operation[FederationPartner]("POST", "/api/v1/federation/trust")
UPDATE_PARTNER = Operation[FederationPartner]("PATCH", "/api/v1/federation/partners/{id}")
VERIFY_PARTNER_TOKEN = Operation[PartnerTokenVerification]("POST", "/api/v1/federation/verify")


class FederationApi(Calls):
    def get_partner(self, id: str) -> FederationPartner:
        """Read a partner.

        Needs a token, and the policies must permit `federation:read`.
        """
        return self._call(GET_PARTNER(id))

    def list_partners(self) -> list[FederationPartner]:
        """List the partners, oldest first.

        Needs a token, and the policies must permit `federation:read`.
        """
        return self._call(LIST_PARTNERS())

    def remove_partner(self, id: str) -> None:
        """Trust a partner no longer; its tokens are refused at once.

        Needs a token, and the policies must permit `federation:manage`.
        """
        self._call(REMOVE_PARTNER(id))

    def trust_partner(self, body: NewFederationPartner) -> FederationPartner:
        """Trust a partner identity provider.

        Needs a token, and the policies must permit `federation:manage`.
        """
        return self._call(TRUST_PARTNER(body=body))

    def update_partner(
        self,
        id: str,
        body: FederationPartnerChange | None = None,
    ) -> FederationPartner:
        """Change a partner; takes effect at once.

        Needs a token, and the policies must permit `federation:manage`.
        """
        return self._call(UPDATE_PARTNER(id, body=body))

    def verify_partner_token(self, body: PartnerToken) -> PartnerTokenVerification:
        """Ask whether a token is a partner's, and what it says.

        Needs a token, with any scope.
        """
        return self._call(VERIFY_PARTNER_TOKEN(body=body))


class AsyncFederationApi(AsyncCalls):
    async def get_partner(self, id: str) -> FederationPartner:
        """Read a partner.

        Needs a token, and the policies must permit `federation:read`.
        """
        return await self._call(GET_PARTNER(id))

    async def list_partners(self) -> list[FederationPartner]:
        """List the partners, oldest first.

        Needs a token, and the policies must permit `federation:read`.
        """
        return await self._call(LIST_PARTNERS())

    async def remove_partner(self, id: str) -> None:
        """Trust a partner no longer; its tokens are refused at once.

        Needs a token, and the policies must permit `federation:manage`.
        """
        await self._call(REMOVE_PARTNER(id))

    async def trust_partner(self, body: NewFederationPartner) -> FederationPartner:
        """Trust a partner identity provider.

        Needs a token, and the policies must permit `federation:manage`.
        """
        return await self._call(TRUST_PARTNER(body=body))

    async def update_partner(
        self,
        id: str,
        body: FederationPartnerChange | None = None,
    ) -> FederationPartner:
        """Change a partner; takes effect at once.

        Needs a token, and the policies must permit `federation:manage`.
        """
        return await self._call(UPDATE_PARTNER(id, body=body))

    async def verify_partner_token(self, body: PartnerToken) -> PartnerTokenVerification:
        """Ask whether a token is a partner's, and what it says.

        Needs a token, with any scope.
        """
        return await self._call(VERIFY_PARTNER_TOKEN(body=body))

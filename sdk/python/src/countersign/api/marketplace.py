"""The operations of "Marketplace".

Generated from the API description by `npm run openapi`; do not edit.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Literal

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.types import Listing, ListingChange, ListingPage, NewListing

CREATE_LISTING = Operation[Listing]("POST", "/api/v1/marketplace/listings")
DELETE_LISTING = Operation[None]("DELETE", "/api/v1/marketplace/listings/{listingId}")
GET_LISTING = Operation[Listing]("GET", "/api/v1/marketplace/listings/{listingId}")
GET_MARKETPLACE_AGENT = Operation[Listing](
    "GET", "/api/v1/marketplace/agents/{listingId}", needs_token=False
)
LIST_LISTINGS = Operation[ListingPage]("GET", "/api/v1/marketplace/listings")
SEARCH_MARKETPLACE = Operation[ListingPage]("GET", "/api/v1/marketplace/agents", needs_token=False)
UPDATE_LISTING = Operation[Listing]("PATCH", "/api/v1/marketplace/listings/{listingId}")


class MarketplaceApi(Calls):
    def create_listing(self, body: NewListing) -> Listing:
        """List an agent, as a draft.

        The caller needs all scopes that the agent may hold, since a listing speaks for it. Needs a
        token with the scope `agents:write`.
        """
        return self._call(CREATE_LISTING(body=body))

    def delete_listing(self, listing_id: str) -> None:
        """Delete a listing; the agent may be listed again.

        Needs a token with the scope `agents:write`.
        """
        self._call(DELETE_LISTING(listing_id))

    def get_listing(self, listing_id: str) -> Listing:
        """Read one of the own listings.

        Needs a token with the scope `agents:read`.
        """
        return self._call(GET_LISTING(listing_id))

    def get_marketplace_agent(self, listing_id: str) -> Listing:
        """Read one listing that is on show.

        Needs no token.
        """
        return self._call(GET_MARKETPLACE_AGENT(listing_id))

    def list_listings(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        agent_id: str | None = None,
        status: Literal["draft", "published", "suspended", "withdrawn", None] = None,
    ) -> ListingPage:
        """List the organization's own listings, of any status, newest first.

        Needs a token with the scope `agents:read`.
        """
        query = {"page": page, "limit": limit, "agentId": agent_id, "status": status}
        return self._call(LIST_LISTINGS(query=query))

    def iterate_listings(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        agent_id: str | None = None,
        status: Literal["draft", "published", "suspended", "withdrawn", None] = None,
    ) -> Iterator[Listing]:
        """All items of `list_listings`, page after page."""
        query = {"page": page, "limit": limit, "agentId": agent_id, "status": status}
        return self._iterate(LIST_LISTINGS(query=query))

    def search_marketplace(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        q: str | None = None,
        capability: str | None = None,
        agent_type: Literal[
            "screener",
            "classifier",
            "orchestrator",
            "extractor",
            "summarizer",
            "router",
            "monitor",
            "custom",
            None,
        ] = None,
        category: str | None = None,
        verified: Literal["true", "false"] | None = None,
    ) -> ListingPage:
        """Search the agents on offer, newest first or best match first.

        Needs no token.
        """
        query = {
            "page": page,
            "limit": limit,
            "q": q,
            "capability": capability,
            "agentType": agent_type,
            "category": category,
            "verified": verified,
        }
        return self._call(SEARCH_MARKETPLACE(query=query))

    def iterate_marketplace(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        q: str | None = None,
        capability: str | None = None,
        agent_type: Literal[
            "screener",
            "classifier",
            "orchestrator",
            "extractor",
            "summarizer",
            "router",
            "monitor",
            "custom",
            None,
        ] = None,
        category: str | None = None,
        verified: Literal["true", "false"] | None = None,
    ) -> Iterator[Listing]:
        """All items of `search_marketplace`, page after page."""
        query = {
            "page": page,
            "limit": limit,
            "q": q,
            "capability": capability,
            "agentType": agent_type,
            "category": category,
            "verified": verified,
        }
        return self._iterate(SEARCH_MARKETPLACE(query=query))

    def update_listing(self, listing_id: str, body: ListingChange | None = None) -> Listing:
        """Change a listing, publish or withdraw it.

        The caller needs all scopes that the agent may hold. Operators also suspend and reinstate
        listings. Needs a token with the scope `agents:write`.
        """
        return self._call(UPDATE_LISTING(listing_id, body=body))


class AsyncMarketplaceApi(AsyncCalls):
    async def create_listing(self, body: NewListing) -> Listing:
        """List an agent, as a draft.

        The caller needs all scopes that the agent may hold, since a listing speaks for it. Needs a
        token with the scope `agents:write`.
        """
        return await self._call(CREATE_LISTING(body=body))

    async def delete_listing(self, listing_id: str) -> None:
        """Delete a listing; the agent may be listed again.

        Needs a token with the scope `agents:write`.
        """
        await self._call(DELETE_LISTING(listing_id))

    async def get_listing(self, listing_id: str) -> Listing:
        """Read one of the own listings.

        Needs a token with the scope `agents:read`.
        """
        return await self._call(GET_LISTING(listing_id))

    async def get_marketplace_agent(self, listing_id: str) -> Listing:
        """Read one listing that is on show.

        Needs no token.
        """
        return await self._call(GET_MARKETPLACE_AGENT(listing_id))

    async def list_listings(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        agent_id: str | None = None,
        status: Literal["draft", "published", "suspended", "withdrawn", None] = None,
    ) -> ListingPage:
        """List the organization's own listings, of any status, newest first.

        Needs a token with the scope `agents:read`.
        """
        query = {"page": page, "limit": limit, "agentId": agent_id, "status": status}
        return await self._call(LIST_LISTINGS(query=query))

    def iterate_listings(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        agent_id: str | None = None,
        status: Literal["draft", "published", "suspended", "withdrawn", None] = None,
    ) -> AsyncIterator[Listing]:
        """All items of `list_listings`, page after page."""
        query = {"page": page, "limit": limit, "agentId": agent_id, "status": status}
        return self._iterate(LIST_LISTINGS(query=query))

    async def search_marketplace(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        q: str | None = None,
        capability: str | None = None,
        agent_type: Literal[
            "screener",
            "classifier",
            "orchestrator",
            "extractor",
            "summarizer",
            "router",
            "monitor",
            "custom",
            None,
        ] = None,
        category: str | None = None,
        verified: Literal["true", "false"] | None = None,
    ) -> ListingPage:
        """Search the agents on offer, newest first or best match first.

        Needs no token.
        """
        query = {
            "page": page,
            "limit": limit,
            "q": q,
            "capability": capability,
            "agentType": agent_type,
            "category": category,
            "verified": verified,
        }
        return await self._call(SEARCH_MARKETPLACE(query=query))

    def iterate_marketplace(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        q: str | None = None,
        capability: str | None = None,
        agent_type: Literal[
            "screener",
            "classifier",
            "orchestrator",
            "extractor",
            "summarizer",
            "router",
            "monitor",
            "custom",
            None,
        ] = None,
        category: str | None = None,
        verified: Literal["true", "false"] | None = None,
    ) -> AsyncIterator[Listing]:
        """All items of `search_marketplace`, page after page."""
        query = {
            "page": page,
            "limit": limit,
            "q": q,
            "capability": capability,
            "agentType": agent_type,
            "category": category,
            "verified": verified,
        }
        return self._iterate(SEARCH_MARKETPLACE(query=query))

    async def update_listing(self, listing_id: str, body: ListingChange | None = None) -> Listing:
        """Change a listing, publish or withdraw it.

        The caller needs all scopes that the agent may hold. Operators also suspend and reinstate
        listings. Needs a token with the scope `agents:write`.
        """
        return await self._call(UPDATE_LISTING(listing_id, body=body))

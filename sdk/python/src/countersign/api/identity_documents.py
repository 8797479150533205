"""The operations of "Identity documents".

Generated from the API description by `npm run openapi`; do not edit.
"""

from typing import Literal

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.types import (
    A2aAgentCard,
    AgentBadge,
    AgentCard,
    DidDocument,
    DidResolution,
    OasfRecord,
)

GET_A2A_CARD = Operation[A2aAgentCard](
    "GET", "/agents/{agentId}/.well-known/agent-card.json", needs_token=False
)
GET_AGENT_CARD = Operation[AgentCard | A2aAgentCard | OasfRecord | AgentBadge](
    "GET", "/api/v1/agents/{agentId}/did/card", needs_token=False
)
GET_DID = Operation[DidDocument]("GET", "/api/v1/agents/{agentId}/did", needs_token=False)
GET_DID_AT_ROOT = Operation[DidDocument]("GET", "/agents/{agentId}/did.json", needs_token=False)
INSTANCE_DID = Operation[DidDocument]("GET", "/.well-known/did.json", needs_token=False)
RESOLVE_DID = Operation[DidResolution]("GET", "/api/v1/agents/{agentId}/did/resolve")


class IdentityDocumentsApi(Calls):
    def get_a2a_card(self, agent_id: str) -> A2aAgentCard:
        """An agent's A2A card, where A2A clients look for it.

        Needs no token.
        """
        return self._call(GET_A2A_CARD(agent_id))

    def get_agent_card(
        self,
        agent_id: str,
        *,
        format: Literal["a2a", "oasf", "badge"] | None = None,
    ) -> AgentCard | A2aAgentCard | OasfRecord | AgentBadge:
        """An agent's card: plain, or signed in a published format.

        Needs no token.
        """
        query = {"format": format}
        return self._call(GET_AGENT_CARD(agent_id, query=query))

    def get_did(self, agent_id: str) -> DidDocument:
        """An agent's DID document.

        Needs no token.
        """
        return self._call(GET_DID(agent_id))

    def get_did_at_root(self, agent_id: str) -> DidDocument:
        """The same document, where did:web's rule looks for it.

        Needs no token.
        """
        return self._call(GET_DID_AT_ROOT(agent_id))

    def instance_did(self) -> DidDocument:
        """The instance's DID document.

        Needs no token.
        """
        return self._call(INSTANCE_DID())

    def resolve_did(self, agent_id: str) -> DidResolution:
        """Resolve an agent's DID, with what is known about the document.

        Needs a token, and the policies must permit `dids:resolve`.
        """
        return self._call(RESOLVE_DID(agent_id))


class AsyncIdentityDocumentsApi(AsyncCalls):
    async def get_a2a_card(self, agent_id: str) -> A2aAgentCard:
        """An agent's A2A card, where A2A clients look for it.

        Needs no token.
        """
        return await self._call(GET_A2A_CARD(agent_id))

    async def get_agent_card(
        self,
        agent_id: str,
        *,
        format: Literal["a2a", "oasf", "badge"] | None = None,
    ) -> AgentCard | A2aAgentCard | OasfRecord | AgentBadge:
        """An agent's card: plain, or signed in a published format.

        Needs no token.
        """
        query = {"format": format}
        return await self._call(GET_AGENT_CARD(agent_id, query=query))

    async def get_did(self, agent_id: str) -> DidDocument:
        """An agent's DID document.

        Needs no token.
        """
        return await self._call(GET_DID(agent_id))

    async def get_did_at_root(self, agent_id: str) -> DidDocument:
        """The same document, where did:web's rule looks for it.

        Needs no token.
        """
        return await self._call(GET_DID_AT_ROOT(agent_id))

    async def instance_did(self) -> DidDocument:
        """The instance's DID document.

        Needs no token.
        """
        return await self._call(INSTANCE_DID())

    async def resolve_did(self, agent_id: str) -> DidResolution:
        """Resolve an agent's DID, with what is known about the document.

        Needs a token, and the policies must permit `dids:resolve`.
        """
        return await self._call(RESOLVE_DID(agent_id))

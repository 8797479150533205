"""The operations of "Agents".

Generated from the API description by `npm run openapi`; do not edit.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Literal

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.types import (
    Agent,
    AgentAccess,
    AgentChange,
    AgentPage,
    KeySet,
    ListedAgent,
    NewAgent,
)

CREATE_AGENT = Operation[Agent]("POST", "/api/v1/agents")
DECOMMISSION_AGENT = Operation[None]("DELETE", "/api/v1/agents/{agentId}")
GET_AGENT = Operation[Agent]("GET", "/api/v1/agents/{agentId}")
GET_AGENT_ACCESS = Operation[AgentAccess]("GET", "/api/v1/agents/{agentId}/access")
GET_AGENT_KEYS = Operation[KeySet]("GET", "/api/v1/agents/{agentId}/keys")
LIST_AGENTS = Operation[AgentPage]("GET", "/api/v1/agents")
PUT_AGENT_KEYS = Operation[KeySet]("PUT", "/api/v1/agents/{agentId}/keys")
UPDATE_AGENT = Operation[Agent]("PATCH", "/api/v1/agents/{agentId}")


class AgentsApi(Calls):
    def create_agent(self, body: NewAgent, *, idempotency_key: str | None = None) -> Agent:
        """Register an agent.

        Needs a token with the scope `agents:write`.
        """
        return self._call(CREATE_AGENT(body=body, idempotency_key=idempotency_key))

    def decommission_agent(self, agent_id: str) -> None:
        """Decommission an agent for good; its credentials end at once.

        Needs a token with the scope `agents:write`. The call does not count against the plan's
        calls a day.
        """
        self._call(DECOMMISSION_AGENT(agent_id))

    def get_agent(self, agent_id: str) -> Agent:
        """Read one agent.

        Needs a token with the scope `agents:read`.
        """
        return self._call(GET_AGENT(agent_id))

    def get_agent_access(self, agent_id: str) -> AgentAccess:
        """Read everything that an agent can do now, and through what.

        Needs a token with the scope `agents:read`.
        """
        return self._call(GET_AGENT_ACCESS(agent_id))

    def get_agent_keys(self, agent_id: str) -> KeySet:
        """Read an agent's public keys, as a JWK set.

        Needs a token with the scope `agents:read`.
        """
        return self._call(GET_AGENT_KEYS(agent_id))

    def list_agents(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        since: str | None = None,
        until: str | None = None,
        ids: str | None = None,
        organization_id: str | None = None,
        owner: str | None = None,
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
        status: Literal["active", "suspended", "decommissioned"] | None = None,
        deployment_env: Literal["development", "staging", "production"] | None = None,
        email: str | None = None,
        capability: str | None = None,
        label: list[str] | None = None,
        registration: Literal["manual", "document"] | None = None,
        q: str | None = None,
        sort: Literal["createdAt", "name", "email"] | None = None,
        order: Literal["asc", "desc"] | None = None,
        include: Literal["activity"] | None = None,
    ) -> AgentPage:
        """List the organization's agents, newest first unless sorted otherwise.

        Needs a token with the scope `agents:read`.
        """
        query = {
            "page": page,
            "limit": limit,
            "since": since,
            "until": until,
            "ids": ids,
            "organizationId": organization_id,
            "owner": owner,
            "agentType": agent_type,
            "status": status,
            "deploymentEnv": deployment_env,
            "email": email,
            "capability": capability,
            "label": label,
            "registration": registration,
            "q": q,
            "sort": sort,
            "order": order,
            "include": include,
        }
        return self._call(LIST_AGENTS(query=query))

    def iterate_agents(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        since: str | None = None,
        until: str | None = None,
        ids: str | None = None,
        organization_id: str | None = None,
        owner: str | None = None,
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
        status: Literal["active", "suspended", "decommissioned"] | None = None,
        deployment_env: Literal["development", "staging", "production"] | None = None,
        email: str | None = None,
        capability: str | None = None,
        label: list[str] | None = None,
        registration: Literal["manual", "document"] | None = None,
        q: str | None = None,
        sort: Literal["createdAt", "name", "email"] | None = None,
        order: Literal["asc", "desc"] | None = None,
        include: Literal["activity"] | None = None,
    ) -> Iterator[ListedAgent]:
        """All items of `list_agents`, page after page."""
        query = {
            "page": page,
            "limit": limit,
            "since": since,
            "until": until,
            "ids": ids,
            "organizationId": organization_id,
            "owner": owner,
            "agentType": agent_type,
            "status": status,
            "deploymentEnv": deployment_env,
            "email": email,
            "capability": capability,
            "label": label,
            "registration": registration,
            "q": q,
            "sort": sort,
            "order": order,
            "include": include,
        }
        return self._iterate(LIST_AGENTS(query=query))

    def put_agent_keys(self, agent_id: str, body: KeySet) -> KeySet:
        """Replace an agent's public keys.

        Needs a token with the scope `agents:write`.
        """
        return self._call(PUT_AGENT_KEYS(agent_id, body=body))

    def update_agent(self, agent_id: str, body: AgentChange | None = None) -> Agent:
        """Change an agent, or suspend, reactivate or decommission it.

        Reactivation needs all scopes that the agent may hold, and `admin:orgs` after a suspension
        by an operator. A suspended agent gets no tokens. Its tokens end at once for this API and
        for introspection; a server that verifies tokens offline accepts one until it expires, at
        most for the token lifetime of its API. A field that a granted API carries as a claim
        changes only by a caller that could make the grant by something other than a grant of its
        own. Needs a token with the scope `agents:write`.
        """
        return self._call(UPDATE_AGENT(agent_id, body=body))


class AsyncAgentsApi(AsyncCalls):
    async def create_agent(self, body: NewAgent, *, idempotency_key: str | None = None) -> Agent:
        """Register an agent.

        Needs a token with the scope `agents:write`.
        """
        return await self._call(CREATE_AGENT(body=body, idempotency_key=idempotency_key))

    async def decommission_agent(self, agent_id: str) -> None:
        """Decommission an agent for good; its credentials end at once.

        Needs a token with the scope `agents:write`. The call does not count against the plan's
        calls a day.
        """
        await self._call(DECOMMISSION_AGENT(agent_id))

    async def get_agent(self, agent_id: str) -> Agent:
        """Read one agent.

        Needs a token with the scope `agents:read`.
        """
        return await self._call(GET_AGENT(agent_id))

    async def get_agent_access(self, agent_id: str) -> AgentAccess:
        """Read everything that an agent can do now, and through what.

        Needs a token with the scope `agents:read`.
        """
        return await self._call(GET_AGENT_ACCESS(agent_id))

    async def get_agent_keys(self, agent_id: str) -> KeySet:
        """Read an agent's public keys, as a JWK set.

        Needs a token with the scope `agents:read`.
        """
        return await self._call(GET_AGENT_KEYS(agent_id))

    async def list_agents(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        since: str | None = None,
        until: str | None = None,
        ids: str | None = None,
        organization_id: str | None = None,
        owner: str | None = None,
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
        status: Literal["active", "suspended", "decommissioned"] | None = None,
        deployment_env: Literal["development", "staging", "production"] | None = None,
        email: str | None = None,
        capability: str | None = None,
        label: list[str] | None = None,
        registration: Literal["manual", "document"] | None = None,
        q: str | None = None,
        sort: Literal["createdAt", "name", "email"] | None = None,
        order: Literal["asc", "desc"] | None = None,
        include: Literal["activity"] | None = None,
    ) -> AgentPage:
        """List the organization's agents, newest first unless sorted otherwise.

        Needs a token with the scope `agents:read`.
        """
        query = {
            "page": page,
            "limit": limit,
            "since": since,
            "until": until,
            "ids": ids,
            "organizationId": organization_id,
            "owner": owner,
            "agentType": agent_type,
            "status": status,
            "deploymentEnv": deployment_env,
            "email": email,
            "capability": capability,
            "label": label,
            "registration": registration,
            "q": q,
            "sort": sort,
            "order": order,
            "include": include,
        }
        return await self._call(LIST_AGENTS(query=query))

    def iterate_agents(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        since: str | None = None,
        until: str | None = None,
        ids: str | None = None,
        organization_id: str | None = None,
        owner: str | None = None,
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
        status: Literal["active", "suspended", "decommissioned"] | None = None,
        deployment_env: Literal["development", "staging", "production"] | None = None,
        email: str | None = None,
        capability: str | None = None,
        label: list[str] | None = None,
        registration: Literal["manual", "document"] | None = None,
        q: str | None = None,
        sort: Literal["createdAt", "name", "email"] | None = None,
        order: Literal["asc", "desc"] | None = None,
        include: Literal["activity"] | None = None,
    ) -> AsyncIterator[ListedAgent]:
        """All items of `list_agents`, page after page."""
        query = {
            "page": page,
            "limit": limit,
            "since": since,
            "until": until,
            "ids": ids,
            "organizationId": organization_id,
            "owner": owner,
            "agentType": agent_type,
            "status": status,
            "deploymentEnv": deployment_env,
            "email": email,
            "capability": capability,
            "label": label,
            "registration": registration,
            "q": q,
            "sort": sort,
            "order": order,
            "include": include,
        }
        return self._iterate(LIST_AGENTS(query=query))

    async def put_agent_keys(self, agent_id: str, body: KeySet) -> KeySet:
        """Replace an agent's public keys.

        Needs a token with the scope `agents:write`.
        """
        return await self._call(PUT_AGENT_KEYS(agent_id, body=body))

    async def update_agent(self, agent_id: str, body: AgentChange | None = None) -> Agent:
        """Change an agent, or suspend, reactivate or decommission it.

        Reactivation needs all scopes that the agent may hold, and `admin:orgs` after a suspension
        by an operator. A suspended agent gets no tokens. Its tokens end at once for this API and
        for introspection; a server that verifies tokens offline accepts one until it expires, at
        most for the token lifetime of its API. A field that a granted API carries as a claim
        changes only by a caller that could make the grant by something other than a grant of its
        own. Needs a token with the scope `agents:write`.
        """
        return await self._call(UPDATE_AGENT(agent_id, body=body))

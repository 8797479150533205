"""The operations of "Credentials".

Generated from the API description by `npm run openapi`; do not edit.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Literal

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.types import (
    Credential,
    CredentialPage,
    CredentialRotation,
    CredentialWithSecret,
    NewCredential,
)

GENERATE_CREDENTIAL = Operation[CredentialWithSecret](
    "POST", "/api/v1/agents/{agentId}/credentials"
)
LIST_CREDENTIALS = Operation[CredentialPage]("GET", "/api/v1/agents/{agentId}/credentials")
REVOKE_CREDENTIAL = Operation[None]("DELETE", "/api/v1/agents/{agentId}/credentials/{credentialId}")
ROTATE_CREDENTIAL = Operation[CredentialWithSecret](
    "POST", "/api/v1/agents/{agentId}/credentials/{credentialId}/rotate"
)


class CredentialsApi(Calls):
    def generate_credential(
        self,
        agent_id: str,
        body: NewCredential | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> CredentialWithSecret:
        """Generate a credential; its secret is shown this once.

        Needs a token with the scope `agents:write`.
        """
        return self._call(GENERATE_CREDENTIAL(agent_id, body=body, idempotency_key=idempotency_key))

    def list_credentials(
        self,
        agent_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        status: Literal["active", "revoked"] | None = None,
    ) -> CredentialPage:
        """List an agent's credentials, newest first, without their secrets.

        Needs a token with the scope `agents:read`.
        """
        query = {"page": page, "limit": limit, "status": status}
        return self._call(LIST_CREDENTIALS(agent_id, query=query))

    def iterate_credentials(
        self,
        agent_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        status: Literal["active", "revoked"] | None = None,
    ) -> Iterator[Credential]:
        """All items of `list_credentials`, page after page."""
        query = {"page": page, "limit": limit, "status": status}
        return self._iterate(LIST_CREDENTIALS(agent_id, query=query))

    def revoke_credential(self, agent_id: str, credential_id: str) -> None:
        """Revoke a credential for good; the tokens that were issued with it end at once for
        introspection.

        Needs a token with the scope `agents:write`. The call does not count against the plan's
        calls a day.
        """
        self._call(REVOKE_CREDENTIAL(agent_id, credential_id))

    def rotate_credential(
        self,
        agent_id: str,
        credential_id: str,
        body: CredentialRotation | None = None,
    ) -> CredentialWithSecret:
        """Replace the secret of a credential; the old one ends at once, tokens stay valid.

        Needs a token with the scope `agents:write`.
        """
        return self._call(ROTATE_CREDENTIAL(agent_id, credential_id, body=body))


class AsyncCredentialsApi(AsyncCalls):
    async def generate_credential(
        self,
        agent_id: str,
        body: NewCredential | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> CredentialWithSecret:
        """Generate a credential; its secret is shown this once.

        Needs a token with the scope `agents:write`.
        """
        return await self._call(
            GENERATE_CREDENTIAL(agent_id, body=body, idempotency_key=idempotency_key)
        )

    async def list_credentials(
        self,
        agent_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        status: Literal["active", "revoked"] | None = None,
    ) -> CredentialPage:
        """List an agent's credentials, newest first, without their secrets.

        Needs a token with the scope `agents:read`.
        """
        query = {"page": page, "limit": limit, "status": status}
        return await self._call(LIST_CREDENTIALS(agent_id, query=query))

    def iterate_credentials(
        self,
        agent_id: str,
        *,
        page: int | None = None,
        limit: int | None = None,
        status: Literal["active", "revoked"] | None = None,
    ) -> AsyncIterator[Credential]:
        """All items of `list_credentials`, page after page."""
        query = {"page": page, "limit": limit, "status": status}
        return self._iterate(LIST_CREDENTIALS(agent_id, query=query))

    async def revoke_credential(self, agent_id: str, credential_id: str) -> None:
        """Revoke a credential for good; the tokens that were issued with it end at once for
        introspection.

        Needs a token with the scope `agents:write`. The call does not count against the plan's
        calls a day.
        """
        await self._call(REVOKE_CREDENTIAL(agent_id, credential_id))

    async def rotate_credential(
        self,
        agent_id: str,
        credential_id: str,
        body: CredentialRotation | None = None,
    ) -> CredentialWithSecret:
        """Replace the secret of a credential; the old one ends at once, tokens stay valid.

        Needs a token with the scope `agents:write`.
        """
        return await self._call(ROTATE_CREDENTIAL(agent_id, credential_id, body=body))

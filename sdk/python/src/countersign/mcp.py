"""For the official MCP SDK: a token verifier for servers, and tokens for clients."""

from collections.abc import Iterable

import httpx2
from mcp.server.auth.provider import AccessToken, TokenVerifier

from countersign.errors import TokenError
from countersign.httpx import AsyncBearerFlow
from countersign.verifier import AsyncVerifier


class McpTokenVerifier(TokenVerifier):
    """`MCPServer(…, token_verifier=McpTokenVerifier(verifier))`.

    `resource` of the access token is the audience of the verifier, so
    `AuthSettings.validate_token_resource` can be true; `claims` has `sub_profile`, `act` and
    `chain_id`. The SDK answers 401 for a token that is not valid, and 403 for one that lacks a
    scope of `AuthSettings.required_scopes`. While a token cannot be checked, TokenError is raised,
    and the SDK answers 500.
    """

    def __init__(
        self,
        verifier: AsyncVerifier,
        *,
        scopes: str | Iterable[str] = (),
        max_depth: int | None = None,
    ) -> None:
        self._verifier = verifier
        self._scopes = scopes if isinstance(scopes, str) else tuple(scopes)
        self._max_depth = max_depth

    async def verify_token(self, token: str) -> AccessToken | None:
        try:
            verified = await self._verifier.verify(
                token, scopes=self._scopes, max_depth=self._max_depth
            )
        except TokenError as error:
            # With 401, the caller would throw a good token away.
            if error.status == 503:
                raise
            return None
        return AccessToken(
            token=token,
            client_id=verified.agent_id,
            scopes=list(verified.scopes),
            expires_at=int(verified.claims["exp"]),
            resource=self._verifier.audience,
            subject=verified.subject.id,
            claims=verified.claims,
        )


class McpAuth(AsyncBearerFlow, httpx2.Auth):
    """`httpx2.AsyncClient(auth=McpAuth(client, "https://tools.example.com/mcp"))`.

    `client` is an `AsyncClient`; the address of the MCP server is the identifier of the API.
    """

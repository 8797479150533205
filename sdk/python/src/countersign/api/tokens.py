"""The operations of "Tokens".

Generated from the API description by `npm run openapi`; do not edit.
"""

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.types import (
    AccessTokenResponse,
    Introspection,
    IntrospectionRequest,
    Nothing,
    TokenPreview,
    TokenPreviewRequest,
    TokenQuestion,
    TokenRequest,
)

FORWARD_AUTH = Operation[None]("GET", "/api/v1/forward-auth")
INTROSPECT_TOKEN = Operation[Introspection]("POST", "/api/v1/token/introspect", takes_form=True)
ISSUE_TOKEN = Operation[AccessTokenResponse](
    "POST", "/api/v1/token", needs_token=False, takes_form=True
)
PREVIEW_TOKEN = Operation[TokenPreview]("POST", "/api/v1/tokens/preview")
REVOKE_TOKEN = Operation[Nothing]("POST", "/api/v1/token/revoke", takes_form=True)


class TokensApi(Calls):
    def forward_auth(
        self,
        *,
        resource: str,
        scope: str | None = None,
        organization_id: str | None = None,
    ) -> None:
        """Let the proxy of an API check the access token of a request.

        For `auth_request` of nginx, `forward_auth` of Caddy, and their like. The proxy passes the
        client's header `Authorization`. 200 with headers for the API, or 401 or 403 with
        `WWW-Authenticate` for the client. Needs an access token for the API that the address names.
        At most 6000 requests a minute for each agent.
        """
        query = {"resource": resource, "scope": scope, "organization_id": organization_id}
        self._call(FORWARD_AUTH(query=query))

    def introspect_token(self, body: IntrospectionRequest) -> Introspection:
        """Ask whether a token is active, and what it carries (RFC 7662).

        An expired, revoked or unknown token is answered with `active: false` and no other field.
        Needs a token with the scope `tokens:read`, or client credentials of an agent that may hold
        it.
        """
        return self._call(INTROSPECT_TOKEN(body=body))

    def issue_token(self, body: TokenRequest) -> AccessTokenResponse:
        """Exchange client credentials for an access token.

        Send the client id and secret in the form or by HTTP Basic, not both. Instead of a secret
        the client may send an assertion signed with its registered key. Without `scope` the token
        has all scopes that the agent may hold. The request carries its own credentials instead of a
        token.
        """
        return self._call(ISSUE_TOKEN(body=body))

    def preview_token(self, body: TokenPreviewRequest) -> TokenPreview:
        """See the claims that a token of an agent would have now, or why it would be refused;
        issues nothing.

        Needs a token with the scope `agents:read`.
        """
        return self._call(PREVIEW_TOKEN(body=body))

    def revoke_token(self, body: TokenQuestion) -> Nothing:
        """End a token before it expires (RFC 7009).

        An unknown or malformed token is answered with success, too. A refresh token ends with all
        that the person has consented to by it; only its client can end it. Needs a token with any
        scope, client credentials, or the `client_id` of a public client. The call does not count
        against the plan's calls a day.
        """
        return self._call(REVOKE_TOKEN(body=body))


class AsyncTokensApi(AsyncCalls):
    async def forward_auth(
        self,
        *,
        resource: str,
        scope: str | None = None,
        organization_id: str | None = None,
    ) -> None:
        """Let the proxy of an API check the access token of a request.

        For `auth_request` of nginx, `forward_auth` of Caddy, and their like. The proxy passes the
        client's header `Authorization`. 200 with headers for the API, or 401 or 403 with
        `WWW-Authenticate` for the client. Needs an access token for the API that the address names.
        At most 6000 requests a minute for each agent.
        """
        query = {"resource": resource, "scope": scope, "organization_id": organization_id}
        await self._call(FORWARD_AUTH(query=query))

    async def introspect_token(self, body: IntrospectionRequest) -> Introspection:
        """Ask whether a token is active, and what it carries (RFC 7662).

        An expired, revoked or unknown token is answered with `active: false` and no other field.
        Needs a token with the scope `tokens:read`, or client credentials of an agent that may hold
        it.
        """
        return await self._call(INTROSPECT_TOKEN(body=body))

    async def issue_token(self, body: TokenRequest) -> AccessTokenResponse:
        """Exchange client credentials for an access token.

        Send the client id and secret in the form or by HTTP Basic, not both. Instead of a secret
        the client may send an assertion signed with its registered key. Without `scope` the token
        has all scopes that the agent may hold. The request carries its own credentials instead of a
        token.
        """
        return await self._call(ISSUE_TOKEN(body=body))

    async def preview_token(self, body: TokenPreviewRequest) -> TokenPreview:
        """See the claims that a token of an agent would have now, or why it would be refused;
        issues nothing.

        Needs a token with the scope `agents:read`.
        """
        return await self._call(PREVIEW_TOKEN(body=body))

    async def revoke_token(self, body: TokenQuestion) -> Nothing:
        """End a token before it expires (RFC 7009).

        An unknown or malformed token is answered with success, too. A refresh token ends with all
        that the person has consented to by it; only its client can end it. Needs a token with any
        scope, client credentials, or the `client_id` of a public client. The call does not count
        against the plan's calls a day.
        """
        return await self._call(REVOKE_TOKEN(body=body))

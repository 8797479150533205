"""The operations of "Discovery".

Generated from the API description by `npm run openapi`; do not edit.
"""

from typing import Any

from countersign.calls import AsyncCalls, Calls
from countersign.operation import Operation
from countersign.stream import AsyncStream, Stream
from countersign.types import JwksAnswer

AUTHORIZATION_SERVER = Operation[dict[str, Any]](
    "GET", "/.well-known/oauth-authorization-server", needs_token=False
)
JWKS = Operation[JwksAnswer]("GET", "/.well-known/jwks.json", needs_token=False)
LOG_CHECKPOINT = Operation[Any]("GET", "/log/checkpoint", needs_token=False)
LOG_KEY = Operation[Any]("GET", "/log/key", needs_token=False)
OPENID_CONFIGURATION = Operation[dict[str, Any]](
    "GET", "/.well-known/openid-configuration", needs_token=False
)
PROTECTED_MCP_SERVER = Operation[dict[str, Any]](
    "GET", "/.well-known/oauth-protected-resource/mcp", needs_token=False
)
PROTECTED_RESOURCE = Operation[dict[str, Any]](
    "GET", "/.well-known/oauth-protected-resource", needs_token=False
)
SSF_CONFIGURATION = Operation[dict[str, Any]](
    "GET", "/.well-known/ssf-configuration", needs_token=False
)


class DiscoveryApi(Calls):
    def authorization_server(self) -> dict[str, Any]:
        """How to get a token (RFC 8414).

        Needs no token.
        """
        return self._call(AUTHORIZATION_SERVER())

    def jwks(self) -> JwksAnswer:
        """The keys that verify our tokens.

        Needs no token.
        """
        return self._call(JWKS())

    def log_checkpoint(self) -> Stream:
        """The newest checkpoint of the instance log (C2SP tlog-checkpoint).

        A signed note: the origin of the log, its size and its root. Signed by the key of
        `/log/key`, and cosigned by witnesses. With witnesses, it is the newest checkpoint that was
        sent to them, with the cosignatures that came. Needs no token.
        """
        return self._stream(LOG_CHECKPOINT())

    def log_key(self) -> Stream:
        """The verifier key of the instance log.

        Needs no token.
        """
        return self._stream(LOG_KEY())

    def openid_configuration(self) -> dict[str, Any]:
        """The same, where OpenID clients look for it.

        Needs no token.
        """
        return self._call(OPENID_CONFIGURATION())

    def protected_mcp_server(self) -> dict[str, Any]:
        """The same for our MCP server, which takes the same tokens (RFC 9728).

        Needs no token.
        """
        return self._call(PROTECTED_MCP_SERVER())

    def protected_resource(self) -> dict[str, Any]:
        """What tokens for this API are like (RFC 9728).

        Needs no token.
        """
        return self._call(PROTECTED_RESOURCE())

    def ssf_configuration(self) -> dict[str, Any]:
        """How to learn at once which tokens have ended (Shared Signals Framework 1.0).

        Needs no token.
        """
        return self._call(SSF_CONFIGURATION())


class AsyncDiscoveryApi(AsyncCalls):
    async def authorization_server(self) -> dict[str, Any]:
        """How to get a token (RFC 8414).

        Needs no token.
        """
        return await self._call(AUTHORIZATION_SERVER())

    async def jwks(self) -> JwksAnswer:
        """The keys that verify our tokens.

        Needs no token.
        """
        return await self._call(JWKS())

    def log_checkpoint(self) -> AsyncStream:
        """The newest checkpoint of the instance log (C2SP tlog-checkpoint).

        A signed note: the origin of the log, its size and its root. Signed by the key of
        `/log/key`, and cosigned by witnesses. With witnesses, it is the newest checkpoint that was
        sent to them, with the cosignatures that came. Needs no token.
        """
        return self._stream(LOG_CHECKPOINT())

    def log_key(self) -> AsyncStream:
        """The verifier key of the instance log.

        Needs no token.
        """
        return self._stream(LOG_KEY())

    async def openid_configuration(self) -> dict[str, Any]:
        """The same, where OpenID clients look for it.

        Needs no token.
        """
        return await self._call(OPENID_CONFIGURATION())

    async def protected_mcp_server(self) -> dict[str, Any]:
        """The same for our MCP server, which takes the same tokens (RFC 9728).

        Needs no token.
        """
        return await self._call(PROTECTED_MCP_SERVER())

    async def protected_resource(self) -> dict[str, Any]:
        """What tokens for this API are like (RFC 9728).

        Needs no token.
        """
        return await self._call(PROTECTED_RESOURCE())

    async def ssf_configuration(self) -> dict[str, Any]:
        """How to learn at once which tokens have ended (Shared Signals Framework 1.0).

        Needs no token.
        """
        return await self._call(SSF_CONFIGURATION())

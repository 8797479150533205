"""The official Python client: signs an agent in at the MCP server in argv, and prints what it found as JSON."""

import asyncio
import json
import sys

from mcp import Client, MCPError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


class Storage:
    """Keeps tokens for the time of this program."""

    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


async def main(url: str, issuer: str, client_id: str, client_secret: str) -> dict:
    storage = Storage()
    auth = ClientCredentialsOAuthProvider(url, storage, client_id, client_secret, issuer=issuer)
    async with create_mcp_http_client(auth=auth) as http_client:
        async with Client(streamable_http_client(url, http_client=http_client)) as client:
            tools = await client.list_tools()
            resources = await client.list_resources()
            page = await client.read_resource("countersign://docs/concepts.md")
            found = await client.call_tool("find_agents", {"text": client_id})
            log = await client.call_tool("verify_the_log", {})
            unknown = await client.call_tool("what_can_agent_do", {"agent": "no-such-agent"})
            try:
                await client.read_resource("countersign://docs/../package.json")
                outside = None
            except MCPError as error:
                outside = error.error.code
            return {
                "version": str(client.protocol_version),
                "scope": storage.tokens.scope,
                "tools": [tool.name for tool in tools.tools],
                "resources": len(resources.resources),
                "page": page.contents[0].text,
                "found": found.content[0].text,
                "log": log.content[0].text,
                "unknown": [unknown.is_error, unknown.content[0].text],
                "outside": outside,
            }


print(json.dumps(asyncio.run(main(*sys.argv[1:]))))

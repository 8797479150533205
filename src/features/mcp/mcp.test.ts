import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { freePort } from '../../../test/support/programs.ts';
import { startApp } from '../../../test/support/harness.ts';

const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const t = await startApp({ BASE_URL: url });
await t.app.http.server.listen({ host: '127.0.0.1', port });

async function connect(token: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  await client.connect(transport);
  after(() => client.close());
  return client;
}

describe('the MCP server', () => {
  it('lists its tools, and answers', async () => {
    const client = await connect(await t.token());
    const { tools } = await client.listTools();
    console.error(tools.map(({ name }) => name), client.getServerVersion?.());
    const found = await client.callTool({ name: 'find_agents', arguments: {} });
    console.error(JSON.stringify(found).slice(0, 1500));
    const { resources } = await client.listResources();
    console.error(resources.length, resources[0]);
    const page = await client.readResource({ uri: 'countersign://docs/guides/dpop.md' });
    console.error(JSON.stringify(page).slice(0, 200));
  });
});

/** Our MCP server as hosts use it, with the official SDK: from its address alone to a tool, for a person and for an agent. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  Client,
  ClientCredentialsProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { decodeJwt } from 'jose';
import { listenForApprovals } from '../support/clients/listening.ts';
import { createHost, type Host } from '../support/clients/mcp-host.ts';

const scenario = await listenForApprovals();
const { t, issuer, admin, member } = scenario;
const address = new URL('/mcp', issuer);
const loopback = 'http://127.0.0.1:33418/callback';

const textOf = ({ content }: Record<string, unknown>) => (content as [{ text: string }])[0].text;
const factsIn = (result: Record<string, unknown>) =>
  JSON.parse(/^--- \S+\n(.*)\n--- \S+$/m.exec(textOf(result))?.[1] ?? assert.fail(textOf(result)));

const connect = (authProvider: Host) => {
  const client = new Client({ name: 'host', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(address, { authProvider });
  return { client, transport, start: () => client.connect(transport) };
};

/** A host that is known by its metadata document, as Claude and VS Code are. */
const newHost = () =>
  createHost(issuer, {
    redirectUrl: loopback,
    clientMetadataUrl: scenario.documentClient({ redirect_uris: ['http://127.0.0.1/callback'] }).clientId,
  });

type Person = Awaited<ReturnType<typeof admin>>;

async function signIn({ browser }: Pick<Person, 'browser'>, host: Host, decision?: object) {
  const unknown = connect(host);
  await assert.rejects(unknown.start(), UnauthorizedError);
  assert.equal(host.address?.searchParams.get('resource'), address.href);
  const location = await scenario.agree(browser, String(host.address), decision);
  await unknown.transport.finishAuth(new URL(location).searchParams);
  const known = connect(host);
  await known.start();
  return known;
}

const claimsOf = async (host: Host) => decodeJwt((await host.tokens())?.access_token ?? '');

describe('a host with the official SDK', () => {
  it('discovers, signs the person in, and asks as this person', async () => {
    const [person, host] = [await admin(), newHost()];
    const { client } = await signIn(person, host);
    const { sub, aud, scope } = await claimsOf(host);
    assert.deepEqual([sub, aud, scope], [person.personId, issuer, 'agents:read audit:read']);
    const { tools } = await client.listTools();
    assert.equal(tools.length, 9);
    const { events } = factsIn(
      await client.callTool({ name: 'who_acted_for_whom', arguments: { action: 'consent.granted' } }),
    );
    assert.ok(events.length > 0);
    const { resources } = await client.listResources();
    assert.ok(resources.length > 50);
    const { contents } = await client.readResource({ uri: 'countersign://docs/concepts.md' });
    assert.match(String((contents[0] as { text: string }).text), /^# /);
    assert.match(
      textOf(
        await client.callTool({
          name: 'request_approval',
          arguments: { resource: issuer, scopes: ['agents:read'], message: 'Please' },
        }),
      ),
      /unauthorized_client: a delegated token cannot ask for approvals/,
    );
    await client.close();
  });

  it('comes back for the scope that a tool needs, and the person has not given', async () => {
    const [person, host] = [await admin(), newHost()];
    const { client, transport } = await signIn(person, host, {
      decision: 'approve',
      scopes: ['agents:read'],
    });
    assert.ok(factsIn(await client.callTool({ name: 'find_agents', arguments: {} })).total > 0);
    await assert.rejects(client.callTool({ name: 'verify_the_log', arguments: {} }), UnauthorizedError);
    assert.equal(host.address?.searchParams.get('scope'), 'agents:read audit:read');
    const location = await scenario.agree(person.browser, String(host.address));
    await transport.finishAuth(new URL(location).searchParams);
    assert.equal(factsIn(await client.callTool({ name: 'verify_the_log', arguments: {} })).verified, true);
    await client.close();
  });

  it('gets nothing for a member, and nothing after the person has ended the access', async () => {
    const { browser } = await member();
    const host = newHost();
    await assert.rejects(connect(host).start(), UnauthorizedError);
    const refused = await browser.request(String(host.address));
    assert.doesNotMatch(String(refused.location), /code=|\/console\/authorize\//);

    const [person, allowed] = [await admin(), newHost()];
    const { client } = await signIn(person, allowed);
    const { chain_id } = await claimsOf(allowed);
    const path = `/console/api/me/delegations/${chain_id}`;
    assert.equal((await person.browser.change('DELETE', path)).status, 204);
    await assert.rejects(client.callTool({ name: 'find_agents', arguments: {} }));
    await client.close();
  });
});

describe('an agent', () => {
  it('signs in with its secret, also with version 1 of the SDK', async () => {
    const { clientId, clientSecret } = await t.agent({ allowedScopes: ['agents:read', 'audit:read'] });
    const authProvider = new ClientCredentialsProvider({ clientId, clientSecret, expectedIssuer: issuer });
    const client = new Client({ name: 'agent', version: '1.0.0' });
    await client.connect(new StreamableHTTPClientTransport(address, { authProvider }));
    const { agents } = factsIn(await client.callTool({ name: 'find_agents', arguments: { text: clientId } }));
    assert.deepEqual(
      agents.map(({ agentId }: { agentId: string }) => agentId),
      [clientId],
    );
    await client.close();

    const first = new FirstClient({ name: 'agent', version: '1.0.0' });
    const headers = { authorization: `Bearer ${await t.token(undefined, { clientId, clientSecret })}` };
    const transport = new FirstTransport(address, { requestInit: { headers } });
    await first.connect(transport as Parameters<FirstClient['connect']>[0]);
    assert.equal(factsIn(await first.callTool({ name: 'verify_the_log', arguments: {} })).verified, true);
    await first.close();
  });
});

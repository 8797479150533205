/** The programs of docs/guides/sign-people-in.md, as the guide gives them out: the MCP server, and the agent on a person's computer. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { listenForPeople } from '../support/clients/listening.ts';
import { freePort, startProgram, until } from '../support/programs.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const exported = JSON.parse(readFileSync(join(root, 'sdk/typescript/package.json'), 'utf8')).exports;
// Within the repository, so that the packages are found.
const cache = join(root, 'node_modules/.cache');
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(join(cache, 'people-guide-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const scenario = await listenForPeople();
const { t, issuer, organizationId, newBrowser, logIn, requestIdIn, decide, tokensFor, member } = scenario;
const port = await freePort();
const audience = `http://127.0.0.1:${port}/mcp`;
const { resourceId } = await scenario.makeResource({
  identifier: audience,
  scopes: [{ name: 'orders:read' }, { name: 'orders:refund' }],
  peopleScopes: ['orders:read'],
  claims: ['personSubject'],
});

/** A program of the guide with the SDK of this repository, which is not built here. */
function start(name: string, env: Record<string, string>) {
  const text = readFileSync(join(root, 'docs/guides/people', name), 'utf8');
  const file = join(folder, name);
  writeFileSync(
    file,
    text.replaceAll(/'@countersign\/sdk(\/\w+)?'/g, (_, entry = '') => {
      const source = exported[`.${entry}`].default.replace('./dist/', 'sdk/typescript/src/');
      return `'${join(root, source.replace(/\.js$/, '.ts'))}'`;
    }),
  );
  return startProgram(process.execPath, [file], {
    env: { PATH: process.env.PATH, ISSUER: issuer, AUDIENCE: audience, ...env },
  });
}

const own = await t.agent({ allowedScopes: ['tokens:read'] });
const server = start('mcp-server.mjs', {
  ORGANIZATION_ID: organizationId,
  CLIENT_ID: own.clientId,
  CLIENT_SECRET: own.clientSecret,
  PORT: String(port),
});
const metadataUrl = `http://127.0.0.1:${port}/.well-known/oauth-protected-resource/mcp`;
const metadata = await until(
  'the MCP server',
  async () => (await (await fetch(metadataUrl)).json()) as Record<string, unknown>,
  server,
);

const register = () => scenario.publicClient('http://127.0.0.1/callback');

/** The agent of the guide, and the address that it prints. */
async function startAgent() {
  const { clientId } = await register();
  const program = start('agent.mjs', { CLIENT_ID: clientId });
  const url = await until(
    'the address for the browser',
    async () => /^Open (\S+)$/m.exec(program.stdout())?.[1],
    program,
  );
  return { clientId, program, url };
}

/** A person who signs in and decides. Returns the page that the agent shows, and the person. */
async function decideIn(url: string, decision: object) {
  const browser = newBrowser();
  const login = `person-${randomUUID()}`;
  const { location = '' } = await browser.request(url, { headers: { 'sec-fetch-site': 'none' } });
  const requestId = requestIdIn((await logIn(browser, location, login)).location);
  const { json: question } = await browser.request(scenario.pathOf(requestId));
  const decided = await decide(browser, requestId, decision);
  const shown = await fetch(decided.json.redirectTo);
  return { login, question, page: { status: shown.status, text: await shown.text() } };
}

const callTool = async (name: string, token?: string) => {
  const answer = await fetch(audience, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } }),
  });
  const challenge = answer.headers.get('www-authenticate') ?? '';
  return { status: answer.status, challenge, text: await answer.text() };
};

describe('the guide "Sign people in to your MCP server"', () => {
  it('the agent signs a person in on loopback, and calls a tool for the person', async () => {
    const { clientId, program, url } = await startAgent();
    const { question, page } = await decideIn(url, { decision: 'approve' });
    assert.deepEqual(
      question.scopes.map(({ name }: { name: string }) => name),
      ['orders:read'],
    );
    assert.deepEqual([question.client.redirectHost, question.client.registered], ['127.0.0.1', true]);
    assert.equal(page.status, 200);
    assert.match(page.text, /You are signed in/);
    assert.equal(await program.gone(), 0, program.output());
    assert.ok(
      program.stdout().includes(`orders of ${question.person.personId}, asked by ${clientId}`),
      program.output(),
    );
  });

  it('the agent ends with access_denied when the person refuses', async () => {
    const { program, url } = await startAgent();
    const { page } = await decideIn(url, { decision: 'deny' });
    assert.equal(page.status, 400);
    assert.equal(await program.gone(), 1, program.output());
    assert.match(program.output(), /access_denied/);
  });

  it('the server names Countersign; 401 without a token for it, 403 for an agent that acts for itself', async () => {
    assert.deepEqual([metadata.resource, metadata.authorization_servers], [audience, [issuer]]);
    const none = await callTool('list_orders');
    assert.equal(none.status, 401);
    assert.ok(none.challenge.includes(`resource_metadata="${metadataUrl}"`), none.challenge);
    // An agent that acts for itself, with the same scope by a grant.
    const agent = await t.agent();
    const scopes = ['orders:read'];
    await scenario.operate('PUT', `/agents/${agent.agentId}/grants/${resourceId}`, { scopes });
    const machine = await t.askToken({
      grant_type: 'client_credentials',
      client_id: agent.clientId,
      client_secret: agent.clientSecret,
      resource: audience,
    });
    assert.equal(machine.status, 200, machine.text);
    assert.equal((await callTool('list_orders', machine.json.access_token)).status, 403);
    // A person's token for another API.
    const { browser } = await member();
    const elsewhere = await tokensFor(browser, await register());
    assert.equal((await callTool('list_orders', String(elsewhere.access_token))).status, 401);
  });

  it('403 with the missing scope; a person who may lend it gets further', async () => {
    const client = await register();
    const { browser, personId } = await member();
    const { access_token: read } = await tokensFor(browser, client, { resource: audience });
    assert.equal((await callTool('list_orders', String(read))).status, 200);
    const refused = await callTool('refund_order', String(read));
    assert.equal(refused.status, 403, refused.text);
    assert.match(refused.challenge, /error="insufficient_scope"/);
    assert.match(refused.challenge, /scope="orders:read orders:refund"/);
    const wanted = { resource: audience, scope: 'orders:read orders:refund' };
    const asMember = await tokensFor(browser, client, wanted);
    assert.equal(asMember.scope, 'orders:read', 'a member may not lend the other');
    await scenario.operate('PATCH', `/resources/${resourceId}`, { approvers: [personId] });
    const asApprover = await tokensFor(browser, client, wanted);
    const done = await callTool('refund_order', String(asApprover.access_token));
    assert.equal(done.status, 200, done.text);
    assert.ok(done.text.includes(`refunded for ${personId}`), done.text);
  });
});

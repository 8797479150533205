/** The way of a person and two agents: sign-in, consent, calls of a protected API, a part passed on, and the end of both in "My agents". */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import { createClient, createVerifier, TokenError } from '../../sdk/typescript/src/sdk.ts';
import { createOutbound } from '../../src/adapters/outbound/outbound.ts';
import { browserTest, startConsole } from '../support/console.ts';
import { startSignInProvider } from '../support/peers/sign-in-provider.ts';
import { challengeOf } from '../support/scenarios/authorization.ts';
import { createDelegationClient } from '../support/scenarios/delegations.ts';
import { newResource } from '../support/scenarios/resources/resources.ts';

const redirectUri = 'https://app.example/callback';
const provider = await startSignInProvider([], '127.0.0.2');
const server = await startConsole({}, { outbound: createOutbound({ allowPrivate: true }) });
provider.acceptRedirectsTo(server.url);
provider.accounts.ada = { name: 'Ada Lovelace' };
const { organizationId } = server.operator;
const { createDelegation, exchange, redeem } = createDelegationClient(server);

async function operate(url: string, payload: object) {
  const answer = await server.call('POST', `/api/v1${url}`, { token: await server.token(), payload });
  assert.equal(answer.status, 201, answer.text);
  return answer.json;
}

/** An API of the organization: GET needs orders:read, POST orders:write. It asks about each token. */
async function startOrders(): Promise<string> {
  const api = createServer((request, response) => {
    const scopes = request.method === 'POST' ? 'orders:write' : 'orders:read';
    verifier.verify(request, { scopes }).then(
      ({ subject, actors }) => response.end(JSON.stringify({ subject, actors })),
      (error: unknown) => {
        const { status, wwwAuthenticate } = error as TokenError;
        if (!(error instanceof TokenError)) return response.writeHead(500).end(String(error));
        return response.writeHead(status, { 'www-authenticate': wwwAuthenticate }).end();
      },
    );
  });
  api.listen(0, '127.0.0.1');
  await once(api, 'listening');
  after(() => {
    api.closeAllConnections();
    api.close();
  });
  const audience = `http://localhost:${(api.address() as AddressInfo).port}`;
  const { clientId, clientSecret } = await server.agent({ allowedScopes: ['tokens:read'] });
  const verifier = createVerifier({
    ...{ issuer: server.url, audience, organizationId, subjects: 'people' },
    revocation: 'introspect',
    introspectWith: createClient({ issuer: server.url, clientId, auth: clientSecret }),
  });
  return audience;
}

browserTest('a person lets an agent act, it passes a part on, and the person ends both', async (t) => {
  const { issuer, clientId, clientSecret } = provider;
  await operate(`/organizations/${organizationId}/connections`, {
    ...{ name: 'Company', issuer, clientId, clientSecret },
  });
  const orders = await startOrders();
  const peopleScopes = ['orders:read', 'orders:write'];
  await operate('/resources', newResource({ identifier: orders, peopleScopes }));
  const call = async (token: string, method = 'GET') => {
    const answer = await fetch(orders, { method, headers: { authorization: `Bearer ${token}` } });
    const refusal = /error="(\w+)"/.exec(answer.headers.get('www-authenticate') ?? '')?.[1];
    return { status: answer.status, refusal, text: await answer.text() };
  };
  const [agent, helper] = [await server.agent({ redirectUris: [redirectUri] }), await server.agent()];

  // The person signs in at the company's provider, and agrees.
  const allow = [new RegExp(`^foreign: ${issuer}/`), /^foreign: https:\/\/app\.example\//];
  const page = await server.open(t, '/sign-in', { as: null, allow });
  await page.route('https://app.example/**', (route) => route.fulfill({ body: 'Connected' }));
  const verifier = randomBytes(32).toString('base64url');
  const parameters = new URLSearchParams({
    ...{ response_type: 'code', client_id: agent.clientId, redirect_uri: redirectUri },
    ...{ code_challenge: challengeOf(verifier), code_challenge_method: 'S256' },
    ...{ resource: orders, login_hint: 'ada' },
  });
  await page.goto(`${server.url}/api/v1/authorize?${parameters}`);
  assert.equal(new URL(page.url()).origin, issuer);
  await page.getByLabel('Login').fill('ada');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('checkbox', { name: /^It may pass this on/ }).check();
  // The button works when it has been seen for a second.
  await page.locator('button:not([aria-disabled])', { hasText: 'Allow' }).click();
  await page.waitForURL(`${redirectUri}?**`);
  const tokens = await server.askToken({
    ...{ grant_type: 'authorization_code', code: String(new URL(page.url()).searchParams.get('code')) },
    ...{ code_verifier: verifier, redirect_uri: redirectUri },
    ...{ client_id: agent.clientId, client_secret: agent.clientSecret },
  });
  assert.equal(tokens.status, 200, tokens.text);
  const first: string = tokens.json.access_token;

  // The agent calls the API for the person, and passes a part on.
  const [person] = await server.sql<{ id: string }>(
    "select person_id as id from people where name = 'Ada Lovelace' and organization_id = $1",
    [organizationId],
  );
  const subject = { type: 'person', id: person?.id };
  const asFirst = await call(first);
  assert.equal(asFirst.status, 200, String(asFirst.refusal));
  assert.deepEqual(JSON.parse(asFirst.text), { subject, actors: [agent.agentId] });
  assert.equal((await call(first, 'POST')).status, 200);
  const own = await server.token(undefined, agent);
  const passedOn = await createDelegation(own, helper, ['orders:read'], { parentToken: first });
  const second = await redeem(helper, passedOn, { resource: orders });
  const asSecond = await call(second);
  assert.equal(asSecond.status, 200, String(asSecond.refusal));
  assert.deepEqual(JSON.parse(asSecond.text), { subject, actors: [helper.agentId, agent.agentId] });
  const beyond = await call(second, 'POST');
  assert.deepEqual([beyond.status, beyond.refusal], [403, 'insufficient_scope']);

  // The person ends it, and both agents are refused at their next call.
  await page.goto(`${server.url}/console`);
  await page.getByRole('heading', { level: 1, name: 'My agents' }).waitFor();
  const { email } = (
    await server.call('GET', `/api/v1/agents/${agent.agentId}`, { token: await server.token() })
  ).json;
  const row = page.getByRole('row').filter({ hasText: email });
  await row.getByRole('button', { name: /^Revoke/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('heading', { name: 'No agent acts for you' }).waitFor();
  for (const token of [first, second]) {
    const { status, refusal } = await call(token);
    assert.deepEqual([status, refusal], [401, 'invalid_token']);
  }
  assert.equal(
    (await exchange(helper, passedOn.delegationToken, { resource: orders })).json.error,
    'invalid_grant',
  );
});

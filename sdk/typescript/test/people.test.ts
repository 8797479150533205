/** A person signs in through the company's provider and agrees; the agent without a secret calls an API for them. All with this SDK. */
import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { after, describe, it } from 'node:test';
import Fastify from 'fastify';
import { createAuthorizationScenario } from '../../../test/support/scenarios/authorization.ts';
import { requireToken } from '../src/adapters/fastify.ts';
import { createTokenVerifier } from '../src/adapters/mcp.ts';
import { authorizeOnLoopback } from '../src/loopback.ts';
import {
  AuthorizationError,
  createClient,
  createPersonSession,
  createVerifier,
  type PersonTokens,
  type Subjects,
} from '../src/sdk.ts';
import { refusedWith } from './orders.ts';

const people = await createAuthorizationScenario();
const { t, organizationId, resource, publicClient, documentClient, member, requestIdIn, decide } = people;
const issuer = 'https://countersign.test';
const audience: string = resource.identifier;
const redirectUri = 'http://127.0.0.1/callback';

await t.app.http.server.listen({ host: '127.0.0.1', port: 0 });
const { port } = t.app.http.server.server.address() as AddressInfo;
/** The public address of the instance has no name that resolves. */
const platform = {
  fetch: (url: string | URL | Request, init?: RequestInit) =>
    fetch(String(url).replace(issuer, `http://127.0.0.1:${port}`), init),
};

type Person = Awaited<ReturnType<typeof member>>;

/** The consent page leads back to the listener of the program. */
async function consent({ browser }: Person, url: string, decision: object): Promise<string> {
  const requestId = requestIdIn((await browser.request(url)).location);
  const { status, json, text } = await decide(browser, requestId, decision);
  assert.equal(status, 200, text);
  return (await fetch(json.redirectTo)).text();
}

async function signIn(person: Person, clientId: string, decision: object = { decision: 'approve' }) {
  let page: Promise<string> | undefined;
  const tokens = await authorizeOnLoopback({
    ...{ issuer, clientId, resource: audience, redirectUri, platform },
    open(url) {
      page = consent(person, url, decision);
    },
  });
  assert.match((await page) ?? '', /You can close this window/);
  return tokens;
}

const sessionOf = async (tokens: PersonTokens) => {
  const { clientId } = tokens;
  const session = createPersonSession({ issuer, clientId, resource: audience, platform });
  await session.save(tokens);
  return session;
};

const reader = await t.agent({ allowedScopes: ['tokens:read'] });
const introspectWith = createClient({
  issuer,
  clientId: reader.clientId,
  auth: reader.clientSecret,
  platform,
});
const verifierOf = (subjects: Subjects) =>
  createVerifier({
    ...{ issuer, audience, organizationId, subjects, platform },
    ...({ revocation: 'introspect', introspectWith } as const),
  });

const person = await member();
const client = await publicClient(redirectUri);

describe('an agent that acts for a person', () => {
  it('200: subject and actors; 403 where only agents are accepted, in the adapters, too', async () => {
    const { accessToken, scope } = await signIn(person, client.clientId);
    assert.equal(scope, 'orders:read orders:write');
    for (const subjects of ['people', 'any'] as const) {
      const { subject, actors, agentId, chainId } = await verifierOf(subjects).verify(accessToken, {
        scopes: 'orders:read',
      });
      assert.deepEqual(subject, { type: 'person', id: person.personId });
      assert.deepEqual([agentId, actors], [client.agentId, [client.agentId]]);
      assert.match(String(chainId), /^[0-9a-f-]{36}$/);
    }
    const { extra, clientId } = await createTokenVerifier(verifierOf('any')).verifyAccessToken(accessToken);
    assert.deepEqual([clientId, extra?.subject], [client.agentId, { type: 'person', id: person.personId }]);

    await assert.rejects(
      verifierOf('agents').verify(accessToken),
      refusedWith(403, 'insufficient_scope', /only agents are accepted/),
    );
    await assert.rejects(
      createTokenVerifier(verifierOf('agents')).verifyAccessToken(accessToken),
      /only agents are accepted/,
    );
    const app = Fastify();
    after(() => app.close());
    app.get('/agents', { preHandler: requireToken(verifierOf('agents')) }, async () => ({}));
    app.get(
      '/people',
      { preHandler: requireToken(verifierOf('people')) },
      async ({ agent }) => agent?.subject,
    );
    const headers = { authorization: `Bearer ${accessToken}` };
    const refusal = await app.inject({ url: '/agents', headers });
    assert.equal(refusal.statusCode, 403);
    assert.match(String(refusal.headers['www-authenticate']), /the subject of the token is a person/);
    const { statusCode, body } = await app.inject({ url: '/people', headers });
    assert.deepEqual([statusCode, JSON.parse(body)], [200, { type: 'person', id: person.personId }]);
  });

  it("403: an agent's own token where only people are accepted", async () => {
    const buyer = await t.agent();
    await people.operate('PUT', `/agents/${buyer.agentId}/grants/${resource.resourceId}`, {
      scopes: ['orders:read'],
    });
    const own = createClient({ issuer, clientId: buyer.clientId, auth: buyer.clientSecret, platform });
    const token = await own.token({ resource: audience });
    assert.deepEqual((await verifierOf('agents').verify(token)).subject, {
      type: 'agent',
      id: buyer.agentId,
    });
    await assert.rejects(
      verifierOf('people').verify(token),
      refusedWith(403, 'insufficient_scope', /only people are accepted/),
    );
  });

  it('a client with a metadata document signs in by its address', async () => {
    const document = documentClient({ redirect_uris: [redirectUri] });
    const tokens = await signIn(person, document.clientId);
    const { claims } = await verifierOf('people').verify(tokens.accessToken);
    assert.equal(claims.client_uri, document.clientId);
    const session = await sessionOf(tokens);
    assert.notEqual(await session.refresh(), tokens.accessToken);
  });

  it('refresh gives a new pair; after `end` both are refused', async () => {
    const tokens = await signIn(person, client.clientId);
    const session = await sessionOf(tokens);
    const renewed = await session.refresh();
    assert.notEqual(renewed, tokens.accessToken);
    assert.notEqual((await session.tokens())?.refreshToken, tokens.refreshToken);
    for (const token of [tokens.accessToken, renewed]) await verifierOf('people').verify(token);
    await session.end();
    for (const token of [tokens.accessToken, renewed])
      await assert.rejects(verifierOf('people').verify(token), refusedWith(401, 'invalid_token', /revoked/));
  });

  it('authorization_required: the person takes it back', async () => {
    const tokens = await signIn(person, client.clientId);
    const session = await sessionOf(tokens);
    const { chainId } = await verifierOf('people').verify(tokens.accessToken);
    const { status } = await person.browser.change('DELETE', `/console/api/me/delegations/${chainId}`);
    assert.equal(status, 204);
    await assert.rejects(
      verifierOf('people').verify(tokens.accessToken),
      refusedWith(401, 'invalid_token', /revoked/),
    );
    await assert.rejects(
      session.refresh(),
      (error) => error instanceof AuthorizationError && error.code === 'authorization_required',
    );
  });

  it('access_denied: the person refuses', async () => {
    await assert.rejects(
      signIn(person, client.clientId, { decision: 'deny' }),
      (error) => error instanceof AuthorizationError && error.code === 'access_denied',
    );
  });
});

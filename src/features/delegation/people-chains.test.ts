/** Chains that begin with a person: passed on, narrowed and ended. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import type { TestBrowser } from '../../../test/support/clients/browser.ts';
import {
  baseUrl,
  createAuthorizationScenario,
  type TestClient,
} from '../../../test/support/scenarios/authorization.ts';
import { jwtType, tokenExchange } from '../../../test/support/scenarios/delegations.ts';

const scenario = await createAuthorizationScenario();
const { t, operate, organizationId, provider, resource, makeResource, confidential, documentClient } =
  scenario;
const { member, newBrowser, newRequest, logIn, startOf, answerIn, isActive, refresh, tokensFor } = scenario;

const personUrl = (personId: string, orgId = organizationId) => `/organizations/${orgId}/people/${personId}`;

/** An invited person who acts through an agent with these scopes, signed in. */
async function invited(role: 'admin' | 'viewer', allowedScopes: string[], from = newBrowser()) {
  const agent = await t.agent({ allowedScopes });
  const { personId, subject } = await operate('POST', `/organizations/${organizationId}/people`, {
    issuer: provider.issuer,
    subject: `person-${randomUUID()}`,
    name: 'Ada Lovelace',
    role,
    agentId: agent.agentId,
  });
  assert.equal((await logIn(from, startOf(), subject)).location, '/console');
  return { browser: from, personId: personId as string, agent };
}

/** Tokens of one consent each. */
const consentTo = async (
  browser: TestBrowser,
  client: TestClient,
  scopes: readonly string[],
  audience = resource.identifier,
): Promise<string[]> => {
  const tokens = [];
  for (const scope of scopes) {
    const { access_token, scope: got } = await tokensFor(browser, client, { scope, resource: audience });
    assert.equal(got, scope);
    tokens.push(String(access_token));
  }
  return tokens;
};

const activity = (tokens: readonly string[]) => Promise.all(tokens.map(isActive));

describe('a chain that the agent passes on', () => {
  const passOn = async (token: string, payload: object) =>
    t.call('POST', '/api/v1/delegations', { token, payload });

  it('both agents act; when the person revokes, both are refused at the next introspection', async () => {
    const client = await confidential();
    const helper = await t.agent();
    const { browser, personId } = await member();
    const tokens = await tokensFor(browser, client, {}, { decision: 'approve', allowRedelegation: true });
    const parentToken = String(tokens.access_token);
    const own = await t.token(undefined, client.agent);
    const wanted = { delegateeId: helper.agentId, scopes: ['orders:read'], parentToken };
    const link = await passOn(own, wanted);
    assert.equal(link.status, 201, link.text);
    const { chainId, delegationToken, ...made } = link.json;
    assert.deepEqual(
      [made.subjectType, made.subjectId, made.delegatorType, made.delegatorId, made.depth, made.origin],
      ['person', personId, 'agent', client.agentId, 2, 'api'],
    );
    const [received] = (await operate('GET', `/agents/${helper.agentId}/access`)).delegated;
    assert.deepEqual(
      [received.subjectType, received.subjectId, received.delegatorType, received.delegatorId],
      ['person', personId, 'agent', client.agentId],
    );
    const redeem = () =>
      t.askToken({
        grant_type: tokenExchange,
        subject_token: delegationToken,
        subject_token_type: jwtType,
        resource: resource.identifier,
        client_id: helper.clientId,
        client_secret: helper.clientSecret,
      });
    const redeemed = await redeem();
    assert.equal(redeemed.status, 200, redeemed.text);
    const passed: string = redeemed.json.access_token;
    const { sub, sub_profile, client_id, scope, act, chain_id } = decodeJwt(passed);
    assert.deepEqual(
      { sub, sub_profile, client_id, scope, act, chain_id },
      {
        sub: personId,
        sub_profile: 'person',
        client_id: helper.agentId,
        scope: 'orders:read',
        act: {
          sub: helper.agentId,
          sub_profile: 'ai_agent',
          act: { sub: client.agentId, sub_profile: 'ai_agent' },
        },
        chain_id: chainId,
      },
    );
    assert.deepEqual(await activity([parentToken, passed]), [true, true]);

    const root = decodeJwt(parentToken).chain_id;
    const below = await browser.change('DELETE', `/console/api/me/delegations/${chainId}`);
    assert.equal(below.status, 404, 'the person ends what the person gave');
    assert.equal((await browser.change('DELETE', `/console/api/me/delegations/${root}`)).status, 204);
    assert.deepEqual(await activity([parentToken, passed]), [false, false]);
    assert.equal((await redeem()).json.error, 'invalid_grant');
    assert.equal((await refresh(client, String(tokens.refresh_token))).json.error, 'invalid_grant');
    assert.equal((await passOn(own, wanted)).json.code, 'DELEGATION_REVOKED');
  });

  it('403 unless the person allowed it, by its delegatee, and within its scopes', async () => {
    const client = await confidential();
    const helper = await t.agent();
    const { browser } = await member();
    const own = await t.token(undefined, client.agent);
    const pass = (parentToken: string | undefined, scopes: string[], token = own) =>
      passOn(token, { delegateeId: helper.agentId, scopes, parentToken });
    const fixed = await tokensFor(browser, client, { scope: 'orders:read' });
    const refused = await pass(fixed.access_token, ['orders:read']);
    assert.deepEqual([refused.status, refused.json.code], [403, 'FORBIDDEN']);
    const open = await tokensFor(
      browser,
      client,
      { scope: 'orders:read' },
      { decision: 'approve', allowRedelegation: true },
    );
    const wide = await pass(open.access_token, ['orders:write']);
    assert.deepEqual([wide.status, wide.json.code], [403, 'DELEGATION_SCOPE_EXCEEDED']);
    const stolen = await pass(open.access_token, ['orders:read'], await t.token(undefined, await t.agent()));
    assert.deepEqual([stolen.status, stolen.json.code], [403, 'FORBIDDEN']);
    assert.equal((await pass(open.access_token, ['orders:read'])).status, 201);
  });
});

describe('what a person may lend now', () => {
  it('peopleScopes: a narrower list ends the tokens that exceed it, and no other', async () => {
    const { identifier, resourceId } = await makeResource();
    const client = await confidential();
    const { browser } = await member();
    const tokens = await consentTo(browser, client, ['orders:read', 'orders:read orders:write'], identifier);
    const elsewhere = await consentTo(browser, client, ['orders:read orders:write']);
    await operate('PATCH', `/resources/${resourceId}`, { peopleScopes: ['orders:read'] });
    assert.deepEqual(await activity([...tokens, ...elsewhere]), [true, false, true]);
    await operate('PATCH', `/resources/${resourceId}`, { peopleScopes: [] });
    assert.deepEqual(await activity([...tokens, ...elsewhere]), [false, false, true]);
  });

  it('approvers lend every scope, as long as they are listed', async () => {
    const client = await confidential();
    const { browser, personId } = await member();
    const { identifier, resourceId } = await makeResource({ approvers: [personId] });
    const tokens = await consentTo(browser, client, ['orders:read', 'refund'], identifier);
    const other = await member();
    const { scope } = await tokensFor(other.browser, client, { resource: identifier });
    assert.equal(scope, 'orders:read orders:write');
    await operate('PATCH', `/resources/${resourceId}`, { approvers: [other.personId] });
    assert.deepEqual(await activity(tokens), [true, false]);
  });

  it('a viewer lends peopleScopes and no more, like a member', async () => {
    const { browser } = await invited('viewer', ['agents:read']);
    const { scope } = await tokensFor(browser, await confidential());
    assert.equal(scope, 'orders:read orders:write');
  });

  it('a role: what only an admin lends ends when the admin becomes a member', async () => {
    const client = await confidential();
    const { browser, personId } = await invited('admin', ['agents:read']);
    const tokens = await consentTo(browser, client, ['orders:write', 'refund']);
    const own = await consentTo(browser, client, ['agents:read'], baseUrl);
    assert.deepEqual(await activity([...tokens, ...own]), [true, true, true]);
    await operate('PATCH', personUrl(personId), { role: 'member', agentId: null });
    assert.deepEqual(await activity([...tokens, ...own]), [true, false, false]);
    // The session ended with the role; the chain of our own API gives nothing any more.
    assert.equal((await browser.request('/console/api/session')).status, 401);
  });

  it('a share: people of the partner lend what is shared', async () => {
    const partner = await operate('POST', '/organizations', {
      name: 'Partner',
      slug: `partner-${randomUUID()}`,
      planTier: 'pro',
    });
    const home: string = partner.organizationId;
    const { connectionId } = await scenario.connect(home);
    const shared = await makeResource({ peopleScopes: ['orders:read', 'orders:write'] });
    const share = `/resources/${shared.resourceId}/shares/${home}`;
    await operate('PUT', share, { scopes: ['orders:read', 'orders:write', 'refund'] });
    const admin = await t.agent({
      organization_id: home,
      allowedScopes: ['resources:read', 'resources:write'],
    });
    await operate('POST', `/organizations/${home}/members`, { agentId: admin.agentId, role: 'admin' });
    const accepted = await t.call('POST', `/api/v1/shares/${shared.resourceId}/accept`, {
      token: await t.token(undefined, admin),
    });
    assert.ok(accepted.status < 300, accepted.text);
    const browser = newBrowser();
    await logIn(browser, `${startOf(connectionId)}`, `person-${randomUUID()}`);
    const client = documentClient();
    const { scope } = await tokensFor(browser, client, { resource: shared.identifier });
    assert.equal(scope, 'orders:read orders:write');
    const tokens = await consentTo(browser, client, ['orders:read', 'orders:write'], shared.identifier);
    await operate('DELETE', `/organizations/${home}/connections/${connectionId}`);
    assert.equal((await browser.request('/console/api/session')).status, 401);
    assert.deepEqual(await activity(tokens), [true, true], 'chains outlive the connection');
    await operate('PUT', share, { scopes: ['orders:read'] });
    assert.deepEqual(await activity(tokens), [true, false]);
    await operate('DELETE', share);
    assert.deepEqual(await activity(tokens), [false, false]);
  });

  it('a chain that was passed on has no more than the person may lend', async () => {
    const { identifier, resourceId } = await makeResource();
    const client = await confidential();
    const helper = await t.agent();
    const { browser } = await member();
    const { access_token: parentToken } = await tokensFor(
      browser,
      client,
      { resource: identifier },
      { decision: 'approve', allowRedelegation: true },
    );
    const own = await t.token(undefined, client.agent);
    const redeemed: string[] = [];
    for (const scopes of [['orders:read'], ['orders:write']]) {
      const { json } = await t.call('POST', '/api/v1/delegations', {
        token: own,
        payload: { delegateeId: helper.agentId, scopes, parentToken },
      });
      const answer = await t.askToken({
        grant_type: tokenExchange,
        subject_token: json.delegationToken,
        subject_token_type: jwtType,
        resource: identifier,
        client_id: helper.clientId,
        client_secret: helper.clientSecret,
      });
      redeemed.push(answer.json.access_token);
    }
    await operate('PATCH', `/resources/${resourceId}`, { peopleScopes: ['orders:read'] });
    assert.deepEqual(await activity(redeemed), [true, false]);
  });
});

describe('the end of chains', () => {
  it('with the person: suspended for good, removed for good', async () => {
    const client = await confidential();
    const { browser, personId, login } = await member();
    const tokens = await tokensFor(browser, client);
    await operate('PATCH', personUrl(personId), { status: 'suspended' });
    assert.equal(await isActive(tokens.access_token), false);
    assert.equal((await browser.request('/console/api/session')).status, 401);
    await operate('PATCH', personUrl(personId), { status: 'active' });
    assert.equal(await isActive(tokens.access_token), false);
    const again = await member(login);
    assert.equal(again.personId, personId);
    const later = await tokensFor(again.browser, client);
    await operate('DELETE', personUrl(personId));
    assert.equal(await isActive(later.access_token), false);
    assert.equal((await refresh(client, String(later.refresh_token))).json.error, 'invalid_grant');
    assert.equal((await again.browser.request('/console/api/session')).status, 401);
  });

  it('not with the connection: sessions end, chains go on', async () => {
    const client = await confidential();
    const { browser } = await member();
    const tokens = await tokensFor(browser, client);
    const connection = `/organizations/${organizationId}/connections/${scenario.connection.connectionId}`;
    await operate('PATCH', connection, { status: 'disabled' });
    assert.equal((await browser.request('/console/api/session')).status, 401);
    assert.equal(await isActive(tokens.access_token), true);
    const next = await refresh(client, String(tokens.refresh_token));
    assert.equal(next.status, 200, next.text);
    await operate('PATCH', connection, { status: 'active' });
    assert.equal((await browser.request('/console/api/session')).status, 401);
  });

  it('with the client: an administrator suspends it, also one that came by a document', async () => {
    for (const client of [await confidential(), documentClient()]) {
      const { browser } = await member();
      const tokens = await tokensFor(browser, client);
      const agentId = String(decodeJwt(String(tokens.access_token)).client_id);
      await operate('PATCH', `/agents/${agentId}`, { status: 'suspended' });
      assert.equal(await isActive(tokens.access_token), false);
      await operate('PATCH', `/agents/${agentId}`, { status: 'active' });
      assert.equal(await isActive(tokens.access_token), false);
      assert.equal((await refresh(client, String(tokens.refresh_token))).json.error, 'invalid_grant');
    }
  });
});

describe('claims about the person', () => {
  it('only those that the resource asks for, only in tokens of people; an e-mail only when it is verified', async () => {
    const login = `person-${randomUUID()}`;
    provider.accounts[login] = { name: 'Grace Hopper', email: 'grace@example.com', email_verified: true };
    const unverified = `person-${randomUUID()}`;
    provider.accounts[unverified] = { name: 'Mallory', email: 'grace@example.com', email_verified: false };
    const named = await makeResource({ claims: ['personName', 'personEmail', 'personSubject', 'owner'] });
    const client = await confidential();
    const claimsOf = async (browser: TestBrowser, audience: string) => {
      const { access_token } = await tokensFor(browser, client, { resource: audience });
      return Object.fromEntries(
        Object.entries(decodeJwt(String(access_token))).filter(([name]) => name.startsWith('person_')),
      );
    };
    const [grace, mallory] = [await member(login), await member(unverified)];
    assert.deepEqual(await claimsOf(grace.browser, named.identifier), {
      person_name: 'Grace Hopper',
      person_email: 'grace@example.com',
      person_iss: provider.issuer,
      person_sub: login,
    });
    assert.deepEqual(await claimsOf(mallory.browser, named.identifier), {
      person_name: 'Mallory',
      person_iss: provider.issuer,
      person_sub: unverified,
    });
    assert.deepEqual(await claimsOf(grace.browser, resource.identifier), {});
    await operate('PUT', `/agents/${client.agentId}/grants/${named.resourceId}`, { scopes: ['orders:read'] });
    const machine = await t.askToken({
      grant_type: 'client_credentials',
      resource: named.identifier,
      ...client.credentials,
    });
    const claims = decodeJwt(machine.json.access_token);
    assert.deepEqual(
      Object.keys(claims).filter((name) => name.startsWith('person_') || name === 'sub_profile'),
      [],
    );
    assert.equal(claims.owner, 'talent-team');
  });
});

describe('our own API', () => {
  const scopes = ['agents:read', 'agents:write', 'audit:read'];

  it('an admin lends what the session holds; the agent works with it, and the audit log names the person', async () => {
    const client = await confidential();
    const { browser, personId } = await invited('admin', scopes);
    const { access_token, scope } = await tokensFor(browser, client, { resource: baseUrl });
    assert.equal(scope, 'agents:read agents:write audit:read');
    const token = String(access_token);
    assert.deepEqual(
      [decodeJwt(token).aud, decodeJwt(token).sub, decodeJwt(token).sub_profile],
      [baseUrl, personId, 'person'],
    );
    const renamed = await t.call('PATCH', `/api/v1/agents/${(await t.agent()).agentId}`, {
      token,
      payload: { owner: 'others' },
    });
    assert.equal(renamed.status, 200, renamed.text);
    const found = await t.sql<{ actor_id: string; metadata: { delegation?: { subjectId?: string } } }>(
      "select * from audit_events where action = 'agent.updated' and agent_id = $1",
      [renamed.json.agentId],
    );
    assert.ok(JSON.stringify(found).includes(personId), JSON.stringify(found));
  });

  it('a viewer lends what reads; a member nothing', async () => {
    const client = await confidential();
    const viewer = await invited('viewer', scopes);
    const { scope } = await tokensFor(viewer.browser, client, { resource: baseUrl });
    assert.equal(scope, 'agents:read audit:read');
    const { browser } = await member();
    const refused = await browser.request(newRequest(client, { resource: baseUrl }).url);
    assert.equal(answerIn(refused.location).error, 'access_denied');
  });

  it('never admin:orgs', async () => {
    const client = await confidential();
    const { browser } = await invited('admin', ['agents:read', 'admin:orgs']);
    const { scope } = await tokensFor(browser, client, { resource: baseUrl });
    assert.equal(scope, 'agents:read');
    const only = newRequest(client, { resource: baseUrl, scope: 'admin:orgs' });
    assert.equal(answerIn((await browser.request(only.url)).location).error, 'access_denied');
  });

  it('a narrower role, or fewer scopes of the agent, end the tokens that exceed them, for our API too', async () => {
    const client = await confidential();
    const { browser, personId, agent } = await invited('admin', scopes);
    const tokens = await consentTo(browser, client, ['agents:read', 'agents:read agents:write'], baseUrl);
    const last = await tokensFor(browser, client, { resource: baseUrl, scope: 'agents:read' });
    const statuses = () =>
      Promise.all(tokens.map(async (token) => (await t.call('GET', '/api/v1/agents', { token })).status));
    assert.deepEqual(await statuses(), [200, 200]);
    await operate('PATCH', personUrl(personId), { role: 'viewer' });
    assert.deepEqual(
      [await activity(tokens), await statuses()],
      [
        [true, false],
        [200, 401],
      ],
    );
    await operate('PATCH', `/agents/${agent.agentId}`, { allowedScopes: ['audit:read'] });
    assert.deepEqual(
      [await activity(tokens), await statuses()],
      [
        [false, false],
        [401, 401],
      ],
    );
    const none = await refresh(client, String(last.refresh_token));
    assert.equal(none.status, 400, none.text);
  });
});

describe('GET /delegations', () => {
  it('200 by subjectType and personId with audit:read; 403 without; nothing of other organizations', async () => {
    const client = await confidential();
    const { browser, personId } = await member();
    await consentTo(browser, client, ['orders:read', 'orders:write']);
    const reader = await t.agent({ allowedScopes: ['audit:read'] });
    const list = async (query: string, agent = reader) =>
      t.call('GET', `/api/v1/delegations?${query}`, { token: await t.token(undefined, agent) });
    const own = await list(`personId=${personId}`);
    assert.equal(own.status, 200, own.text);
    const shown = own.json.data.map((link: Record<string, unknown>) => [
      link.subjectType,
      link.subjectId,
      link.delegatorType,
      link.delegatorId,
      link.delegateeId,
      link.origin,
      link.scopes,
    ]);
    const common = ['person', personId, 'person', personId, client.agentId, 'consent'];
    assert.deepEqual(shown, [
      [...common, ['orders:write']],
      [...common, ['orders:read']],
    ]);
    const people = (await list('subjectType=person&limit=100')).json;
    assert.ok(people.total > 2);
    assert.ok(people.data.every((link: Record<string, unknown>) => link.subjectType === 'person'));
    const agents = (await list('subjectType=agent&limit=100')).json;
    assert.ok(agents.data.every((link: Record<string, unknown>) => link.subjectType === 'agent'));
    for (const query of [`personId=${personId}`, 'subjectType=person']) {
      const refused = await list(query, await t.agent({ allowedScopes: ['agents:read'] }));
      assert.deepEqual([refused.status, refused.json.code], [403, 'INSUFFICIENT_SCOPE']);
    }
    const stranger = await operate('POST', '/organizations', {
      name: 'Stranger',
      slug: `stranger-${randomUUID()}`,
    });
    const foreign = await t.agent({
      organization_id: stranger.organizationId,
      allowedScopes: ['audit:read'],
    });
    for (const query of [`personId=${personId}`, 'subjectType=person'])
      assert.equal((await list(query, foreign)).json.total, 0);
  });
});

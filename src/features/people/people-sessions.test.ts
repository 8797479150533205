/** The power of people who have signed in: by role, until they are changed or removed. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { TestBrowser } from '../../../test/support/clients/browser.ts';
import { newAgent, startApp } from '../../../test/support/harness.ts';
import { startSignInProvider } from '../../../test/support/peers/sign-in-provider.ts';
import {
  callback,
  createPeopleScenario,
  organizationScopes,
} from '../../../test/support/scenarios/people.ts';

const baseUrl = 'https://countersign.test';
const provider = await startSignInProvider([baseUrl + callback]);
const t = await startApp({ BASE_URL: baseUrl, ...provider.variables });
const { asOperator, invite, signedIn } = await createPeopleScenario(t, provider, baseUrl);
const api = '/console/api/v1';

const sessionStatus = async (browser: TestBrowser) => (await browser.request('/console/api/session')).status;

describe('an admin', () => {
  it('201 adds a member and invites a person, under the own name in the audit log', async () => {
    const { person, organizationId, agentId } = await invite();
    const browser = await signedIn(person);
    const created = await browser.change(
      'POST',
      `${api}/agents`,
      newAgent({ allowedScopes: ['agents:read'] }),
    );
    assert.equal(created.status, 201, created.text);
    const other = created.json.agentId;
    const members = `${api}/organizations/${organizationId}/members`;
    assert.equal((await browser.change('POST', members, { agentId: other, role: 'member' })).status, 201);
    const people = `${api}/organizations/${organizationId}/people`;
    const invited = await browser.change('POST', people, {
      issuer: provider.issuer,
      subject: randomUUID(),
      name: 'Grace Hopper',
      role: 'viewer',
      agentId: other,
    });
    assert.equal(invited.status, 201, invited.text);
    const { json } = await browser.request(`${api}/audit?actorId=${agentId}&limit=50`);
    const acts = json.data.map(({ action, metadata }: Record<string, Record<string, unknown>>) => [
      action,
      metadata?.person,
    ]);
    const by = { personId: person.personId, name: 'Ada Lovelace' };
    for (const action of ['agent.created', 'member.added', 'person.invited', 'session.created'])
      assert.deepEqual(
        acts.filter(([type]: [string]) => type === action),
        [[action, by]],
        action,
      );
  });

  it('409 LAST_ADMIN when the only admin removes or demotes itself; the session goes on', async () => {
    const { person, organizationId, agentId } = await invite();
    const browser = await signedIn(person);
    const own = `${api}/organizations/${organizationId}/people/${person.personId}`;
    for (const answer of [
      await browser.change('PATCH', own, { role: 'viewer' }),
      await browser.change('DELETE', own),
    ])
      assert.deepEqual([answer.status, answer.json.code], [409, 'LAST_ADMIN']);
    assert.equal(await sessionStatus(browser), 200);
    const members = `${api}/organizations/${organizationId}/members`;
    assert.equal((await browser.change('POST', members, { agentId, role: 'admin' })).status, 201);
    assert.equal((await browser.change('DELETE', own)).status, 204);
    assert.equal(await sessionStatus(browser), 401);
  });

  it("404 ORG_NOT_FOUND and 403 for other organizations, and nothing beyond the agent's scopes", async () => {
    const [own, foreign] = [await invite(), await invite()];
    const browser = await signedIn(own.person);
    const url = `${api}/organizations/${foreign.organizationId}`;
    assert.equal((await browser.request(`${url}/people`)).json.code, 'ORG_NOT_FOUND');
    assert.equal((await browser.request(`${url}/members`)).json.code, 'ORG_NOT_FOUND');
    assert.equal((await browser.request(`${api}/agents/${foreign.agentId}`)).json.code, 'AGENT_NOT_FOUND');
    assert.equal((await browser.change('POST', `${api}/organizations`, {})).status, 403);
    const wider = newAgent({ allowedScopes: ['resources:write'] });
    assert.equal((await browser.change('POST', `${api}/agents`, wider)).json.code, 'FORBIDDEN');
    const operators = { ...newAgent(), allowedScopes: ['admin:orgs'] };
    assert.equal((await browser.change('POST', `${api}/agents`, operators)).json.code, 'FORBIDDEN');
  });
});

describe('a viewer', () => {
  it("200 with the agent's :read scopes and no role, and 403 for every operation that changes something", async () => {
    const { person, organizationId, agentId } = await invite({ role: 'viewer' });
    await asOperator('POST', `/organizations/${organizationId}/members`, { agentId, role: 'admin' });
    const browser = await signedIn(person);
    const session = (await browser.request('/console/api/session')).json;
    assert.deepEqual(session.scopes, ['agents:read', 'tokens:read', 'audit:read', 'webhooks:read']);
    assert.equal(session.role, 'viewer');
    for (const path of ['/agents', '/audit', `/agents/${agentId}/credentials`, '/webhooks'])
      assert.equal((await browser.request(api + path)).status, 200, path);
    // No role, although the agent has one.
    assert.equal((await browser.request(`${api}/organizations/${organizationId}/members`)).status, 403);

    const changes = t.app.routes.filter(
      ({ method, path, access }) =>
        method !== 'GET' &&
        path.startsWith('/api/v1/') &&
        !['client', 'secret', 'open'].includes(access.kind),
    );
    assert.ok(changes.length > 40);
    const harmless: string[] = [];
    const count = async () =>
      (
        await t.sql('select count(*) from audit_events where organization_id = $1 and outcome = $2', [
          organizationId,
          'success',
        ])
      )[0];
    const before = await count();
    for (const { id, method, path } of changes) {
      const url = path
        .replace(':orgId', organizationId)
        .replace(':agentId', agentId)
        .replaceAll(/:\w+/g, randomUUID())
        .replace('/api/v1', api);
      const { status, text } = await browser.change(method, url, {});
      if (status === 403) continue;
      assert.ok([400, 415].includes(status), `${id}: ${status} ${text}`);
      harmless.push(id);
    }
    // They read in the form of a POST, and got a wrong body here.
    assert.deepEqual(harmless.sort(), [
      'introspectToken',
      'previewToken',
      'testTrustPolicy',
      'verifyDelegation',
      'verifyPartnerToken',
    ]);
    assert.deepEqual(await count(), before);
  });

  it("200 without admin:orgs for a viewer of the operator's agent", async () => {
    const { organizationId, agentId } = t.operator;
    const { person } = await invite({ role: 'viewer', agentId }, organizationId);
    const foreign = await invite();
    const browser = await signedIn(person);
    const { scopes } = (await browser.request('/console/api/session')).json;
    assert.ok(scopes.length > 0);
    assert.ok(scopes.every((scope: string) => scope.endsWith(':read')));
    assert.equal((await browser.request(`${api}/organizations`)).status, 403);
    assert.equal((await browser.request(`${api}/agents/${foreign.agentId}`)).status, 404);
  });

  it("200 for an admin of the operator's agent, who operates the instance", async () => {
    const { organizationId, agentId } = t.operator;
    const { person, url } = await invite({ agentId }, organizationId);
    const browser = await signedIn(person);
    assert.equal((await browser.request(`${api}/organizations`)).status, 200);
    await asOperator('DELETE', url);
    assert.equal(await sessionStatus(browser), 401);
  });
});

describe('the end of sessions', () => {
  it('401 after the person is removed, and after a new role or agent; a new name shows at once', async () => {
    const { person, url, organizationId } = await invite();
    const other = await asOperator(
      'POST',
      '/agents',
      newAgent({ organization_id: organizationId, allowedScopes: organizationScopes }),
    );
    const named = await signedIn(person);
    await asOperator('PATCH', url, { name: 'Countess Lovelace' });
    assert.equal((await named.request('/console/api/session')).json.person.name, 'Countess Lovelace');
    for (const change of [{ role: 'viewer' }, { agentId: other.agentId }]) {
      const browsers = [await signedIn(person), await signedIn(person)];
      await asOperator('PATCH', url, change);
      for (const browser of browsers) assert.equal(await sessionStatus(browser), 401, JSON.stringify(change));
    }
    const last = await signedIn(person);
    const { json } = await last.request('/console/api/session');
    assert.deepEqual([json.role, json.agentId], ['viewer', other.agentId]);
    await asOperator('DELETE', url);
    assert.equal(await sessionStatus(last), 401);
    const ended = await t.sql<{ metadata: { reason: string; method: string } }>(
      "select metadata from audit_events where organization_id = $1 and action = 'session.ended' order by occurred_at, event_id",
      [organizationId],
    );
    assert.deepEqual(
      ended.map(({ metadata }) => [metadata.method, metadata.reason]),
      [...Array(5).fill(['oidc', 'person updated']), ['oidc', 'person removed']],
    );
  });

  it('401 after a person has removed the own invitation', async () => {
    const { person, url, organizationId } = await invite();
    await invite({}, organizationId);
    const browser = await signedIn(person);
    assert.equal((await browser.change('DELETE', `/console/api/v1${url}`)).status, 204);
    assert.equal(await sessionStatus(browser), 401);
    const acts = await t.sql<{ action: string; metadata: { person: object } }>(
      "select action, metadata from audit_events where organization_id = $1 and action in ('person.removed', 'session.ended')",
      [organizationId],
    );
    assert.equal(acts.length, 2);
    for (const { metadata } of acts)
      assert.deepEqual(metadata.person, { personId: person.personId, name: 'Ada Lovelace' });
  });

  it("401 once the person's agent is suspended; the person cannot act when it is active again", async () => {
    const { person, agentId } = await invite();
    const browser = await signedIn(person);
    await asOperator('PATCH', `/agents/${agentId}`, { status: 'suspended' });
    assert.equal(await sessionStatus(browser), 401);
    await asOperator('PATCH', `/agents/${agentId}`, { status: 'active' });
    assert.equal(await sessionStatus(browser), 401);
  });
});

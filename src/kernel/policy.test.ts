import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { newAgent, startApp, type TestApp } from '../../test/support/harness.ts';
import type { Caller } from './caller.ts';
import type { ApiError } from './fail.ts';
import { createRequirePermission, organization } from './policy.ts';

const url = '/api/v1/organizations';

/** A member of a new organization, and its token. */
async function memberOf(t: TestApp, role: 'member' | 'admin') {
  const token = await t.token();
  const slug = `team-${randomUUID().slice(0, 18)}`;
  const { organizationId } = (await t.call('POST', url, { token, payload: { name: 'Team', slug } })).json;
  const payload = newAgent({ organization_id: organizationId });
  const { agentId } = (await t.call('POST', '/api/v1/agents', { token, payload })).json;
  await t.call('POST', `${url}/${organizationId}/members`, { token, payload: { agentId, role } });
  const credential = (await t.call('POST', `/api/v1/agents/${agentId}/credentials`, { token })).json;
  return { organizationId, token: await t.token(undefined, credential) };
}

const challengeIn = ({ headers }: { headers: Readonly<Record<string, unknown>> }) =>
  headers['www-authenticate'];
const challengeFor = (scope: string): string =>
  `Bearer error="insufficient_scope", scope="${scope}", resource_metadata="http://countersign.test/.well-known/oauth-protected-resource"`;

describe('403 FORBIDDEN names the missing scope or role', () => {
  it('scope admin:orgs for an action of operators', async () => {
    const t = await startApp();
    const { token } = await memberOf(t, 'member');
    const created = await t.call('POST', url, { token, payload: { name: 'x', slug: 'x' } });
    assert.deepEqual(
      [created.status, created.json.code, created.json.message, created.json.details],
      [403, 'FORBIDDEN', 'Needs scope admin:orgs.', { action: 'organizations:create' }],
    );
    assert.equal(challengeIn(created), challengeFor('admin:orgs'));
  });
  it('the role admin for the own organization; the same text for foreign and missing organizations', async () => {
    const t = await startApp();
    const member = await memberOf(t, 'member');
    const other = await memberOf(t, 'member');
    const messageFor = async (organizationId: string) => {
      const answer = await t.call('GET', `${url}/${organizationId}`, { token: member.token });
      assert.deepEqual([answer.status, answer.json.code], [403, 'FORBIDDEN']);
      const isRoleEnough = organizationId === member.organizationId;
      assert.equal(challengeIn(answer), isRoleEnough ? undefined : challengeFor('admin:orgs'));
      return answer.json.message;
    };
    assert.equal(
      await messageFor(member.organizationId),
      'Needs the role admin in the organization, or scope admin:orgs.',
    );
    assert.equal(await messageFor(other.organizationId), 'Needs scope admin:orgs.');
    assert.equal(await messageFor(randomUUID()), 'Needs scope admin:orgs.');
  });
  it('after the message of the service, where it gives one', async () => {
    const t = await startApp();
    const { token, organizationId } = await memberOf(t, 'admin');
    const changed = await t.call('PATCH', `${url}/${organizationId}`, {
      token,
      payload: { planTier: 'pro' },
    });
    assert.equal(changed.status, 403);
    assert.match(changed.json.message, /^You may change the name only; .* Needs scope admin:orgs\.$/);
  });
  it("the scope that the operator's own policies ask for; no name when nothing would help", async () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-policies-'));
    after(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(
      join(folder, 'own.cedar'),
      `permit (principal, action == Action::"organizations:list", resource)
       when { principal.scopes.contains("audit:read") };`,
    );
    const t = await startApp({ POLICIES_DIR: folder });
    const token = await t.token('agents:read');
    const listed = await t.call('GET', url, { token });
    assert.deepEqual([listed.status, listed.json.message], [403, 'Needs scope audit:read.']);
    assert.equal(challengeIn(listed), challengeFor('audit:read'));
    const created = await t.call('POST', url, { token, payload: { name: 'x', slug: 'x' } });
    assert.deepEqual(
      [created.status, created.json.message],
      [403, 'Your token is valid, but the policies do not permit this action.'],
    );
    assert.equal(challengeIn(created), undefined);
  });
  it('for a delegated token: it does not carry the role', async () => {
    const requirePermission = createRequirePermission({
      engine: { allows: ({ role }) => role === 'admin' },
      roleOf: async () => 'none',
      recordRefusal: async () => {},
      resourceMetadata: 'https://id.example/.well-known/oauth-protected-resource',
    });
    const [agentId, organizationId] = [randomUUID(), randomUUID()];
    const delegation = { subjectId: randomUUID(), actorIds: [agentId], chainIds: [randomUUID()] };
    const caller = { agentId, organizationId, scopes: new Set(), delegation } as unknown as Caller;
    await assert.rejects(
      requirePermission(caller, 'organizations:read', organization(organizationId)),
      ({ code, message }: ApiError) =>
        code === 'FORBIDDEN' &&
        message === 'Needs the role admin in the organization, which a delegated token does not carry.',
    );
  });
});

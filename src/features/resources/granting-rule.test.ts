/** The right to grant, with fake policies. grants.test.ts has it over HTTP. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Scope } from '../../contract/scopes.ts';
import type { Caller } from '../../kernel/caller.ts';
import type { ComparedGrant } from './access-store.ts';
import { createGrantingRule, GrantingRefused, mayGrantAll } from './granting-rule.ts';

const identifier = 'https://api.test/';
const callerWith = (changes: Partial<Caller> = {}): Caller => ({
  requestId: 'r',
  ipAddress: '192.0.2.1',
  userAgent: 'test',
  agentId: 'agent-1',
  organizationId: 'organization-1',
  scopes: new Set<Scope>(['agents:write']),
  grantableScopes: new Set<Scope>(['agents:write', 'admin:orgs']),
  ...changes,
});
const operator = { scopes: new Set<Scope>(['admin:orgs']) };
const delegation = { subjectId: 's', actorIds: [], chainIds: [] };
const grantOf = (changes: Partial<ComparedGrant> = {}): ComparedGrant => ({
  identifier,
  ownerId: 'owner-1',
  scopes: ['read', 'write'],
  ownScopes: ['read', 'write'],
  claims: [],
  ...changes,
});

function createFixture({ permitted = [] as string[], named = ['read'] } = {}) {
  const asked: string[] = [];
  const judged: Caller[] = [];
  const rule = createGrantingRule({
    roleOf: async () => {
      asked.push('role');
      return 'none';
    },
    mayGrant(caller: Caller, _role: unknown, action: string, organizationId: string) {
      judged.push(caller);
      return permitted.includes(`${action} ${organizationId}`);
    },
    findPolicyPower: async () => {
      asked.push('power');
      return { resources: [{ identifier, scopes: named }] };
    },
  } as never);
  const run = (caller: Caller, ...grants: ComparedGrant[]) =>
    rule({} as never, caller, 'organization-1', grants);
  return { run, asked, judged };
}
const refusal = (expected: RegExp) => (error: unknown) =>
  error instanceof GrantingRefused && expected.test(error.message);

describe('granting scopes of an API', () => {
  it('is the right of an operator, unless a trust policy limits it', async () => {
    assert.equal(mayGrantAll(callerWith(operator)), true);
    assert.equal(mayGrantAll(callerWith()), false);
    const workload = callerWith({ ...operator, trustPolicyId: 'policy-1' });
    assert.equal(mayGrantAll(workload), false);
    const { run, asked } = createFixture();
    await run(callerWith(operator), grantOf({ ownScopes: [] }));
    assert.deepEqual(asked, []);
    await assert.rejects(run(workload, grantOf()), GrantingRefused);
  });
  it('of one’s own grant needs no role', async () => {
    const { run, asked } = createFixture();
    await run(callerWith(), grantOf());
    assert.deepEqual(asked, []);
  });
  it('by a workload ends with the resources that its policy names', async () => {
    const { run, asked } = createFixture();
    const workload = callerWith({ trustPolicyId: 'policy-1' });
    await run(workload, grantOf({ scopes: ['read'] }));
    assert.deepEqual(asked, ['power']);
    await assert.rejects(
      run(workload, grantOf()),
      refusal(/a grant of your own with write, which your trust policy names in resources\.$/),
    );
    const unnamed = grantOf({ identifier: 'https://other.test/', scopes: ['read'] });
    await assert.rejects(run(workload, unnamed), GrantingRefused);
  });
  it('by a workload is judged without the operator’s scope', async () => {
    const { run, judged } = createFixture({ permitted: ['agents:grant organization-1'] });
    await run(callerWith({ trustPolicyId: 'policy-1' }), grantOf());
    assert.deepEqual([...(judged[0]?.grantableScopes ?? [])], ['agents:write']);
    await run(callerWith(), grantOf({ ownScopes: [] }));
    assert.deepEqual([...(judged[1]?.grantableScopes ?? [])], ['agents:write', 'admin:orgs']);
  });
  it('is the right of the owner of every one of the APIs', async () => {
    const { run } = createFixture({ permitted: ['resources:grant owner-1'] });
    await run(callerWith(), grantOf({ ownScopes: [] }));
    const foreign = grantOf({ ownScopes: ['read'], ownerId: 'owner-2' });
    await assert.rejects(run(callerWith(), grantOf({ ownScopes: [] }), foreign), (error) => {
      assert.ok(error instanceof GrantingRefused);
      assert.deepEqual(error.details, { identifier, exceeded: ['write'] });
      return true;
    });
  });
  it('403 FORBIDDEN names the ways that are open to the caller', async () => {
    const { run } = createFixture();
    const lacking = grantOf({ ownScopes: [] });
    const own = { ...lacking, ownerId: 'organization-1' };
    await assert.rejects(
      run(callerWith(), lacking),
      refusal(
        /^This concerns scopes of https:\/\/api\.test\/\. Needs the role admin in the agent's organization, or a grant of your own with read, write\.$/,
      ),
    );
    await assert.rejects(run(callerWith(), own), refusal(/Needs scope resources:write, or the role admin/));
    await assert.rejects(
      run(callerWith({ delegation }), own),
      refusal(/Needs resources:write held by your own agent, or the role admin/),
    );
    await assert.rejects(
      run(callerWith(), { ...lacking, claims: ['owner', 'version'] }),
      refusal(/with read, write and the same owner, version as the agent\.$/),
    );
  });
  it('403 FORBIDDEN names the claims that would change', async () => {
    const changing = grantOf({ ownScopes: [], changedClaims: ['owner'] });
    await assert.rejects(createFixture().run(callerWith(), changing), (error) => {
      assert.ok(error instanceof GrantingRefused);
      assert.deepEqual(error.details, { identifier, claims: ['owner'] });
      assert.match(
        error.message,
        /^Tokens for https:\/\/api\.test\/ carry owner as a claim\. Needs the role admin/,
      );
      assert.doesNotMatch(error.message, /a grant of your own/);
      return true;
    });
  });
});

/**
 * Two nodes whose clocks differ, with one database and one Redis. A token that has ended stays ended at both, wherever it was issued
 * and ended. A token that was issued later is active at once.
 */
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { createTestClock, skipWithout, type TestApp } from '../support/harness.ts';
import { startRedis, withRedis } from '../support/programs.ts';
import { createConsoleClient, startConsoleApp } from '../support/scenarios/console.ts';
import { createDelegationClient, type IssuedDelegation } from '../support/scenarios/delegations.ts';
import { createTenant, type Tenant } from '../support/scenarios/plans.ts';
import { createGrants, type TestResource } from '../support/scenarios/resources/grants.ts';

const redis = await startRedis();
if (!redis) test('two nodes with different clocks', (t) => skipWithout(t, 'redis-server'));

const patch = async (node: TestApp, path: string, payload: object) => {
  const answer = await node.call('PATCH', `/api/v1/${path}`, { token: await node.token(), payload });
  assert.equal(answer.status, 200, answer.text);
};

interface Subject {
  readonly tenant: Tenant;
  readonly resource: TestResource;
  /** The subject of a delegation to the tenant's agent. */
  readonly lender?: { readonly agentId: string; readonly chain: IssuedDelegation };
}

const scopes = ['read', 'write'];

/** A token that depends on the subject, for our own API or for the resource. */
interface TokenKind {
  prepare(node: TestApp): Promise<Subject>;
  issue(node: TestApp, subject: Subject): Promise<string>;
}

const ask = async (node: TestApp, { clientId, clientSecret }: Tenant, more: Record<string, string> = {}) => {
  const { status, json, text } = await node.askToken({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    ...more,
  });
  assert.equal(status, 200, text);
  return json.access_token as string;
};

const noResource = {} as TestResource;
const own: TokenKind = {
  prepare: async (node) => ({ tenant: await createTenant(node), resource: noResource }),
  issue: (node, { tenant }) => ask(node, tenant),
};

/** The owner of the resource is another organization than that of the agent, or the same. */
const ofResource = (owner: 'own' | 'other'): TokenKind => ({
  async prepare(node) {
    const tenant = await createTenant(node);
    const organizationId =
      owner === 'own' ? tenant.organizationId : (await createTenant(node)).organizationId;
    const { register, grant } = createGrants(node);
    const resource = await register({ organizationId });
    await grant(tenant.agentId, resource, scopes);
    return { tenant, resource };
  },
  issue: (node, { tenant, resource }) => ask(node, tenant, { resource: resource.identifier }),
});

/** A token by which the agent acts for another of its organization, which holds the grant. */
const delegated = (more: 'own API' | 'resource'): TokenKind => ({
  async prepare(node) {
    const tenant = await createTenant(node);
    const { organizationId } = tenant;
    const { register, grant } = createGrants(node);
    const resource = await register({ organizationId });
    const subject = await node.agent({ organization_id: organizationId });
    const { createDelegation } = createDelegationClient(node);
    await grant(subject.agentId, resource, scopes);
    const chain = await createDelegation(
      await node.token(undefined, subject),
      tenant,
      more === 'resource' ? scopes : ['agents:read'],
      more === 'resource' ? { resource: [resource.identifier] } : {},
    );
    return { tenant, resource, lender: { agentId: subject.agentId, chain } };
  },
  issue: (node, { tenant, lender }) =>
    createDelegationClient(node).redeem(tenant, lender?.chain as IssuedDelegation),
});

/** To the agent whose scopes the token carries. */
const grantScopes = (node: TestApp, { tenant, lender, resource }: Subject, granted = scopes) =>
  createGrants(node).grant(lender?.agentId ?? tenant.agentId, resource, granted);
const grantAgain = (node: TestApp, subject: Subject) => grantScopes(node, subject);

const suspendOrganization = (node: TestApp, { tenant }: Subject) =>
  patch(node, `organizations/${tenant.organizationId}`, { status: 'suspended' });
const reactivateOrganization = (node: TestApp, { tenant }: Subject) =>
  patch(node, `organizations/${tenant.organizationId}`, { status: 'active' });

interface End {
  readonly token: TokenKind;
  end(node: TestApp, subject: Subject): Promise<unknown>;
  restore(node: TestApp, subject: Subject): Promise<unknown>;
}

const ends: Record<string, End> = {
  'agent suspended and reactivated': {
    token: own,
    end: (node, { tenant }) => patch(node, `agents/${tenant.agentId}`, { status: 'suspended' }),
    restore: (node, { tenant }) => patch(node, `agents/${tenant.agentId}`, { status: 'active' }),
  },
  'agent suspended and reactivated: a token for a resource': {
    token: ofResource('other'),
    end: (node, { tenant }) => patch(node, `agents/${tenant.agentId}`, { status: 'suspended' }),
    restore: (node, { tenant }) => patch(node, `agents/${tenant.agentId}`, { status: 'active' }),
  },
  'organization suspended and reactivated': {
    token: own,
    end: suspendOrganization,
    restore: reactivateOrganization,
  },
  'grant narrowed and widened': {
    token: ofResource('own'),
    end: (node, subject) => grantScopes(node, subject, ['read']),
    restore: grantAgain,
  },
  'grant of the subject of a delegation narrowed and widened': {
    token: delegated('resource'),
    end: (node, subject) => grantScopes(node, subject, ['read']),
    restore: grantAgain,
  },
  'organization suspended and reactivated: a delegated token': {
    token: delegated('own API'),
    end: suspendOrganization,
    restore: reactivateOrganization,
  },
  'grant removed and made again': {
    token: ofResource('own'),
    end: (node, { tenant, resource }) => createGrants(node).removeGrant(tenant.agentId, resource),
    restore: grantAgain,
  },
  'share narrowed, widened and granted again': {
    token: ofResource('other'),
    end: (node, { tenant, resource }) => createGrants(node).share(resource, tenant.organizationId, ['read']),
    restore: grantAgain,
  },
  'share removed, made again and granted again': {
    token: ofResource('other'),
    end: (node, { tenant, resource }) => createGrants(node).unshare(resource, tenant.organizationId),
    restore: grantAgain,
  },
  'resource narrowed, widened and granted again': {
    token: ofResource('own'),
    end: (node, { resource }) => createGrants(node).narrow(resource, ['read']),
    async restore(node, subject) {
      await createGrants(node).narrow(subject.resource, ['read', 'write', 'delete']);
      await grantAgain(node, subject);
    },
  },
  'resource deleted, registered again and granted again': {
    token: ofResource('own'),
    end: (node, { resource }) => createGrants(node).remove(resource),
    async restore(node, { tenant, resource: { organizationId, identifier } }) {
      const resource = await createGrants(node).register({ organizationId, identifier });
      await grantAgain(node, { tenant, resource });
    },
  },
};

for (const [position, skewMs] of [
  ['ahead', 20_000],
  ['behind', -20_000],
] as const)
  describe(`a node whose clock is 20 seconds ${position}`, { skip: !redis }, async () => {
    if (!redis) return;
    const right = await startConsoleApp({ REDIS_URL: redis.url });
    const clock = createTestClock();
    clock.advance(skewMs);
    const wrong = await startConsoleApp({ REDIS_URL: redis.url }, right, { clock });
    const nodes = { right, wrong };
    const bearers = [await right.token(), await wrong.token()] as const;
    const isActive = async (token: string) => {
      const answers: boolean[] = [];
      for (const [index, node] of [right, wrong].entries())
        answers.push((await node.form('/api/v1/token/introspect', { token }, bearers[index])).json.active);
      return answers;
    };
    const flush = () => withRedis(redis.port, (client) => client.flushall());

    for (const [what, { token: kind, end, restore }] of Object.entries(ends))
      for (const [issuer, ender] of [
        ['wrong', 'right'],
        ['right', 'wrong'],
      ] as const)
        it(`${what}: the token of the ${issuer} node stays ended after the ${ender} one ended it`, async () => {
          const subject = await kind.prepare(right);
          const token = await kind.issue(nodes[issuer], subject);
          assert.deepEqual(await isActive(token), [true, true]);
          await end(nodes[ender], subject);
          assert.deepEqual(await isActive(token), [false, false]);
          await restore(nodes[ender], subject);
          assert.deepEqual(await isActive(token), [false, false]);
          const later = [await kind.issue(right, subject), await kind.issue(wrong, subject)];
          for (const each of later) assert.deepEqual(await isActive(each), [true, true]);
          await flush();
          assert.deepEqual(await isActive(token), [false, false]);
          for (const each of later) assert.deepEqual(await isActive(each), [true, true]);
        });

    for (const [issuer, ender] of [
      ['wrong', 'right'],
      ['right', 'wrong'],
    ] as const) {
      it(`a chain of the ${issuer} node stays ended after the ${ender} one suspends and reactivates its subject`, async () => {
        const kind = delegated('own API');
        const subject = await kind.prepare(nodes[issuer]);
        const token = await kind.issue(nodes[issuer], subject);
        const statuses = () =>
          Promise.all([right, wrong].map((node) => createDelegationClient(node).listAgents(token)));
        assert.deepEqual(await statuses(), ['200', '200']);
        for (const status of ['suspended', 'active']) {
          await patch(nodes[ender], `agents/${subject.lender?.agentId}`, { status });
          assert.deepEqual(await statuses(), ['403 DELEGATION_REVOKED', '403 DELEGATION_REVOKED']);
        }
        await flush();
        assert.deepEqual(await statuses(), ['403 DELEGATION_REVOKED', '403 DELEGATION_REVOKED']);
      });

      it(`a session of the ${issuer} node stays ended after the ${ender} one suspends and reactivates its agent`, async () => {
        const tenant = await createTenant(right);
        const cookie = await createConsoleClient(nodes[issuer]).cookieOf(tenant);
        const statuses = () =>
          Promise.all([right, wrong].map((node) => createConsoleClient(node).statusOf(cookie)));
        assert.deepEqual(await statuses(), [200, 200]);
        for (const status of ['suspended', 'active']) {
          await patch(nodes[ender], `agents/${tenant.agentId}`, { status });
          assert.deepEqual(await statuses(), [401, 401]);
        }
        const later = await createConsoleClient(nodes[issuer]).cookieOf(tenant);
        assert.equal(await createConsoleClient(nodes[ender]).statusOf(later), 200);
      });
    }

    it('tokens of both nodes end with their credential, and each by its id, at both', async () => {
      const tenant = await createTenant(right);
      for (const node of [right, wrong]) {
        const token = await ask(node, tenant);
        assert.deepEqual(await isActive(token), [true, true]);
        const other = node === right ? wrong : right;
        assert.equal((await other.form('/api/v1/token/revoke', { token }, await other.token())).status, 200);
        assert.deepEqual(await isActive(token), [false, false]);
        await flush();
        assert.deepEqual(await isActive(token), [false, false]);
      }
      const tokens = [await ask(right, tenant), await ask(wrong, tenant)];
      const path = `/api/v1/agents/${tenant.agentId}/credentials`;
      const bearer = await right.token();
      const [credential] = (await right.call('GET', path, { token: bearer })).json.data;
      const { status } = await right.call('DELETE', `${path}/${credential.credentialId}`, { token: bearer });
      assert.equal(status, 204);
      for (const token of tokens) assert.deepEqual(await isActive(token), [false, false]);
    });
  });

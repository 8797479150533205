/**
 * Two nodes whose clocks differ, with one database and one Redis. A token that has ended stays ended at both, wherever it was issued
 * and ended. A token that was issued later is active at once.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { createTestClock, startApp, type TestApp } from '../support/harness.ts';
import { startRedis, withRedis } from '../support/programs.ts';
import { createConsoleClient, startConsoleApp } from '../support/scenarios/console.ts';
import { createDelegationClient } from '../support/scenarios/delegations.ts';
import { createTenant, type Tenant } from '../support/scenarios/plans.ts';
import { createGrants, type TestResource } from '../support/scenarios/resources/grants.ts';

const redis = await startRedis();
const skip = redis ? false : 'needs redis-server';
after(() => redis?.program.kill());

const patch = async (node: TestApp, path: string, payload: object) => {
  const answer = await node.call('PATCH', `/api/v1/${path}`, { token: await node.token(), payload });
  assert.equal(answer.status, 200, answer.text);
};

interface Subject {
  readonly tenant: Tenant;
  readonly resource: TestResource;
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

const grantAgain = (node: TestApp, { tenant, resource }: Subject) =>
  createGrants(node).grant(tenant.agentId, resource, scopes);

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
    end: (node, { tenant }) =>
      patch(node, `organizations/${tenant.organizationId}`, { status: 'suspended' }),
    restore: (node, { tenant }) =>
      patch(node, `organizations/${tenant.organizationId}`, { status: 'active' }),
  },
  'grant narrowed and widened': {
    token: ofResource('own'),
    end: (node, { tenant, resource }) => createGrants(node).grant(tenant.agentId, resource, ['read']),
    restore: grantAgain,
  },
  'grant removed and made again': {
    token: ofResource('own'),
    end: (node, { tenant, resource }) => createGrants(node).removeGrant(tenant.agentId, resource),
    restore: grantAgain,
  },
  'share narrowed, widened and granted again': {
    token: ofResource('other'),
    end: (node, { tenant, resource }) =>
      createGrants(node).share(resource, tenant.organizationId, ['read']),
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
  describe(`a node whose clock is 20 seconds ${position}`, { skip }, async () => {
    if (!redis) return;
    const right = await startConsoleApp({ REDIS_URL: redis.url });
    const clock = createTestClock();
    clock.advance(skewMs);
    const wrong = await startApp(
      { REDIS_URL: redis.url, BASE_URL: 'http://localhost:3000' },
      right,
      { clock },
    );
    const nodes = { right, wrong };
    const isActive = async (token: string) => {
      const answers: boolean[] = [];
      for (const node of [right, wrong])
        answers.push((await node.form('/api/v1/token/introspect', { token }, await node.token())).json.active);
      return answers;
    };
    const flush = () => withRedis(redis.port, (client) => client.flushall());

    for (const [what, { token: kind, end, restore }] of Object.entries(ends))
      for (const [issuer, ender] of [
        ['wrong', 'right'],
        ['right', 'wrong'],
        ['wrong', 'wrong'],
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
  });

/** The grants behind a resource's tokens are cached in Redis. A change at one node ends the tokens at every node, at once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { environment, skipWithout, startApp } from '../support/harness.ts';
import { authorize, startRedis, startServe, withRedis } from '../support/programs.ts';
import { createTenant } from '../support/scenarios/plans.ts';
import { createGrants } from '../support/scenarios/resources/grants.ts';

test('200 {active:false} at every node after one node narrows or removes a grant, share or resource; also after Redis loses its data', async (context) => {
  const redis = await startRedis();
  if (!redis) return skipWithout(context, 'redis-server');
  const t = await startApp({ REDIS_URL: redis.url });
  const { register, grant, removeGrant, narrow, share, unshare, remove } = createGrants(t);
  const { organizationId } = t.operator;
  const other = await startServe(environment(t.databaseUrl, { REDIS_URL: redis.url }));
  const headers = await authorize(other.url, t.operator);
  const isActive = async (token: string) => {
    const body = new URLSearchParams({ token });
    const here = await t.form('/api/v1/token/introspect', { token }, await t.token());
    const there = await fetch(`${other.url}/api/v1/token/introspect`, { method: 'POST', headers, body });
    return [here.json.active, ((await there.json()) as { active: boolean }).active];
  };
  const held = async (of: Parameters<typeof register>[0] = {}) => {
    const agent = await t.agent();
    const resource = await register(of);
    await grant(agent.agentId, resource, ['read', 'write']);
    const { json } = await t.askToken({
      grant_type: 'client_credentials',
      client_id: agent.clientId,
      client_secret: agent.clientSecret,
      resource: resource.identifier,
    });
    const token: string = json.access_token;
    // The tombstones of these changes would prevent caching for a minute.
    await withRedis(redis.port, (client) => client.flushall());
    for (let n = 0; n < 2; n++) assert.deepEqual(await isActive(token), [true, true]);
    return { agentId: agent.agentId, resource, token };
  };

  const narrowed = await held();
  const cached = await withRedis(redis.port, async (client) => {
    const [key = ''] = await client.keys(`countersign:standing:*:grant:${narrowed.agentId}:*`);
    return client.get(key);
  });
  assert.match(String(cached), /"write"/, 'Redis is asked');
  await grant(narrowed.agentId, narrowed.resource, ['read']);
  assert.deepEqual(await isActive(narrowed.token), [false, false]);
  await grant(narrowed.agentId, narrowed.resource, ['read', 'write']);
  assert.deepEqual(await isActive(narrowed.token), [false, false]);

  const removed = await held();
  await removeGrant(removed.agentId, removed.resource);
  assert.deepEqual(await isActive(removed.token), [false, false]);

  const deleted = await held();
  await remove(deleted.resource);
  assert.deepEqual(await isActive(deleted.token), [false, false]);

  // Of another organization, which shares it.
  const { organizationId: owner } = await createTenant(t);
  const shareNarrowed = await held({ organizationId: owner });
  await share(shareNarrowed.resource, organizationId, ['read']);
  assert.deepEqual(await isActive(shareNarrowed.token), [false, false]);

  const unshared = await held({ organizationId: owner });
  await unshare(unshared.resource, organizationId);
  assert.deepEqual(await isActive(unshared.token), [false, false]);

  const resourceNarrowed = await held({ organizationId: owner });
  await narrow(resourceNarrowed.resource, ['read']);
  assert.deepEqual(await isActive(resourceNarrowed.token), [false, false]);

  const live = await held();
  await withRedis(redis.port, (client) => client.flushall());
  for (const { token } of [narrowed, removed, deleted, shareNarrowed, unshared, resourceNarrowed])
    assert.deepEqual(await isActive(token), [false, false]);
  assert.deepEqual(await isActive(live.token), [true, true]);
});

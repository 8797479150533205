/** The claim `epoch`, and tokens without it. The two nodes of test/faults/clock-skew.test.ts show each kind of end. */

import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { describe, it } from 'node:test';
import { decodeJwt, decodeProtectedHeader, type JWTPayload, SignJWT } from 'jose';
import { startApp } from '../../../test/support/harness.ts';
import { createTenant, type Tenant } from '../../../test/support/scenarios/plans.ts';
import { createGrants } from '../../../test/support/scenarios/resources/grants.ts';
import { createMemoryKv } from '../../adapters/kv/memory-kv.ts';
import { createInvalidatingCache } from '../../kernel/invalidating-cache.ts';
import { createMetrics } from '../../kernel/observability/metrics.ts';
import { findLenders } from '../people/lenders-store.ts';
import { findPersonTarget, findTargets } from '../resources/targets-store.ts';
import { createTokenStatuses, statusQuery } from './token-status.ts';

const t = await startApp();
const { register, grant, removeGrant } = createGrants(t);

const isActive = async (token: string): Promise<boolean> =>
  (await t.form('/api/v1/token/introspect', { token }, await t.token())).json.active;
const statusWith = async (token: string): Promise<number> =>
  (await t.call('GET', '/api/v1/agents', { token })).status;
const bounce = async (path: string) => {
  for (const status of ['suspended', 'active']) {
    const { status: code } = await t.call('PATCH', `/api/v1/${path}`, {
      token: await t.token(),
      payload: { status },
    });
    assert.equal(code, 200);
  }
};
const resourceToken = async ({ clientId, clientSecret }: Tenant, resource: string): Promise<string> => {
  const { json } = await t.askToken({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    resource,
  });
  return json.access_token;
};
const epochOf = (token: string) => decodeJwt(token).epoch;
/** The same token with other claims. */
const sign = (token: string, claims: JWTPayload): Promise<string> =>
  new SignJWT(claims)
    .setProtectedHeader({ ...decodeProtectedHeader(token), alg: 'RS256' })
    .sign(createPrivateKey(process.env.TEST_PRIVATE_KEY ?? ''));

describe('the claim epoch', () => {
  it('grows with each end of the agent and of its organization; a token with a lower one is 401', async () => {
    const tenant = await createTenant(t);
    const token = await t.token(undefined, tenant);
    assert.equal(epochOf(token), 0);
    await bounce(`agents/${tenant.agentId}`);
    const second = await t.token(undefined, tenant);
    assert.equal(epochOf(second), 1);
    await bounce(`organizations/${tenant.organizationId}`);
    const third = await t.token(undefined, tenant);
    assert.equal(epochOf(third), 2);
    for (const [each, status] of [
      [token, 401],
      [second, 401],
      [third, 200],
    ] as const)
      assert.deepEqual([await statusWith(each), await isActive(each)], [status, status === 200]);
    const { json } = await t.call('GET', '/api/v1/agents', { token: second });
    assert.match(json.message, /before its agent or its organization was suspended/);
  });

  it('of a resource counts the scopes that the agent lost there, not its other grants', async () => {
    const tenant = await createTenant(t);
    const { organizationId, agentId } = tenant;
    const [orders, files] = [await register({ organizationId }), await register({ organizationId })];
    for (const resource of [orders, files]) await grant(agentId, resource, ['read', 'write']);
    const tokens = () =>
      Promise.all([orders, files].map(({ identifier }) => resourceToken(tenant, identifier)));
    assert.deepEqual((await tokens()).map(epochOf), [0, 0]);
    await grant(agentId, orders, ['read']);
    assert.deepEqual((await tokens()).map(epochOf), [0, 0], 'of the scopes that are left');
    await grant(agentId, orders, ['read', 'write']);
    assert.deepEqual((await tokens()).map(epochOf), [1, 0]);
    await removeGrant(agentId, orders);
    await grant(agentId, orders, ['read', 'write']);
    assert.deepEqual((await tokens()).map(epochOf), [4, 0], 'two scopes, each lost twice');
  });

  it('is counted by the database for every statement, also of an earlier version', async () => {
    const tenant = await createTenant(t);
    const { organizationId, agentId } = tenant;
    const resource = await register({ organizationId });
    await grant(agentId, resource, ['read', 'write']);
    const token = await resourceToken(tenant, resource.identifier);
    const times =
      "jsonb_build_object('read', '2020-01-01T00:00:00.000Z', 'write', '2020-01-01T00:00:00.000Z')";
    for (const scopes of [`${times} - 'read'`, times])
      await t.sql(`update resource_grants set scopes = ${scopes} where agent_id = $1`, [agentId]);
    assert.equal(await isActive(token), false);
    assert.equal(await isActive(await resourceToken(tenant, resource.identifier)), true);
    for (const table of ['agents', 'organizations'])
      for (const status of ['suspended', 'active'])
        await t.sql(`update ${table} set status = $1 where organization_id = $2`, [status, organizationId]);
    assert.equal(epochOf(await t.token(undefined, tenant)), 2);
  });

  it('counts by the identifier, also while it is pending', async () => {
    const tenant = await createTenant(t);
    const { organizationId, agentId } = tenant;
    const resource = await register({ organizationId });
    await grant(agentId, resource, ['read']);
    const token = await resourceToken(tenant, resource.identifier);
    const { resourceId, identifier } = resource;
    await removeGrant(agentId, resource);
    const rename = 'update resources set identifier = $2, pending_identifier = $3 where resource_id = $1';
    await t.sql(rename, [resourceId, `pending:${resourceId}`, identifier]);
    await grant(agentId, resource, ['read']);
    await t.sql(rename, [resourceId, identifier, null]);
    assert.equal(epochOf(await resourceToken(tenant, identifier)), Number(epochOf(token)) + 1);
  });

  it('401 for a token whose claim is no whole number', async () => {
    const token = await t.token();
    for (const epoch of ['0', 0.5, null, [1]])
      assert.equal(await statusWith(await sign(token, { ...decodeJwt(token), epoch })), 401);
    assert.equal(await statusWith(await sign(token, decodeJwt(token))), 200);
  });
});

describe('a token without the claim, of an earlier version', () => {
  const earlier = async (tenant: Tenant) => {
    const token = await t.token(undefined, tenant);
    const { epoch: _, ...claims } = decodeJwt(token);
    return sign(token, claims);
  };

  it('ends with a suspension of its agent by its time; with its organization it is 403, then 200 again', async () => {
    const tenant = await createTenant(t);
    const token = await earlier(tenant);
    assert.equal(await statusWith(token), 200);
    const path = `/api/v1/organizations/${tenant.organizationId}`;
    for (const [status, expected] of [
      ['suspended', 403],
      ['active', 200],
    ] as const) {
      await t.call('PATCH', path, { token: await t.token(), payload: { status } });
      assert.equal(await statusWith(token), expected);
    }
    // A token from shortly after the organization was made has a time that is ahead.
    t.clock.advance(60_000);
    const later = await earlier(tenant);
    await bounce(`agents/${tenant.agentId}`);
    for (const each of [token, later]) assert.equal(await statusWith(each), 401);
    assert.equal(await statusWith(await earlier(tenant)), 200);
  });
});

describe('cache entries of an earlier version', () => {
  it('count as missing: the epoch is read from the database', async () => {
    const { agentId, organizationId } = await createTenant(t);
    await bounce(`agents/${agentId}`);
    const query = statusQuery({ tokenId: crypto.randomUUID(), agentId, organizationId });
    const kv = createMemoryKv(t.clock);
    const entries: Record<string, unknown> = {
      [`standing:4:token:${query.tokenId}`]: 'live',
      [`standing:4:agent:${agentId}`]: { agentStatus: 'active', allowedScopes: [], tokensEndedAt: null },
      [`standing:4:organization:${organizationId}`]: {
        organizationStatus: 'active',
        planTier: 'free',
        maxTokensPerMonth: null,
      },
    };
    for (const [key, value] of Object.entries(entries))
      await kv.set(key, JSON.stringify({ until: t.clock.now() + 10_000, value }), { ttlMs: 10_000 });
    const statuses = createTokenStatuses({
      db: t.app.db,
      clock: t.clock,
      cache: createInvalidatingCache({ kv, clock: t.clock, metrics: createMetrics() }),
      findLinks: async () => [],
      findTargets,
      findPersonTarget,
      findLenders,
    });
    const status = await statuses.get(query);
    assert.ok(status && status !== 'revoked');
    assert.deepEqual([status.epoch, status.organizationEpoch], [1, 0]);
  });
});

/** A client is authenticated and counted before its request takes a place in a queue, a transaction or a lock. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { afterEach, describe, it } from 'node:test';
import { exportJWK, SignJWT } from 'jose';
import { keepOpen, startApp, startOfMinute } from '../../../../test/support/harness.ts';
import { until } from '../../../../test/support/programs.ts';
import {
  type Client,
  createDelegationClient,
  jwtType,
  tokenExchange,
} from '../../../../test/support/scenarios/delegations.ts';
import { createTrustClient } from '../../../../test/support/scenarios/trust.ts';
import { lockExclusive } from '../../../kernel/data/locks.ts';
import { assertionType } from '../clients/client-credential.ts';

const perMinute = 20;
const t = await startApp({
  RATE_LIMIT_PER_MINUTE: String(perMinute),
  WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
  DATABASE_POOL_SIZE: '20',
});
const nextMinute = () => startOfMinute(t.clock);
const operator = await t.token();
const { createPolicy, exchange: exchangeExternal } = await createTrustClient(t);
const { createDelegation, exchange } = createDelegationClient(t);

/** An agent in an organization of its own, and what another of that organization lent it. */
const delegatee = async () => {
  nextMinute();
  const payload = { name: 'Tenant', slug: `tenant-${randomUUID()}` };
  const made = await t.call('POST', '/api/v1/organizations', { token: operator, payload });
  const home = { organization_id: made.json.organizationId, allowedScopes: ['agents:read'] };
  const [giver, client] = [await t.agent(home), await t.agent(home)];
  const lent = await createDelegation(await t.token(undefined, giver), client, ['agents:read'], {
    expiresIn: 3_600,
  });
  return { client, lent };
};

const locks: (() => Promise<void>)[] = [];
/** Locks the agent for all others until the answered function is called, or the test ends. */
const lock = async ({ agentId }: Client) => {
  const release = await keepOpen(t, (tx) => lockExclusive(tx, 'agent', [agentId]));
  locks.push(release);
  return release;
};
afterEach(async () => {
  for (const release of locks.splice(0)) await release();
});
const waitingForLocks = async () =>
  (
    await t.sql(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    )
  ).length;

/** Gives up before a statement that waits for a lock is cancelled. */
const untilWaitingForLocks = (count: number) =>
  until(
    `${count} wait for locks`,
    async () => (await waitingForLocks()) === count || undefined,
    undefined,
    15_000,
  );

describe('wrong secrets at token exchange', () => {
  it('401, then 429 from one address, and none of them waits for the locked agent', async () => {
    const { client, lent } = await delegatee();
    nextMinute();
    const release = await lock(client);
    const statuses: number[] = [];
    for (let count = 0; count < perMinute + 5; count += 1) {
      const wrong = { ...client, clientSecret: 'cs_wrong' };
      statuses.push((await exchange(wrong, lent.delegationToken)).status);
    }
    assert.deepEqual(statuses, [...Array(perMinute).fill(401), ...Array(5).fill(429)]);
    assert.equal(await waitingForLocks(), 0);
    await release();
    assert.equal((await exchange(client, lent.delegationToken)).status, 200, 'it has its own window');
  });
});

describe('a client over its limit', () => {
  it('429 at token exchange, without waiting for its lock, and nothing is issued', async () => {
    const { client, lent } = await delegatee();
    nextMinute();
    const ask = () => exchange(client, lent.delegationToken);
    for (let count = 0; count < perMinute; count += 1) assert.equal((await ask()).status, 200);
    const release = await lock(client);
    assert.equal((await ask()).status, 429);
    await release();
  });
});

describe('a client assertion that was used before', () => {
  it('401, counted against the address: a caller that has seen the assertion cannot use up the window of the client', async () => {
    const { client, lent } = await delegatee();
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const put = await t.call('PUT', `/api/v1/agents/${client.agentId}/keys`, {
      token: operator,
      payload: { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig', kid: 'one' }] },
    });
    assert.equal(put.status, 200, put.text);
    const sign = () =>
      new SignJWT({ jti: randomUUID() })
        .setProtectedHeader({ alg: 'ES256', kid: 'one' })
        .setIssuer(client.agentId)
        .setSubject(client.agentId)
        .setAudience('http://countersign.test')
        .setExpirationTime(new Date(t.clock.now() + 60_000))
        .sign(privateKey);
    nextMinute();
    const seen = await sign();
    for (const fields of [
      { grant_type: 'client_credentials' },
      { grant_type: tokenExchange, subject_token: lent.delegationToken, subject_token_type: jwtType },
    ]) {
      const ask = (client_assertion: string) =>
        t.askToken({ ...fields, client_assertion, client_assertion_type: assertionType });
      if (fields.grant_type === 'client_credentials') assert.equal((await ask(seen)).status, 200);
      const replays = await Promise.all(Array.from({ length: perMinute / 2 }, () => ask(seen)));
      assert.deepEqual([...new Set(replays.map(({ status }) => status))], [401]);
    }
    const { status, headers } = await exchange(client, lent.delegationToken);
    assert.deepEqual([status, headers['x-ratelimit-remaining']], [200, String(perMinute - 2)]);
  });
});

describe('a secret that was right a moment ago', () => {
  it('401 once its credential is revoked, and from the second time on it counts against the address', async () => {
    const { client } = await delegatee();
    nextMinute();
    const ask = ({ clientId, clientSecret }: Client) =>
      t.askToken({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
      });
    assert.equal((await ask(client)).status, 200);
    const url = `/api/v1/agents/${client.agentId}/credentials`;
    const { json: others } = await t.call('GET', url, { token: operator });
    const { json: fresh } = await t.call('POST', url, { token: operator });
    for (const { credentialId } of others.data)
      assert.equal((await t.call('DELETE', `${url}/${credentialId}`, { token: operator })).status, 204);
    for (let count = 0; count < 5; count += 1) assert.equal((await ask(client)).status, 401);
    const { status, headers } = await ask({ ...client, ...fresh });
    assert.deepEqual([status, headers['x-ratelimit-remaining']], [200, String(perMinute - 3)]);
  });
});

describe('an organization whose agents are locked', () => {
  it('200 with client_credentials for a locked agent of another organization, once it is released', async () => {
    const [stuck, other] = [(await delegatee()).client, (await delegatee()).client];
    nextMinute();
    const ask = ({ clientId, clientSecret }: Client) =>
      t.askToken({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
      });
    const [releaseStuck, releaseOther] = [await lock(stuck), await lock(other)];
    const waiting = Array.from({ length: 10 }, () => ask(stuck));
    await untilWaitingForLocks(1);
    const answer = ask(other);
    await untilWaitingForLocks(2);
    await releaseOther();
    assert.equal((await answer).status, 200);
    assert.equal(await waitingForLocks(), 1, 'one place per organization');
    await releaseStuck();
    for (const { status } of await Promise.all(waiting)) assert.equal(status, 200);
  });

  it('200 for another organization at token exchange, however many of the first wait', async () => {
    const [stuck, other] = [await delegatee(), await delegatee()];
    nextMinute();
    const release = await lock(stuck.client);
    const waiting = Array.from({ length: 10 }, () => exchange(stuck.client, stuck.lent.delegationToken));
    await untilWaitingForLocks(2);
    assert.equal((await exchange(other.client, other.lent.delegationToken)).status, 200);
    assert.equal(await waitingForLocks(), 2, 'a share of the places, no more');
    await release();
    for (const { status } of await Promise.all(waiting)) assert.equal(status, 200);
  });

  it('200 for another organization, when the first waits with delegations and external tokens', async () => {
    const [stuck, other] = [await delegatee(), await delegatee()];
    nextMinute();
    const { agentId } = stuck.client;
    const policy = await createPolicy({ agentId, scopes: ['agents:read'], singleUse: false });
    const token = await policy.sign();
    const release = await lock(stuck.client);
    const waiting = Array.from({ length: 5 }, () => [
      exchange(stuck.client, stuck.lent.delegationToken),
      exchangeExternal(token, { client_id: agentId }),
    ]).flat();
    await untilWaitingForLocks(2);
    assert.equal((await exchange(other.client, other.lent.delegationToken)).status, 200);
    assert.equal(await waitingForLocks(), 2, 'both ways share the places of the organization');
    await release();
    for (const { status } of await Promise.all(waiting)) assert.equal(status, 200);
  });

  it('200 for another organization with an external token', async () => {
    const [stuck, other] = [(await delegatee()).client, (await delegatee()).client];
    nextMinute();
    const [one, two] = [
      await createPolicy({ agentId: stuck.agentId, scopes: ['agents:read'], singleUse: false }),
      await createPolicy({ agentId: other.agentId, scopes: ['agents:read'] }),
    ];
    const release = await lock(stuck);
    const token = await one.sign();
    const bring = () => exchangeExternal(token, { client_id: stuck.agentId });
    const waiting = Array.from({ length: 10 }, bring);
    await untilWaitingForLocks(2);
    assert.equal((await exchangeExternal(await two.sign(), { client_id: other.agentId })).status, 200);
    assert.equal(await waitingForLocks(), 2, 'a share of the places, no more');
    await release();
    for (const { status } of await Promise.all(waiting)) assert.equal(status, 200);
  });
});

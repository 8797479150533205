/** A delegated caller cannot turn delegated scopes into power that outlives the delegation. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { exportJWK } from 'jose';
import { type Answer, newAgent, startApp } from '../../../test/support/harness.ts';
import { type Client, createDelegationClient } from '../../../test/support/scenarios/delegations.ts';
import { organizationScopes } from '../../contract/scopes.ts';

const t = await startApp({ RATE_LIMIT_PER_MINUTE: '100000' });
const { delegate, createDelegation, redeem } = createDelegationClient(t);
const operator = await t.token();
const alice = await t.agent();
const aliceToken = await t.token(undefined, alice);
const publicKey = await exportJWK(generateKeyPairSync('ed25519').publicKey);

/** A token with everything that Alice can lend, for an agent that may hold these scopes itself. */
async function delegatee(allowedScopes: readonly string[], lender = aliceToken) {
  const client = await t.agent({ allowedScopes });
  return {
    client,
    token: await redeem(client, await createDelegation(lender, client, [...organizationScopes])),
  };
}

function assertFailed({ status, json, text }: Answer, expected: number, code: string) {
  assert.equal(status, expected, text);
  assert.equal(json.code, code, text);
}

const call = (token: string, method: 'POST' | 'PUT' | 'PATCH', path: string, payload?: object) =>
  t.call(method, `/api/v1${path}`, { token, ...(payload && { payload }) });

const policyOf = (agentId: string) => ({
  agentId,
  name: 'Deployments',
  provider: 'github',
  audiences: ['https://id.example.com'],
  subject: `repo:octo-org/${crypto.randomUUID()}:ref:refs/heads/main`,
  scopes: [],
});

/** Every way to give an agent a credential. */
async function waysToSpeakAs(
  target: Pick<Client, 'agentId'>,
): Promise<[string, (by: string) => Promise<Answer>][]> {
  const path = `/agents/${target.agentId}`;
  const { credentialId } = (await call(operator, 'POST', `${path}/credentials`)).json;
  const { policyId } = (await call(operator, 'POST', '/oidc/trust-policies', policyOf(target.agentId))).json;
  return [
    ['mint', (by) => call(by, 'POST', `${path}/credentials`)],
    ['rotate', (by) => call(by, 'POST', `${path}/credentials/${credentialId}/rotate`)],
    ['keys', (by) => call(by, 'PUT', `${path}/keys`, { keys: [publicKey] })],
    ['trust', (by) => call(by, 'POST', '/oidc/trust-policies', policyOf(target.agentId))],
    ['trust again', (by) => call(by, 'PATCH', `/oidc/trust-policies/${policyId}`, { name: 'Renamed' })],
  ];
}

async function assertCannotSpeakAs(token: string, target: Pick<Client, 'agentId'>): Promise<void> {
  for (const [way, attempt] of await waysToSpeakAs(target)) {
    const answer = await attempt(token);
    assert.equal(`${way}: ${answer.status} ${answer.json.code}`, `${way}: 403 FORBIDDEN`, answer.text);
  }
}

describe('POST and PATCH /agents by a delegated caller', () => {
  it('201 with no scopes by default when its own agent holds none; 403 FORBIDDEN for any', async () => {
    const { token } = await delegatee([]);
    const made = await call(token, 'POST', '/agents', newAgent());
    assert.equal(made.status, 201, made.text);
    assert.deepEqual(made.json.allowedScopes, []);
    for (const scope of organizationScopes)
      assertFailed(
        await call(token, 'POST', '/agents', newAgent({ allowedScopes: [scope] })),
        403,
        'FORBIDDEN',
      );
  });

  it('201 and 200 within what both its token and its own agent hold; 403 FORBIDDEN beyond either', async () => {
    const client = await t.agent({ allowedScopes: ['agents:read', 'agents:write', 'audit:read'] });
    const lent = ['agents:read', 'agents:write', 'tokens:read'];
    const token = await redeem(client, await createDelegation(aliceToken, client, lent));
    const made = await call(token, 'POST', '/agents', newAgent());
    assert.deepEqual(made.json.allowedScopes, ['agents:read', 'agents:write']);
    const change = (allowedScopes: string[]) =>
      call(token, 'PATCH', `/agents/${made.json.agentId}`, { allowedScopes });
    const beyond = await change(['agents:read', 'tokens:read', 'audit:read']);
    assertFailed(beyond, 403, 'FORBIDDEN');
    assert.deepEqual(beyond.json.details, { exceeded: ['tokens:read', 'audit:read'] });
    assert.equal((await change(['agents:read'])).status, 200);
  });

  it('403 FORBIDDEN to widen itself, or to narrow an agent to its own size', async () => {
    const { client, token } = await delegatee(['agents:read']);
    for (const [agentId, allowedScopes] of [
      [client.agentId, ['agents:read', 'agents:write']],
      [alice.agentId, ['agents:read']],
    ] as const)
      assertFailed(await call(token, 'PATCH', `/agents/${agentId}`, { allowedScopes }), 403, 'FORBIDDEN');
  });
});

describe('a credential given by a delegated caller', () => {
  it('403 FORBIDDEN for an agent with scopes that only the delegation holds', async () => {
    const { token } = await delegatee(['agents:read', 'agents:write']);
    await assertCannotSpeakAs(token, await t.agent({ allowedScopes: ['audit:read'] }));
  });

  it('403 FORBIDDEN for an agent without scopes and for itself, unless its own agent may hold agents:write', async () => {
    const { client, token } = await delegatee([]);
    await assertCannotSpeakAs(token, await t.agent({ allowedScopes: [] }));
    await assertCannotSpeakAs(token, client);
  });

  it('403 FORBIDDEN for every agent of its chain, regardless of the scopes of its own agent', async () => {
    const bob = await t.agent();
    const given = await createDelegation(aliceToken, bob, [...organizationScopes], {
      allowRedelegation: true,
    });
    const bobs = await redeem(bob, given);
    const carol = await t.agent();
    const carols = await redeem(carol, await createDelegation(bobs, carol, [...organizationScopes]));
    await assertCannotSpeakAs(bobs, alice);
    await assertCannotSpeakAs(carols, alice);
    await assertCannotSpeakAs(carols, bob);
  });

  it('201 and 200 where its token and its own agent both hold enough', async () => {
    const { token } = await delegatee(organizationScopes);
    for (const [way, attempt] of await waysToSpeakAs(await t.agent({ allowedScopes: ['agents:read'] }))) {
      const answer = await attempt(token);
      assert.ok(answer.status < 300, `${way}: ${answer.text}`);
    }
  });
});

describe('scopes delegated by an operator', () => {
  it('403 and 404: the delegatee stays in its organization, grants nothing and touches no operator', async () => {
    const { token } = await delegatee([], operator);
    const { organizationId } = (
      await call(operator, 'POST', '/organizations', { name: 'Elsewhere', slug: 'elsewhere-borrowed' })
    ).json;
    const foreign = await t.agent({ organization_id: organizationId });
    assertFailed(await t.call('GET', `/api/v1/agents/${foreign.agentId}`, { token }), 404, 'AGENT_NOT_FOUND');
    assertFailed(
      await call(token, 'POST', '/agents', newAgent({ organization_id: organizationId })),
      403,
      'FORBIDDEN',
    );
    assertFailed(
      await call(token, 'PATCH', `/agents/${t.operator.agentId}`, { owner: 'me' }),
      403,
      'FORBIDDEN',
    );
    assertFailed(
      await call(token, 'POST', '/agents', newAgent({ allowedScopes: ['admin:orgs'] })),
      403,
      'FORBIDDEN',
    );
    assertFailed(
      await delegate(token, { delegateeId: alice.agentId, scopes: ['agents:read'] }),
      403,
      'FORBIDDEN',
    );
  });
});

describe('an existing webhook subscription and a delegated caller', () => {
  const subscribe = async (by: string) => {
    const wanted = { name: 'Feed', url: 'https://receiver.example/hook', events: ['agent.created'] };
    const made = await call(by, 'POST', '/webhooks', wanted);
    assert.equal(made.status, 201, made.text);
    return `/webhooks/${made.json.id}`;
  };
  const lasting = (path: string): [string, (by: string) => Promise<Answer>][] => [
    ['secret', (by) => call(by, 'POST', `${path}/rotate-secret`)],
    ['url', (by) => call(by, 'PATCH', path, { name: 'Mine', url: 'https://elsewhere.example/hook' })],
    ['events', (by) => call(by, 'PATCH', path, { events: ['*'] })],
  ];
  const read = async (path: string) =>
    (await t.call('GET', `/api/v1${path}`, { token: aliceToken })).json as object;

  it('403 FORBIDDEN for secret, url and events unless its own agent may hold webhooks:write', async () => {
    const path = await subscribe(aliceToken);
    const before = await read(path);
    const { token } = await delegatee(['agents:read', 'agents:write', 'webhooks:read']);
    for (const [field, attempt] of lasting(path)) {
      const answer = await attempt(token);
      assert.equal(`${field}: ${answer.status} ${answer.json.code}`, `${field}: 403 FORBIDDEN`, answer.text);
      assert.match(answer.json.message, /webhooks:write/);
      assert.deepEqual(answer.json.details, { exceeded: ['webhooks:write'] });
    }
    assert.deepEqual(await read(path), before);
    for (const [, attempt] of lasting(await subscribe(token)))
      assertFailed(await attempt(token), 403, 'FORBIDDEN');
  });

  it('200 and 202 for name, active, the url it has already, and a test', async () => {
    const path = await subscribe(aliceToken);
    const { token } = await delegatee([]);
    const change = { name: 'Renamed', active: false, url: 'https://receiver.example/hook' };
    for (const answer of [
      await call(token, 'PATCH', path, change),
      await call(token, 'PATCH', path, { active: true }),
      await call(token, 'POST', `${path}/test`),
    ])
      assert.ok(answer.status < 300, answer.text);
  });

  it('200 for secret, url and events where its own agent may hold webhooks:write', async () => {
    const path = await subscribe(aliceToken);
    const { token } = await delegatee(['webhooks:write']);
    for (const [field, attempt] of lasting(path)) {
      const answer = await attempt(token);
      assert.equal(answer.status, 200, `${field}: ${answer.text}`);
    }
  });
});

describe('what people may lend, and a delegated caller', () => {
  const lend = [...organizationScopes, 'resources:read', 'resources:write'];
  const newApi = (more: object = {}) => ({
    identifier: `https://${crypto.randomUUID()}.example`,
    name: 'Orders',
    scopes: [{ name: 'orders:read' }, { name: 'refund' }],
    ...more,
  });
  const register = async (by: string) => {
    const wanted = { allowedScopes: [], redirectUris: ['https://elsewhere.example/callback'] };
    return call(by, 'POST', '/agents', newAgent(wanted));
  };
  const acting = async (allowedScopes: readonly string[]) => {
    const client = await t.agent({ allowedScopes });
    return redeem(client, await createDelegation(operator, client, lend));
  };

  it('403 FORBIDDEN for redirect URIs, peopleScopes and approvers that only the delegation permits', async () => {
    const token = await acting([]);
    const made = await call(operator, 'POST', '/resources', newApi({ peopleScopes: ['orders:read'] }));
    const path = `/resources/${made.json.resourceId}`;
    const attempts: [string, () => Promise<Answer>][] = [
      ['agents:write', () => register(token)],
      ['resources:write', () => call(token, 'POST', '/resources', newApi({ peopleScopes: ['refund'] }))],
      ['resources:write', () => call(token, 'PATCH', path, { peopleScopes: ['orders:read', 'refund'] })],
      ['resources:write', () => call(token, 'PATCH', path, { approvers: [crypto.randomUUID()] })],
    ];
    for (const [exceeded, attempt] of attempts) {
      const answer = await attempt();
      assertFailed(answer, 403, 'FORBIDDEN');
      assert.deepEqual(answer.json.details, { exceeded: [exceeded] });
    }
    const narrowed = await call(token, 'PATCH', path, { name: 'Renamed', peopleScopes: [] });
    assert.deepEqual([narrowed.status, narrowed.json.peopleScopes], [200, []], narrowed.text);
    assert.equal((await call(token, 'POST', '/resources', newApi())).status, 201);
  });

  it('201 and 200 where its own agent may hold the scope', async () => {
    const token = await acting(['agents:write', 'resources:write']);
    assert.equal((await register(token)).status, 201);
    const made = await call(token, 'POST', '/resources', newApi({ peopleScopes: ['orders:read'] }));
    assert.equal(made.status, 201, made.text);
    const path = `/resources/${made.json.resourceId}`;
    assert.equal((await call(token, 'PATCH', path, { peopleScopes: ['refund'] })).status, 200);
  });
});

/** Agents as OAuth clients: redirect URIs, and public clients, which have no proof of their own. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { exportJWK } from 'jose';
import { type Answer, newAgent, startApp } from '../../../test/support/harness.ts';

const t = await startApp();
const operator = await t.token();
const key = await exportJWK(generateKeyPairSync('ed25519').publicKey);

const post = (changes: Record<string, unknown> = {}, token = operator) =>
  t.call('POST', '/api/v1/agents', { token, payload: newAgent(changes) });
const create = async (changes: Record<string, unknown> = {}): Promise<string> => {
  const { status, json, text } = await post(changes);
  assert.equal(status, 201, text);
  return json.agentId;
};
const read = async (agentId: string) =>
  (await t.call('GET', `/api/v1/agents/${agentId}`, { token: operator })).json;
const patch = (agentId: string, payload: object, token = operator) =>
  t.call('PATCH', `/api/v1/agents/${agentId}`, { token, payload });
const addCredential = (agentId: string) =>
  t.call('POST', `/api/v1/agents/${agentId}/credentials`, { token: operator });
const putKeys = (agentId: string, keys: unknown[]) =>
  t.call('PUT', `/api/v1/agents/${agentId}/keys`, { token: operator, payload: { keys } });
const addPolicy = (agentId: string) =>
  t.call('POST', '/api/v1/oidc/trust-policies', {
    token: operator,
    payload: {
      agentId,
      name: 'Pipeline',
      provider: 'custom',
      issuer: 'https://issuer.example',
      audiences: ['http://countersign.test'],
      subject: randomUUID(),
      scopes: [],
    },
  });

/** Status, code and fields of a refusal. */
const refusalOf = ({ status, json }: Answer) => [
  status,
  json.code,
  ...(json.details?.fields ?? []).map(({ field }: { field: string }) => field),
];

describe('redirectUris', () => {
  it('201 and 200 store them as they are; GET and the list show them, and the event names the field', async () => {
    const redirectUris = ['https://app.example.com/cb?x=%41', 'http://127.0.0.1:9/cb', 'http://[::1]/'];
    const agentId = await create({ redirectUris });
    assert.deepEqual((await read(agentId)).redirectUris, redirectUris);
    const listed = await t.call('GET', `/api/v1/agents?ids=${agentId}`, { token: operator });
    assert.deepEqual(listed.json.data[0].redirectUris, redirectUris);
    const changed = await patch(agentId, { redirectUris: ['https://app.example.com/new'] });
    assert.deepEqual(changed.json.redirectUris, ['https://app.example.com/new']);
    assert.deepEqual(await read(agentId), changed.json);
    const [event] = await t.sql<{ metadata: { changed: string[]; redirectUris: string[] } }>(
      "select metadata from audit_events where agent_id = $1 and action = 'agent.updated'",
      [agentId],
    );
    assert.deepEqual(event?.metadata.changed, ['redirectUris']);
    assert.deepEqual(event?.metadata.redirectUris, ['https://app.example.com/new']);
    assert.deepEqual((await patch(agentId, { redirectUris: [] })).json.redirectUris, []);
  });

  it('20 at most, of 2,048 characters at most', async () => {
    const uris = (count: number) => Array.from({ length: count }, (_, n) => `https://app.example.com/${n}`);
    assert.equal((await post({ redirectUris: uris(20) })).status, 201);
    assert.equal((await post({ redirectUris: uris(21) })).status, 400);
    const long = (length: number) => `https://app.example.com/`.padEnd(length, 'a');
    assert.equal((await post({ redirectUris: [long(2_048)] })).status, 201);
    assert.equal((await post({ redirectUris: [long(2_049)] })).status, 400);
  });

  it('400 VALIDATION_ERROR names each that is not https, or http to this computer', async () => {
    const agentId = await create();
    const redirectUris = [
      'http://app.example.com/cb',
      'https://app.example.com/',
      'https://app.example.com/#x',
      'https://a:b@app.example.com/',
      'app:/cb',
      '/cb',
    ];
    const expected = [400, 'VALIDATION_ERROR', ...[0, 2, 3, 4, 5].map((index) => `redirectUris[${index}]`)];
    assert.deepEqual(refusalOf(await post({ redirectUris })), expected);
    assert.deepEqual(refusalOf(await patch(agentId, { redirectUris })), expected);
    const twice = ['https://app.example.com/', 'https://app.example.com/'];
    assert.equal((await patch(agentId, { redirectUris: twice })).status, 400);
    assert.equal((await patch(agentId, { redirectUris: null })).status, 400);
    assert.equal((await patch(agentId, { redirectUris: 'https://app.example.com/' })).status, 400);
    assert.deepEqual((await read(agentId)).redirectUris, []);
  });

  it('403 FORBIDDEN for a caller that could not give the agent a secret: it would receive its codes', async () => {
    const strong = await create({ allowedScopes: ['agents:read', 'audit:read'] });
    const weak = await t.agent({ allowedScopes: ['agents:read', 'agents:write'] });
    const token = await t.token(undefined, weak);
    for (const change of [{ redirectUris: ['https://evil.example/'] }, { publicClient: true }]) {
      const { status, json } = await patch(strong, change, token);
      assert.deepEqual([status, json.code], [403, 'FORBIDDEN'], JSON.stringify(change));
    }
    // Repeating the present value is no change.
    assert.equal(
      (await patch(strong, { redirectUris: [], publicClient: false, owner: 'x' }, token)).status,
      200,
    );
    const equal = await create({ allowedScopes: ['agents:read'] });
    assert.equal((await patch(equal, { redirectUris: ['https://app.example.com/'] }, token)).status, 200);
  });
});

describe('publicClient', () => {
  it('a public client has no secret, keys or trust policies: 400 VALIDATION_ERROR', async () => {
    const agentId = await create({ publicClient: true });
    assert.equal((await read(agentId)).publicClient, true);
    assert.deepEqual(refusalOf(await addCredential(agentId)), [400, 'VALIDATION_ERROR', 'agentId']);
    assert.deepEqual(refusalOf(await putKeys(agentId, [key])), [400, 'VALIDATION_ERROR', 'keys']);
    assert.deepEqual(refusalOf(await addPolicy(agentId)), [400, 'VALIDATION_ERROR', 'agentId']);
    // No longer public, it may have them.
    assert.equal((await patch(agentId, { publicClient: false })).json.publicClient, false);
    assert.equal((await addCredential(agentId)).status, 201);
    assert.equal((await putKeys(agentId, [key])).status, 200);
    assert.equal((await addPolicy(agentId)).status, 201);
  });

  const refused = [400, 'VALIDATION_ERROR', 'publicClient'];
  const proofs: [string, (agentId: string) => Promise<() => Promise<Answer>>][] = [
    [
      'an active credential',
      async (agentId) => {
        const { credentialId } = (await addCredential(agentId)).json;
        const url = `/api/v1/agents/${agentId}/credentials/${credentialId}`;
        return () => t.call('DELETE', url, { token: operator });
      },
    ],
    [
      'a public key',
      async (agentId) => {
        await putKeys(agentId, [key]);
        return () => putKeys(agentId, []);
      },
    ],
    [
      'a trust policy',
      async (agentId) => {
        const { policyId } = (await addPolicy(agentId)).json;
        return () => t.call('DELETE', `/api/v1/oidc/trust-policies/${policyId}`, { token: operator });
      },
    ],
  ];
  for (const [what, give] of proofs)
    it(`400 VALIDATION_ERROR for an agent with ${what}, until that is gone`, async () => {
      const agentId = await create();
      const take = await give(agentId);
      assert.deepEqual(refusalOf(await patch(agentId, { publicClient: true })), refused);
      assert.equal((await read(agentId)).publicClient, false);
      assert.ok((await take()).status < 300);
      assert.equal((await patch(agentId, { publicClient: true })).json.publicClient, true);
    });

  it('a credential and the change at once: one of them wins', async () => {
    for (let round = 0; round < 5; round++) {
      const agentId = await create();
      const [credential, change] = await Promise.all([
        addCredential(agentId),
        patch(agentId, { publicClient: true }),
      ]);
      assert.deepEqual([credential.status === 201, change.status === 200].filter(Boolean), [true]);
    }
  });
});

describe('clientUri', () => {
  it('null for a registered agent; no request sets it', async () => {
    const agentId = await create();
    assert.equal((await read(agentId)).clientUri, null);
    const clientUri = 'https://app.example.com/client.json';
    assert.equal((await post({ clientUri })).json.code, 'VALIDATION_ERROR');
    assert.equal((await patch(agentId, { clientUri })).json.code, 'IMMUTABLE_FIELD');
  });

  it('400 VALIDATION_ERROR for an e-mail address that imitates such a client', async () => {
    const email = 'app.example.com.0123abcd@Client.Invalid';
    assert.deepEqual(refusalOf(await post({ email })), [400, 'VALIDATION_ERROR', 'email']);
  });
});

describe('notificationUri', () => {
  it('201 and 200 store it as it is, null removes it, and the event names the field', async () => {
    const agentId = await create({ notificationUri: 'https://agent.example.com/n?x=%41' });
    assert.equal((await read(agentId)).notificationUri, 'https://agent.example.com/n?x=%41');
    const listed = await t.call('GET', `/api/v1/agents?ids=${agentId}`, { token: operator });
    assert.equal(listed.json.data[0].notificationUri, 'https://agent.example.com/n?x=%41');
    const removed = await patch(agentId, { notificationUri: null });
    assert.deepEqual([removed.status, removed.json.notificationUri], [200, null]);
    assert.deepEqual(await read(agentId), removed.json);
    const [event] = await t.sql<{ metadata: { changed: string[] } }>(
      "select metadata from audit_events where agent_id = $1 and action = 'agent.updated'",
      [agentId],
    );
    assert.deepEqual(event?.metadata.changed, ['notificationUri']);
  });

  it("400 VALIDATION_ERROR for what a webhook's URL may not be either", async () => {
    const agentId = await create();
    const bad = [
      'http://agent.example.com/',
      'https://user:secret@agent.example.com/',
      'https://agent.example.com/#x',
      'https://agent.example.com/ x',
      'https://agent.example.com/\r\nX: y',
      'https://',
      'javascript:alert(1)',
      `https://agent.example.com/${'x'.repeat(2_048)}`,
      '',
      7,
      ['https://agent.example.com/'],
    ];
    for (const notificationUri of bad) {
      const expected = [400, 'VALIDATION_ERROR', 'notificationUri'];
      assert.deepEqual(refusalOf(await post({ notificationUri })), expected, String(notificationUri));
      assert.deepEqual(
        refusalOf(await patch(agentId, { notificationUri })),
        expected,
        String(notificationUri),
      );
    }
  });
});

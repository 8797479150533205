/** Identity assertions that we issue: an agent that acts for a person goes on to the authorization server of a partner. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { calculateJwkThumbprint, createLocalJWKSet, decodeJwt, exportJWK, jwtVerify, SignJWT } from 'jose';
import { keepOpen, startApp } from '../../../test/support/harness.ts';
import type { TestClient } from '../../../test/support/scenarios/authorization.ts';
import { createAssertionScenario } from '../../../test/support/scenarios/identity-assertions.ts';
import { createTrustClient } from '../../../test/support/scenarios/trust.ts';
import { sql } from '../../kernel/data/sql.ts';
import { lockTree } from './store.ts';

const scenario = await createAssertionScenario();
const { t, issuer, operate, client } = scenario;
const tokenType = (name: string) => `urn:ietf:params:oauth:token-type:${name}`;
const idJag = tokenType('id-jag');

const trust = (more: object = {}) => {
  const partner = `https://as-${randomUUID()}.example`;
  return operate('POST', '/federation/trust', {
    name: 'Partner',
    issuer: partner,
    jwksUri: `${partner}/jwks`,
    ...more,
  });
};
const partner = await trust({ idJag: true });

/** An access token of the client, whose subject is a person. */
const person = async (wanted: TestClient = client, headers: Record<string, string> = {}) => {
  const assertion = await scenario.sign({ client_id: wanted.clientId, scope: 'orders:read orders:write' });
  const { status, json } = await scenario.present(assertion, {}, wanted, headers);
  assert.equal(status, 200, JSON.stringify(json));
  return json.access_token as string;
};

type Key = Record<'privateKey' | 'publicKey', KeyObject>;

const proof = async ({ privateKey, publicKey }: Key) => ({
  dpop: await new SignJWT({
    jti: randomUUID(),
    htm: 'POST',
    htu: `${issuer}/api/v1/token`,
    iat: Math.floor(t.clock.now() / 1_000),
  })
    .setProtectedHeader({ alg: 'EdDSA', typ: 'dpop+jwt', jwk: await exportJWK(publicKey) })
    .sign(privateKey),
});

const formFor = (subject_token: string) => ({
  grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
  requested_token_type: idJag,
  subject_token,
  subject_token_type: tokenType('access_token'),
  audience: partner.issuer as string,
});

const ask = (
  subject_token: string,
  more: Record<string, string> = {},
  { credentials }: Pick<TestClient, 'credentials'> = client,
  headers: Record<string, string> = {},
) => t.askToken({ ...formFor(subject_token), ...credentials, ...more }, headers);

async function refused(error: string, reason: RegExp, ...request: Parameters<typeof ask>) {
  const before = (await scenario.refusals()).length;
  const { status, json } = await ask(...request);
  assert.deepEqual([status, json.error], [400, error], JSON.stringify(json));
  const [last, ...others] = await scenario.refusals();
  assert.equal(others.length, before, 'recorded once');
  assert.match(String(last?.metadata.reason), reason);
}

describe('token exchange for an identity assertion', () => {
  it('200 with the person as the subject, the agent as the actor, five minutes, and an event', async () => {
    const token = await person();
    const { status, json, headers } = await ask(token, {
      scope: 'orders:read',
      resource: 'https://api.partner.example',
    });
    assert.equal(status, 200, JSON.stringify(json));
    const { access_token: assertion, ...rest } = json;
    assert.deepEqual(rest, {
      issued_token_type: idJag,
      token_type: 'N_A',
      expires_in: 300,
      scope: 'orders:read',
    });
    assert.equal(headers['cache-control'], 'no-store');
    const jwks = createLocalJWKSet((await t.call('GET', '/.well-known/jwks.json')).json);
    const { payload } = await jwtVerify(assertion, jwks, {
      issuer,
      audience: partner.issuer,
      typ: 'oauth-id-jag+jwt',
      currentDate: new Date(t.clock.now()),
    });
    const { jti, iat = 0, exp = 0, ...claims } = payload;
    const subject = decodeJwt(token);
    assert.equal(exp - iat, 300);
    assert.deepEqual(claims, {
      iss: issuer,
      sub: subject.sub,
      aud: partner.issuer,
      client_id: client.agentId,
      scope: 'orders:read',
      resource: 'https://api.partner.example',
      act: { sub: client.agentId, sub_profile: 'ai_agent' },
    });
    const [event] = await t.sql<{ agent_id: string; metadata: Record<string, unknown> }>(
      "select agent_id, metadata from audit_events where action = 'id_token.issued' and metadata ->> 'tokenId' = $1",
      [jti],
    );
    assert.equal(event?.agent_id, client.agentId);
    assert.deepEqual(
      [event?.metadata.audience, event?.metadata.personId, event?.metadata.tokenType],
      [partner.issuer, subject.sub, idJag],
    );
  });

  it('200 with all scopes of the subject token, without a resource; never longer than the subject token', async () => {
    const token = await person();
    const { json } = await ask(token);
    assert.equal(json.scope, 'orders:read orders:write');
    assert.ok(!('resource' in decodeJwt(json.access_token)));
    t.clock.advance(3_500_000);
    const late = await ask(token);
    assert.ok(late.json.expires_in <= 100 && late.json.expires_in > 0, late.text);
    assert.equal(decodeJwt(late.json.access_token).exp, decodeJwt(token).exp);
  });

  it('200 with the details that the person approved, or some of them: the scopes alone would say more', async () => {
    const payment = { type: 'payment', description: 'A payment', schema: { type: 'object' } };
    const { identifier } = await scenario.makeResource({ authorizationDetailTypes: [payment] });
    const details = [
      { type: 'payment', amount: 5 },
      { type: 'payment', amount: 7 },
    ] as const;
    const assertion = await scenario.sign({ resource: identifier, authorization_details: details });
    const { json } = await scenario.present(assertion);
    const token = json.access_token as string;
    assert.deepEqual([json.scope, json.authorization_details], ['orders:read', details]);
    const all = await ask(token);
    assert.equal(all.status, 200, all.text);
    assert.deepEqual(decodeJwt(all.json.access_token).authorization_details, details);
    const some = await ask(token, { authorization_details: JSON.stringify(details.slice(1)) });
    assert.deepEqual(decodeJwt(some.json.access_token).authorization_details, details.slice(1));
    const more = JSON.stringify([{ type: 'payment', amount: 8 }]);
    await refused('invalid_authorization_details', /none of the details/, token, {
      authorization_details: more,
    });
  });

  it('200 for a client by its document, named by its address', async () => {
    const open = scenario.documentClient({ token_endpoint_auth_method: 'none' });
    const token = await person(open);
    // A public client has no token exchange.
    assert.equal((await ask(token, {}, open)).status, 401);
  });

  it('it is no access token, no delegation token, and no assertion that we accept', async () => {
    const { json } = await ask(await person());
    const assertion = json.access_token;
    assert.equal((await t.call('GET', '/api/v1/agents', { token: assertion })).status, 401);
    assert.equal(
      (await t.form('/api/v1/token/introspect', { token: assertion }, await t.token())).json.active,
      false,
    );
    assert.equal((await scenario.refused('invalid_grant', assertion)).reason, 'own_token');
  });

  it('400 invalid_dpop_proof for the workload of an agent that demands a proof; 200 with one, and not twice', async () => {
    const { createPolicy, operator } = await createTrustClient(t);
    const policy = await createPolicy({ audiences: [issuer], singleUse: false });
    const workload = async () => ({
      clientId: policy.agentId as string,
      credentials: {
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: await policy.sign({ aud: issuer }),
      },
    });
    const assertion = await scenario.sign({ client_id: policy.agentId });
    const { access_token } = (await scenario.present(assertion, {}, await workload())).json;
    await t.call('PATCH', `/api/v1/agents/${policy.agentId}`, {
      token: operator,
      payload: { dpopBoundAccessTokens: true },
    });
    await refused('invalid_dpop_proof', /no proof of possession/, access_token, {}, await workload());
    const key = generateKeyPairSync('ed25519');
    const headers = await proof(key);
    const { status, json } = await ask(access_token, {}, await workload(), headers);
    assert.equal(status, 200, JSON.stringify(json));
    const jkt = await calculateJwkThumbprint(await exportJWK(key.publicKey));
    assert.deepEqual(decodeJwt(json.access_token).cnf, { jkt });
    await refused('invalid_dpop_proof', /used before/, access_token, {}, await workload(), headers);
  });

  it('a key of the request is the key of the assertion; a bound subject token needs a proof by its key', async () => {
    const [mine, other] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')];
    const token = await person(client, await proof(mine));
    await refused('invalid_grant', /bound to a key/, token);
    await refused('invalid_grant', /bound to a key/, token, {}, client, await proof(other));
    const { status, json } = await ask(token, {}, client, await proof(mine));
    assert.deepEqual([status, json.token_type], [200, 'N_A'], JSON.stringify(json));
    const jkt = await calculateJwkThumbprint(await exportJWK(mine.publicKey));
    assert.deepEqual(decodeJwt(json.access_token).cnf, { jkt });
  });

  it('400 invalid_target for an audience that is no partner, one without idJag, and ourselves', async () => {
    const token = await person();
    const without = await trust();
    assert.equal(without.idJag, false);
    const reason = /no partner for which/;
    await refused('invalid_target', reason, token, { audience: without.issuer });
    await refused('invalid_target', reason, token, { audience: `${partner.issuer}/` });
    await refused('invalid_target', reason, token, { audience: issuer });
    await refused('invalid_request', /audience is required/, token, { audience: '' });
    await operate('PATCH', `/federation/partners/${without.id}`, { idJag: true });
    assert.equal((await ask(token, { audience: without.issuer })).status, 200);
    await operate('DELETE', `/federation/partners/${without.id}`);
    await refused('invalid_target', reason, token, { audience: without.issuer });
  });

  it('400 invalid_grant for a token of another client, of the agent itself, and for one that has ended', async () => {
    const other = await scenario.confidential();
    await refused('invalid_grant', /issued to another client/, await person(other));
    const own = await t.token(undefined, client.agent);
    await refused('invalid_grant', /no person/, own);
    await refused('invalid_grant', /no valid access token/, 'no token');
    const [revoked, ended] = [await person(), await person()];
    await t.form('/api/v1/token/revoke', { token: revoked }, await t.token());
    await refused('invalid_grant', /no valid access token/, revoked);
    await operate('DELETE', `/delegations/${decodeJwt(ended).chain_id}`);
    await refused('invalid_grant', /no valid access token/, ended);
    const [header, payload, signature = ''] = (await person()).split('.');
    await refused(
      'invalid_grant',
      /no valid access token/,
      `${header}.${payload}.${[...signature].reverse().join('')}`,
    );
  });

  it('400 invalid_grant when the consent ends at the same moment: nothing is issued after that', async () => {
    const token = await person();
    const chainId = String(decodeJwt(token).chain_id);
    const end = await keepOpen(t, async (tx) => {
      await lockTree(tx, chainId, 'exclusive');
      await tx.run(
        'test.revoke',
        sql`update delegations set revoked_at = ${new Date(t.clock.now())} where chain_id = ${chainId}`,
      );
    });
    const asked = refused('invalid_grant', /has ended/, token);
    await setTimeout(200);
    await end();
    await asked;
  });

  it('200 with one database connection: none waits for a second', async () => {
    const node = await startApp({ BASE_URL: issuer, DATABASE_POOL_SIZE: '1' }, t);
    const token = await person();
    const answers = await Promise.all(
      [1, 2, 3].map(() => node.askToken({ ...formFor(token), ...client.credentials })),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
      String(answers[0]?.text),
    );
  });

  it('400 invalid_scope beyond the subject token', async () => {
    await refused('invalid_scope', /subject_token has/, await person(), { scope: 'orders:read admin' });
  });

  it('400 invalid_request for another type of subject token', async () => {
    const token = await person();
    await refused('invalid_request', /subject_token is required/, '');
    await refused('invalid_request', /subject_token_type must be/, token, {
      subject_token_type: tokenType('jwt'),
    });
    await refused('invalid_request', /subject_token_type must be/, token, {
      subject_token_type: tokenType('id_token'),
    });
    await refused('invalid_request', /requested_token_type must be/, token, {
      subject_token_type: tokenType('jwt'),
      requested_token_type: tokenType('id_token'),
    });
  });
});

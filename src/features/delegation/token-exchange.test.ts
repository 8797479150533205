import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { calculateJwkThumbprint, decodeJwt, decodeProtectedHeader, exportJWK, SignJWT } from 'jose';
import { type Answer, startApp } from '../../../test/support/harness.ts';
import {
  accessTokenType,
  createDelegationClient,
  jwtType,
  tokenExchange,
} from '../../../test/support/scenarios/delegations.ts';

const t = await startApp();
const { exchange, createDelegation, redeem, listAgents, revoke } = createDelegationClient(t);
const operator = await t.token();
const issuer = 'http://countersign.test';
const [alice, bob, carol] = [await t.agent(), await t.agent(), await t.agent()];
const aliceToken = await t.token(undefined, alice);
const lent = await createDelegation(aliceToken, bob, ['agents:read', 'audit:read']);

function assertRefused({ status, headers, json, text }: Answer, expected: number, error: string) {
  assert.equal(status, expected, text);
  assert.deepEqual(Object.keys(json), ['error', 'error_description']);
  assert.equal(json.error, error, text);
  assert.equal(headers['cache-control'], 'no-store');
}

describe('200 token exchange at POST /token', () => {
  it('answers as RFC 8693 §2.2 has it, never to be cached', async () => {
    const { status, headers, json } = await exchange(bob, lent.delegationToken);
    assert.equal(status, 200);
    assert.equal(headers['cache-control'], 'no-store');
    assert.deepEqual(json, {
      access_token: json.access_token,
      token_type: 'Bearer',
      expires_in: json.expires_in,
      scope: 'agents:read audit:read',
      issued_token_type: accessTokenType,
    });
    assert.ok(json.expires_in > 3_500 && json.expires_in <= 3_600);
  });

  it('an access token: the subject is the delegator, the client the delegatee, who is named as actor', async () => {
    const token = await redeem(bob, lent);
    assert.equal(decodeProtectedHeader(token).typ, 'at+jwt');
    const { iat, exp, jti, credential_id, ...claims } = decodeJwt(token);
    assert.equal(typeof credential_id, 'string');
    assert.deepEqual(claims, {
      iss: issuer,
      aud: issuer,
      sub: alice.agentId,
      client_id: bob.agentId,
      scope: 'agents:read audit:read',
      organization_id: t.operator.organizationId,
      epoch: 0,
      act: { sub: bob.agentId },
      chain_id: lent.chainId,
      chain_path: [lent.chainId],
    });
    assert.ok(Number(exp) * 1000 <= Date.parse(lent.expiresAt));
    assert.notEqual(decodeJwt(await redeem(bob, lent)).jti, jti, 'as often as one likes');
    assert.equal(await listAgents(token), '200');
  });

  it('by HTTP Basic, and by an assertion', async () => {
    const form = {
      grant_type: tokenExchange,
      subject_token: lent.delegationToken,
      subject_token_type: jwtType,
    };
    const basic = `Basic ${Buffer.from(`${bob.clientId}:${bob.clientSecret}`).toString('base64')}`;
    assert.equal((await t.askToken(form, { authorization: basic })).status, 200);
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    await t.call('PUT', `/api/v1/agents/${bob.agentId}/keys`, {
      token: operator,
      payload: { keys: [await exportJWK(publicKey)] },
    });
    const client_assertion = await new SignJWT({ jti: crypto.randomUUID() })
      .setProtectedHeader({ alg: 'EdDSA' })
      .setIssuer(bob.agentId)
      .setSubject(bob.agentId)
      .setAudience(issuer)
      .setExpirationTime(new Date(t.clock.now() + 60_000))
      .sign(privateKey);
    const asserted = {
      ...form,
      client_assertion,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    };
    assert.equal((await t.askToken(asserted)).status, 200);
    assertRefused(await t.askToken(asserted), 401, 'invalid_client');
  });

  it('narrower when asked: by scope, which may be in any order', async () => {
    assert.equal(
      (await exchange(bob, lent.delegationToken, { scope: 'audit:read' })).json.scope,
      'audit:read',
    );
    const both = await exchange(bob, lent.delegationToken, { scope: 'audit:read agents:read' });
    assert.equal(both.json.scope, 'agents:read audit:read');
    const narrow = await redeem(bob, lent, { scope: 'audit:read' });
    assert.equal(await listAgents(narrow), '403 INSUFFICIENT_SCOPE');
  });

  it('for a resource: ours in any spelling, or one the delegator named, where our API does not take it', async () => {
    assert.equal(decodeJwt(await redeem(bob, lent, { resource: 'HTTP://countersign.test/' })).aud, issuer);
    const named = await createDelegation(aliceToken, bob, ['agents:read'], {
      resource: ['https://api.example.com/'],
    });
    const elsewhere = await redeem(bob, named, { resource: 'https://api.example.com/' });
    const { aud, sub, act } = decodeJwt(elsewhere);
    assert.deepEqual(
      { aud, sub, act },
      { aud: 'https://api.example.com/', sub: alice.agentId, act: { sub: bob.agentId } },
    );
    assert.equal(await listAgents(elsewhere), '401 UNAUTHORIZED');
    const introspected = await t.form('/api/v1/token/introspect', { token: elsewhere }, operator);
    assert.equal(introspected.json.active, true);
  });

  it('for one of the resources that were delegated, and by default for the one there is, or ours', async () => {
    const [one, two] = ['https://one.example/', 'https://two.example/'];
    const audience = async (resource: string[], more = {}) => {
      const narrow = await createDelegation(aliceToken, bob, ['agents:read'], { resource });
      const { status, json } = await exchange(bob, narrow.delegationToken, more);
      return status === 200 ? decodeJwt(json.access_token).aud : json.error;
    };
    assert.equal(await audience([one]), one);
    assert.equal(await audience([one], { resource: one }), one);
    assert.equal(await audience([one], { resource: issuer }), 'invalid_target');
    assert.equal(await audience([one], { resource: two }), 'invalid_target');
    assert.equal(await audience([one, two]), 'invalid_target');
    assert.equal(await audience([one, two], { resource: two }), two);
    assert.equal(await audience([one, `${issuer}/`]), issuer);
  });

  it('never longer than the delegation: its last seconds are the token’s', async () => {
    const short = await createDelegation(aliceToken, bob, ['agents:read'], { expiresIn: 90 });
    const { json } = await exchange(bob, short.delegationToken);
    assert.ok(json.expires_in > 30 && json.expires_in <= 90, String(json.expires_in));
    assert.ok(Number(decodeJwt(json.access_token).exp) * 1000 <= Date.parse(short.expiresAt));
    const day = await createDelegation(aliceToken, bob, ['agents:read'], { expiresIn: 86_400 });
    assert.equal((await exchange(bob, day.delegationToken)).json.expires_in, 3_600);
  });

  it('leaves one event that names chain and subject, and is counted as a token', async () => {
    const counted = async () =>
      Number(
        /^service_tokens_issued_total\{scope="audit:read"\} (\d+)/m.exec(await t.app.metrics.text())?.[1] ??
          0,
      );
    const before = await counted();
    const { jti } = decodeJwt(await redeem(bob, lent, { scope: 'audit:read' }));
    assert.equal(await counted(), before + 1);
    const events = await t.sql<{ action: string; agent_id: string; metadata: Record<string, unknown> }>(
      `select action, agent_id, metadata from audit_events where metadata->>'tokenId' = $1`,
      [jti],
    );
    assert.equal(events.length, 1);
    const { chainId, subjectId, scope } = events[0]?.metadata ?? {};
    assert.deepEqual(
      { ...events[0], metadata: { chainId, subjectId, scope } },
      {
        action: 'token.issued',
        agent_id: bob.agentId,
        metadata: { chainId: lent.chainId, subjectId: alice.agentId, scope: 'audit:read' },
      },
    );
  });

  it('introspection shows subject and actor', async () => {
    const { json } = await t.form('/api/v1/token/introspect', { token: await redeem(bob, lent) }, operator);
    const { active, sub, client_id, act, chain_id } = json;
    assert.deepEqual(
      { active, sub, client_id, act, chain_id },
      {
        active: true,
        sub: alice.agentId,
        client_id: bob.agentId,
        act: { sub: bob.agentId },
        chain_id: lent.chainId,
      },
    );
  });

  it('discovery lists the grant', async () => {
    for (const name of ['oauth-authorization-server', 'openid-configuration']) {
      const { json } = await t.call('GET', `/.well-known/${name}`);
      assert.ok(json.grant_types_supported.includes(tokenExchange));
    }
  });
});

const keyId = await calculateJwkThumbprint(
  await exportJWK(createPublicKey(process.env.TEST_PUBLIC_KEY ?? '')),
);
const ourKey = createPrivateKey(process.env.TEST_PRIVATE_KEY ?? '');
const now = () => Math.floor(t.clock.now() / 1000);
/** The delegation token with other claims or headers, signed with our key. */
const forged = (claims: object, header: object = {}, key = ourKey) =>
  new SignJWT({ ...decodeJwt(lent.delegationToken), ...claims })
    .setProtectedHeader({ alg: 'RS256', kid: keyId, typ: 'delegation+jwt', ...header })
    .sign(key);
const [head = '', body = '', signature = ''] = lent.delegationToken.split('.');
const b64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('refused token exchange', () => {
  const form = { grant_type: tokenExchange, client_id: bob.clientId, client_secret: bob.clientSecret };
  const full = { ...form, subject_token: lent.delegationToken, subject_token_type: jwtType };
  const without = (name: keyof typeof full) => {
    const { [name]: _, ...rest } = full;
    return rest;
  };

  const requests: [number, string, string, Record<string, string>][] = [
    [400, 'invalid_request', 'subject_token is missing', without('subject_token')],
    [400, 'invalid_request', 'subject_token is empty', { ...full, subject_token: '' }],
    [400, 'invalid_request', 'subject_token is endless', { ...full, subject_token: 'x'.repeat(9_000) }],
    [400, 'invalid_request', 'subject_token_type is missing', without('subject_token_type')],
    [
      400,
      'invalid_request',
      'subject_token_type is another',
      { ...full, subject_token_type: accessTokenType },
    ],
    [400, 'invalid_request', 'another kind is requested', { ...full, requested_token_type: jwtType }],
    [
      400,
      'invalid_request',
      'an actor_token comes along',
      { ...full, actor_token: 'x', actor_token_type: jwtType },
    ],
    [400, 'invalid_request', 'a field holds NUL', { ...full, scope: 'a\0b' }],
    [400, 'invalid_scope', 'a scope was not delegated', { ...full, scope: 'agents:read agents:write' }],
    [400, 'invalid_scope', 'a scope is unknown', { ...full, scope: 'make:coffee' }],
    [400, 'invalid_target', 'resource is no address', { ...full, resource: 'example' }],
    [
      400,
      'invalid_target',
      'audience names what resource does not',
      { ...full, audience: 'https://api.example.com' },
    ],
    [401, 'invalid_client', 'the secret is missing', without('client_secret')],
    [401, 'invalid_client', 'the client is missing', without('client_id')],
    [401, 'invalid_client', 'the secret is wrong', { ...full, client_secret: 'cs_wrong' }],
    [401, 'invalid_client', 'the client is unknown', { ...full, client_id: crypto.randomUUID() }],
  ];
  for (const [status, error, what, fields] of requests) {
    it(`${status} ${error} when ${what}`, async () => assertRefused(await t.askToken(fields), status, error));
  }
  it('400 invalid_request when subject_token is repeated or in the address', async () => {
    const text = new URLSearchParams(full).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const send = (payload: string, query = '') =>
      t.call('POST', `/api/v1/token${query}`, { payload, headers });
    assertRefused(await send(`${text}&subject_token=x`), 400, 'invalid_request');
    assertRefused(await send(text, '?subject_token=x'), 400, 'invalid_request');
    assertRefused(await send(text, '?actor_token=x'), 400, 'invalid_request');
  });
  it('200 with requested_token_type and audience that say what is so anyway', async () => {
    const { status } = await t.askToken({ ...full, requested_token_type: accessTokenType, audience: issuer });
    assert.equal(status, 200);
  });

  const tokens: [string, () => Promise<string>][] = [
    ['text', async () => 'x'],
    ['an access token', async () => aliceToken],
    ['a redeemed token', () => redeem(bob, lent)],
    ['of another type', () => forged({}, { typ: 'at+jwt' })],
    ['without a type', () => forged({}, { typ: undefined })],
    ['alg none', async () => `${b64({ alg: 'none', typ: 'delegation+jwt' })}.${body}.`],
    [
      'alg none with a signature',
      async () => `${b64({ alg: 'None', typ: 'delegation+jwt', kid: keyId })}.${body}.${signature}`,
    ],
    ['without its signature', async () => `${head}.${body}.`],
    ['padded', async () => `${lent.delegationToken}=`],
    ['followed by a line end', async () => `${lent.delegationToken}\n`],
    ['with unused bits set', async () => respelt(lent.delegationToken)],
    [
      'signed by another key',
      () => forged({}, {}, generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey),
    ],
    [
      'by a key that brings itself',
      async () => {
        const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
        return forged({}, { jwk: await exportJWK(publicKey) }, privateKey);
      },
    ],
    ['by our key for another issuer', () => forged({ iss: 'https://elsewhere.example' })],
    ['by our key for another audience', () => forged({ aud: 'https://elsewhere.example' })],
    ['by our key for two audiences', () => forged({ aud: [issuer, 'https://elsewhere.example'] })],
    ['by our key without an end', () => forged({ exp: undefined })],
    ['by our key for an unknown chain', () => forged({ chain_id: crypto.randomUUID() })],
    ['by our key for a chain that is no id', () => forged({ chain_id: "' or true --" })],
    ['by our key for a chain that is an object', () => forged({ chain_id: { sub: lent.chainId } })],
    [
      'for another delegatee',
      async () => (await createDelegation(aliceToken, carol, ['agents:read'])).delegationToken,
    ],
    [
      'for another delegatee, with may_act of this one',
      async () => {
        const { chainId } = await createDelegation(aliceToken, carol, ['agents:read']);
        return forged({ chain_id: chainId });
      },
    ],
    [
      'revoked',
      async () => {
        const { chainId, delegationToken } = await createDelegation(aliceToken, bob, ['agents:read']);
        await revoke(aliceToken, chainId);
        return delegationToken;
      },
    ],
    [
      'expired',
      async () => {
        const { delegationToken } = await createDelegation(aliceToken, bob, ['agents:read'], {
          expiresIn: 60,
        });
        t.clock.advance(61_000);
        return delegationToken;
      },
    ],
    [
      'expired, and made longer by our key',
      async () => {
        const { chainId } = await createDelegation(aliceToken, bob, ['agents:read'], { expiresIn: 60 });
        t.clock.advance(61_000);
        return forged({ chain_id: chainId, exp: now() + 600 });
      },
    ],
    [
      'of another organization',
      async () => {
        const payload = { name: 'Elsewhere', slug: 'elsewhere' };
        const { organizationId } = (
          await t.call('POST', '/api/v1/organizations', { token: operator, payload })
        ).json;
        const [one, two] = [
          await t.agent({ organization_id: organizationId }),
          await t.agent({ organization_id: organizationId }),
        ];
        return (await createDelegation(await t.token(undefined, one), two, ['agents:read'])).delegationToken;
      },
    ],
  ];
  for (const [what, make] of tokens) {
    it(`400 invalid_grant when the subject_token is ${what}, with one event`, async () => {
      const token = await make();
      const refusals = () =>
        t.sql(`select 1 from audit_events where action = 'token.refused' and agent_id = $1`, [bob.agentId]);
      const before = (await refusals()).length;
      assertRefused(await exchange(bob, token), 400, 'invalid_grant');
      assert.equal((await refusals()).length, before + 1);
    });
  }

  it('403 unauthorized_client when the delegatee is suspended; still invalid after the reactivation', async () => {
    const dave = await t.agent();
    const given = await createDelegation(aliceToken, dave, ['agents:read']);
    const patch = (status: string) =>
      t.call('PATCH', `/api/v1/agents/${dave.agentId}`, { token: operator, payload: { status } });
    await patch('suspended');
    assertRefused(await exchange(dave, given.delegationToken), 403, 'unauthorized_client');
    await patch('active');
    assertRefused(await exchange(dave, given.delegationToken), 400, 'invalid_grant');
  });
});

describe('a delegation token used as an access token', () => {
  it('401 UNAUTHORIZED as an access token, {active:false} at introspection, 200 and nothing at revocation', async () => {
    assert.equal(await listAgents(lent.delegationToken), '401 UNAUTHORIZED');
    const { delegationToken: token } = lent;
    assert.deepEqual((await t.form('/api/v1/token/introspect', { token }, operator)).json, { active: false });
    assert.equal((await t.form('/api/v1/token/revoke', { token }, aliceToken)).status, 200);
    assert.equal((await exchange(bob, token)).status, 200);
  });

  it('401 UNAUTHORIZED for an access token by our key whose chain does not fit together', async () => {
    const claims = decodeJwt(await redeem(bob, lent));
    const sign = (changes: object) =>
      new SignJWT({ ...claims, jti: crypto.randomUUID(), ...changes })
        .setProtectedHeader({ alg: 'RS256', kid: keyId, typ: 'at+jwt' })
        .sign(ourKey);
    const twoActors = { sub: carol.agentId, act: { sub: bob.agentId } };
    for (const changes of [
      { act: undefined },
      { act: { sub: carol.agentId } },
      { act: twoActors },
      { act: 'bob' },
      { act: null },
      { chain_path: undefined },
      { chain_path: [] },
      { chain_path: lent.chainId },
      { chain_path: [crypto.randomUUID(), lent.chainId] },
      { chain_path: ["' or true --"], chain_id: "' or true --" },
      { chain_id: undefined },
      { chain_id: crypto.randomUUID() },
      { chain_id: crypto.randomUUID(), chain_path: undefined, act: undefined },
      { sub: 'x' },
      { sub: bob.agentId, act: undefined, chain_path: undefined },
      { client_id: carol.agentId },
    ])
      assert.equal(await listAgents(await sign(changes)), '401 UNAUTHORIZED', JSON.stringify(changes));
  });
});

function respelt(token: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = alphabet.indexOf(token.at(-1) ?? '');
  return token.slice(0, -1) + alphabet[last ^ 1];
}

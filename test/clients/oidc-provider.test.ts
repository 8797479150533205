/** A real provider (oidc-provider) as partner and as outside issuer: its tokens, and forged variants. */
import assert from 'node:assert/strict';
import { createHmac, createPublicKey } from 'node:crypto';
import { describe, it } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { startApp } from '../support/harness.ts';
import { makeKey, startIssuer, startOidcProvider } from '../support/peers/issuers.ts';
import { createDelegationClient, jwtType, tokenExchange } from '../support/scenarios/delegations.ts';
import { createTrustClient, ownAudience } from '../support/scenarios/trust.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const { operator, createPolicy, exchange } = await createTrustClient(t);
const { createDelegation } = createDelegationClient(t);
const provider = await startOidcProvider();
const bob = await t.agent();
const policy = await createPolicy({
  agentId: bob.agentId,
  issuer: provider.issuer,
  subject: null,
  conditions: [{ claim: 'client_id', operator: 'equals', values: ['pipeline'] }],
});
const lent = await createDelegation(await t.token(undefined, await t.agent()), bob, ['agents:read']);
await t.call('POST', '/api/v1/federation/trust', {
  token: operator,
  payload: { name: 'Provider', issuer: provider.issuer, jwksUri: provider.jwksUri },
});

const verify = async (token: string) =>
  (
    await t.call('POST', '/api/v1/federation/verify', {
      token: operator,
      payload: { token, audience: ownAudience },
    })
  ).json;
const asserted = (client_assertion: string, more: Record<string, string>) =>
  t.askToken({
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion,
    ...more,
  });
/** Every endpoint that accepts an outside token. */
const endpoints: [string, (token: string) => ReturnType<typeof exchange>][] = [
  ['POST /oidc/token', (token) => exchange(token)],
  ['POST /token', (token) => asserted(token, { grant_type: 'client_credentials' })],
  [
    'POST /token for a delegation',
    (token) =>
      asserted(token, {
        grant_type: tokenExchange,
        subject_token: lent.delegationToken,
        subject_token_type: jwtType,
      }),
  ],
];

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const rewritten = (token: string, header: object, claims: object, signature?: string) => {
  const [, , given] = token.split('.');
  const parts = [
    { ...decodeProtectedHeader(token), ...header },
    { ...decodeJwt(token), ...claims },
  ].map(encode);
  return [...parts, signature ?? given].join('.');
};
const byPublicKey = async (token: string) => {
  const { keys } = (await (await fetch(provider.jwksUri)).json()) as { keys: object[] };
  const key = createPublicKey({ key: keys[0] as never, format: 'jwk' });
  const [header, claims] = rewritten(token, { alg: 'HS256' }, {}).split('.');
  const secret = key.export({ type: 'spki', format: 'pem' });
  const signature = createHmac('sha256', secret).update(`${header}.${claims}`).digest('base64url');
  return `${header}.${claims}.${signature}`;
};
const attackerIssuer = await startIssuer(t.clock, 'RS256');
const forged = async (token: string, header: object = {}) => {
  const { kid } = decodeProtectedHeader(token);
  const stolen = { ...decodeJwt(token), jti: crypto.randomUUID() };
  return attackerIssuer.sign(stolen, { key: { ...(await makeKey('RS256')), kid: String(kid) }, header });
};

/** Forged variants of a valid token, and the reason that verify returns. */
const forgedTokens: [string, string, (good: string) => string | Promise<string>][] = [
  ['another audience', 'audience_mismatch', () => provider.token('https://elsewhere.example')],
  ['a changed claim', 'bad_signature', (good) => rewritten(good, {}, { scope: 'admin:orgs' })],
  ['a longer life', 'bad_signature', (good) => rewritten(good, {}, { exp: 4_000_000_000 })],
  ['another id', 'bad_signature', (good) => rewritten(good, {}, { jti: 'other' })],
  ['no signature', 'algorithm_not_allowed', (good) => rewritten(good, { alg: 'none' }, {}, '')],
  ['the public key as a secret', 'algorithm_not_allowed', byPublicKey],
  ["another's signature under its kid", 'bad_signature', (good) => forged(good)],
  ["another's signature, with jku", 'bad_signature', (good) => forged(good, { jku: attackerIssuer.jwksUri })],
  ['another issuer', 'unknown_issuer', (good) => rewritten(good, {}, { iss: attackerIssuer.url })],
];

describe('a token of a real provider', () => {
  it('200 valid from verify, and 200 once per token at each endpoint', async () => {
    for (const [way, bring] of endpoints) {
      const good = await provider.token(ownAudience);
      const { valid, claims } = await verify(good);
      assert.deepEqual([valid, claims?.client_id], [true, 'pipeline']);
      const { status, text } = await bring(good);
      assert.equal(status, 200, `${way}: ${text}`);
      for (const [again, bringAgain] of endpoints)
        assert.ok([400, 401].includes((await bringAgain(good)).status), `${way}, then ${again}`);
    }
  });

  for (const [what, reason, make] of forgedTokens) {
    it(`invalid_grant or invalid_client with ${what} (${reason}); the original stays valid`, async () => {
      const good = await provider.token(ownAudience);
      const bad = await make(good);
      assert.deepEqual(await verify(bad), { valid: false, reason });
      for (const [way, bring] of endpoints) {
        const { status, json } = await bring(bad);
        assert.ok([400, 401].includes(status), way);
        assert.match(json.error, /^invalid_(grant|client)$/);
      }
      assert.equal((await exchange(good)).status, 200);
    });
  }

  it('400 or 401 for another client of the same provider; verify calls its token valid', async () => {
    const other = await provider.token(ownAudience, 'other');
    assert.equal((await verify(other)).valid, true);
    for (const [way, bring] of endpoints) assert.ok([400, 401].includes((await bring(other)).status), way);
  });

  it('400 or 401 once the policy is deleted; verify does not depend on it', async () => {
    const good = await provider.token(ownAudience);
    await t.call('DELETE', `/api/v1/oidc/trust-policies/${policy.policyId}`, { token: operator });
    for (const [way, bring] of endpoints) assert.ok([400, 401].includes((await bring(good)).status), way);
    assert.equal((await verify(good)).valid, true);
  });

  it('no token header causes an outgoing connection', () => assert.equal(attackerIssuer.connections(), 0));
});

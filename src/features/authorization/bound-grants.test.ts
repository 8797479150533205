/** Codes and refresh tokens that are bound to a key (RFC 9449 §5, §10). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import type { Answer } from '../../../test/support/harness.ts';
import {
  baseUrl,
  type CodeRequest,
  createAuthorizationScenario,
  type TestClient,
} from '../../../test/support/scenarios/authorization.ts';
import { createProver, type Prover } from '../../../test/support/scenarios/dpop.ts';

const scenario = await createAuthorizationScenario();
const { t, confidential, publicClient, documentClient, member, newRequest, consent } = scenario;
const prover = await createProver(t);
const other = await createProver(t);

const ask = async (form: Record<string, string>, by?: Prover): Promise<Answer> => {
  const dpop = by && (await by.proof({ claims: { htu: `${baseUrl}/api/v1/token` } }));
  return t.askToken(form, dpop === undefined ? {} : { dpop });
};
const exchange = ({ client, verifier }: CodeRequest, code: string, by?: Prover) =>
  ask(
    {
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: client.redirectUri,
      ...client.credentials,
    },
    by,
  );
const refresh = (client: TestClient, refresh_token: string, by?: Prover) =>
  ask({ grant_type: 'refresh_token', refresh_token, ...client.credentials }, by);

const assertRefused = ({ status, json }: Answer, error = 'invalid_grant') =>
  assert.deepEqual([status, json.error], [400, error], JSON.stringify(json));
const assertBound = ({ status, json, text }: Answer, by: Prover | undefined): string => {
  assert.equal(status, 200, text);
  assert.equal(json.token_type, by ? 'DPoP' : 'Bearer');
  assert.deepEqual(decodeJwt(json.access_token).cnf, by && { jkt: by.jkt });
  return json.refresh_token;
};
const lastReason = async () =>
  (
    await t.sql<{ reason: string }>(
      "select metadata ->> 'reason' as reason from audit_events where action = 'token.refused' order by event_id desc limit 1",
    )
  )[0]?.reason;

const codeFor = async (client: TestClient, more: Record<string, string> = {}) => {
  const { browser } = await member();
  const request = newRequest(client, more);
  return { request, code: await consent(browser, request) };
};
const firstTokens = async (client: TestClient, by?: Prover): Promise<string> => {
  const { request, code } = await codeFor(client);
  return assertBound(await exchange(request, code, by), by);
};

describe('dpop_jkt at /authorize', () => {
  it('200 only with a proof by that key', async () => {
    const { request, code } = await codeFor(await publicClient(), { dpop_jkt: prover.jkt });
    assertBound(await exchange(request, code, prover), prover);
  });
  for (const [what, by] of [
    ['another key', other],
    ['no proof', undefined],
  ] as const)
    it(`400 invalid_grant with ${what}, and the code is used up`, async () => {
      const { request, code } = await codeFor(await publicClient(), { dpop_jkt: prover.jkt });
      assertRefused(await exchange(request, code, by));
      assert.equal(await lastReason(), 'code bound to another key');
      assertRefused(await exchange(request, code, prover));
    });
  it('200 with any key without dpop_jkt', async () => {
    const { request, code } = await codeFor(await confidential());
    assertBound(await exchange(request, code, other), other);
  });
});

describe('a refresh token', () => {
  const publicClients: Record<string, () => Promise<TestClient>> = {
    'a public client': publicClient,
    'a public client with a document': async () => documentClient(),
  };
  for (const [kind, make] of Object.entries(publicClients))
    it(`of ${kind} is bound to the key of its first token, and so are its successors`, async () => {
      const client = await make();
      const token = await firstTokens(client, prover);
      for (const by of [other, undefined]) {
        assertRefused(await refresh(client, token, by));
        assert.equal(await lastReason(), 'refresh token bound to another key');
      }
      const next = assertBound(await refresh(client, token, prover), prover);
      // Within the grace as well, and later no holder without the key ends the chain.
      assertRefused(await refresh(client, token, other));
      t.clock.advance(11_000);
      assertRefused(await refresh(client, token, other));
      assertRefused(await refresh(client, next, other));
      assertBound(await refresh(client, next, prover), prover);
    });
  it('of a public client becomes bound with its first proof', async () => {
    const client = await publicClient();
    const token = await firstTokens(client);
    const next = assertBound(await refresh(client, token, prover), prover);
    assertRefused(await refresh(client, next));
    assertBound(await refresh(client, next, prover), prover);
  });
  it('of a confidential client is bound to its authentication: the key may change', async () => {
    const client = await confidential();
    const token = await firstTokens(client, prover);
    const next = assertBound(await refresh(client, token, other), other);
    assertBound(await refresh(client, next), undefined);
  });
});

describe('a client metadata document with dpop_bound_access_tokens', () => {
  it('400 without a proof, 200 with one; a PATCH of the agent cannot change it', async () => {
    const client = documentClient({ dpop_bound_access_tokens: true });
    const { request, code } = await codeFor(client);
    assertRefused(await exchange(request, code), 'invalid_dpop_proof');
    assertBound(await exchange(request, code, prover), prover);
    const [agent] = await t.sql<{ agent_id: string }>('select agent_id from agents where client_uri = $1', [
      client.clientId,
    ]);
    const url = `/api/v1/agents/${agent?.agent_id}`;
    const token = await t.token();
    assert.equal((await t.call('GET', url, { token })).json.dpopBoundAccessTokens, true);
    const payload = { dpopBoundAccessTokens: false };
    assert.equal((await t.call('PATCH', url, { token, payload })).json.code, 'VALIDATION_ERROR');
  });
});

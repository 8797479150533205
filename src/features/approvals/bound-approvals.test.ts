/** The grant of CIBA with a proof of possession (RFC 9449): each poll has a proof of its own. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { decodeJwt } from 'jose';
import { createApprovalScenario } from '../../../test/support/scenarios/approvals.ts';
import { baseUrl } from '../../../test/support/scenarios/authorization.ts';
import { createProver, proofMutations } from '../../../test/support/scenarios/dpop.ts';

const { t, asker, request, decide, member, poll, refresh } = await createApprovalScenario();
const prover = await createProver(t);
const base = { htm: 'POST', htu: `${baseUrl}/api/v1/token` };

it('400 authorization_pending and slow_down use a proof up; then 200 with a bound token, and 400 invalid_dpop_proof for every mutation', async () => {
  const client = await asker();
  const { browser, personId } = await member();
  const { authReqId, approvalId } = await request(client, { login_hint: personId });
  const form = {
    grant_type: 'urn:openid:params:grant-type:ciba',
    auth_req_id: authReqId,
    ...client.credentials,
  };
  const ask = (dpop: string) => t.askToken(form, { dpop });
  const refused = async (dpop: string, error: string) => {
    const { status, json } = await ask(dpop);
    assert.deepEqual([status, json.error], [400, error]);
    return json.error_description;
  };
  const first = await prover.proof({ claims: base });
  await refused(first, 'authorization_pending');
  assert.equal(await refused(first, 'invalid_dpop_proof'), 'the proof was used before');
  assert.equal((await decide(browser, approvalId)).status, 200);
  for (const { make, error } of proofMutations(t))
    await refused(await make(prover, base), error ?? 'invalid_dpop_proof');

  const { status, json, text } = await ask(await prover.proof({ claims: base }));
  assert.deepEqual([status, json.token_type], [200, 'DPoP'], text);
  assert.deepEqual(decodeJwt(json.access_token).cnf, { jkt: prover.jkt });
  // The client authenticates, so its refresh token is bound to no key.
  assert.equal((await refresh(client, json.refresh_token)).json.token_type, 'Bearer');
});

it('400 invalid_dpop_proof without a proof for an agent that demands them; the request can still be redeemed', async () => {
  const client = await asker({ dpopBoundAccessTokens: true });
  const { browser, personId } = await member();
  const { authReqId, approvalId } = await request(client, { login_hint: personId });
  assert.equal((await decide(browser, approvalId)).status, 200);
  assert.equal((await poll(client, authReqId)).json.error, 'invalid_dpop_proof');
  const dpop = await prover.proof({ claims: base });
  const form = {
    grant_type: 'urn:openid:params:grant-type:ciba',
    auth_req_id: authReqId,
    ...client.credentials,
  };
  assert.equal((await t.askToken(form, { dpop })).json.token_type, 'DPoP');
});

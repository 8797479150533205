/** Client authentication by a JWT-SVID (draft-ietf-oauth-spiffe-client-auth). The bundle is that of the trust policy. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { startApp } from '../../../../test/support/harness.ts';
import { makeKey, startIssuer } from '../../../../test/support/peers/issuers.ts';
import {
  createDelegationClient,
  jwtType,
  tokenExchange,
} from '../../../../test/support/scenarios/delegations.ts';
import { createTenant } from '../../../../test/support/scenarios/plans.ts';
import { createTrustClient, ownAudience } from '../../../../test/support/scenarios/trust.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const { operator, createPolicy, lastRefusal, seconds } = await createTrustClient(t);
const { createDelegation } = createDelegationClient(t);
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-spiffe';

/** A trust domain: its bundle marks the keys that sign JWT-SVIDs, and others (SPIFFE Trust Domain and Bundle §4). */
const domain = await startIssuer(t.clock);
const bundle = async () => {
  const [key] = domain.keys;
  const x509 = await makeKey();
  domain.handlerOverride = (_, response) =>
    void response.setHeader('content-type', 'application/json').end(
      JSON.stringify({
        spiffe_sequence: 1,
        keys: [
          { ...x509.publicJwk, use: 'x509-svid' },
          { ...key?.publicJwk, use: 'jwt-svid', alg: undefined },
        ],
      }),
    );
  return { x509 };
};
const { x509 } = await bundle();

const spiffePolicy = async (changes: Record<string, unknown> = {}) => {
  const subject = `spiffe://prod.example/ns/default/sa/${randomUUID()}`;
  const policy = await createPolicy(
    { provider: 'spiffe', subject, jwksUri: domain.jwksUri, singleUse: false, ...changes },
    domain,
  );
  /** As SPIRE makes them: without `iss` and `jti`. */
  const svid = (more: object = {}, options: Parameters<typeof domain.sign>[1] = {}) =>
    domain.sign({ sub: subject, iss: undefined, jti: undefined, ...more }, options);
  return { ...policy, svid };
};

const authenticate = (svid: string, more: Record<string, string> = {}) =>
  t.askToken({
    grant_type: 'client_credentials',
    client_assertion_type: assertionType,
    client_assertion: svid,
    ...more,
  });

describe('spiffe_jwt', () => {
  it('200 for a JWT-SVID with and without an issuer, with and without client_id', async () => {
    const policy = await spiffePolicy();
    for (const claims of [{}, { iss: domain.url }, { aud: [`${ownAudience}/api/v1/token`] }])
      for (const form of [{}, { client_id: policy.agentId }]) {
        const { status, json } = await authenticate(await policy.svid(claims), form);
        assert.equal(status, 200, JSON.stringify(json));
        const { sub, trust_policy_id } = decodeJwt(json.access_token);
        assert.deepEqual([sub, trust_policy_id], [policy.agentId, policy.policyId]);
      }
  });

  it('200 for another grant: a delegation is redeemed', async () => {
    const policy = await spiffePolicy();
    const giver = await t.agent({ allowedScopes: ['audit:read'] });
    const lent = await createDelegation(
      await t.token(undefined, giver),
      { agentId: policy.agentId } as never,
      ['audit:read'],
    );
    const { status, json } = await authenticate(await policy.svid(), {
      grant_type: tokenExchange,
      subject_token: lent.delegationToken,
      subject_token_type: jwtType,
    });
    assert.deepEqual([status, json.scope], [200, 'audit:read'], JSON.stringify(json));
  });

  it('the dry run of the policy accepts it', async () => {
    const policy = await spiffePolicy();
    const { json } = await t.call('POST', `/api/v1/oidc/trust-policies/${policy.policyId}/test`, {
      token: operator,
      payload: { token: await policy.svid() },
    });
    assert.equal(json.matched, true, JSON.stringify(json));
  });

  const mutations: [string, object | (() => object), string][] = [
    ['another path', { sub: 'spiffe://prod.example/ns/other' }, 'no trust policy'],
    ['another trust domain', { sub: 'spiffe://test.example/ns/default/sa/a' }, 'no trust policy'],
    ['a subject that is no SPIFFE ID', { sub: 'workload-1' }, 'the subject is no SPIFFE ID'],
    ['no subject', { sub: undefined }, 'the subject is no SPIFFE ID'],
    ['another issuer', { iss: 'https://issuer.example' }, 'no trust policy'],
    ['another audience', { aud: 'https://other.example' }, 'audience_mismatch'],
    ['several audiences', { aud: [ownAudience, 'https://other.example'] }, 'audience_mismatch'],
    ['no audience', { aud: undefined }, 'audience_mismatch'],
    ['no exp', { exp: undefined }, 'missing_claim'],
    ['an exp that has passed', () => ({ exp: seconds() }), 'expired'],
  ];
  for (const [name, changes, reason] of mutations)
    for (const named of [true, false]) {
      it(`401 invalid_client with ${name}${named ? ', for a named agent' : ''}`, async () => {
        const policy = await spiffePolicy();
        const svid = await policy.svid(typeof changes === 'function' ? changes() : changes);
        const { status, json } = await authenticate(svid, named ? { client_id: policy.agentId } : {});
        assert.deepEqual([status, json.error], [401, 'invalid_client'], JSON.stringify(json));
        const recorded = await lastRefusal();
        assert.ok(recorded.reason.startsWith(reason), recorded.reason);
        if (named) assert.equal(recorded.agent_id, policy.agentId);
      });
    }

  it('401 invalid_client with a key that is not for JWT-SVIDs, an address in the header, or another type', async () => {
    const policy = await spiffePolicy();
    const refused = async (svid: string, reason: string) => {
      const { status } = await authenticate(svid, { client_id: policy.agentId });
      assert.equal(status, 401);
      assert.equal((await lastRefusal()).reason, reason);
    };
    await refused(await policy.svid({}, { key: x509 }), 'unknown_key');
    const own = await startIssuer(t.clock);
    const [key] = own.keys;
    if (!key) throw new Error('no key');
    await refused(await policy.svid({}, { key, header: { jku: own.jwksUri } }), 'unknown_key');
    await refused(await policy.svid({}, { header: { typ: 'at+jwt' } }), 'type_not_allowed');
  });

  it('401 invalid_client when only a policy of another provider would match', async () => {
    const policy = await createPolicy({ subject: 'spiffe://prod.example/ns/custom' });
    const svid = await policy.sign();
    assert.equal((await authenticate(svid)).status, 401);
    assert.equal((await authenticate(svid, { client_id: policy.agentId })).status, 401);
  });

  describe('without iss, with policies of several issuers for one subject', () => {
    /** Each issuer says itself where its keys are. */
    const policyOf = async (
      from: Awaited<ReturnType<typeof startIssuer>>,
      changes: Record<string, unknown>,
    ) => {
      const policy = await createPolicy({ provider: 'spiffe', singleUse: false, ...changes }, from);
      return { ...policy, svid: () => from.sign({ sub: policy.subject, iss: undefined, jti: undefined }) };
    };
    const pair = async () => ({
      issuers: [await startIssuer(t.clock), await startIssuer(t.clock)] as const,
      subject: `spiffe://prod.example/ns/default/sa/${randomUUID()}`,
    });

    it('200 by the policy whose issuer has signed, with its scopes only', async () => {
      const { issuers, subject } = await pair();
      const { agentId } = await t.agent({ allowedScopes: ['agents:read', 'audit:read'] });
      const wide = await policyOf(issuers[0], { subject, agentId, scopes: ['agents:read', 'audit:read'] });
      const narrow = await policyOf(issuers[1], { subject, agentId, scopes: ['agents:read'] });
      for (const { svid, policyId, scopes } of [wide, narrow])
        for (const form of [{ client_id: agentId }, {}]) {
          const { status, json } = await authenticate(await svid(), form);
          assert.equal(status, 200, JSON.stringify(json));
          const claims = decodeJwt(json.access_token);
          assert.deepEqual([claims.trust_policy_id, claims.scope], [policyId, scopes.join(' ')]);
        }
      const { status } = await authenticate(await narrow.svid(), { client_id: agentId, scope: 'audit:read' });
      assert.notEqual(status, 200);
    });

    it('200 for the workload of each organization: the policy of the other neither blocks nor captures it', async () => {
      const { issuers, subject } = await pair();
      const foreign = await createTenant(t);
      const own = await policyOf(issuers[0], { subject, scopes: ['agents:read'] });
      const other = await policyOf(issuers[1], {
        subject,
        agentId: foreign.agentId,
        scopes: ['agents:read'],
      });
      for (const { svid, agentId } of [own, other]) {
        const { status, json } = await authenticate(await svid());
        assert.equal(status, 200, JSON.stringify(json));
        assert.equal(decodeJwt(json.access_token).sub, agentId);
      }
    });

    it('200 for an id that the keys of another issuer have signed, too: a single use is one of each issuer', async () => {
      const { issuers } = await pair();
      const jti = randomUUID();
      for (const issuer of issuers) {
        const { agentId } = await createTenant(t);
        const { subject } = await createPolicy(
          { provider: 'spiffe', subject: `spiffe://prod.example/ns/${randomUUID()}`, agentId, scopes: [] },
          issuer,
        );
        const svid = await issuer.sign({ sub: subject, iss: undefined, jti });
        const [first, second] = [await authenticate(svid), await authenticate(svid)];
        assert.deepEqual([first.status, second.status], [200, 401], first.text);
      }
    });

    it('200 although an organization has policies of more issuers than are ever looked at', async () => {
      const { issuers, subject } = await pair();
      const mallory = await createTenant(t);
      for (let count = 10; count <= 35; count += 1)
        await createPolicy({
          ...{ provider: 'spiffe', subject, agentId: mallory.agentId, scopes: [] },
          issuer: `http://127.0.0.1:1/${count}`,
        });
      const own = await policyOf(issuers[0], { subject, scopes: ['agents:read'] });
      const { status, json } = await authenticate(await own.svid());
      assert.equal(status, 200, JSON.stringify(json));
    });
  });

  it("the policy's single use holds for the signed content", async () => {
    const policy = await spiffePolicy({ singleUse: true });
    const svid = await policy.svid();
    assert.equal((await authenticate(svid)).status, 200);
    assert.equal((await authenticate(svid)).status, 401);
    assert.equal((await lastRefusal()).reason, 'the token was used before');
  });

  it('400 invalid_grant as the assertion of jwt-bearer without an issuer; 200 with one', async () => {
    const policy = await spiffePolicy();
    const present = async (claims: object) =>
      t.askToken({
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: await policy.svid(claims),
      });
    const { status, json } = await present({});
    assert.deepEqual([status, json.error], [400, 'invalid_grant']);
    assert.equal((await lastRefusal()).reason, 'missing_claim');
    assert.equal((await present({ iss: domain.url })).status, 200);
  });

  it('401 invalid_client at introspection, which does not offer it', async () => {
    const policy = await spiffePolicy();
    const form = { client_assertion_type: assertionType, client_assertion: await policy.svid(), token: 'x' };
    assert.equal((await t.form('/api/v1/token/introspect', form)).status, 401);
  });
});

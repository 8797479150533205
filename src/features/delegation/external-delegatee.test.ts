/** Delegatees that authenticate by an assertion of an external issuer (a trust policy), without a secret or a key. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { decodeJwt } from 'jose';
import { newAgent, startApp, startOfMinute } from '../../../test/support/harness.ts';
import { makeKey, startOidcProvider } from '../../../test/support/peers/issuers.ts';
import {
  accessTokenType,
  createDelegationClient,
  type IssuedDelegation,
  jwtType,
  tokenExchange,
} from '../../../test/support/scenarios/delegations.ts';
import { createTrustClient, ownAudience } from '../../../test/support/scenarios/trust.ts';
import { organizationScopes } from '../../contract/scopes.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true', RATE_LIMIT_PER_MINUTE: '100000' });
const { operator, createPolicy, exchange, patch, seconds } = await createTrustClient(t);
const { delegate, revoke, listAgents } = createDelegationClient(t);
const alice = await t.agent();
const aliceToken = await t.token(undefined, alice);

type Policy = Awaited<ReturnType<typeof createPolicy>>;

/** Without credentials of its own. */
const workload = async (
  allowedScopes: readonly string[] = ['agents:read', 'audit:read'],
): Promise<string> => {
  const payload = newAgent({ allowedScopes });
  const { status, json, text } = await t.call('POST', '/api/v1/agents', { token: operator, payload });
  assert.equal(status, 201, text);
  return json.agentId;
};

const lendTo = async ({ agentId }: Pick<Policy, 'agentId'>, more: object = {}): Promise<IssuedDelegation> => {
  const payload = { delegateeId: agentId, scopes: ['agents:read', 'audit:read'], ...more };
  const { status, json, text } = await delegate(aliceToken, payload);
  assert.equal(status, 201, text);
  return json;
};

const redeem = (
  client_assertion: string,
  { delegationToken }: Pick<IssuedDelegation, 'delegationToken'>,
  more: Record<string, string> = {},
) =>
  t.askToken({
    grant_type: tokenExchange,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion,
    subject_token: delegationToken,
    subject_token_type: jwtType,
    ...more,
  });

/** A policy for a workload of its own, and what Alice lent it. */
const introduce = async (changes: Record<string, unknown> = {}) => {
  const policy = await createPolicy({ agentId: await workload(), ...changes });
  return { policy, lent: await lendTo(policy) };
};

const refusalsOf = async (agentId: string) =>
  (
    await t.sql<{ reason: string }>(
      `select metadata ->> 'reason' as reason from audit_events
       where action = 'token.refused' and agent_id = $1 order by event_id`,
      [agentId],
    )
  ).map(({ reason }) => reason);

describe('200 a delegation redeemed by a client with an external assertion', () => {
  it('is the same token as by a secret; the external token is used up by it', async () => {
    const { policy, lent } = await introduce();
    for (const more of [{}, { client_id: policy.agentId }]) {
      const token = await policy.sign();
      const { status, headers, json, text } = await redeem(token, lent, more);
      assert.equal(status, 200, text);
      assert.equal(headers['cache-control'], 'no-store');
      const { access_token, expires_in, ...rest } = json;
      assert.deepEqual(rest, {
        token_type: 'Bearer',
        scope: 'agents:read audit:read',
        issued_token_type: accessTokenType,
      });
      const { sub, client_id, act, chain_id } = decodeJwt(access_token);
      assert.deepEqual(
        { sub, client_id, act, chain_id },
        {
          sub: alice.agentId,
          client_id: policy.agentId,
          act: { sub: policy.agentId },
          chain_id: lent.chainId,
        },
      );
      assert.equal(await listAgents(access_token), '200');

      const again = await redeem(token, lent, more);
      assert.deepEqual([again.status, again.json.error], [401, 'invalid_client']);
      assert.equal((await exchange(token)).json.error, 'invalid_grant');
      assert.equal((await refusalsOf(policy.agentId)).at(-1), 'the token was used before');
    }
  });

  it('for a token of a real provider (oidc-provider)', async () => {
    const provider = await startOidcProvider();
    const { lent } = await introduce({
      issuer: provider.issuer,
      subject: null,
      conditions: [{ claim: 'client_id', operator: 'equals', values: ['pipeline'] }],
    });
    assert.equal((await redeem(await provider.token('https://elsewhere.example'), lent)).status, 401);
    const { status, json, text } = await redeem(await provider.token(ownAudience), lent);
    assert.equal(status, 200, text);
    assert.equal(await listAgents(json.access_token), '200');
  });

  it('records one event with policy and issuer, and is counted once as an exchange', async () => {
    const { policy, lent } = await introduce();
    const counted = async () => ({
      metric: Number(/^service_oidc_tokens_issued_total (\d+)/m.exec(await t.app.metrics.text())?.[1] ?? 0),
      usage: Number(
        (await t.call('GET', '/api/v1/usage', { token: aliceToken })).json.totals.token_exchanges,
      ),
    });
    const before = await counted();
    await redeem(await policy.sign(), lent);
    assert.deepEqual(await counted(), { metric: before.metric + 1, usage: before.usage + 1 });
    const events = await t.sql<{ metadata: Record<string, unknown> }>(
      `select metadata from audit_events where action like 'token.%' and agent_id = $1`,
      [policy.agentId],
    );
    assert.equal(events.length, 1);
    const { policyId, issuer, subject, grantType, chainId, subjectId } = events[0]?.metadata ?? {};
    assert.deepEqual(
      { policyId, issuer, subject, grantType, chainId, subjectId },
      {
        policyId: policy.policyId,
        issuer: policy.issuer,
        subject: policy.subject,
        grantType: tokenExchange,
        chainId: lent.chainId,
        subjectId: alice.agentId,
      },
    );
    const shown = await t.call('GET', `/api/v1/oidc/trust-policies/${policy.policyId}`, { token: operator });
    assert.notEqual(shown.json.lastUsedAt, null);
  });

  it('as often as one likes where the policy says so', async () => {
    const { policy, lent } = await introduce({ singleUse: false });
    const token = await policy.sign();
    for (let time = 0; time < 3; time += 1) assert.equal((await redeem(token, lent)).status, 200);
  });
});

describe('200 scopes: those of the delegation, regardless of policy and agent', () => {
  it('for any policy, link and agent', async () => {
    const some = fc.subarray([...organizationScopes]);
    const atLeastOne = fc.subarray([...organizationScopes], { minLength: 1 });
    const scopesOf = (text: string) => text.split(' ').filter(Boolean).sort();
    await fc.assert(
      fc.asyncProperty(some, some, atLeastOne, fc.option(atLeastOne), async (may, gives, lends, asks) => {
        const agentId = await workload(may);
        const scopes = gives.filter((scope) => may.includes(scope));
        const policy = await createPolicy({ agentId, scopes, singleUse: false });
        const lent = await lendTo({ agentId }, { scopes: lends });
        const left = lends.toSorted();
        const fits = (asks ?? []).every((scope) => left.includes(scope));
        const more: Record<string, string> = asks ? { scope: asks.join(' ') } : {};
        const { status, json } = await redeem(await policy.sign(), lent, more);
        if (!fits) return assert.deepEqual([status, json.error], [400, 'invalid_scope']);
        assert.deepEqual([status, scopesOf(json.scope)], [200, [...(asks ?? left)].sort()]);
        const inspected = await t.form('/api/v1/token/introspect', { token: json.access_token }, operator);
        assert.deepEqual(scopesOf(inspected.json.scope), scopesOf(json.scope));
      }),
      { numRuns: 40 },
    );
  });

  it('what the policy does not give can be passed on, what the link does not lend cannot', async () => {
    const { policy } = await introduce({ scopes: [] });
    const lent = await lendTo(policy, { allowRedelegation: true });
    const { access_token } = (await redeem(await policy.sign(), lent)).json;
    const pass = (scopes: string[]) => delegate(access_token, { delegateeId: alice.agentId, scopes });
    assert.equal((await pass(['agents:read', 'tokens:read'])).json.code, 'DELEGATION_SCOPE_EXCEEDED');
    assert.equal((await pass(['agents:read', 'audit:read'])).status, 201);
  });

  it('of two policies either: the scopes asked for are those of the delegation', async () => {
    const { policy, lent } = await introduce({ scopes: [] });
    await createPolicy({ agentId: policy.agentId, subject: policy.subject.replace(/.$/, '*') });
    const narrow = await redeem(await policy.sign(), lent, { scope: 'audit:read' });
    assert.equal(narrow.json.scope, 'audit:read');
    // A token of the workload's own still carries no more than the policy gives.
    const own = await exchange(await policy.sign(), { client_id: policy.agentId, scope: 'agents:write' });
    assert.notEqual(own.status, 200);
  });
});

describe('refused, with one event', () => {
  const proofs: [string, RegExp, (policy: Policy) => Promise<string>][] = [
    ['another subject', /no trust policy/, (policy) => policy.sign({ sub: 'another-subject' })],
    ['another audience', /audience/, (policy) => policy.sign({ aud: 'https://other.example' })],
    ['an old token', /age/, (policy) => policy.sign({ iat: seconds() - 700 })],
    ['an expired token', /^expired$/, (policy) => policy.sign({ exp: seconds() - 1 })],
    ['a key of another issuer', /^unknown_key$/, async (policy) => policy.sign({}, { key: await makeKey() })],
    [
      'an issuer that no policy trusts',
      /no trust policy/,
      (policy) => policy.sign({ iss: 'https://unknown.example' }),
    ],
  ];
  for (const [what, reason, make] of proofs) {
    it(`401 invalid_client for ${what}`, async () => {
      const { policy, lent } = await introduce();
      const { status, json } = await redeem(await make(policy), lent, { client_id: policy.agentId });
      assert.deepEqual([status, json.error], [401, 'invalid_client']);
      assert.equal(json.error_description, 'the token is not one that is trusted here');
      const refusals = await refusalsOf(policy.agentId);
      assert.equal(refusals.length, 1);
      assert.match(refusals[0] ?? '', reason);
    });
  }

  it('401 invalid_client beside another proof, as another agent, by a policy that is disabled', async () => {
    const { policy, lent } = await introduce();
    const token = await policy.sign();
    const answers = async (more: Record<string, string>) => (await redeem(token, lent, more)).json.error;
    assert.equal(await answers({ client_id: policy.agentId, client_secret: 'cs_x' }), 'invalid_client');
    assert.equal(await answers({ client_id: alice.agentId }), 'invalid_client');
    assert.equal(await answers({ client_assertion_type: 'x' }), 'invalid_client');
    await patch(policy.policyId, { status: 'disabled' });
    assert.equal(await answers({}), 'invalid_client');
    await patch(policy.policyId, { status: 'active' });
    assert.equal((await redeem(token, lent)).status, 200);
  });

  it('403 unauthorized_client while the agent is suspended; the delegation is over afterwards', async () => {
    const { policy, lent } = await introduce();
    const token = await policy.sign();
    const set = (status: string) =>
      t.call('PATCH', `/api/v1/agents/${policy.agentId}`, { token: operator, payload: { status } });
    await set('suspended');
    const { status, json } = await redeem(token, lent, { client_id: policy.agentId });
    assert.deepEqual([status, json.error], [403, 'unauthorized_client']);
    assert.deepEqual(await refusalsOf(policy.agentId), ['the agent is suspended']);
    assert.equal(
      (await redeem(token, lent)).json.error,
      'invalid_client',
      'without client_id it has no policy',
    );
    await set('active');
    assert.equal((await redeem(token, lent)).json.error, 'invalid_grant');
  });

  it('by the grant: its own error codes, and the external token stays good until something is issued for it', async () => {
    const { policy, lent } = await introduce();
    const { lent: foreign } = await introduce();
    const ended = await lendTo(policy);
    await revoke(aliceToken, ended.chainId);
    const token = await policy.sign();
    const cases: [Pick<IssuedDelegation, 'delegationToken'>, Record<string, string>, string][] = [
      [ended, {}, 'invalid_grant'],
      [foreign, {}, 'invalid_grant'],
      [{ delegationToken: aliceToken }, {}, 'invalid_grant'],
      [{ delegationToken: token }, {}, 'invalid_grant'],
      [{ delegationToken: '' }, {}, 'invalid_request'],
      [lent, { subject_token_type: 'x' }, 'invalid_request'],
      [lent, { scope: 'agents:write' }, 'invalid_scope'],
      [lent, { audience: 'https://other.example' }, 'invalid_target'],
    ];
    for (const [index, [given, more, error]] of cases.entries()) {
      const { status, json } = await redeem(token, given, more);
      assert.deepEqual([status, json.error], [400, error]);
      assert.equal((await refusalsOf(policy.agentId)).length, index + 1);
    }
    assert.equal((await redeem(token, lent)).status, 200);
    assert.equal((await redeem(token, lent)).json.error, 'invalid_client');
  });

  it('403 unauthorized_client when the plan is used up, and nothing else is', async () => {
    const { organizationId } = (
      await t.call('POST', '/api/v1/organizations', {
        token: operator,
        payload: { name: 'Small', slug: 'small', maxTokensPerMonth: 1 },
      })
    ).json;
    const allow = (maxTokensPerMonth: number) =>
      t.call('PATCH', `/api/v1/organizations/${organizationId}`, {
        token: operator,
        payload: { maxTokensPerMonth },
      });
    const [giver, taker] = [
      await t.agent({ organization_id: organizationId }),
      await t.agent({ organization_id: organizationId }),
    ];
    const { json: lent } = await delegate(await t.token(undefined, giver), {
      delegateeId: taker.agentId,
      scopes: ['agents:read'],
    });
    const policy = await createPolicy({ agentId: taker.agentId, scopes: ['agents:read'] });
    assert.equal((await redeem(await policy.sign(), lent)).status, 200);
    const token = await policy.sign();
    const { status, json } = await redeem(token, lent);
    assert.deepEqual([status, json.error], [403, 'unauthorized_client']);
    assert.match((await refusalsOf(taker.agentId)).join(), /^tokens_per_month reached$/);
    await allow(2);
    assert.equal((await redeem(token, lent)).status, 200);
  });
});

describe('the rate window', () => {
  it("counts in the client's window once it is authenticated, in the address's before", async () => {
    const { policy, lent } = await introduce({ singleUse: false });
    const token = await policy.sign();
    const remaining = async (assertion: string, given: Pick<IssuedDelegation, 'delegationToken'>) =>
      Number((await redeem(assertion, given)).headers['x-ratelimit-remaining']);
    const unknown = await policy.sign({ sub: 'another-subject' });
    startOfMinute(t.clock);
    const [client, address] = [await remaining(token, lent), await remaining(unknown, lent)];
    assert.equal(await remaining(token, { delegationToken: 'garbage' }), client - 1);
    assert.equal(await remaining(unknown, lent), address - 1);
    assert.equal(await remaining(token, lent), client - 2);
  });
});

describe('at once', () => {
  it('of 50 redemptions with one external token exactly one succeeds', async () => {
    const { policy, lent } = await introduce();
    const token = await policy.sign();
    const answers = await Promise.all(Array.from({ length: 50 }, () => redeem(token, lent)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    assert.equal(answers.filter(({ json }) => json.error === 'invalid_client').length, 49);
    assert.deepEqual(await refusalsOf(policy.agentId), Array(49).fill('the token was used before'));
  });

  it('of 99 ways to spend one external token, among them redemptions that fail, exactly one succeeds', async () => {
    const { policy, lent } = await introduce();
    const token = await policy.sign();
    const ways = [
      () => redeem(token, lent),
      () => redeem(token, { delegationToken: 'garbage' }),
      () => exchange(token),
    ];
    const answers = await Promise.all(Array.from({ length: 99 }, (_, index) => ways[index % 3]?.()));
    assert.equal(answers.filter((answer) => answer?.status === 200).length, 1);
    assert.equal((await refusalsOf(policy.agentId)).length, 98);
  });

  it('a policy that is deleted among redemptions: nothing is issued after the 204', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { policy, lent } = await introduce({ singleUse: false });
      const token = await policy.sign();
      let gone = false;
      const ask = async () => {
        for (let after = false; !after; ) {
          after = gone;
          const { status } = await redeem(token, lent);
          assert.ok(status === 401 || (status === 200 && !after), String(status));
        }
      };
      const remove = async () => {
        const url = `/api/v1/oidc/trust-policies/${policy.policyId}`;
        assert.equal((await t.call('DELETE', url, { token: operator })).status, 204);
        gone = true;
      };
      await Promise.all([...Array.from({ length: 10 }, ask), remove()]);
      assert.equal((await redeem(token, lent)).status, 401);
    }
  });

  it('revoking the link stops the token', async () => {
    const { policy, lent } = await introduce();
    const { access_token } = (await redeem(await policy.sign(), lent)).json;
    assert.equal(await listAgents(access_token), '200');
    await revoke(aliceToken, lent.chainId);
    assert.equal(await listAgents(access_token), '403 DELEGATION_REVOKED');
  });
});

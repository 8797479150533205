import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { type Answer, startApp } from '../../../test/support/harness.ts';
import { createDelegationClient } from '../../../test/support/scenarios/delegations.ts';
import { delegableScopes, organizationScopes } from '../../contract/scopes.ts';

const t = await startApp();
const { delegate, createDelegation, redeem, revoke, verify, listAgents } = createDelegationClient(t);
const operator = await t.token();

const [alice, bob, carol] = [await t.agent(), await t.agent(), await t.agent()];
const aliceToken = await t.token(undefined, alice);
const bobToken = await t.token(undefined, bob);
const carolToken = await t.token('tokens:read', carol);
const issuer = 'http://countersign.test';

async function foreigner() {
  const { organizationId } = (
    await t.call('POST', '/api/v1/organizations', {
      token: operator,
      payload: { name: 'Elsewhere', slug: `elsewhere-${crypto.randomUUID().slice(0, 8)}` },
    })
  ).json;
  return t.agent({ organization_id: organizationId });
}

function assertFailed({ status, json, text }: Answer, expected: number, code: string) {
  assert.equal(status, expected, text);
  assert.equal(json.code, code, text);
}

const wanted = { delegateeId: bob.agentId, scopes: ['agents:read'] };

describe('POST /delegations', () => {
  it('201 a chain of one link, with its token', async () => {
    const before = t.clock.now();
    const { status, headers, json } = await delegate(aliceToken, {
      ...wanted,
      scopes: ['audit:read', 'agents:read'],
      expiresIn: 600,
      purpose: 'screen résumés',
      resource: [`${issuer}/`, 'https://api.example.com/v1'],
    });
    assert.equal(status, 201);
    assert.equal(headers['cache-control'], 'no-store');
    const { chainId, createdAt, expiresAt, delegationToken, ...rest } = json;
    assert.match(chainId, /^[0-9a-f-]{36}$/);
    assert.ok(Date.parse(createdAt) >= before);
    assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 600_000);
    assert.deepEqual(rest, {
      parentChainId: null,
      rootChainId: chainId,
      depth: 1,
      subjectType: 'agent',
      subjectId: alice.agentId,
      delegatorType: 'agent',
      delegatorId: alice.agentId,
      delegateeId: bob.agentId,
      origin: 'api',
      authorizationDetails: null,
      scopes: ['agents:read', 'audit:read'],
      resource: [issuer, 'https://api.example.com/v1'],
      purpose: 'screen résumés',
      allowRedelegation: false,
      status: 'active',
      revokedAt: null,
    });
    assert.equal(decodeProtectedHeader(delegationToken).typ, 'delegation+jwt');
    const { iat, exp, ...claims } = decodeJwt(delegationToken);
    assert.equal(Number(exp) - Number(iat), 600);
    assert.deepEqual(claims, {
      iss: issuer,
      aud: issuer,
      sub: alice.agentId,
      may_act: { sub: bob.agentId },
      chain_id: chainId,
      scope: 'agents:read audit:read',
      organization_id: t.operator.organizationId,
      jti: chainId,
    });
  });

  it('201 with the least: an hour, no purpose, our own API only, not to be passed on', async () => {
    const { json } = await delegate(aliceToken, { ...wanted, delegateeId: bob.agentId.toUpperCase() });
    assert.equal(Date.parse(json.expiresAt) - Date.parse(json.createdAt), 3_600_000);
    const { purpose, resource, allowRedelegation, delegateeId } = json;
    assert.deepEqual(
      { purpose, resource, allowRedelegation, delegateeId },
      { purpose: null, resource: null, allowRedelegation: false, delegateeId: bob.agentId },
    );
  });

  it('201 counts it, and records one event with delegator, delegatee and scopes', async () => {
    const counted = async () =>
      Number(/^service_delegation_chains_created_total (\d+)/m.exec(await t.app.metrics.text())?.[1] ?? 0);
    const before = await counted();
    const { chainId, expiresAt } = await createDelegation(aliceToken, bob, ['agents:read'], {
      purpose: 'a test',
    });
    assert.equal(await counted(), before + 1);
    const events = await t.sql<{ action: string; agent_id: string; metadata: Record<string, unknown> }>(
      `select action, agent_id, metadata from audit_events where metadata->>'chainId' = $1`,
      [chainId],
    );
    assert.equal(events.length, 1);
    const { requestId: _, ...metadata } = events[0]?.metadata ?? {};
    assert.deepEqual(
      { ...events[0], metadata },
      {
        action: 'delegation.created',
        agent_id: bob.agentId,
        metadata: {
          chainId,
          parentChainId: null,
          rootChainId: chainId,
          depth: 1,
          subjectId: alice.agentId,
          delegatorId: alice.agentId,
          delegateeId: bob.agentId,
          actorId: alice.agentId,
          scopes: ['agents:read'],
          resource: null,
          purpose: 'a test',
          allowRedelegation: false,
          expiresAt,
        },
      },
    );
  });

  const malformed: [string, object][] = [
    ['no delegatee is named', { scopes: ['agents:read'] }],
    ['no scopes are named', { delegateeId: bob.agentId }],
    ['scopes are empty', { ...wanted, scopes: [] }],
    ['a scope is unknown', { ...wanted, scopes: ['make:coffee'] }],
    ['a scope is repeated', { ...wanted, scopes: ['agents:read', 'agents:read'] }],
    ['scopes are a string', { ...wanted, scopes: 'agents:read' }],
    ['the delegatee is no UUID', { ...wanted, delegateeId: 'bob' }],
    ['the delegatee is oneself', { ...wanted, delegateeId: alice.agentId }],
    ['the delegatee is oneself in capitals', { ...wanted, delegateeId: alice.agentId.toUpperCase() }],
    ['expiresIn is too short', { ...wanted, expiresIn: 59 }],
    ['expiresIn is too long', { ...wanted, expiresIn: 86_401 }],
    ['expiresIn is no integer', { ...wanted, expiresIn: 60.5 }],
    ['expiresIn is huge', { ...wanted, expiresIn: 1e300 }],
    ['expiresIn is text', { ...wanted, expiresIn: '600' }],
    ['purpose is too long', { ...wanted, purpose: 'x'.repeat(257) }],
    ['purpose holds NUL', { ...wanted, purpose: 'a\0b' }],
    ['purpose holds half a character', { ...wanted, purpose: '\ud800' }],
    ['resource is empty', { ...wanted, resource: [] }],
    ['resource is no address', { ...wanted, resource: ['example'] }],
    ['resource has a fragment', { ...wanted, resource: ['https://example.com/#x'] }],
    ['resource carries credentials', { ...wanted, resource: ['https://a:b@example.com'] }],
    [
      'there are eleven resources',
      { ...wanted, resource: Array.from({ length: 11 }, (_, n) => `https://${n}.example`) },
    ],
    ['a field is unknown', { ...wanted, parentChainId: crypto.randomUUID() }],
    [
      'a field is __proto__',
      JSON.parse(`{"delegateeId":"${bob.agentId}","scopes":["agents:read"],"__proto__":{}}`),
    ],
    ['allowRedelegation is text', { ...wanted, allowRedelegation: 'yes' }],
  ];
  for (const [what, payload] of malformed) {
    it(`400 VALIDATION_ERROR when ${what}`, async () =>
      assertFailed(await delegate(aliceToken, payload), 400, 'VALIDATION_ERROR'));
  }

  it('403 DELEGATION_SCOPE_EXCEEDED when the caller’s token holds less, naming what and what is left', async () => {
    const answer = await delegate(carolToken, {
      delegateeId: bob.agentId,
      scopes: ['tokens:read', 'agents:read'],
    });
    assertFailed(answer, 403, 'DELEGATION_SCOPE_EXCEEDED');
    assert.deepEqual(answer.json.details, {
      requested: ['tokens:read', 'agents:read'],
      allowed: ['tokens:read'],
      exceeded: ['agents:read'],
    });
  });
  it('403 DELEGATION_SCOPE_EXCEEDED for admin:orgs, by its holder too, also to another operator', async () => {
    const second = await t.agent({ allowedScopes: ['admin:orgs', 'agents:read'] });
    for (const token of [aliceToken, operator]) {
      for (const delegateeId of [bob.agentId, second.agentId]) {
        const answer = await delegate(token, { delegateeId, scopes: ['admin:orgs', 'agents:read'] });
        assertFailed(answer, 403, 'DELEGATION_SCOPE_EXCEEDED');
        assert.deepEqual(answer.json.details, {
          requested: ['admin:orgs', 'agents:read'],
          allowed: token === operator ? delegableScopes : [...organizationScopes],
          exceeded: ['admin:orgs'],
        });
      }
    }
  });

  it('404 AGENT_NOT_FOUND when the delegatee does not exist, or elsewhere, also for the operator', async () => {
    const foreign = await foreigner();
    for (const token of [aliceToken, operator]) {
      for (const delegateeId of [crypto.randomUUID(), foreign.agentId])
        assertFailed(await delegate(token, { ...wanted, delegateeId }), 404, 'AGENT_NOT_FOUND');
    }
  });
  for (const [status, act] of [
    [
      'suspended',
      (id: string) =>
        t.call('PATCH', `/api/v1/agents/${id}`, { token: operator, payload: { status: 'suspended' } }),
    ],
    ['decommissioned', (id: string) => t.call('DELETE', `/api/v1/agents/${id}`, { token: operator })],
  ] as const) {
    it(`403 AGENT_NOT_ACTIVE when the delegatee is ${status}`, async () => {
      const { agentId } = await t.agent();
      assert.ok((await act(agentId)).status < 300);
      assertFailed(await delegate(aliceToken, { ...wanted, delegateeId: agentId }), 403, 'AGENT_NOT_ACTIVE');
    });
  }
});

describe('GET /delegations', () => {
  it('200 the caller’s own, newest first, by role and status, with totals', async () => {
    const [giver, taker] = [await t.agent(), await t.agent()];
    const [giverToken, takerToken] = [await t.token(undefined, giver), await t.token(undefined, taker)];
    const given = [];
    for (let n = 0; n < 3; n += 1)
      given.unshift((await createDelegation(giverToken, taker, ['agents:read'])).chainId);
    const back = (await createDelegation(takerToken, giver, ['agents:read'], { expiresIn: 60 })).chainId;
    assert.equal((await revoke(giverToken, String(given[0]))).status, 204);
    const list = async (query: string, token = giverToken) =>
      (await t.call('GET', `/api/v1/delegations${query}`, { token })).json;
    const idsOf = ({ data }: { data: { chainId: string }[] }) => data.map(({ chainId }) => chainId);

    assert.deepEqual(idsOf(await list('')), [back, ...given]);
    assert.deepEqual(idsOf(await list('?role=any')), [back, ...given]);
    assert.deepEqual(idsOf(await list('?role=delegator')), given);
    assert.deepEqual(idsOf(await list('?role=delegatee')), [back]);
    assert.deepEqual(idsOf(await list('?role=delegatee', takerToken)), given);
    assert.deepEqual(idsOf(await list('?status=revoked')), [given[0]]);
    assert.deepEqual(idsOf(await list('?status=active')), [back, given[1], given[2]]);
    const page = await list('?role=delegator&page=2&limit=2');
    assert.deepEqual({ ...page, data: idsOf(page) }, { data: [given[2]], total: 3, page: 2, limit: 2 });
    assert.ok(!JSON.stringify(await list('')).includes('delegationToken'));
    assert.equal((await list('', carolToken)).total, 0);

    t.clock.advance(61_000);
    assert.deepEqual(idsOf(await list('?status=expired')), [back]);
    assert.deepEqual((await list('?role=delegatee')).data[0].status, 'expired');
  });

  for (const query of [
    'limit=101',
    'limit=0',
    'page=0',
    'page=100000000000000000000',
    'role=boss',
    'status=dead',
  ]) {
    it(`400 VALIDATION_ERROR for ${query}`, async () =>
      assertFailed(
        await t.call('GET', `/api/v1/delegations?${query}`, { token: aliceToken }),
        400,
        'VALIDATION_ERROR',
      ));
  }
});

describe('GET /delegations/{chainId}', () => {
  const get = (token: string, chainId: string) => t.call('GET', `/api/v1/delegations/${chainId}`, { token });

  it('200 to the agents of the chain and readers of the audit log; 404 DELEGATION_NOT_FOUND to all others', async () => {
    const { chainId } = await createDelegation(aliceToken, bob, ['agents:read']);
    for (const token of [aliceToken, bobToken, operator, await t.token('audit:read', carol)]) {
      const { status, json } = await get(token, chainId.toUpperCase());
      assert.equal(status, 200);
      const { chain, ...link } = json;
      assert.equal(json.chainId, chainId);
      assert.deepEqual(chain, [link]);
      assert.ok(!('delegationToken' in json) && !('organizationId' in json));
    }
    const foreign = await t.token(undefined, await foreigner());
    for (const [token, id] of [
      [carolToken, chainId],
      [foreign, chainId],
      [aliceToken, crypto.randomUUID()],
    ] as const)
      assertFailed(await get(token, id), 404, 'DELEGATION_NOT_FOUND');
  });
  it('400 VALIDATION_ERROR when the id is malformed', async () =>
    assertFailed(await get(aliceToken, 'x'), 400, 'VALIDATION_ERROR'));
});

describe('a suspended organization', () => {
  it('403 ORG_SUSPENDED when one of its chains is verified; 200 when it is active again', async () => {
    const delegator = await foreigner();
    const { organizationId } = (
      await t.call('GET', `/api/v1/agents/${delegator.agentId}`, { token: operator })
    ).json;
    const delegatee = await t.agent({ organization_id: organizationId });
    const { delegationToken } = await createDelegation(await t.token(undefined, delegator), delegatee, [
      'agents:read',
    ]);
    const set = (status: string) =>
      t.call('PATCH', `/api/v1/organizations/${organizationId}`, { token: operator, payload: { status } });
    await set('suspended');
    assertFailed(await verify(operator, delegationToken), 403, 'ORG_SUSPENDED');
    await set('active');
    assert.equal((await verify(operator, delegationToken)).json.valid, true);
  });
});

describe('usage', () => {
  it('200 GET /usage counts chains made and tokens exchanged', async () => {
    const totals = async () =>
      (await t.call('GET', '/api/v1/usage', { token: aliceToken })).json.totals as Record<string, number>;
    const before = await totals();
    await redeem(
      bob,
      await createDelegation(aliceToken, bob, ['agents:read'], { purpose: null, resource: null }),
    );
    const after = await totals();
    for (const metric of ['delegations_created', 'token_exchanges'])
      assert.equal(after[metric], (before[metric] ?? 0) + 1, metric);
  });
});

describe('POST /delegations/verify', () => {
  it('200 with the scopes and links, for a delegation token and for one redeemed with it', async () => {
    const lent = await createDelegation(aliceToken, bob, ['agents:read', 'audit:read']);
    const { chainId, expiresAt } = lent;
    const { status, json } = await verify(carolToken, lent.delegationToken);
    assert.equal(status, 200);
    const { chain, ...rest } = json;
    const about = {
      valid: true,
      chainId,
      subjectId: alice.agentId,
      actorId: bob.agentId,
      depth: 1,
      expiresAt,
    };
    assert.deepEqual(rest, { ...about, scopes: ['agents:read', 'audit:read'] });
    assert.deepEqual(
      chain.map((link: { chainId: string }) => link.chainId),
      [chainId],
    );
    const redeemed = await verify(carolToken, await redeem(bob, lent, { scope: 'audit:read' }));
    assert.deepEqual(redeemed.json, { ...about, scopes: ['audit:read'], chain });
  });

  it('403 DELEGATION_REVOKED and DELEGATION_EXPIRED, for either kind of token', async () => {
    const lent = await createDelegation(aliceToken, bob, ['agents:read']);
    const access = await redeem(bob, lent);
    await revoke(aliceToken, lent.chainId);
    for (const token of [lent.delegationToken, access])
      assertFailed(await verify(aliceToken, token), 403, 'DELEGATION_REVOKED');
    const short = await createDelegation(aliceToken, bob, ['agents:read'], { expiresIn: 60 });
    const shortAccess = await redeem(bob, short);
    t.clock.advance(61_000);
    for (const token of [short.delegationToken, shortAccess])
      assertFailed(await verify(aliceToken, token), 403, 'DELEGATION_EXPIRED');
  });

  it('404 DELEGATION_NOT_FOUND for other texts, and for a chain of another organization', async () => {
    const { delegationToken } = await createDelegation(aliceToken, bob, ['agents:read']);
    const [head, body, signature] = delegationToken.split('.');
    const none = Buffer.from('{"alg":"none","typ":"delegation+jwt"}').toString('base64url');
    for (const token of [
      'x',
      'x.y.z',
      aliceToken,
      `${head}.${body}.`,
      `${none}.${body}.`,
      `${delegationToken}=`,
      `${head}.${body}.${signature?.slice(0, -2)}AA`,
    ])
      assertFailed(await verify(aliceToken, token), 404, 'DELEGATION_NOT_FOUND');
    const foreign = await t.token(undefined, await foreigner());
    assertFailed(await verify(foreign, delegationToken), 404, 'DELEGATION_NOT_FOUND');
    assert.equal((await verify(operator, delegationToken)).status, 200);
  });
  for (const payload of [
    {},
    { token: '' },
    { token: 1 },
    { token: 'x'.repeat(8193) },
    { token: 'x', more: 1 },
  ]) {
    it(`400 VALIDATION_ERROR for ${JSON.stringify(payload).slice(0, 40)}`, async () =>
      assertFailed(
        await t.call('POST', '/api/v1/delegations/verify', { token: aliceToken, payload }),
        400,
        'VALIDATION_ERROR',
      ));
  }
});

describe('DELETE /delegations/{chainId}', () => {
  const events = (chainId: string) =>
    t.sql(`select 1 from audit_events where action = 'delegation.revoked' and metadata->>'chainId' = $1`, [
      chainId,
    ]);

  it('204 by its delegator, an administrator or the operator; again 204, and one event', async () => {
    const admin = await t.agent({ allowedScopes: [] });
    await t.call('POST', `/api/v1/organizations/${t.operator.organizationId}/members`, {
      token: operator,
      payload: { agentId: admin.agentId, role: 'admin' },
    });
    for (const token of [aliceToken, await t.token(undefined, admin), operator]) {
      const lent = await createDelegation(aliceToken, bob, ['agents:read']);
      const access = await redeem(bob, lent);
      assert.equal(await listAgents(access), '200');
      for (let time = 0; time < 3; time += 1) {
        const { status, text } = await revoke(token, lent.chainId);
        assert.deepEqual({ status, text }, { status: 204, text: '' });
      }
      assert.equal((await events(lent.chainId)).length, 1);
      assert.equal(await listAgents(access), '403 DELEGATION_REVOKED');
      const { status, revokedAt } = (
        await t.call('GET', `/api/v1/delegations/${lent.chainId}`, { token: bobToken })
      ).json;
      assert.equal(status, 'revoked');
      assert.ok(Date.parse(revokedAt) <= t.clock.now());
    }
  });
  it('204 for one that has expired: nothing happens', async () => {
    const { chainId } = await createDelegation(aliceToken, bob, ['agents:read'], { expiresIn: 60 });
    const expired = "update delegations set expires_at = now() - interval '1 second' where chain_id = $1";
    await t.sql(expired, [chainId]);
    assert.equal((await revoke(aliceToken, chainId)).status, 204);
    assert.equal((await events(chainId)).length, 0);
    assert.equal(
      (await t.call('GET', `/api/v1/delegations/${chainId}`, { token: aliceToken })).json.status,
      'expired',
    );
  });
  it('204 from a node whose clock is ahead: the delegation ends, although it has expired there', async () => {
    const { chainId } = await createDelegation(aliceToken, bob, ['agents:read'], { expiresIn: 60 });
    t.clock.advance(60_000);
    assert.equal((await revoke(aliceToken, chainId)).status, 204);
    t.clock.advance(-60_000);
    assert.equal(
      (await t.call('GET', `/api/v1/delegations/${chainId}`, { token: aliceToken })).json.status,
      'revoked',
    );
  });
  it('403 FORBIDDEN to the delegatee and other agents, 404 DELEGATION_NOT_FOUND elsewhere', async () => {
    const lent = await createDelegation(aliceToken, bob, ['agents:read']);
    const byDelegation = await redeem(bob, lent);
    for (const token of [bobToken, carolToken, byDelegation]) {
      const refused = await revoke(token, lent.chainId);
      assertFailed(refused, 403, 'FORBIDDEN');
      assert.match(refused.json.message, /admin of the organization, or an operator \(scope admin:orgs\)/);
    }
    const foreign = await t.token(undefined, await foreigner());
    assertFailed(await revoke(foreign, lent.chainId), 404, 'DELEGATION_NOT_FOUND');
    assertFailed(await revoke(aliceToken, crypto.randomUUID()), 404, 'DELEGATION_NOT_FOUND');
    assertFailed(await revoke(aliceToken, 'x'), 400, 'VALIDATION_ERROR');
    assert.equal(await listAgents(byDelegation), '200');
  });
});

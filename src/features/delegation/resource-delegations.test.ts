/** Delegations of scopes of a registered resource. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { type Answer, startApp } from '../../../test/support/harness.ts';
import { createDelegationClient } from '../../../test/support/scenarios/delegations.ts';
import { createResourceRows } from '../../../test/support/scenarios/resources/resource-rows.ts';

const t = await startApp();
const { delegate, exchange, createDelegation, redeem, revoke, verify } = createDelegationClient(t);
const { insertResource, setGrant, deleteResource } = createResourceRows(t);
const operator = await t.token();
const issuer = 'http://countersign.test';

/** An agent without scopes of our own API. */
const worker = () => t.agent({ allowedScopes: [] });
const [alice, bob, carol] = [await worker(), await worker(), await worker()];
const [aliceToken, bobToken] = [await t.token(undefined, alice), await t.token(undefined, bob)];

/** A resource that alice holds all scopes of. */
const ordersApi = async (scopes = ['orders:read', 'orders:write']) => {
  const resource = await insertResource([...scopes, 'orders:delete']);
  await setGrant(alice.agentId, resource, scopes);
  return resource;
};
const get = (token: string, chainId: string) => t.call('GET', `/api/v1/delegations/${chainId}`, { token });

function assertFailed({ status, json, text }: Answer, expected: number, code: string) {
  assert.equal(status, expected, text);
  assert.equal(json.code, code, text);
}
function assertRefused({ status, json, text }: Answer, expected: number, error: string) {
  assert.deepEqual([status, json.error], [expected, error], text);
}

describe('POST /delegations for a registered resource', () => {
  it('201 without any scope of our own API; the token has the audience and the scopes of the resource', async () => {
    const { identifier } = await ordersApi();
    const created = await delegate(aliceToken, {
      delegateeId: bob.agentId,
      scopes: ['orders:write', 'orders:read'],
      resource: [identifier],
    });
    assert.equal(created.status, 201, created.text);
    assert.deepEqual(created.json.resource, [identifier]);
    assert.deepEqual(created.json.scopes, ['orders:write', 'orders:read']);
    const claims = decodeJwt(await redeem(bob, created.json));
    assert.equal(claims.aud, identifier);
    assert.deepEqual(String(claims.scope).split(' ').sort(), ['orders:read', 'orders:write']);
    assert.deepEqual([claims.sub, claims.client_id], [alice.agentId, bob.agentId]);
    assert.deepEqual(claims.act, { sub: bob.agentId });
    assert.equal(claims.chain_id, created.json.chainId);
  });

  it("403 DELEGATION_SCOPE_EXCEEDED beyond the delegator's grant, with requested, allowed and exceeded", async () => {
    const { identifier } = await ordersApi(['orders:read']);
    const scopes = ['orders:read', 'orders:delete', 'agents:read'];
    const answer = await delegate(aliceToken, { delegateeId: bob.agentId, scopes, resource: [identifier] });
    assertFailed(answer, 403, 'DELEGATION_SCOPE_EXCEEDED');
    const { requested, allowed, exceeded } = answer.json.details;
    assert.deepEqual(
      [requested, allowed, exceeded],
      [scopes, ['orders:read'], ['orders:delete', 'agents:read']],
    );
  });

  it('403 DELEGATION_SCOPE_EXCEEDED with nothing allowed: without a grant, for a deleted resource', async () => {
    const ungranted = await insertResource(['orders:read']);
    const deleted = await ordersApi();
    await deleteResource(deleted);
    for (const { identifier } of [ungranted, deleted]) {
      const answer = await delegate(aliceToken, {
        delegateeId: bob.agentId,
        scopes: ['orders:read'],
        resource: [identifier],
      });
      assertFailed(answer, 403, 'DELEGATION_SCOPE_EXCEEDED');
      assert.deepEqual(answer.json.details.allowed, []);
    }
  });

  it('400 VALIDATION_ERROR for a registered resource beside another audience', async () => {
    const [{ identifier }, other] = [await ordersApi(), await ordersApi()];
    for (const resource of [
      [identifier, issuer],
      [identifier, other.identifier],
      ['https://sts.example.com', identifier],
    ]) {
      const answer = await delegate(aliceToken, {
        delegateeId: bob.agentId,
        scopes: ['orders:read'],
        resource,
      });
      assertFailed(answer, 400, 'VALIDATION_ERROR');
      assert.equal(answer.json.details.fields[0].field, 'resource');
    }
  });

  it('400 VALIDATION_ERROR for scopes that our own API lacks, and for malformed scopes', async () => {
    for (const [scopes, resource] of [
      [['orders:read'], null],
      [['orders:read'], [issuer]],
      [['orders:read'], ['https://sts.example.com']],
      [['a b'], null],
      [['a"b'], null],
      [['é'], null],
      [['x'.repeat(65)], null],
      [[''], null],
    ]) {
      const answer = await delegate(operator, { delegateeId: bob.agentId, scopes, resource });
      assertFailed(answer, 400, 'VALIDATION_ERROR');
      assert.match(answer.json.details.fields[0].field, /^scopes\[0\]/);
    }
    const many = Array.from({ length: 101 }, (_, index) => `s${index}`);
    assertFailed(
      await delegate(operator, { delegateeId: bob.agentId, scopes: many }),
      400,
      'VALIDATION_ERROR',
    );
  });

  it('400 VALIDATION_ERROR where audiences must be registered, as with MULTI_TENANT=true; the same for foreign resources', async () => {
    const strict = await startApp({ MULTI_TENANT: 'true' });
    const rows = createResourceRows(strict);
    const token = await strict.token();
    const { json: team } = await strict.call('POST', '/api/v1/organizations', {
      token,
      payload: { name: 'Team', slug: `team-${randomUUID().slice(0, 12)}`, planTier: 'pro' },
    });
    const { organizationId } = strict.operator;
    const delegatee = await strict.agent({ allowedScopes: [], organization_id: organizationId });
    const foreign = await rows.insertResource(['orders:read'], { organizationId: team.organizationId });
    const own = await rows.insertResource(['orders:read']);
    const lend = (resource: string[], scopes = ['orders:read']) =>
      createDelegationClient(strict).delegate(token, { delegateeId: delegatee.agentId, scopes, resource });
    const unknown = await lend(['https://nothing.example']);
    assertFailed(unknown, 400, 'VALIDATION_ERROR');
    assert.equal((await lend([foreign.identifier])).text, unknown.text);
    assertFailed(await lend(['https://nothing.example'], ['agents:read']), 400, 'VALIDATION_ERROR');
    assertFailed(await lend([issuer, 'https://nothing.example'], ['agents:read']), 400, 'VALIDATION_ERROR');
    assertFailed(await lend([own.identifier]), 403, 'DELEGATION_SCOPE_EXCEEDED');
    assert.equal((await lend([issuer], ['agents:read'])).status, 201);
    await rows.setGrant(strict.operator.agentId, foreign, ['orders:read']);
    assert.equal((await lend([foreign.identifier])).status, 201);
  });
});

describe('a chain for a resource', () => {
  it('400 invalid_scope when the grant is narrowed, invalid_target without one; the scopes are back when it is widened', async () => {
    const resource = await ordersApi();
    const lent = await createDelegation(aliceToken, bob, ['orders:read', 'orders:write'], {
      resource: [resource.identifier],
    });
    const narrower = await redeem(bob, lent, { scope: 'orders:write' });
    assert.deepEqual((await verify(operator, narrower)).json.scopes, ['orders:write']);
    await setGrant(alice.agentId, resource, ['orders:read']);
    assert.equal(decodeJwt(await redeem(bob, lent)).scope, 'orders:read');
    assertRefused(await exchange(bob, lent.delegationToken, { scope: 'orders:write' }), 400, 'invalid_scope');
    assert.deepEqual((await verify(operator, lent.delegationToken)).json.scopes, ['orders:read']);
    const seen = (await get(aliceToken, lent.chainId)).json;
    assert.deepEqual(seen.effectiveScopes, ['orders:read']);
    assert.deepEqual(seen.scopes, ['orders:read', 'orders:write']);
    await setGrant(alice.agentId, resource, []);
    assertRefused(await exchange(bob, lent.delegationToken), 400, 'invalid_target');
    const { valid, scopes } = (await verify(operator, lent.delegationToken)).json;
    assert.deepEqual({ valid, scopes }, { valid: true, scopes: [] });
    await setGrant(alice.agentId, resource, ['orders:write']);
    assert.equal(decodeJwt(await redeem(bob, lent)).scope, 'orders:write');
    await revoke(aliceToken, lent.chainId);
    assert.deepEqual((await get(aliceToken, lent.chainId)).json.effectiveScopes, []);
  });

  it("200 the delegatee's own grant adds nothing", async () => {
    const resource = await ordersApi(['orders:read']);
    await setGrant(bob.agentId, resource, ['orders:delete']);
    const lent = await createDelegation(aliceToken, bob, ['orders:read'], {
      resource: [resource.identifier],
    });
    assert.equal(decodeJwt(await redeem(bob, lent)).scope, 'orders:read');
    assertRefused(
      await exchange(bob, lent.delegationToken, { scope: 'orders:delete' }),
      400,
      'invalid_scope',
    );
  });

  it('400 invalid_target for another audience, our own API included, and for a deleted resource', async () => {
    const [resource, other] = [await ordersApi(), await ordersApi()];
    const lent = await createDelegation(aliceToken, bob, ['orders:read'], {
      resource: [resource.identifier],
    });
    for (const named of [issuer, other.identifier])
      assertRefused(await exchange(bob, lent.delegationToken, { resource: named }), 400, 'invalid_target');
    const { json } = await exchange(bob, lent.delegationToken, { resource: resource.identifier });
    assert.equal(decodeJwt(json.access_token).aud, resource.identifier);
    await deleteResource(resource);
    assertRefused(await exchange(bob, lent.delegationToken), 400, 'invalid_target');
    assert.deepEqual((await verify(operator, lent.delegationToken)).json.scopes, []);
  });

  it('401 UNAUTHORIZED at our own API', async () => {
    const { identifier } = await ordersApi();
    const lent = await createDelegation(aliceToken, bob, ['orders:read'], { resource: [identifier] });
    const answer = await t.call('GET', '/api/v1/delegations', { token: await redeem(bob, lent) });
    assertFailed(answer, 401, 'UNAUTHORIZED');
  });

  it('400 invalid_scope for scopes of our own API whose audience is registered later; our own API stays', async () => {
    const identifier = `https://${randomUUID()}.example/later`;
    const lent = await createDelegation(operator, bob, ['agents:read'], { resource: [identifier] });
    const both = await createDelegation(operator, bob, ['agents:read'], { resource: [identifier, issuer] });
    assert.equal(decodeJwt(await redeem(bob, lent)).scope, 'agents:read');
    const resource = await insertResource(['orders:read'], { identifier });
    await setGrant(t.operator.agentId, resource, ['orders:read']);
    assertRefused(await exchange(bob, lent.delegationToken), 400, 'invalid_scope');
    assert.deepEqual((await verify(operator, lent.delegationToken)).json.scopes, []);
    assertRefused(await exchange(bob, both.delegationToken, { resource: identifier }), 400, 'invalid_scope');
    assert.equal(decodeJwt(await redeem(bob, both)).aud, issuer);
    assert.deepEqual((await verify(operator, both.delegationToken)).json.scopes, ['agents:read']);
  });
});

describe('parentToken', () => {
  const passable = async (more: object = {}) => {
    const resource = await ordersApi();
    const lent = await createDelegation(aliceToken, bob, ['orders:read', 'orders:write'], {
      resource: [resource.identifier],
      allowRedelegation: true,
      ...more,
    });
    return { resource, lent, parentToken: lent.delegationToken };
  };

  it("201 passes the chain on with the delegatee's own token; the resource may be left out", async () => {
    const { resource, lent, parentToken } = await passable();
    const created = await delegate(bobToken, {
      delegateeId: carol.agentId,
      scopes: ['orders:read'],
      parentToken,
    });
    assert.equal(created.status, 201, created.text);
    const { chainId, parentChainId, subjectId, delegatorId, depth, resource: audiences } = created.json;
    assert.deepEqual([parentChainId, depth], [lent.chainId, 2]);
    assert.deepEqual([subjectId, delegatorId], [alice.agentId, bob.agentId]);
    assert.deepEqual(audiences, [resource.identifier]);
    const claims = decodeJwt(await redeem(carol, created.json));
    assert.deepEqual(
      [claims.sub, claims.act],
      [alice.agentId, { sub: carol.agentId, act: { sub: bob.agentId } }],
    );
    assert.deepEqual([claims.aud, claims.scope], [resource.identifier, 'orders:read']);
    const [event] = await t.sql<{ metadata: Record<string, unknown> }>(
      "select metadata from audit_events where action = 'delegation.created' and metadata ->> 'chainId' = $1",
      [chainId],
    );
    assert.equal(event?.metadata.subjectId, alice.agentId);
    assert.equal(event?.metadata.parentChainId, lent.chainId);
    await setGrant(alice.agentId, resource, ['orders:write']);
    assertRefused(await exchange(carol, created.json.delegationToken), 400, 'invalid_scope');
    await revoke(aliceToken, lent.chainId);
    assertRefused(await exchange(carol, created.json.delegationToken), 400, 'invalid_grant');
  });

  it("403 DELEGATION_SCOPE_EXCEEDED beyond the links, the root's grant now, or the parent's resource", async () => {
    const { resource, parentToken } = await passable();
    const other = await ordersApi();
    const pass = (scopes: string[], more: object = {}) =>
      delegate(bobToken, { delegateeId: carol.agentId, scopes, parentToken, ...more });
    assertFailed(await pass(['orders:delete']), 403, 'DELEGATION_SCOPE_EXCEEDED');
    for (const named of [[other.identifier], null, [issuer]]) {
      const answer = await pass(['orders:read'], { resource: named });
      assertFailed(answer, 403, 'DELEGATION_SCOPE_EXCEEDED');
      assert.deepEqual(answer.json.details.allowed, [resource.identifier]);
    }
    await setGrant(alice.agentId, resource, ['orders:read']);
    const answer = await pass(['orders:write']);
    assertFailed(answer, 403, 'DELEGATION_SCOPE_EXCEEDED');
    assert.deepEqual(answer.json.details.allowed, ['orders:read']);
  });

  it('403 FORBIDDEN for another agent than the delegatee, and when it may not be passed on; 403 when it ended', async () => {
    const { lent, parentToken } = await passable();
    const scopes = ['orders:read'];
    for (const token of [aliceToken, await t.token(undefined, carol), operator])
      assertFailed(
        await delegate(token, { delegateeId: (await worker()).agentId, scopes, parentToken }),
        403,
        'FORBIDDEN',
      );
    const closed = await passable({ allowRedelegation: false });
    const refused = { delegateeId: carol.agentId, scopes, parentToken: closed.parentToken };
    assertFailed(await delegate(bobToken, refused), 403, 'FORBIDDEN');
    await revoke(aliceToken, lent.chainId);
    assertFailed(
      await delegate(bobToken, { delegateeId: carol.agentId, scopes, parentToken }),
      403,
      'DELEGATION_REVOKED',
    );
  });

  it('403 FORBIDDEN below the fifth link', async () => {
    let { parentToken } = await passable();
    let holder = bob;
    const { agentId: lastId } = carol;
    for (let depth = 2; depth <= 5; depth++) {
      const next = await worker();
      const created = await delegate(await t.token(undefined, holder), {
        delegateeId: next.agentId,
        scopes: ['orders:read'],
        parentToken,
        allowRedelegation: true,
      });
      assert.equal(created.json.depth, depth, created.text);
      [parentToken, holder] = [created.json.delegationToken, next];
    }
    const answer = await delegate(await t.token(undefined, holder), {
      delegateeId: lastId,
      scopes: ['orders:read'],
      parentToken,
    });
    assertFailed(answer, 403, 'FORBIDDEN');
  });

  it('404 DELEGATION_NOT_FOUND for other tokens, and for chains of another organization', async () => {
    const { parentToken } = await passable();
    const base = { delegateeId: carol.agentId, scopes: ['orders:read'] };
    for (const wrong of ['nonsense', bobToken, `${parentToken}x`])
      assertFailed(await delegate(bobToken, { ...base, parentToken: wrong }), 404, 'DELEGATION_NOT_FOUND');
    const { json: team } = await t.call('POST', '/api/v1/organizations', {
      token: operator,
      payload: { name: 'Team', slug: `team-${randomUUID().slice(0, 12)}`, planTier: 'pro' },
    });
    const outsider = await t.agent({ organization_id: team.organizationId, allowedScopes: [] });
    assertFailed(
      await delegate(await t.token(undefined, outsider), { ...base, parentToken }),
      404,
      'DELEGATION_NOT_FOUND',
    );
    for (const wrong of ['', null, 7, 'x'.repeat(8_193)])
      assertFailed(await delegate(bobToken, { ...base, parentToken: wrong }), 400, 'VALIDATION_ERROR');
  });

  it('201 for a chain of our own API, limited by the chain; 400 VALIDATION_ERROR with a delegated token', async () => {
    const lent = await createDelegation(operator, bob, ['agents:read', 'audit:read'], {
      allowRedelegation: true,
    });
    const parentToken = lent.delegationToken;
    const base = { delegateeId: carol.agentId, parentToken };
    assertFailed(
      await delegate(bobToken, { ...base, scopes: ['webhooks:read'] }),
      403,
      'DELEGATION_SCOPE_EXCEEDED',
    );
    assertFailed(await delegate(bobToken, { ...base, scopes: ['orders:read'] }), 400, 'VALIDATION_ERROR');
    const created = await delegate(bobToken, { ...base, scopes: ['agents:read'] });
    assert.equal(created.status, 201, created.text);
    assert.equal(created.json.resource, null);
    const token = await redeem(carol, created.json);
    assert.equal((await t.call('GET', '/api/v1/agents', { token })).status, 200);
    const delegated = await redeem(bob, lent);
    assertFailed(await delegate(delegated, { ...base, scopes: ['agents:read'] }), 400, 'VALIDATION_ERROR');
  });
});

describe('GET /delegations with agentId', () => {
  const list = (token: string, query: string) => t.call('GET', `/api/v1/delegations?${query}`, { token });

  it('200 the chains of the agent as delegator, delegatee and subject, with audit:read', async () => {
    const [root, middle, last] = [await t.agent(), await worker(), await worker()];
    const first = await createDelegation(await t.token(undefined, root), middle, ['agents:read'], {
      allowRedelegation: true,
    });
    const second = await createDelegation(await t.token(undefined, middle), last, ['agents:read'], {
      parentToken: first.delegationToken,
    });
    const auditor = await t.token(undefined, await t.agent({ allowedScopes: ['audit:read'] }));
    const idsOf = async (query: string, token = auditor) => {
      const { status, json, text } = await list(token, query);
      assert.equal(status, 200, text);
      assert.equal(json.total, json.data.length);
      return json.data.map(({ chainId }: { chainId: string }) => chainId);
    };
    assert.deepEqual(await idsOf(`agentId=${root.agentId}`), [second.chainId, first.chainId]);
    assert.deepEqual(await idsOf(`agentId=${middle.agentId}`), [second.chainId, first.chainId]);
    assert.deepEqual(await idsOf(`agentId=${last.agentId}`), [second.chainId]);
    assert.deepEqual(await idsOf(`agentId=${root.agentId}&role=delegator`), [first.chainId]);
    assert.deepEqual(await idsOf(`agentId=${root.agentId}&role=delegatee`), []);
    assert.deepEqual(await idsOf(`agentId=${root.agentId}&status=revoked`), []);
    const { json: team } = await t.call('POST', '/api/v1/organizations', {
      token: operator,
      payload: { name: 'Team', slug: `team-${randomUUID().slice(0, 12)}`, planTier: 'pro' },
    });
    const outsider = await t.agent({
      organization_id: team.organizationId,
      allowedScopes: ['audit:read'],
    });
    assert.deepEqual(await idsOf(`agentId=${root.agentId}`, await t.token(undefined, outsider)), []);
  });

  it('403 INSUFFICIENT_SCOPE without audit:read, even for itself; without agentId as before', async () => {
    const answer = await list(aliceToken, `agentId=${alice.agentId}`);
    assertFailed(answer, 403, 'INSUFFICIENT_SCOPE');
    assert.match(String(answer.headers['www-authenticate']), /insufficient_scope.*audit:read/);
    assert.equal((await list(aliceToken, 'role=any')).status, 200);
    assertFailed(await list(operator, 'agentId=nonsense'), 400, 'VALIDATION_ERROR');
  });
});
